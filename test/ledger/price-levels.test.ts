/** Prices by the length of the prompt, as rows: a receipt, a sum of receipts and an upstream call have the rates of the level that they were at. Rules: money.md "Price levels". */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import { costOf, type Prices, type Rates } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { groupOf, versionsOf } from '../../src/ledger/columns/price-levels.ts'
import { frameOf, readFrame } from '../../src/ledger/writing/spill-records.ts'
import { createKey, holdTask, makePath, NOW, openMachine, openTestLedger, operateTask, RATES, settleTask, usd } from '../support/ledger.ts'

const times = (rates: Rates, factor: bigint): Rates =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, picos(rate * factor)])) as Rates
const LONG = times(RATES, 5n)
const LONGEST = times(RATES, 7n)
const PRICES: Prices = {
  rates: RATES,
  levels: [
    { abovePromptTokens: 100, rates: LONG },
    { abovePromptTokens: 1_000, rates: LONGEST },
  ],
}

/** Usages at the three levels: the second by its cache alone. */
const AT = [
  { input: 100, output: 3 },
  { input: 1, cacheRead: 50, cacheWrite5m: 50, output: 3 },
  { input: 1_001, output: 3 },
]
const priceAt = (level: number) => costOf({ ...NO_USAGE, ...AT[level] }, [RATES, LONG, LONGEST][level] as Rates)

type Row = { id: string; above: bigint; cost: bigint; waived: bigint }
const ROWS = `SELECT request_id AS id, above_prompt_tokens AS above, cost_picos AS cost, waived_picos AS waived
  FROM receipts r JOIN price_versions p ON p.number = r.price_number ORDER BY request_id`

test('each level is a price version: receipts and their sums name the one that they were charged at', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '1' })))
  for (const level of [0, 1, 2]) {
    machine.ask(holdTask(`req_${level}`, 'key_a', usd('0.1'), PRICES))
    const figures = { level, costPicos: priceAt(level) }
    expect(machine.ask(settleTask(`req_${level}`, AT[level], figures))).toBe('settled')
  }
  machine.ask(holdTask('req_flat', 'key_a', usd('0.1')))
  expect(machine.ask(settleTask('req_flat', AT[2]))).toBe('settled')
  expect(machine.db.query<Row, []>(ROWS).all()).toEqual([
    { id: 'req_0', above: 0n, cost: priceAt(0), waived: 0n },
    { id: 'req_1', above: 100n, cost: priceAt(1), waived: 0n },
    { id: 'req_2', above: 1_000n, cost: priceAt(2), waived: 0n },
    { id: 'req_flat', above: 0n, cost: costOf({ ...NO_USAGE, ...AT[2] }, RATES), waived: 0n },
  ])
  const days = machine.db.query<{ above: bigint; cost: bigint }, []>(
    'SELECT above_prompt_tokens AS above, cost_picos AS cost FROM usage_daily d JOIN price_versions p ON p.number = d.price_number ORDER BY above, cost',
  )
  // Of the same rates, but of no group: a row of its own.
  expect(days.all()).toHaveLength(4)
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a settle at another level than its figures is refused, and a level that the prompt is not above is a difference', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '1' })))
  machine.ask(holdTask('req_1', 'key_a', usd('0.1'), PRICES))
  expect(machine.commit(settleTask('req_1', AT[2], { level: 1, costPicos: priceAt(2) })).answers).toEqual(['unavailable'])
  machine.ask(holdTask('req_2', 'key_a', usd('0.1'), PRICES))
  machine.ask(settleTask('req_2', AT[0], { level: 1, costPicos: costOf({ ...NO_USAGE, ...AT[0] }, LONG) }))
  expect(machine.differences()).toMatchObject([
    { rule: "a receipt's price level is one that its prompt is above", subject: 'req_2', stored: '100', recomputed: '100' },
  ] as object[])
  machine.close()
})

test('an upstream call beside the receipt is priced by its own prompt', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '1' })))
  machine.ask(holdTask('req_1', 'key_a', usd('0.1'), PRICES))
  const otherAttempts = AT.map((usage, index) => ({
    number: index + 1,
    upstream: { name: 'other', model: 'm' },
    status: 200,
    cause: 'reset',
    usageSource: 'partial' as const,
    usage: { ...NO_USAGE, ...usage },
    startedAt: NOW,
    durationMs: 1,
  }))
  machine.ask(settleTask('req_1', AT[1], { level: 1, costPicos: priceAt(1), attempts: 4, otherAttempts }))
  const rows = machine.db.query<{ price: bigint }, []>('SELECT price_picos AS price FROM attempts ORDER BY attempt').all()
  expect(rows.map(({ price }) => price)).toEqual([priceAt(0), priceAt(1), priceAt(2)])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('what a dead process left is waived at the level that its last checkpoint had come to, also where no receipt has been at that level', async () => {
  const path = makePath()
  const first = openMachine(path, 'boot-1')
  first.ask(operateTask(createKey('key_a', { balanceUsd: '1' })))
  for (const level of [0, 1, 2]) {
    const requestId = `req_${level}`
    first.ask(holdTask(requestId, 'key_a', usd('0.1'), PRICES))
    first.ask({ kind: 'checkpoint', requestId, progress: { usage: { ...NO_USAGE, ...AT[level] }, usageSource: 'partial' }, now: NOW })
  }
  first.close()
  const second = await openTestLedger({ path, bootId: 'boot-2' })
  expect(second.recovered).toBe(3)
  await second.ledger.close()
  const machine = openMachine(path, 'boot-3')
  const waived = [0, 1, 2].map((level) => ({
    id: `req_${level}`,
    above: BigInt([0, 100, 1_000][level] ?? 0),
    cost: ZERO,
    waived: priceAt(level),
  }))
  expect(machine.db.query<Row, []>(ROWS).all()).toEqual(waived as Row[])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a group says all of its prices, so that a spill and a checkpoint find each of them', () => {
  const versions = versionsOf('model', PRICES)
  for (const version of versions) expect(groupOf(version)).toEqual(versions)
  const [flat] = versionsOf('model', { rates: RATES, levels: [] })
  expect([flat.group, groupOf(flat)]).toEqual(['', [flat]])
  const calls = { requestId: 'req_1', accountNumber: 1, keyNumber: 1, price: 1, attempts: [] }
  const frame = frameOf([{ kind: 'attempts', calls }], (index) => versions[index] ?? flat, 1)
  expect(readFrame(frame).prices).toEqual([versions[1] ?? flat])
})
