/**
 * What Explore says is the sum of the receipts, for random receipts and questions: however much of them is in the sums by hour, and when more gets there between two parts.
 * Rules: ledger.md "Hours"; pages.md "Explore".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DIMENSIONS, type Dimension, MEASURES, type Measure, STEPS, type Step, stepAt } from '../../src/core/explore.ts'
import { FORMAT_NAMES } from '../../src/core/format.ts'
import { HOUR_MS } from '../../src/core/windows.ts'
import { addSums, exploredBy, NOTHING_USED, sumExplored, wholeGroups } from '../../src/ledger/reading/explore.ts'
import { type ExploreQuery, explorePart, exploreSlices } from '../../src/ledger/reading/explore-reads.ts'
import type { ExploreSums } from '../../src/ledger/reading/explore-rows.ts'
import { addSteps, type StepValues } from '../../src/ledger/reading/explore-slices.ts'
import { HOUR_OF_STEP } from '../../src/ledger/reading/explore-sql.ts'
import { atOnce } from '../../src/ledger/reading/loop-turns.ts'
import type { Reports } from '../../src/ledger/reading/reports.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { HourSums } from '../../src/ledger/sql/hour-sums.ts'
import { holdTask, type Machine, makePath, NOW, openMachine, settleTask, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'
import { ACCOUNT_OF, createKeys, type Drawn, drawn, KEYS, MODELS, priceOf, settledAt, TAGS, writeAll } from '../support/random-receipts.ts'
import { openToRead } from '../support/stores.ts'

const FIRST_HOUR = NOW / HOUR_MS
/** Every value that a drawn receipt may have. */
const VALUES: Readonly<Record<Dimension, readonly string[]>> = {
  model: MODELS,
  key: KEYS,
  account: ['acc_0', 'acc_2', 'acc_none'],
  upstream: ['east', 'west', '(none)'],
  format: FORMAT_NAMES,
  outcome: ['complete', 'leaver', 'fault'],
  tag: TAGS.map((tag) => tag ?? '(none)'),
}
const idIn = (one: Drawn, dimension: Dimension): string => {
  if (dimension === 'account') return ACCOUNT_OF[one.key]
  return one[dimension] ?? '(none)'
}

/** Hours around which a week, a month, a year or a leap February ends, from the first hour; and any hour of as long a span. */
const hourOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / HOUR_MS - FIRST_HOUR
const ENDS = [
  '2027-01-18',
  '2027-02-01',
  '2027-03-01',
  '2027-12-27',
  '2028-01-01',
  '2028-01-03',
  '2028-02-29',
  '2028-03-01',
  '2028-03-06',
].map(hourOf)
const LAST = hourOf('2028-04-01')
const farHour = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...ENDS), fc.constantFrom(-1, 0, 23)).map(([end, by]) => end + by) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: LAST }) },
)
const far: fc.Arbitrary<Drawn> = fc.tuple(drawn, farHour).map(([one, hour]) => ({ ...one, hour }))

type Asked = Omit<ExploreQuery, 'after'>
const only = fc.tuple(fc.constantFrom(...DIMENSIONS), fc.array(fc.nat(2), { minLength: 1, maxLength: 2 }))
const question: fc.Arbitrary<Asked> = fc
  .record({
    by: fc.uniqueArray(fc.constantFrom(...DIMENSIONS), { maxLength: 2 }),
    step: fc.option(fc.constantFrom(...STEPS), { freq: 5 }),
    span: fc.tuple(fc.integer({ min: -1, max: 42 }), fc.integer({ min: 0, max: 44 })),
    only: fc.array(only, { maxLength: 2 }),
  })
  .map(({ by, step, span: [from, length], only: filters }) => ({
    fromHour: FIRST_HOUR + (length > 40 ? -1 : from),
    toHour: FIRST_HOUR + from + length,
    by,
    step,
    only: Object.fromEntries(filters.map(([dimension, places]) => [dimension, places.map((place) => VALUES[dimension][place] ?? '')])),
  }))

const farQuestion: fc.Arbitrary<Asked> = fc
  .tuple(question, fc.constantFrom<Step>('week', 'month'), farHour, farHour)
  .map(([asked, step, a, b]) => ({ ...asked, step, fromHour: FIRST_HOUR + Math.min(a, b), toHour: FIRST_HOUR + Math.max(a, b) }))

const matches = (one: Drawn, { fromHour, toHour, only: filters }: Asked): boolean => {
  const hour = settledAt(one) / HOUR_MS
  return (
    hour >= fromHour &&
    hour <= toHour &&
    Object.entries(filters).every(([dimension, ids]) => ids.includes(idIn(one, dimension as Dimension)))
  )
}

