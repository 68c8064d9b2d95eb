/** A random history of an account with three keys and two models, booked over some days, beside an account of others. */

import { parseUsd, picos, sumPicos, toExactUsdText, ZERO } from '../../src/core/money.ts'
import { OUTCOMES } from '../../src/core/outcome.ts'
import { costOf } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { DAY_MS } from '../../src/core/utc.ts'
import type { TestGateway } from './gateway.ts'
import { createKey, holdRequest, RATES, settlement, usd } from './ledger.ts'
import type { Random } from './seed.ts'

export const MODELS = ['haiku', 'opus'] as const
const NAMES = ['=cmd|1', 'build, "server"', 'laptop'] as const
export const KEYS = ['key_north', 'key_b', 'key_c'] as const
export const DAYS = 5

/** Accounts `acc_north`, of the three keys, and `acc_south`. The key's name that begins a formula is the first's. */
export async function makeHistory(gateway: TestGateway, random: Random, count: number): Promise<void> {
  const { ledger } = gateway
  const now = Date.now()
  for (const [index, keyId] of KEYS.entries()) {
    const of = keyId === 'key_north' ? { balanceUsd: '100' } : { accountId: 'acc_north' }
    await gateway.operate({ ...createKey(keyId, of), name: NAMES[index] ?? '', now: now - DAYS * DAY_MS })
  }
  await gateway.operate({ ...createKey('key_south', { balanceUsd: '5' }), now: now - DAYS * DAY_MS })
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const upTo = (most: number): number => Math.floor(random() * most)
  for (let n = 0; n < count; n++) {
    const requestId = `req_${String(n).padStart(5, '0')}`
    const keyId = n % 10 === 9 ? 'key_south' : one(KEYS)
    const outcome = one(OUTCOMES)
    const usage = {
      ...NO_USAGE,
      input: upTo(900),
      output: upTo(300),
      cacheRead: one([0, upTo(5_000)]),
      cacheWrite5m: one([0, upTo(2_000)]),
    }
    const price = costOf(usage, RATES)
    const isWaived = outcome === 'fault' || outcome === 'drain' || outcome === 'recovered'
    const amounts = isWaived ? { costPicos: ZERO, waivedPicos: price } : { costPicos: price, waivedPicos: ZERO }
    await ledger.findKey(createKey(keyId).secretHash)
    await ledger.hold(holdRequest(requestId, keyId, usd('0.05'), { modelId: one(MODELS), now, tag: TAGS[n % TAGS.length] }))
    const at = now - upTo(DAYS * DAY_MS)
    const otherAttempts = n % 7 === 0 ? [attemptAt(at)] : []
    await ledger.settle(settlement(requestId, usage, { outcome, ...amounts, now: at, attempts: 1 + otherAttempts.length, otherAttempts }))
  }
}

/** Of the requests in turn; some have none. */
export const TAGS = [undefined, 'team:a', 'team:b', undefined, 'user/1'] as const

const attemptAt = (startedAt: number) => ({
  number: 1,
  upstream: { name: 'secret-vendor', model: 'vendor-1' },
  status: 529,
  cause: 'overloaded',
  usageSource: 'none' as const,
  usage: NO_USAGE,
  startedAt,
  durationMs: 30,
})

/** Exact texts added without a float. */
export const sumText = (amounts: readonly string[]): string =>
  toExactUsdText(sumPicos(...amounts.map((text) => parseUsd(text) ?? picos(0n))))
