/**
 * Receipts of a ledger under another catalogue: each by its own prompt, in parts of any size the same sums, which fractions over the rows agree with. Rules: money.md
 * "What if"; ledger.md "Reads".
 */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import { OUTCOMES } from '../../src/core/outcome.ts'
import { costOf, levelOf, type Prices, type Rates, ratesAt } from '../../src/core/pricing.ts'
import { differenceOf, RepricedSums } from '../../src/core/reprice.ts'
import { NO_USAGE, promptOf, type Usage } from '../../src/core/usage.ts'
import { longestPromptOf, versionsOf } from '../../src/ledger/columns/price-levels.ts'
import { type RepriceQuery, repricedPart } from '../../src/ledger/reading/repriced-receipts.ts'
import { openReport } from '../../src/ledger/report.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { createKey, holdTask, type Machine, NOW, openMachine, operateTask, RATES, settleTask, usd } from '../support/ledger.ts'
import { leftBy, RELEASES, releasedFile } from '../support/released.ts'
import { type Random, randomFrom, SEED } from '../support/seed.ts'
import { isOnPostgres } from '../support/store-choice.ts'
import { startThread } from '../support/threads.ts'

const MODELS = ['small', 'large', 'gone'] as const
const MINUTE = 60_000

const dearer = (rates: Rates, factor: bigint): Rates =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, picos(rate * factor)])) as Rates

const upTo = (random: Random, most: number): number => Math.floor(random() * most)
const randomRates = (random: Random): Rates =>
  Object.fromEntries(Object.keys(RATES).map((name) => [name, picos(BigInt(upTo(random, 30_000_001)))])) as Rates
const randomPrices = (random: Random): Prices => ({
  rates: randomRates(random),
  levels: [...new Set(Array.from({ length: upTo(random, 4) }, () => 1 + upTo(random, 3_000)))]
    .sort((a, b) => a - b)
    .map((abovePromptTokens) => ({ abovePromptTokens, rates: randomRates(random) })),
})

const idOf = (n: number): string => `req_${(NOW + n * MINUTE).toString(16).padStart(12, '0')}7${String(n).padStart(19, '0')}`

/** `count` receipts of four accounts, a minute after each other, at prices with levels and without. */
function writeReceipts(machine: Machine, random: Random, count: number, sold: ReadonlyMap<string, Prices>): void {
  for (const n of [0, 1, 2, 3]) machine.ask(operateTask(createKey(`key_${n}`, { name: `key ${n}`, balanceUsd: '1000' })))
  for (let n = 0; n < count; n++) {
    const modelId = MODELS[upTo(random, MODELS.length)] ?? 'small'
    const prices = sold.get(modelId) as Prices
    const usage = { ...NO_USAGE, input: upTo(random, 2_000), output: upTo(random, 500), cacheRead: upTo(random, 2) * upTo(random, 3_000) }
    const level = levelOf(prices, promptOf(usage))
    const price = costOf(usage, ratesAt(prices, level))
    const outcome = OUTCOMES[upTo(random, OUTCOMES.length)] ?? 'complete'
    const isWaived = outcome === 'fault' || outcome === 'drain' || outcome === 'recovered'
    machine.ask(holdTask(idOf(n), `key_${upTo(random, 4)}`, usd('1'), { modelId, ...prices, now: NOW + n * MINUTE }))
    const ends = {
      outcome,
      level,
      now: NOW + n * MINUTE + 900,
      ...(isWaived ? { costPicos: ZERO, waivedPicos: price } : { costPicos: price }),
    }
    expect(machine.ask(settleTask(idOf(n), usage, ends))).toBe('settled')
  }
}

function sumsOf(db: Connection, query: Partial<RepriceQuery> & Pick<RepriceQuery, 'prices'>, limit: number): RepricedSums {
  const sums = new RepricedSums()
  const all = { accountId: undefined, from: undefined, to: undefined, limit }
  for (let after: string | undefined, parts = 0; ; parts++) {
    if (parts > 10_000) throw new Error('the parts do not end')
    const part = repricedPart(db, { ...all, ...query, after })
    sums.add(part.rows)
    if (part.next === null) return sums
    after = part.next
  }
}

const everySum = (sums: RepricedSums) => [sums.total, sums.models(), sums.accounts()] as unknown