const textOf = ({
  requests,
  usage,
  costPicos,
  waivedPicos,
  estimatedPicos,
}: Pick<ExploreSums, 'requests' | 'usage'> & Record<'costPicos' | 'waivedPicos' | 'estimatedPicos', bigint>) =>
  [requests, usage.input, costPicos, waivedPicos, estimatedPicos].join(' ')

/** Each row as a text, out of the receipts that were drawn. */
function expected(receipts: readonly Drawn[], asked: Asked): readonly string[] {
  const groups = Map.groupBy(
    receipts.filter((one) => matches(one, asked)),
    (one) =>
      `${asked.step === null ? 0 : stepAt(settledAt(one) / HOUR_MS, asked.step)} ${asked.by.map((dimension) => idIn(one, dimension)).join(' ')}`,
  )
  return [...groups]
    .map(([place, of]) => {
      const sum = (amountOf: (one: Drawn) => bigint): bigint => of.reduce((total, one) => total + amountOf(one), 0n)
      const cost = (one: Drawn): bigint => (one.outcome === 'fault' ? 0n : priceOf(one))
      const sums = {
        requests: of.length,
        usage: { input: of.reduce((total, { input }) => total + input, 0) } as never,
        costPicos: sum(cost),
        waivedPicos: sum((one) => priceOf(one) - cost(one)),
        estimatedPicos: sum((one) => (one.isEstimated ? cost(one) : 0n)),
      }
      return `${place}: ${textOf(sums)}`
    })
    .sort()
}

const LOOKED = { coarse: 3, fine: 2, receipts: 3 }
type Explored = Exclude<ReturnType<typeof exploredBy>, string>

/** `between`: what happens after each part. */
function rowsOf(machine: Machine, asked: Asked, between: () => void = () => undefined): Explored {
  const rows = exploredBy((query) => {
    const part = explorePart(machine.db, query, LOOKED)
    between()
    return part
  }, asked)
  if (typeof rows === 'string') throw new Error(rows)
  return rows
}

const explored = (machine: Machine, asked: Asked, between: () => void): readonly string[] =>
  rowsOf(machine, asked, between)
    .map((row) => `${row.hour} ${row.things.map(({ id }) => id).join(' ')}: ${textOf(row)}`)
    .sort()

/** What a measure comes to, as a page has it of a step: the value, and of a rate of how much it is. */
const measured = ({ usage, ...of }: ExploreSums, measure: Measure): readonly bigint[] => {
  const writes = usage.cacheWrite5m + usage.cacheWrite1h
  const all = measure === 'cache_hits' ? usage.input + usage.cacheRead + writes : 0
  const values: Readonly<Record<Measure, number | bigint>> = {
    spend: of.costPicos,
    requests: of.requests,
    input: usage.input,
    output: usage.output,
    cache_read: usage.cacheRead,
    cache_write: writes,
    cache_hits: usage.cacheRead,
  }
  return [values[measure], all].map(BigInt)
}

/** What a page has of each group: its sums over all steps, and the measure by step; out of the rows of the file. */
const groupsOfRows = (rows: Explored, { step }: Asked, measure: Measure) =>
  [...Map.groupBy(rows, ({ id }) => id)]
    .map(([id, of]) => ({
      id,
      things: of[0]?.things ?? [],
      sums: atOnce(sumExplored(of)),
      steps:
        step === null ? [] : of.map((row) => [row.hour, ...measured(row, measure)]).toSorted(([a = 0], [b = 0]) => Number(a) - Number(b)),
    }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))

