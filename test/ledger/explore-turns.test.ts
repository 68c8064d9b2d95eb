/**
 * Who asks Explore for much does not hold the loop that serves requests: rows are read, added, ordered and written few at a time, and all who ask have together one
 * such piece a turn. Rules: requests.md "Heavy bodies"; pages.md "Explore".
 */

import { expect, test } from 'bun:test'
import type { Measure } from '../../src/core/explore.ts'
import { picos, ZERO } from '../../src/core/money.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { byCost, type ExploredGroup, wholeExplored, wholeGroups } from '../../src/ledger/reading/explore.ts'
import { Cells } from '../../src/ledger/reading/explore-cells.ts'
import type { ExploreRow } from '../../src/ledger/reading/explore-rows.ts'
import { groupsIn, type NamedCells, rowsIn, slicesOfGroups, slicesOfRows } from '../../src/ledger/reading/explore-slices.ts'
import { firstOf, inTurns, ordered, ROWS_OF_TURN } from '../../src/ledger/reading/loop-turns.ts'
import { OneByOne } from '../../src/ledger/reading/one-by-one.ts'
import type { Reports } from '../../src/ledger/reading/reports.ts'
import { exploreCsv } from '../../src/web/api/explore-csv.ts'
import { exploreDocument } from '../../src/web/api/explore-document.ts'
import type { Explore } from '../../src/web/api/explore-query.ts'

const ROWS = 3_000
/** How often a row's cost is looked at in one piece: to be compared with another, added and shown. */
const LOOKS_MAX = 4 * ROWS_OF_TURN

const asked = { fromHour: 0, toHour: 23, by: ['tag' as const], step: 'hour' as const, only: {} }
const EXPLORE: Explore = { asked, step: 'hour', measure: 'spend', fromDay: 0, toDay: 0 }
const rowOf = (n: number): ExploreRow => ({
  hour: n % 24,
  things: [{ id: `tag-${n}`, name: '' }],
  requests: 1,
  usage: NO_USAGE,
  costPicos: ((BigInt(n) * 7919n) % 1_009n) as ExploreRow['costPicos'],
  waivedPicos: ZERO,
  estimatedPicos: ZERO,
  upstreamCostPicos: ZERO,
  costed: 0,
})

/** Rows that count how often their cost is looked at, and turns that take the count. */
function counted() {
  const looks: number[] = [0]
  const rows: ExploredGroup[] = Array.from({ length: ROWS }, (_, n) => {
    const row = rowOf(n)
    return {
      ...row,
      id: `["tag-${n}"]`,
      steps: [row.hour, Number(row.costPicos), 0],
      get costPicos() {
        looks[looks.length - 1] = (looks.at(-1) ?? 0) + 1
        return row.costPicos
      },
    }
  })
  return { rows, looks, turn: () => Promise.resolve(void looks.push(0)) }
}

/** Rows as the thread that reads has added them up. */
function cellsOf(rows: readonly ExploreRow[]): NamedCells {
  const cells = new Cells((hour) => hour)
  const things = new Map(rows.map((row) => [row.things.map(({ id }) => id).join(), row.things]))
  for (const { hour, usage, ...row } of rows) {
    const { input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUses } = usage
    const counts = [row.requests, input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUses, row.costed].map(BigInt)
    const amounts = [row.costPicos, row.waivedPicos, row.estimatedPicos, row.upstreamCostPicos]
    cells.addSums({ value1: row.things.map(({ id }) => id).join(), hour }, [...counts, ...amounts])
  }
  return { cells, thingsOf: ([value = '']) => things.get(String(value)) ?? [] }
}

/** `parts`: of all rows. */
const reportsOf = (parts: number): Reports => ({
  ask: ((_: string, { after = '0', measure }: { after?: string; measure?: Measure }) => {
    const part = Number(after)
    const cells = cellsOf(Array.from({ length: ROWS / parts }, (_row, n) => rowOf(n + (part * ROWS) / parts)))
    const slices = measure === undefined ? slicesOfRows(cells) : slicesOfGroups(cells, measure, true)
    return Promise.resolve({ slices, next: part + 1 < parts ? String(part + 1) : null })
  }) as unknown as Reports['ask'],
  close: () => Promise.resolve(),
})