type Row = Record<'id' | 'account' | 'model' | 'outcome', string> & Record<'input' | 'output' | 'cacheRead' | 'cost' | 'waived', bigint>
const ROWS = `SELECT request_id AS id, a.id AS account, m.id AS model, outcome, input_tokens AS input, output_tokens AS output, cache_read_tokens AS "cacheRead",
  cost_picos AS cost, waived_picos AS waived
  FROM receipts r JOIN accounts a ON a.number = r.account_number JOIN price_versions p ON p.number = r.price_number JOIN models m ON m.number = p.model_number`

/** Dollars a million tokens as fractions of a picodollar: `count` × rate, by the words of the catalogue alone. */
function expected(rows: readonly Row[], prices: ReadonlyMap<string, Prices>) {
  const sums = { charged: [0, 0n, 0n], waived: [0, 0n, 0n], missing: [0, 0n] } as Record<
    'charged' | 'waived' | 'missing',
    (number | bigint)[]
  >
  const add = (part: (number | bigint)[], ...amounts: bigint[]): void => {
    part[0] = Number(part[0]) + 1
    amounts.forEach((amount, index) => {
      part[index + 1] = BigInt(part[index + 1] ?? 0) + amount
    })
  }
  for (const row of rows) {
    const other = prices.get(row.model)
    if (other === undefined) {
      add(sums.missing, row.cost)
      continue
    }
    const prompt = row.input + row.cacheRead
    const at = other.levels.filter(({ abovePromptTokens }) => prompt > BigInt(abovePromptTokens)).at(-1)?.rates ?? other.rates
    const then = row.input * at.input + row.output * at.output + row.cacheRead * at.cacheRead
    if (['fault', 'drain', 'recovered'].includes(row.outcome)) add(sums.waived, row.waived, then)
    else add(sums.charged, row.cost, then)
  }
  return sums
}

test('sums over random receipts and catalogues are those of the rows, in parts of any size', () => {
  const random = randomFrom(SEED)
  const machine = openMachine()
  try {
    const sold = new Map(MODELS.map((id) => [id, { rates: randomRates(random), levels: [] }] as const))
    writeReceipts(machine, random, 120, sold)
    const rows = machine.db.query<Row, []>(ROWS).all()
    for (let turn = 0; turn < 12; turn++) {
      const prices = new Map(MODELS.slice(0, 2).map((id) => [id, randomPrices(random)] as const))
      const sums = sumsOf(machine.db, { prices }, 10_000)
      for (const limit of [1, 7, 120, 121]) expect(everySum(sumsOf(machine.db, { prices }, limit))).toEqual(everySum(sums))
      const { charged, waived, missing } = sums.total
      expect({
        charged: [charged.receipts, charged.nowPicos, charged.thenPicos],
        waived: [waived.receipts, waived.nowPicos, waived.thenPicos],
        missing: [missing.receipts, missing.nowPicos],
      } as object).toEqual(expected(rows, prices))
      for (const { accountId, ...sum } of sums.accounts()) {
        const { charged: ofAccount } = expected(
          rows.filter(({ account }) => account === accountId),
          prices,
        )
        expect([sum.charged.receipts, sum.charged.nowPicos, sum.charged.thenPicos] as unknown).toEqual(ofAccount)
        expect(sumsOf(machine.db, { prices, accountId }, 7).total).toMatchObject({ charged: sum.charged, waived: sum.waived } as object)
      }
    }
    const [from, to] = [NOW + 20 * MINUTE, NOW + 90 * MINUTE]
    const prices = new Map([['small', randomPrices(random)]])
    const { charged } = sumsOf(machine.db, { prices, from, to }, 9).total
    const inTime = rows.filter(({ id }) => id >= idOf(20).slice(0, 16) && id < idOf(90).slice(0, 16))
    expect(inTime).toHaveLength(70)
    expect([charged.receipts, charged.nowPicos, charged.thenPicos] as unknown).toEqual(expected(inTime, prices).charged)
    expect(machine.differences()).toEqual([])
  } finally {
    machine.close()
  }
})