async function groupsOf(machine: Machine, asked: Asked, measure: Measure, between: () => void = () => undefined) {
  const reports = {
    ask: (_: string, { kind: _kind, measure: of, ...query }: ExploreQuery & { kind: string; measure: Measure }) => {
      const part = exploreSlices(machine.db, query, of, LOOKED)
      between()
      return Promise.resolve(part)
    },
    close: () => Promise.resolve(),
  } as unknown as Reports
  const groups = await wholeGroups(reports, 'client', { query: asked, measure, turn: () => Promise.resolve() })
  if (typeof groups === 'string') throw new Error(groups)
  return groups
    .map(({ id, things, steps, ...sums }) => {
      const values: StepValues = new Map()
      atOnce(addSteps(values, steps))
      const inOrder = [...values].toSorted(([a], [b]) => a - b).map(([hour, { value, all }]) => [hour, BigInt(value), BigInt(all)])
      return { id, things, sums: addSums(NOTHING_USED, sums), steps: inOrder }
    })
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

const fill = (machine: Machine, size: number): void => {
  const end = Number(machine.db.query<{ last: bigint }, []>('SELECT max(number) AS last FROM receipts').get()?.last ?? 0)
  machine.db.transaction(() => new HourSums(machine.db, size).advance(end))()
}

const costOf = ({ sums: { costPicos }, ...group }: Awaited<ReturnType<typeof groupsOf>>[number]) => ({ ...group, costPicos })

type Draws = Readonly<{
  receipts: readonly Drawn[]
  questions: readonly Asked[]
  measure: Measure
  before: number
  during: number
}>
const draws = (receipt: fc.Arbitrary<Drawn>, asked: fc.Arbitrary<Asked>): fc.Arbitrary<Draws> =>
  fc.record({
    receipts: fc.array(receipt, { minLength: 8, maxLength: 40 }),
    questions: fc.array(asked, { minLength: 4, maxLength: 8 }),
    measure: fc.constantFrom(...MEASURES),
    before: fc.integer({ min: 0, max: 30 }),
    during: fc.integer({ min: 0, max: 4 }),
  })

/** `all`: a question of which the answer has rows, so that the draws are not vacuous. */
async function answersAreSums({ receipts, questions, measure, before, during }: Draws, all: Asked): Promise<void> {
  const machine = openMachine()
  try {
    createKeys(machine)
    writeAll(machine, receipts)
    fill(machine, before)
    for (const asked of questions) {
      const groups = await groupsOf(machine, asked, measure, () => fill(machine, during))
      expect(explored(machine, asked, () => fill(machine, during))).toEqual(expected(receipts, asked))
      const rows = rowsOf(machine, asked)
      expect(groups).toEqual(groupsOfRows(rows, asked, measure))
      const costs = await groupsOf(machine, { ...asked, isCostAlone: true }, 'spend')
      expect(costs.map(costOf)).toEqual(groupsOfRows(rows, asked, 'spend').map(costOf))
    }
    expect(explored(machine, all, () => undefined)).toEqual(expected(receipts, all))
    expect(machine.differences()).toEqual([])
  } finally {
    machine.close()
  }
}

test('for random receipts, questions and fills between the parts of an answer, its rows are the sums of the receipts', async () => {
  const all: Asked = { fromHour: FIRST_HOUR, toHour: FIRST_HOUR + 48, by: ['key'], step: null, only: {} }
  await fc.assert(
    fc.asyncProperty(draws(drawn, question), (draw) => answersAreSums(draw, all)),
    { numRuns: runs(12) },
  )
}, 120_000)

test('over ends of weeks, months, a year and a leap February, rows by week and by month are the sums of the receipts of those', async () => {
  const all: Asked = { fromHour: FIRST_HOUR, toHour: FIRST_HOUR + LAST, by: ['model'], step: 'month', only: {} }
  await fc.assert(
    fc.asyncProperty(draws(far, farQuestion), (draw) => answersAreSums(draw, all)),
    { numRuns: runs(8) },
  )
}, 120_000)

test('a statement has each day of 1970 to 2401 in the step of the calendar', () => {
  const machine = openMachine()
  try {
    for (const step of STEPS) {
      const found = machine.db
        .query<{ hour: bigint; start: bigint }, []>(
          `WITH RECURSIVE u(hour) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT hour + 23 FROM u WHERE hour < 3784000)
          SELECT u.hour AS hour, CAST(${HOUR_OF_STEP[step]} AS BIGINT) AS start FROM u`,
        )
        .all()
      expect(found.length).toBeGreaterThan(157_000)
      expect(found.find(({ hour, start }) => Number(start) !== stepAt(Number(hour), step))).toBeUndefined()
    }
  } finally {
    machine.close()
  }
})

test('rows and mark of a part are of one moment, however often rows are filled while it is read', () => {
  const path = makePath()
  const machine = openMachine(path)
  const reader = openToRead(path)
  try {
    createKeys(machine)
    writeAll(machine, fc.sample(drawn, { numRuns: 160, seed: 9 }))
    const asked = { fromHour: FIRST_HOUR - 1, toHour: FIRST_HOUR + 48, by: ['key' as const], step: null, only: {} }
    const whole = explored(machine, asked, () => undefined)
    // A writer that fills one receipt more before each statement of the reader.
    const raced: Connection = {
      query: (text) => {
        fill(machine, 1)
        return reader.query(text) as never
      },
      prepare: (text) => reader.prepare(text) as never,
      run: (text) => reader.run(text),
      transaction: (work) => reader.transaction(work),
      close: () => reader.close(),
    }
    const found = exploredBy((query) => explorePart(raced, query), asked)
    if (typeof found === 'string') throw new Error(found)
    expect(found.map((row) => `${row.hour} ${row.things.map(({ id }) => id).join(' ')}: ${textOf(row)}`).sort()).toEqual([...whole])
  } finally {
    reader.close()
    machine.close()
  }
})

test('what is no place of an answer is none, and sums of things over all steps are those of the whole span', async () => {
  const machine = openMachine()
  try {
    createKeys(machine)
    writeAll(machine, fc.sample(drawn, { numRuns: 30, seed: 4 }))
    const asked = { fromHour: FIRST_HOUR, toHour: FIRST_HOUR + 48, by: ['key', 'tag'] as const, step: 'day' as Step | null, only: {} }
    for (const after of ['', 'w:1:2', 't:1', 'x:1,1@0:0']) expect(explorePart(machine.db, { ...asked, after })).toBeUndefined()
    const byDay = exploredBy((query) => explorePart(machine.db, query), asked)
    const whole = exploredBy((query) => explorePart(machine.db, query), { ...asked, step: null })
    if (typeof byDay === 'string' || typeof whole === 'string') throw new Error('too much')
    expect(byDay.length).toBeGreaterThan(whole.length)
    const ofSpan = groupsOfRows(whole, { ...asked, step: null }, 'spend')
    expect((await groupsOf(machine, asked, 'spend')).map(({ steps: _, ...group }) => group)).toEqual(
      ofSpan.map(({ steps: _, ...group }) => group),
    )
    expect(await groupsOf(machine, { ...asked, step: null }, 'spend')).toEqual(ofSpan)
  } finally {
    machine.close()
  }
})

test('tags beyond the first 200 of a key and day are one, in the sums by hour and above them alike, and are asked for as one', () => {
  const machine = openMachine()
  try {
    createKeys(machine)
    const tagged = Array.from({ length: 203 }, (_, n) => {
      const requestId = `req_tag_${n}`
      return [holdTask(requestId, 'key_0', usd('0.01'), { tag: `tag-${String(n).padStart(3, '0')}` }), settleTask(requestId, { input: 1 })]
    })
    machine.askAll(...tagged.flat())
    for (const size of [0, 202, 1]) {
      fill(machine, size)
      const asked = { fromHour: FIRST_HOUR, toHour: FIRST_HOUR + 1, by: ['tag' as const], step: null }
      const all = explored(machine, { ...asked, only: {} }, () => undefined)
      expect([all.length, all.filter((row) => row.includes('(other)'))]).toEqual([201, ['0 (other): 3 3 9000000 0 0']])
      expect(explored(machine, { ...asked, only: { tag: ['(other)'] } }, () => undefined)).toEqual(['0 (other): 3 3 9000000 0 0'])
    }
    expect(machine.differences()).toEqual([])
  } finally {
    machine.close()
  }
})

/** Amounts around what a number has exactly; the last alone is more. */
const EXACT = BigInt(Number.MAX_SAFE_INTEGER)
for (const [name, amounts] of [
  ['amounts of which only sums are', [EXACT, EXACT - 1n, 1n, 2n, EXACT, EXACT - 2n]],
  ['amounts that are', [EXACT, 1n, EXACT + 2n, 9_000_000_000_000_000_001n, 9_000_000_000_000_000_003n, 3n]],
] as const)
  test(`${name} more than a number has exactly are added up to the picodollar`, async () => {
    const machine = openMachine()
    try {
      createKeys(machine)
      const one = fc.sample(drawn, { numRuns: 1, seed: 4 })[0]
      if (one === undefined) throw new Error('nothing drawn')
      writeAll(
        machine,
        amounts.map((_, n) => ({ ...one, key: KEYS[n % 2] ?? 'key_0', hour: n, outcome: 'complete' as const })),
      )
      fill(machine, 100)
      for (const [n, amount] of amounts.entries())
        machine.db
          .query<unknown, [bigint, bigint, number]>('UPDATE spend_hours SET cost_picos = ?, upstream_cost_picos = ? WHERE hour = ?')
          .run(amount, amounts[amounts.length - 1 - n] ?? 0n, FIRST_HOUR + n)
      const asked: Asked = { fromHour: FIRST_HOUR, toHour: FIRST_HOUR + 48, by: [], step: 'day', only: {} }
      const sum = amounts.reduce((total, amount) => total + amount, 0n)
      for (const by of [[], ['key'], ['model', 'account']] as const)
        for (const looked of [undefined, LOOKED]) {
          const rows = exploredBy((query) => explorePart(machine.db, query, looked), { ...asked, by })
          if (typeof rows === 'string') throw new Error(rows)
          const { costPicos, upstreamCostPicos } = atOnce(sumExplored(rows))
          expect([costPicos, upstreamCostPicos]).toEqual([sum, sum] as never)
          expect(await groupsOf(machine, { ...asked, by }, 'spend')).toEqual(groupsOfRows(rows, asked, 'spend'))
        }
    } finally {
      machine.close()
    }
  })