test('rows are ordered, grouped and made a document few at a time', async () => {
  const works = {
    order: (rows: readonly ExploredGroup[]) => ordered(rows, (a, b) => Number(a.costPicos - b.costPicos)),
    first: (rows: readonly ExploredGroup[]) => firstOf(rows, byCost, 500),
    document: (rows: readonly ExploredGroup[]) => exploreDocument(rows, EXPLORE, true),
  }
  for (const [name, work] of Object.entries(works)) {
    const { rows, looks, turn } = counted()
    await inTurns<unknown>(work(rows), turn)
    expect([name, looks.reduce((sum, one) => sum + one, 0) >= ROWS, Math.max(...looks) <= LOOKS_MAX]).toEqual([name, true, true])
    expect(looks.length).toBeGreaterThan(ROWS / ROWS_OF_TURN)
  }
  const { rows } = counted()
  const inOrder = await inTurns(ordered(rows, (a, b) => Number(a.costPicos - b.costPicos)))
  expect(inOrder.map(({ id }) => id)).toEqual(rows.toSorted((a, b) => Number(a.costPicos - b.costPicos)).map(({ id }) => id))
})

test('rows come from the thread that reads in texts of few rows, and each is added in its own turn', async () => {
  let turns = 0
  const turn = () => Promise.resolve(void turns++)
  for (const whole of [wholeExplored, wholeGroups]) {
    turns = 0
    const found = await whole(reportsOf(3), 'person:p', { query: asked, measure: 'spend', turn })
    if (typeof found === 'string') throw new Error(found)
    expect(found.length).toBe(ROWS)
    expect(turns).toBeGreaterThanOrEqual(ROWS / ROWS_OF_TURN)
  }
  const slices = slicesOfRows(cellsOf(Array.from({ length: ROWS }, (_, n) => rowOf(n))))
  expect(Math.max(...slices.map((slice) => (JSON.parse(slice) as unknown[]).length))).toBe(ROWS_OF_TURN)
})

test('of things with many steps fewer are in a text, and all are added up a few steps a turn', async () => {
  // No factor in common, so each thing is in each hour.
  const [things, hours, parts] = [100, 301, 3]
  const rows = Array.from({ length: things * hours }, (_, n) => ({
    ...rowOf(n),
    hour: n % hours,
    things: [{ id: `tag-${n % things}`, name: '' }],
  }))
  const slices = slicesOfGroups(cellsOf(rows), 'spend', true)
  const stepsOf = (slice: string): number => groupsIn(slice).reduce((sum, { steps }) => sum + steps.length / 3, 0)
  expect(Math.max(...slices.map(stepsOf))).toBeLessThanOrEqual(10 * ROWS_OF_TURN + hours)
  let turns = 0
  const reports = {
    ask: (_: string, { after = '0' }) => Promise.resolve({ slices, next: after === '2' ? null : String(Number(after) + 1) }),
  }
  const turn = () => Promise.resolve(void turns++)
  const find = (rowsMax: number) => wholeGroups(reports as unknown as Reports, 'p', { query: asked, measure: 'spend', rowsMax, turn })
  // Each step of a thing is a row of the file, however many parts have it.
  expect(await find(rows.length - 1)).toBe('tooMuch')
  turns = 0
  const found = await find(rows.length)
  if (typeof found === 'string') throw new Error(found)
  expect(found.map(({ requests, steps }) => requests * things + steps.length)).toEqual(
    Array.from({ length: things }, () => parts * rows.length + 3 * hours),
  )
  expect(turns).toBeGreaterThanOrEqual(((parts - 1) * rows.length) / 10 / ROWS_OF_TURN)
})

test('a row comes from the thread that reads as it was read, also with amounts that no number has exactly', () => {
  const exact = BigInt(Number.MAX_SAFE_INTEGER)
  const amounts = [0n, 1n, exact, exact + 1n, exact + 2n, 9_300_000_000_000_000_001n].map(picos)
  const rows = amounts.map((amount, n) => ({
    ...rowOf(n),
    things: [
      { id: 'a', name: 'one, "two"' },
      { id: `b${n}`, name: '' },
    ].slice(n % 3),
    requests: 5,
    costed: 6,
    usage: { input: 7, output: 8, cacheRead: 9, cacheWrite5m: 10, cacheWrite1h: 11, serverToolUses: 12 },
    costPicos: amount,
    waivedPicos: amounts[(n + 1) % 6] ?? ZERO,
    estimatedPicos: amounts[(n + 2) % 6] ?? ZERO,
    upstreamCostPicos: amounts[(n + 3) % 6] ?? ZERO,
  }))
  expect(
    slicesOfRows(cellsOf(rows))
      .flatMap(rowsIn)
      .toSorted((a, b) => a.hour - b.hour),
  ).toEqual(rows)
})

