/**
 * Protects money.md "Price levels", "What a call costs us" and "Budgets" together: what requests of random lengths, upstreams and hours cost, in which window, and what they cost us, is to the picodollar
 * what fractions of decimal texts say.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import { costOf, levelOf, type Prices, type Rates, ratesAt } from '../../src/core/pricing.ts'
import type { UpstreamCost } from '../../src/core/upstream-cost.ts'
import { NO_USAGE, promptOf } from '../../src/core/usage.ts'
import { HOUR_MS, hourAt, PERS, windowAt } from '../../src/core/windows.ts'
import { costText, type PriceList, picosOf, productText } from '../sim/oracle.ts'
import { createKey, holdRequest, NOW, openMachine, operateTask, settlement, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

const FLAT: PriceList = { input: '3', output: '15', cacheRead: '0.3', cacheWrite5m: '3.75', cacheWrite1h: '6', serverToolUse: '0.01' }
const LONG: PriceList = {
  input: '6.000001',
  output: '22.5',
  cacheRead: '0.6',
  cacheWrite5m: '7.5',
  cacheWrite1h: '12',
  serverToolUse: '0.01',
}
const ABOVE = 1_000
const ratesOf = (list: PriceList): Rates => ({
  input: picos(picosOf(productText(list.input, '0.000001'))),
  output: picos(picosOf(productText(list.output, '0.000001'))),
  cacheRead: picos(picosOf(productText(list.cacheRead, '0.000001'))),
  cacheWrite5m: picos(picosOf(productText(list.cacheWrite5m, '0.000001'))),
  cacheWrite1h: picos(picosOf(productText(list.cacheWrite1h, '0.000001'))),
  serverToolUse: picos(picosOf(list.serverToolUse)),
})
const PRICES: Prices = { rates: ratesOf(FLAT), levels: [{ abovePromptTokens: ABOVE, rates: ratesOf(LONG) }] }
const FACTORS = { north: '1.1', south: '0.333333', west: '1' } as const

/** An exact decimal, rounded half to even to the picodollar, by its text alone. */
function roundedPicos(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  const digits = fraction.padEnd(13, '0')
  const down = BigInt(whole + digits.slice(0, 12))
  const rest = digits.slice(12).replace(/0+$/, '')
  if (rest === '' || rest < '5') return down
  return rest === '5' && down % 2n === 0n ? down : down + 1n
}

const count = fc.oneof(fc.nat(1_500), fc.integer({ min: 900, max: 1_100 }), fc.constant(0))
const request = fc.record({
  usage: fc.record({
    input: count,
    output: count,
    cacheRead: count,
    cacheWrite5m: fc.nat(300),
    cacheWrite1h: fc.nat(300),
    serverToolUses: fc.nat(2),
  }),
  upstream: fc.constantFrom(...(Object.keys(FACTORS) as (keyof typeof FACTORS)[])),
  later: fc.constantFrom(0, 0, 1, 5, 24, 24 * 6),
})

test('charges, costs and windows are what fractions say, over levels, factors and the edges of windows', () => {
  const costs = new Map<string, UpstreamCost>(
    Object.entries(FACTORS).map(([name, factor]) => [name, { prices: PRICES, factorMillionths: Math.round(Number(factor) * 1e6) }]),
  )
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 12, size: 'max' }), (requests) => {
      const machine = openMachine()
      machine.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
      for (const per of PERS)
        machine.ask(
          operateTask({ kind: 'setBudget', accountId: 'acc_a', keyId: 'key_a', per, capPicos: usd('500'), setBy: 'operator', now: NOW }),
        )
      let now = NOW
      const said: { hour: number; charged: bigint; cost: bigint }[] = []
      for (const [index, { usage, upstream, later }] of requests.entries()) {
        now += later * HOUR_MS
        const id = `req_${index}`
        expect(machine.ask({ kind: 'hold', request: { ...holdRequest(id, 'key_a', usd('1'), { now, costs }), ...PRICES } })).toBe('held')
        const prompt = promptOf({ ...NO_USAGE, ...usage })
        const level = levelOf(PRICES, prompt)
        const costPicos = costOf({ ...NO_USAGE, ...usage }, ratesAt(PRICES, level))
        const more = { now, level, costPicos, upstream: { name: upstream, model: 'v' } }
        expect(machine.ask({ kind: 'settle', settlement: settlement(id, usage, more) })).toBe('settled')
        const charged = costText({ ...NO_USAGE, ...usage }, prompt > ABOVE ? LONG : FLAT)
        said.push({ hour: hourAt(now), charged: picosOf(charged), cost: roundedPicos(productText(charged, FACTORS[upstream])) })
      }
      const rows = machine.db
        .query<{ charged: bigint; cost: bigint }, []>(
          'SELECT cost_picos AS charged, upstream_cost_picos AS cost FROM receipts ORDER BY number',
        )
        .all()
      expect(rows).toEqual(said.map(({ charged, cost }) => ({ charged, cost })))
      const spentIn = (per: (typeof PERS)[number]): bigint => {
        const { start, end } = windowAt(per, hourAt(now))
        return said.reduce((sum, { hour, charged }) => sum + (hour >= start && hour < end ? charged : 0n), 0n)
      }
      const windows = machine.wallets.keys
        .keyBalanceOf('key_a', hourAt(now))
        ?.windows?.map(({ per, spentPicos }) => [per, BigInt(spentPicos)])
      expect(windows).toEqual(PERS.map((per) => [per, spentIn(per)]))
      expect(machine.differences()).toEqual([])
      machine.close()
    }),
    // Each run makes a ledger in a file.
    { numRuns: Math.min(runs(12), 60) },
  )
}, 120_000)
