/** Three months of an account for pictures: keys that differ, weeks with their ends, a cache that pays, now and then a provider that fails. The same each time. */

import { picos, ZERO } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { DAY_MS } from '../../src/core/utc.ts'
import type { TestGateway } from '../support/gateway.ts'
import { createKey, holdRequest, settlement, usd } from '../support/ledger.ts'
import { type Random, randomFrom } from '../support/seed.ts'

const DAYS = 90
const KEYS = ['production', 'build server', 'laptop', 'evaluation', 'support assistant', 'night jobs', 'intern', 'staging', 'demo'] as const
/** A model, its share of the requests, and USD per million tokens in and out. */
const MODELS = [
  ['sample-large', 0.3, 5n, 25n],
  ['sample-medium', 0.8, 3n, 15n],
  ['sample-small', 1, 1n, 5n],
] as const
const SEED = 7
/** An upstream, up to which share of the requests it serves, and the millionths of the customer’s price that it charges. */
const COSTS = [
  ['vertex-eu', 0.7, 620_000],
  ['main', 1, 850_000],
] as const
const TAGS = ['team:search', 'team:support', 'team:search', 'nightly/eval', undefined] as const

/** `accountId` must not be there yet. */
export async function sampleSpend(gateway: TestGateway, accountId: string): Promise<void> {
  const random = randomFrom(SEED)
  const now = Date.now()
  await gateway.operate({
    kind: 'createAccount',
    accountId,
    name: 'Lighthouse',
    topUp: { creditId: 'crd_spend', amountPicos: usd('1800'), ref: '' },
    now: now - DAYS * DAY_MS,
  })
  for (const [index, name] of KEYS.entries())
    await gateway.operate({ ...createKey(`key_spend_${index}`, { accountId }), name, now: now - DAYS * DAY_MS })
  for (const index of KEYS.keys()) await gateway.ledger.findKey(createKey(`key_spend_${index}`).secretHash)
  for (let day = DAYS - 1; day >= 0; day--)
    await Promise.all(timesOf(now, day, random).map((at, index) => request(gateway, `req_sample_${day}_${index}`, { now, at }, random)))
  for (const index of [0, 1, 3])
    await gateway.ledger.hold(
      holdRequest(`req_runs_${index}`, `key_spend_${index}`, usd(`0.${index + 1}2`), { modelId: 'sample-medium', now }),
    )
}

/** When requests of a day ended: fewer at its week's end, more from week to week, and none that is yet to come. */
function timesOf(now: number, day: number, random: Random): readonly number[] {
  const start = Math.floor(now / DAY_MS) * DAY_MS - day * DAY_MS
  const weekday = new Date(start).getUTCDay()
  const count = Math.round((weekday === 0 || weekday === 6 ? 6 : 24) * (0.6 + random() * 0.7) * (1.4 - day / 130))
  return Array.from({ length: count }, () => Math.floor(start + random() * Math.min(DAY_MS, now - start)))
}

/** `now`: of the hold, since a clock that goes back is one that was wrong. `at`: of the end. */
async function request(
  { ledger }: TestGateway,
  requestId: string,
  { now, at }: Readonly<{ now: number; at: number }>,
  random: Random,
): Promise<unknown> {
  const chosen = random()
  const [modelId, , input, output] = MODELS.find(([, share]) => chosen < share) ?? MODELS[2]
  const millionth = (price: bigint) => picos(price * 1_000_000n)
  const rates = {
    input: millionth(input),
    output: millionth(output),
    cacheRead: picos(input * 100_000n),
    cacheWrite5m: picos(input * 1_250_000n),
    cacheWrite1h: millionth(input * 2n),
    serverToolUse: picos(10_000_000_000n),
  }
  const upTo = (most: number): number => Math.floor(random() * most)
  const usage = { ...NO_USAGE, input: upTo(40_000), output: upTo(9_000), cacheRead: upTo(240_000), cacheWrite5m: upTo(30_000) }
  const keyId = `key_spend_${Math.min(KEYS.length - 1, Math.floor(-Math.log(1 - random()) * 2.2))}`
  const price = costOf(usage, rates)
  const hasFailed = random() < 0.03
  // What they are of is no further draw: the spend of the pictures stays as it was.
  const [upstream] = COSTS.find(([, share]) => chosen * 3 - Math.floor(chosen * 3) < share) ?? COSTS[0]
  const costs = new Map(COSTS.map(([name, , factorMillionths]) => [name, { prices: { rates, levels: [] }, factorMillionths }]))
  const tag = TAGS[Math.floor(chosen * 1_000) % TAGS.length]
  const amounts = hasFailed ? { costPicos: ZERO, waivedPicos: price } : { costPicos: price, waivedPicos: ZERO }
  await ledger.hold(holdRequest(requestId, keyId, usd('2'), { modelId, rates, now, costs, tag }))
  return ledger.settle(
    settlement(requestId, usage, {
      outcome: hasFailed ? 'fault' : 'complete',
      ...amounts,
      upstream: { name: upstream, model: modelId },
      now: at,
      firstByteMs: 300 + upTo(900),
      durationMs: 1_500 + upTo(20_000),
    }),
  )
}