test('a file is written few lines a turn, and only as it is read', async () => {
  const { rows, looks, turn } = counted()
  let ends = 0
  const options = { isOperators: false, onEnd: () => void ends++, turn }
  const reader = exploreCsv(rows, EXPLORE, options).getReader()
  const texts: string[] = []
  for (let read = await reader.read(); !read.done; read = await reader.read()) texts.push(new TextDecoder().decode(read.value))
  expect([texts.join('').trim().split('\r\n').length, Math.max(...looks)]).toEqual([ROWS + 1, ROWS_OF_TURN])
  const none = await new Response(exploreCsv([], EXPLORE, options)).text()
  expect([none.startsWith('from,tag,requests'), ends]).toEqual([true, 2])
})

test('of all clients a few are answered at once, and a place goes to the one that has waited longest', async () => {
  const questions = new OneByOne(2)
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<number>())
  const begun: number[] = []
  const all = gates.map(({ promise }, index) =>
    questions.run(
      `client ${index}`,
      () => {
        begun.push(index)
        return promise
      },
      () => -1,
    ),
  )
  gates[1]?.resolve(1)
  await all[1]
  gates[0]?.resolve(0)
  await all[0]
  for (const [index, gate] of gates.entries()) gate.resolve(index)
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3])
  expect(begun).toEqual([0, 1, 2, 3])
})

test('no more clients are answered at once than there are places', async () => {
  const questions = new OneByOne(2)
  const open: (() => void)[] = []
  const ends = ['a', 'b', 'c'].map((client) => questions.begin(client).then((end) => void (end && open.push(end))))
  await Promise.all(ends.slice(0, 2))
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect(open).toHaveLength(2)
  open[0]?.()
  await Promise.all(ends)
  expect(open).toHaveLength(3)
})

test('an answer beyond its most rows is refused before the rest is asked for', async () => {
  let asks = 0
  const reports = reportsOf(3)
  const ask = (client: string, question: never) => {
    asks++
    return reports.ask(client, question)
  }
  const counting: Reports = { ...reports, ask: ask as Reports['ask'] }
  expect(await wholeExplored(counting, 'person:p', { query: asked, rowsMax: 900 })).toBe('tooMuch')
  expect(asks).toBe(1)
})

test('all who ask have together one piece a turn of the loop', async () => {
  let loops = 0
  let isOver = false
  const tick = (): void => {
    loops++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const pieces: number[] = []
  function* work() {
    for (let row = 0; row < 20 * ROWS_OF_TURN; row++) {
      if (row % ROWS_OF_TURN === 0) pieces.push(loops)
      yield
    }
  }
  try {
    await Promise.all(Array.from({ length: 5 }, () => inTurns(work())))
  } finally {
    isOver = true
  }
  expect([pieces.length, new Set(pieces).size]).toEqual([100, 100])
})

test('a client’s questions are answered one after another, also after one that fails, and others are not kept waiting', async () => {
  const questions = new OneByOne()
  const first = Promise.withResolvers<string>()
  const begun: string[] = []
  const ask = (client: string, name: string, work: () => Promise<string>) =>
    questions.run(
      client,
      () => {
        begun.push(name)
        return work()
      },
      () => 'tooMany',
    )
  const failing = ask('a', 'first', () => first.promise).catch(() => 'failed')
  const later = ['second', 'third', 'fourth'].map((name) => ask('a', name, async () => name))
  expect(await ask('a', 'fifth', async () => 'fifth')).toBe('tooMany')
  expect(await ask('b', 'other', async () => 'other')).toBe('other')
  expect(begun).toEqual(['first', 'other'])
  first.reject(new Error('the ledger is away'))
  expect(await Promise.all([failing, ...later])).toEqual(['failed', 'second', 'third', 'fourth'])
  expect(await ask('a', 'sixth', async () => 'sixth')).toBe('sixth')
})
