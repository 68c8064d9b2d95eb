/** The margin is read in parts of so many rows, whatever is asked for: put together they are the whole, each group once, and a filter that finds nothing looks no further at once. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type MarginQuery, type MarginRow, marginPart } from '../../src/ledger/reading/margin-reads.ts'
import { type Machine, makePath } from '../support/ledger.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { writeVaried } from '../support/varied-ledger.ts'

let machine: Machine
beforeAll(() => {
  machine = writeVaried(makePath(), randomFrom(SEED), 30)
  // Two lanes of each group, as two nodes write them.
  machine.db.run(
    `INSERT OR REPLACE INTO margin_daily SELECT d.value, a.number, m.number, u.number, l.value, 1, 2, 30, 4, 5, 6, 7
     FROM json_each('[20000,20001,20003]') d, accounts a, models m, upstreams u, json_each('[1,2]') l`,
  )
})
afterAll(() => machine.close())

const SPAN = { fromDay: 20_000, toDay: 20_003 }

function walk(query: MarginQuery, looked: number): Readonly<{ rows: readonly MarginRow[]; parts: number }> {
  const rows: MarginRow[] = []
  for (let [after, parts]: [string | undefined, number] = [undefined, 1]; ; parts++) {
    const part = marginPart(machine.db, { ...query, ...(after === undefined ? {} : { after }) }, looked)
    if (part === undefined) throw new Error(`no part after ${after}`)
    rows.push(...part.rows)
    if (part.next === null) return { rows, parts }
    after = part.next
  }
}

test('parts of any length are the whole, each group once with all lanes, under every filter', () => {
  const { rows: all } = walk(SPAN, 1_000_000)
  const groups = Number(
    machine.db
      .query<{ count: bigint }, []>(
        'SELECT 3 * (SELECT count(*) FROM accounts) * (SELECT count(*) FROM models) * (SELECT count(*) FROM upstreams) AS count',
      )
      .get()?.count,
  )
  expect([all.length, all[0]?.requests, all[0]?.chargedPicos]).toEqual([groups, 2, 60n as never])
  const [accountIds, modelIds, upstreams] = [[all[0]?.accountId ?? ''], [all.at(-1)?.modelId ?? '', 'none'], [all[0]?.upstream ?? '']]
  for (const of of [{}, { accountIds }, { modelIds }, { upstreams }, { accountIds, modelIds, upstreams }, { accountIds: ['none'] }]) {
    const wanted = all.filter(
      (row) =>
        (of.accountIds?.includes(row.accountId) ?? true) &&
        (of.modelIds?.includes(row.modelId) ?? true) &&
        (of.upstreams?.includes(row.upstream) ?? true),
    )
    for (const looked of [1, 2, 3, 7, groups, 1_000_000]) expect([looked, walk({ ...SPAN, ...of }, looked).rows]).toEqual([looked, wanted])
  }
  expect(walk({ ...SPAN, accountIds: ['none'] }, 2).parts).toBeGreaterThanOrEqual(groups)
})
