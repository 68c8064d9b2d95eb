/** What a call costs us is on its receipt to the picodollar, rounded once, by the version that it came from; what the customer pays does not depend on it. Rules: money.md "What a call costs us". */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import { costOf, levelOf, type Prices, type Rates, ratesAt } from '../../src/core/pricing.ts'
import { type UpstreamCost, WHOLE_FACTOR } from '../../src/core/upstream-cost.ts'
import { NO_USAGE, promptOf, type Usage } from '../../src/core/usage.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import { versionsOf } from '../../src/ledger/columns/price-levels.ts'
import type { Attempt } from '../../src/ledger/ledger.ts'
import { ReceiptPages } from '../../src/ledger/reading/receipt-pages.ts'
import { callsPricedBy, pricedBy } from '../../src/ledger/writing/named-prices.ts'
import { frameOf, readFrame } from '../../src/ledger/writing/spill-records.ts'
import {
  createKey,
  holdRequest,
  holdTask,
  type Machine,
  makePath,
  NOW,
  openMachine,
  openTestLedger,
  operateTask,
  RATES,
  settlement,
  settleTask,
  usd,
} from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'
import { fileTest } from '../support/store-choice.ts'

const OWN: Rates = { ...RATES, input: picos(1_234_567n), output: picos(7n), cacheRead: picos(3n), cacheWrite1h: picos(999_999n) }
const LONG: Rates = { ...OWN, input: picos(7_654_321n) }
const OWN_PRICES: Prices = { rates: OWN, levels: [{ abovePromptTokens: 1_000, rates: LONG }] }
const ours = (factorMillionths: number): UpstreamCost => ({ prices: { rates: RATES, levels: [] }, factorMillionths })

function openWith(path = makePath()): Machine {
  const machine = openMachine(path)
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
  return machine
}

/** An exact fraction, rounded once. */
function exact(usage: Usage, { prices, factorMillionths }: UpstreamCost, promptTokens = promptOf(usage)): bigint {
  const rates = ratesAt(prices, levelOf(prices, promptTokens))
  const names = Object.keys(NO_USAGE) as readonly (keyof Usage)[]
  const rateOf = (name: keyof Usage): bigint => (name === 'serverToolUses' ? rates.serverToolUse : rates[name])
  const numerator = names.reduce((sum, name) => sum + BigInt(usage[name]) * rateOf(name), 0n) * BigInt(factorMillionths)
  const [down, left] = [numerator / 1_000_000n, numerator % 1_000_000n]
  if (left * 2n === 1_000_000n) return down % 2n === 0n ? down : down + 1n
  return left * 2n > 1_000_000n ? down + 1n : down
}

const count = fc.oneof(fc.nat(2_000), fc.constant(0), fc.integer({ min: 900, max: 1_100 }))
const usages = fc.record({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
  serverToolUses: fc.nat(3),
})
const costs = fc.oneof(
  fc.oneof(fc.constantFrom(0, 500_000, 1_100_000, 333_333, WHOLE_FACTOR), fc.nat(3_000_000)).map(ours),
  fc.constantFrom<UpstreamCost>({ prices: OWN_PRICES, factorMillionths: WHOLE_FACTOR }, { prices: OWN_PRICES, factorMillionths: 500_000 }),
)

