/** What requests of a simulated world ask for, at which prices, and what they use: drawn, and reckoned a second time by the auditor's own arithmetic. Rules: money.md "Settle". */

import { type Picos, picos } from '../../src/core/money.ts'
import type { Prices, Rates } from '../../src/core/pricing.ts'
import type { Usage } from '../../src/core/usage.ts'
import type { Attempt, Idempotency } from '../../src/ledger/ledger.ts'
import type { Random } from '../support/seed.ts'
import { costText, type PriceList, picosOf } from './oracle.ts'

export const LISTS: readonly PriceList[] = [
  { input: '3', output: '15', cacheRead: '0.3', cacheWrite5m: '3.75', cacheWrite1h: '6', serverToolUse: '0.01' },
  { input: '0.8', output: '4.000001', cacheRead: '0.08', cacheWrite5m: '1', cacheWrite1h: '1.6', serverToolUse: '0' },
]
/** Of the second list: about half of all prompts are longer. */
const LONG: PriceList = { input: '2.4', output: '12', cacheRead: '0.24', cacheWrite5m: '3', cacheWrite1h: '4.8', serverToolUse: '0' }
const ABOVE = 1_500
export const WORST: Usage = { input: 900, output: 400, cacheRead: 900, cacheWrite5m: 900, cacheWrite1h: 900, serverToolUses: 2 }

const rateOf = (usdPerMillion: string): Picos => picos(picosOf(usdPerMillion) / 1_000_000n)
const ratesOf = (list: PriceList): Rates => ({
  input: rateOf(list.input),
  output: rateOf(list.output),
  cacheRead: rateOf(list.cacheRead),
  cacheWrite5m: rateOf(list.cacheWrite5m),
  cacheWrite1h: rateOf(list.cacheWrite1h),
  serverToolUse: picos(picosOf(list.serverToolUse)),
})
export const PRICES: readonly Prices[] = [
  { rates: ratesOf(LISTS[0] as PriceList), levels: [] },
  { rates: ratesOf(LISTS[1] as PriceList), levels: [{ abovePromptTokens: ABOVE, rates: ratesOf(LONG) }] },
]

/** At the upstream that answers a part of our price, at all others nothing is known. */
export const COSTS = new Map([['main', { prices: PRICES[1] as Prices, factorMillionths: 333_333 }]])

export const isLong = ({ input, cacheRead, cacheWrite5m, cacheWrite1h }: Usage, list: number): boolean =>
  list === 1 && input + cacheRead + cacheWrite5m + cacheWrite1h > ABOVE

/** The dearest request: of the first list. */
export const WORST_PICOS = picosOf(costText(WORST, LISTS[0] as PriceList))

/** The price that a request has by this list. */
export const costOf = (usage: Usage, list: number): bigint =>
  picosOf(costText(usage, isLong(usage, list) ? LONG : (LISTS[list] as PriceList)))

export function drawUsage(random: Random): Usage {
  const upTo = (most: number): number => (random() < 0.2 ? 0 : Math.floor(random() * (most + 1)))
  return {
    input: upTo(WORST.input),
    output: upTo(WORST.output),
    cacheRead: upTo(WORST.cacheRead),
    cacheWrite5m: upTo(WORST.cacheWrite5m),
    cacheWrite1h: upTo(WORST.cacheWrite1h),
    serverToolUses: upTo(WORST.serverToolUses),
  }
}

/** Upstream calls that came to nothing before the one that answered. */
export function drawFailedCalls(random: Random, now: number): readonly Attempt[] {
  const count = random() < 0.6 ? 0 : Math.ceil(random() * 2)
  return Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    upstream: { name: 'other', model: 'vendor-model' },
    status: null,
    cause: 'reset',
    usageSource: 'partial' as const,
    usage: drawUsage(random),
    startedAt: now,
    durationMs: 7,
  }))
}

/** Of three headers, so that they come again: while they count, and after that. */
export function drawIdempotency(random: Random, requestId: string, now: number): Idempotency {
  const headerHash = new Uint8Array(32).fill(Math.floor(random() * 3))
  const bodyHash = new Bun.CryptoHasher('sha256').update(requestId).digest()
  return { headerHash, bodyHash: new Uint8Array(bodyHash), expiresAt: now + Math.floor(random() * 5_000) }
}
