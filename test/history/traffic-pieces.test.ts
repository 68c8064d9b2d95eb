/** On Postgres the gateway's own loop adds traffic up, so its requests go on between small pieces of that work. Rules: pages.md "Explore", "History". */

import { expect, test } from 'bun:test'
import { type Ask, PostgresHistory } from '../../src/history/postgres-store.ts'

const GROUPS = 1_000
/** Each group is added to the whole and is told: two of the pieces, of which fifty go together. */
const TURNS_LEAST = Math.floor((2 * GROUPS) / 50)

const cellAt = (index: number) => ({
  at: 3_600,
  writer: 'a',
  model: `m${String(index).padStart(4, '0')}`,
  upstream: 'east',
  requests: 1,
  refusals: '{"keyInvalid":1}',
  spread: '',
  lasting: '',
})

test('what was read is added up in pieces, between which the loop has its turns', async () => {
  const cells = Array.from({ length: GROUPS }, (_, index) => cellAt(index))
  let [turns, turnsAtRead, isOver] = [0, 0, false]
  const tick = (): void => {
    turns++
    if (!isOver) setImmediate(tick)
  }
  const ask: Ask = (text, given = {}) => {
    turnsAtRead = turns
    if (text.includes('pg_tables')) return Promise.resolve({ rows: [{ found: 1 }] })
    if (!text.includes('FROM history.cells')) return Promise.resolve({ rows: [] })
    const rest = cells.filter(({ model }) => model > String(given['model']))
    return Promise.resolve({ rows: rest.slice(0, 200) })
  }
  setImmediate(tick)
  try {
    const store = new PostgresHistory({ ask, now: () => 7_200_000, onEvent: () => undefined })
    const read = await store.traffic({ fromHour: 1, toHour: 1, by: ['model'], step: 'hour', measure: 'refusals', only: {}, isFile: false })
    expect(read?.found).toMatchObject({ total: { requests: GROUPS, refused: GROUPS }, others: { count: GROUPS - 500 } })
    expect(turns - turnsAtRead).toBeGreaterThanOrEqual(TURNS_LEAST)
  } finally {
    isOver = true
  }
})