describe('a receipt', () => {
  test('has the tokens at the rates and the factor of its upstream, rounded half to even once, whatever the customer pays', () => {
    const machine = openWith()
    let number = 0
    fc.assert(
      fc.property(usages, costs, fc.option(count, { nil: undefined }), (usage, cost, promptTokens) => {
        const requestId = `req_${String(++number).padStart(6, '0')}`
        machine.ask(holdTask(requestId, 'key_a', usd('1'), { costs: new Map([['vertex', cost]]) }))
        const more = { upstream: { name: 'vertex', model: 'v' }, ...(promptTokens === undefined ? {} : { promptTokens }) }
        expect(machine.ask(settleTask(requestId, usage, more))).toBe('settled')
        const row = new ReceiptPages(machine.db).receipt(requestId)
        expect<bigint | null | undefined>(row?.upstreamCostPicos).toBe(exact(usage, cost, promptTokens))
        expect<bigint | undefined>(row?.costPicos).toBe(costOf(usage, RATES))
      }),
      { numRuns: runs(120) },
    )
    expect(machine.differences()).toEqual([])
    machine.close()
  })

  test('names the version that its cost came from, another one than its price', () => {
    const machine = openWith()
    machine.ask(holdTask('req_1', 'key_a', usd('1'), { costs: new Map([['vertex', ours(1_100_000)]]) }))
    machine.ask(settleTask('req_1', { input: 10 }, { upstream: { name: 'vertex', model: 'v' } }))
    const version = machine.db
      .query<{ factor: bigint; price: bigint }, []>(
        `SELECT c.factor_millionths AS factor, p.factor_millionths AS price FROM receipts r JOIN price_versions c ON c.number = r.upstream_cost_number
         JOIN price_versions p ON p.number = r.price_number`,
      )
      .get()
    expect(version).toEqual({ factor: 1_100_000n, price: 1_000_000n })
    machine.close()
  })

  test('of an upstream without a cost has none, and no row of margins', () => {
    const machine = openWith()
    machine.ask(holdTask('req_1', 'key_a', usd('1'), { costs: new Map([['vertex', ours(1_100_000)]]) }))
    machine.ask(settleTask('req_1', { input: 10 }, { upstream: { name: 'other', model: 'v' }, hasMoved: true }))
    machine.ask(holdTask('req_2', 'key_a', usd('1')))
    machine.ask(settleTask('req_2', { input: 10 }, { upstream: { name: 'vertex', model: 'v' } }))
    const pages = new ReceiptPages(machine.db)
    for (const id of ['req_1', 'req_2']) expect(pages.receipt(id)).toMatchObject({ upstreamCostPicos: null, cacheLostPicos: null })
    expect(machine.db.query('SELECT * FROM margin_daily').all()).toEqual([])
    machine.close()
  })

  test('of a conversation that moved says what of its cost filled the second cache', () => {
    const machine = openWith()
    const cost = ours(500_000)
    const usage = { input: 10, cacheWrite5m: 3, cacheWrite1h: 1 }
    for (const [requestId, hasMoved] of [
      ['req_moved', true],
      ['req_stayed', false],
    ] as const) {
      machine.ask(holdTask(requestId, 'key_a', usd('1'), { costs: new Map([['vertex', cost]]) }))
      machine.ask(settleTask(requestId, usage, { upstream: { name: 'vertex', model: 'v' }, hasMoved }))
    }
    const lost = exact({ ...NO_USAGE, cacheWrite5m: 3, cacheWrite1h: 1 }, cost)
    const pages = new ReceiptPages(machine.db)
    expect<bigint | null | undefined>(pages.receipt('req_moved')?.cacheLostPicos).toBe(lost)
    expect(pages.receipt('req_stayed')?.cacheLostPicos).toBeNull()
    expect(machine.differences()).toEqual([])
    machine.close()
  })
})

const attempt = (number: number, name: string, input: number): Attempt => ({
  number,
  upstream: { name, model: 'v' },
  status: 200,
  cause: 'reset',
  usageSource: 'final',
  usage: { ...NO_USAGE, input },
  startedAt: NOW,
  durationMs: 1,
})

test('each call beside a receipt, and each of a request without one, has the cost at its own upstream', () => {
  const machine = openWith()
  const own: UpstreamCost = { prices: OWN_PRICES, factorMillionths: WHOLE_FACTOR }
  const costsOf = new Map([
    ['own', own],
    ['part', ours(333_333)],
  ])
  machine.ask(holdTask('req_1', 'key_a', usd('1'), { costs: costsOf }))
  machine.ask(
    settleTask(
      'req_1',
      { input: 1 },
      { upstream: { name: 'part', model: 'v' }, otherAttempts: [attempt(1, 'own', 1_001), attempt(2, 'else', 5)] },
    ),
  )
  machine.ask(holdTask('req_2', 'key_a', usd('1'), { costs: costsOf }))
  machine.ask({ kind: 'void', requestId: 'req_2', attempts: [attempt(1, 'own', 1_000), attempt(2, 'part', 7)] })
  const pages = new ReceiptPages(machine.db)
  const of = (requestId: string) => pages.attempts(requestId).map(({ upstreamCostPicos }) => upstreamCostPicos as bigint | null)
  expect(of('req_1')).toEqual([1_001n * LONG.input, null])
  expect(of('req_2')).toEqual([1_000n * OWN.input, exact({ ...NO_USAGE, input: 7 }, ours(333_333))])
  // Told again, as a spill does, nothing is counted twice.
  const before = machine.db.query('SELECT * FROM margin_daily ORDER BY upstream_number').all()
  expect(machine.differences()).toEqual([])
  machine.ask(holdTask('req_2', 'key_a', usd('1'), { costs: costsOf }))
  machine.ask({ kind: 'void', requestId: 'req_2', attempts: [attempt(1, 'own', 1_000)] })
  expect(machine.db.query('SELECT * FROM margin_daily ORDER BY upstream_number').all()).toEqual(before)
  machine.close()
})