test('under the catalogue that they were charged by nothing differs, also where the longest pass chose the level', () => {
  const machine = openMachine()
  try {
    const long = dearer(RATES, 5n)
    const prices: Prices = {
      rates: RATES,
      levels: [
        { abovePromptTokens: 1_000, rates: long },
        { abovePromptTokens: 2_000, rates: dearer(RATES, 9n) },
      ],
    }
    const sold = new Map(MODELS.map((id) => [id, prices] as const))
    writeReceipts(machine, randomFrom(SEED), 60, sold)
    // Two passes of 900, and two of 1,500: no pass was above the level that their sum is above.
    for (const [id, level, input] of [
      ['req_short', 0, 1_800],
      ['req_middle', 1, 3_000],
    ] as const) {
      const usage: Usage = { ...NO_USAGE, input }
      machine.ask(holdTask(id, 'key_0', usd('1'), { modelId: 'small', ...prices }))
      expect(machine.ask(settleTask(id, usage, { level, costPicos: costOf(usage, ratesAt(prices, level)) }))).toBe('settled')
    }
    const { total } = sumsOf(machine.db, { prices: sold }, 25)
    expect([total.charged.receipts + total.waived.receipts, differenceOf(total)] as unknown).toEqual([62, 0n])
    expect(total.waived.thenPicos).toBe(total.waived.nowPicos)
  } finally {
    machine.close()
  }
})

test('a version of a group is charged up to the level above it', () => {
  const levels = [100, 200].map((abovePromptTokens) => ({ abovePromptTokens, rates: RATES }))
  expect(versionsOf('m', { rates: RATES, levels }).map(longestPromptOf)).toEqual([100, 200, Number.POSITIVE_INFINITY])
  expect(versionsOf('m', { rates: RATES, levels: [] }).map(longestPromptOf)).toEqual([Number.POSITIVE_INFINITY])
})

test('a part says when its earliest request came in, and asking writes nothing', () => {
  const machine = openMachine()
  try {
    const sold = new Map(MODELS.map((id) => [id, { rates: RATES, levels: [] }] as const))
    writeReceipts(machine, randomFrom(SEED), 5, sold)
    const asked = { prices: sold, accountId: undefined, from: undefined, to: undefined, limit: 3 }
    const part = repricedPart(machine.db, { ...asked, after: undefined })
    expect([part.earliestAt, part.next]).toEqual([NOW + 2 * MINUTE, idOf(2)])
    expect(repricedPart(machine.db, { ...asked, after: idOf(2) })).toMatchObject({ earliestAt: NOW, next: null })
    expect(repricedPart(machine.db, { ...asked, after: idOf(0) })).toEqual({ rows: [], earliestAt: null, next: null })
  } finally {
    machine.close()
  }
})

if (!isOnPostgres())
  for (const [version] of RELEASES)
    test(`receipts that ${version} wrote are priced again`, async () => {
      const path = releasedFile(version)
      const opened = await openLedger({
        path,
        create: false,
        bootId: 'boot-new',
        startThread,
        now: () => NOW,
        onMigration: () => undefined,
      })
      if ('problem' in opened) throw new Error(opened.message)
      await opened.ledger.close()
      const report = openReport({ kind: 'sqlite', path })
      if ('problem' in report) throw new Error(report.message)
      try {
        const all = { accountId: undefined, from: undefined, to: undefined, after: undefined, limit: 100 }
        const [row] = report.repriced({ ...all, prices: new Map() }).rows
        if (row === undefined) throw new Error('a release has receipts')
        const costs = Object.values(leftBy(version, 'sqlite').receipts).map(usd)
        const charged = costs.reduce((sum, cost) => picos(sum + cost), ZERO)
        const sums = new RepricedSums()
        // It sold one model at 2 and 10 USD a million tokens, and its clients used no cache.
        const twice = { rates: { ...RATES, input: picos(4_000_000n), output: picos(20_000_000n) }, levels: [] }
        sums.add(report.repriced({ ...all, prices: new Map([[row.modelId, twice]]) }).rows)
        const { total } = sums
        expect([total.charged.receipts, total.charged.nowPicos, total.charged.thenPicos] as unknown).toEqual([
          costs.filter((cost) => cost > ZERO).length,
          charged,
          charged * 2n,
        ])
        expect([differenceOf(total), total.missing.receipts] as unknown).toEqual([charged, 0])
        expect(total.waived.thenPicos).toBe(picos(total.waived.nowPicos * 2n))
      } finally {
        report.close()
      }
    })