fileTest()('what a dead process left has cost us what its last checkpoint says, and keeps its tag', async () => {
  const path = makePath()
  const first = openWith(path)
  const own: UpstreamCost = { prices: OWN_PRICES, factorMillionths: WHOLE_FACTOR }
  for (const [requestId, input] of [
    ['req_short', 1_000],
    ['req_long', 1_001],
  ] as const) {
    first.ask(holdTask(requestId, 'key_a', usd('1'), { costs: new Map([['own', own]]), tag: 'team:a' }))
    const usage = { ...NO_USAGE, input }
    first.ask({
      kind: 'checkpoint',
      requestId,
      progress: { usage, usageSource: 'partial', upstream: { name: 'own', model: 'v' } },
      now: NOW,
    })
  }
  first.close()
  const second = await openTestLedger({ path, bootId: 'boot-2' })
  expect(second.recovered).toBe(2)
  await second.ledger.close()
  const machine = openMachine(path, 'boot-3')
  const pages = new ReceiptPages(machine.db)
  expect(pages.receipt('req_short')).toMatchObject({ outcome: 'recovered', tag: 'team:a', upstreamCostPicos: picos(1_000n * OWN.input) })
  expect(pages.receipt('req_long')).toMatchObject({ outcome: 'recovered', tag: 'team:a', upstreamCostPicos: picos(1_001n * LONG.input) })
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a spill, and a relay’s task, name the version of each cost by its place in their own list', () => {
  const versions = [
    ...versionsOf('model', ours(WHOLE_FACTOR).prices),
    ...versionsOf('model', ours(WHOLE_FACTOR).prices, 333_333),
    ...versionsOf('model', OWN_PRICES),
  ]
  const wallets = new Wallets()
  const owner = {
    keyId: 'key_a',
    keyNumber: 1,
    accountId: 'acc_a',
    accountNumber: 1,
    isActive: true,
    isAccountActive: true,
    expiresAt: null,
    plan: 'default',
  }
  const money = { limitPicos: null, spentPicos: picos(0n), balancePicos: usd('10'), lastSyncedAt: NOW, toppedUpAt: null }
  wallets.keys.load({ ...owner, ...money })
  wallets.hold(holdRequest('req_1', 'key_a', usd('1')), 0)
  const debit = wallets.settle(settlement('req_1', { input: 1 }))
  if (debit === undefined) throw new Error('nothing was held')
  const costed = { ...debit, price: 0, upstreamCost: 2, otherAttempts: [{ ...attempt(1, 'own', 5), upstreamCost: 3 }] }
  const calls = { requestId: 'req_2', accountNumber: 1, keyNumber: 1, price: 0, attempts: [{ ...attempt(1, 'part', 5), upstreamCost: 1 }] }
  const at = (index: number) => versions[index] ?? (versions[0] as (typeof versions)[0])
  const { prices, ...kept } = readFrame(
    frameOf(
      [
        { kind: 'settle', debit: costed },
        { kind: 'attempts', calls },
      ],
      at,
      1,
    ),
  )
  const [first] = kept.debits
  expect([first?.price, first?.upstreamCost, first?.otherAttempts?.[0]?.upstreamCost].map((place = -1) => prices[place])).toEqual([
    at(0),
    at(2),
    at(3),
  ])
  expect(prices[kept.calls[0]?.attempts[0]?.upstreamCost ?? -1]).toEqual(at(1))
  const moved = pricedBy(costed, (place) => place + 10)
  expect([moved.price, moved.upstreamCost, moved.otherAttempts[0]?.upstreamCost]).toEqual([10, 12, 13])
  expect(callsPricedBy(calls, (place) => place + 10).attempts[0]?.upstreamCost).toBe(11)
})

describe('verify names', () => {
  const tampered = (text: string): readonly string[] => {
    const machine = openWith()
    machine.ask(holdTask('req_1', 'key_a', usd('1'), { costs: new Map([['vertex', ours(1_100_000)]]), tag: 'a' }))
    machine.ask(settleTask('req_1', { input: 10 }, { upstream: { name: 'vertex', model: 'v' } }))
    expect(machine.differences()).toEqual([])
    for (const trigger of ['receipts_no_update', 'price_versions_no_update']) machine.db.run(`DROP TRIGGER ${trigger}`)
    machine.db.run(text)
    const found = machine.differences().flatMap(({ rule }) => (rule.startsWith('the schema') ? [] : [rule]))
    machine.close()
    return found
  }
  const COST = "a call's cost at its upstream is its tokens at its version"
  const MARGIN = "a day's margin is the sum of its receipts and attempts"
  const HASH = 'a row is what its hash says'
  fileTest().each([
    ['UPDATE receipts SET upstream_cost_picos = upstream_cost_picos + 1', [COST, MARGIN, HASH]],
    ['UPDATE receipts SET upstream_cost_number = price_number', [COST]],
    ['UPDATE receipts SET upstream_cost_number = NULL', [COST, MARGIN]],
    ['UPDATE receipts SET upstream_cost_number = NULL, upstream_cost_picos = NULL', [MARGIN, HASH]],
    ['UPDATE price_versions SET factor_millionths = 1 WHERE factor_millionths = 1100000', [COST]],
    ['UPDATE margin_daily SET cost_picos = cost_picos + 1000000', [MARGIN]],
    ['DELETE FROM margin_daily', [MARGIN]],
    [
      "UPDATE receipts SET tag = 'b'",
      ['a roll-up of a tag is the sum of its receipts', 'a roll-up of a tag is the sum of its receipts', HASH],
    ],
    ['DELETE FROM usage_tags', ['a roll-up of a tag is the sum of its receipts']],
    ['UPDATE usage_tags SET input_tokens = 11', ['a roll-up of a tag is the sum of its receipts']],
  ])('%s', (text, rules) => {
    expect(tampered(text)).toEqual(rules)
  })
})
