/**
 * Protects keys.md "Rates over nodes": what several processes let in together is what there is, corrections arrive once however often they are sent, places come back, and a
 * process without an answer lets in its part.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Catalog } from '../../src/core/catalog.ts'
import type { KeyRecord } from '../../src/core/key.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { type RateLimits, rateLimitsOf } from '../../src/core/token-buckets.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { CountedRates } from '../../src/ledger/counted-rates.ts'
import type { RateAnswer, SharedRates } from '../../src/ledger/shared-rates.ts'
import { type Rated, RateGate } from '../../src/relay/rate-gate.ts'
import { RatesElsewhere } from '../../src/relay/rates-elsewhere.ts'
import { until } from '../support/until.ts'

const KEY: KeyRecord = {
  ...{ id: 'key_1', accountId: 'acc_1', name: '', display: '', plan: 'p', limitPicos: null },
  ...{ expiresAt: null, isActive: true, isAccountActive: true },
}

/** Nodes around one place that counts; each can be cut off from it. */
function makeNodes(count: number, rates: Partial<RateLimits>) {
  const clock = { ms: 0 }
  const counted = new CountedRates(() => clock.ms)
  const limits = rateLimitsOf(rates)
  const plan = { name: 'p', models: ['*'], ...(limits === undefined ? {} : { rates: limits }) }
  const catalog: Catalog = { models: new Map(), plans: new Map([['p', plan]]) }
  const nodes = Array.from({ length: count }, (_, boot) => {
    counted.join(boot, [])
    const line = { isCut: false, isDeaf: false, asked: 0 }
    const over = async <T>(act: () => T): Promise<T | 'unavailable'> => {
      line.asked++
      await Promise.resolve()
      if (line.isCut) return 'unavailable'
      const answer = act()
      return line.isDeaf ? 'unavailable' : answer
    }
    const shared: SharedRates = {
      take: (ask) => over((): RateAnswer => counted.take(boot, ask)),
      correct: (corrections, number) =>
        over(() => {
          counted.correct(boot, corrections, number)
          return 'done' as const
        }),
    }
    const gate = new RateGate({
      catalog: () => catalog,
      now: () => clock.ms,
      wallNow: () => 0,
      store: new RatesElsewhere({ shared, now: () => clock.ms }),
    })
    return { gate, line, boot }
  })
  const standing = (): RateAnswer['owners'][number] | undefined => {
    if (limits === undefined) return undefined
    const [owner] = counted.take(99, {
      owners: [{ name: 'plan acc_1 p', limits, running: 0 }],
      wanted: { inputTokens: null },
      slots: 1,
    }).owners
    counted.correct(99, [{ owner: { name: 'plan acc_1 p', limits, running: 0 }, amounts: { requests: -1, input: 0, output: 0 } }])
    return owner
  }
  return { nodes, clock, standing }
}

const isRated = (answer: Rated | Refusal): answer is Rated => !(answer instanceof Refusal)

test('a minute is let in once over all nodes, to the request and to the token', async () => {
  const { nodes } = makeNodes(3, { requestsPerMinute: 10 })
  const answers = await Promise.all(Array.from({ length: 90 }, (_, n) => nodes[n % 3]?.gate.admit(KEY, 1)))
  expect(answers.filter((answer) => answer !== undefined && isRated(answer))).toHaveLength(10)
  const tokens = makeNodes(3, { inputTokensPerMinute: 1_000 })
  const taken = await Promise.all(Array.from({ length: 90 }, (_, n) => tokens.nodes[n % 3]?.gate.admit(KEY, 30)))
  expect(taken.filter((answer) => answer !== undefined && isRated(answer))).toHaveLength(33)
})

test('refusals in a loop ask at most once a second', async () => {
  const { nodes, clock } = makeNodes(1, { requestsPerMinute: 1 })
  const [node] = nodes
  await node?.gate.admit(KEY, 1)
  await node?.gate.admit(KEY, 1)
  const before = node?.line.asked ?? 0
  for (let n = 0; n < 1_000; n++) {
    clock.ms += 1
    expect(await node?.gate.admit(KEY, 1)).toBeInstanceOf(Refusal)
  }
  expect((node?.line.asked ?? 0) - before).toBeLessThanOrEqual(2)
})

test('an end on one node is soon known on the others: the place, and the tokens that were counted too much', async () => {
  const { nodes, clock } = makeNodes(2, { concurrentRequests: 1, inputTokensPerMinute: 1_000, outputTokensPerMinute: 21 })
  const [a, b] = nodes
  const running = await a?.gate.admit(KEY, 900)
  if (running === undefined || !isRated(running)) throw new Error('refused')
  expect(await b?.gate.admit(KEY, 50)).toBeInstanceOf(Refusal)
  running.settle({ ...NO_USAGE, input: 10, cacheWrite5m: 5, cacheRead: 9_999, output: 20 })
  running.release()
  running.release()
  running.cancel()
  await until(async () => {
    clock.ms += 60
    const next = await b?.gate.admit(KEY, 50)
    if (next === undefined || !isRated(next)) return false
    next.cancel()
    return true
  }, 'the other node lets one in')
  expect(Number(a?.gate.headers(KEY)['anthropic-ratelimit-output-tokens-remaining'])).toBeWithin(1, 10)
})

test('whatever comes and goes on three nodes, cut off at times, no more run at once than may, and in the end nothing is taken', async () => {
  const move = fc.record({ node: fc.nat(2), act: fc.constantFrom('come', 'come', 'end', 'cancel', 'cut', 'mend'), at: fc.nat(9) })
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), async (moves, atOnce) => {
      const { nodes, clock, standing } = makeNodes(3, { concurrentRequests: atOnce, inputTokensPerMinute: 1e9 })
      const running: Rated[] = []
      let wasCut = false
      // A node that has had no answer yet knows of no other, and its part is the whole.
      for (const { gate } of nodes) {
        const first = await gate.admit(KEY, 10)
        if (isRated(first)) first.release()
        await Bun.sleep(0)
        clock.ms += 60
      }
      for (const { node: n, act, at } of moves) {
        const node = nodes[n]
        if (node === undefined) continue
        clock.ms += 60
        if (act === 'cut' || act === 'mend') {
          node.line.isCut = act === 'cut'
          wasCut ||= act === 'cut'
        } else if (act === 'come') {
          const answers = await Promise.all([node.gate.admit(KEY, 10), node.gate.admit(KEY, 10)])
          running.push(...answers.filter(isRated))
        } else {
          const [one] = running.splice(at % Math.max(1, running.length), 1)
          if (act === 'end') one?.settle({ ...NO_USAGE, input: 10 })
          if (act === 'cancel') one?.cancel()
          else one?.release()
          await Bun.sleep(0)
        }
        // While a node is cut off it lets in its part, which others may have taken.
        if (!wasCut) expect(running.length).toBeLessThanOrEqual(atOnce)
        else expect(running.length).toBeLessThanOrEqual(atOnce + 3 * Math.max(1, Math.floor(atOnce / 3)))
      }
      for (const one of running) one.release()
      for (const { line } of nodes) line.isCut = false
      clock.ms += 600_000
      if (!wasCut) {
        await Bun.sleep(2)
        expect(standing()?.isFull).toBe(false)
        const all = await Promise.all(nodes.flatMap(({ gate }) => Array.from({ length: atOnce }, () => gate.admit(KEY, 1))))
        expect(all.filter(isRated)).toHaveLength(atOnce)
      }
    }),
    { numRuns: 30 },
  )
})

test('what could not be said is said again: a place that ended while there was no answer comes back', async () => {
  const { nodes, clock } = makeNodes(2, { concurrentRequests: 1 })
  const [a, b] = nodes
  const running = await a?.gate.admit(KEY, 1)
  if (a === undefined || running === undefined || !isRated(running)) throw new Error('refused')
  a.line.isCut = true
  running.release()
  await until(() => a.line.asked >= 2, 'it was said')
  clock.ms += 60
  expect(await b?.gate.admit(KEY, 1)).toBeInstanceOf(Refusal)
  a.line.isCut = false
  await until(async () => {
    clock.ms += 60
    const next = await b?.gate.admit(KEY, 1)
    return next !== undefined && isRated(next)
  }, 'it was said again')
})

test('a correction whose answer was lost counts once: what is sent again gives nothing back twice, nor takes it', async () => {
  for (const used of [0, 60]) {
    const { nodes, standing } = makeNodes(2, { inputTokensPerMinute: 1_000_000, outputTokensPerMinute: 1_000_000 })
    const [a, b] = nodes
    const [running, other] = await Promise.all([a?.gate.admit(KEY, 30), b?.gate.admit(KEY, 40)])
    if (a === undefined || running === undefined || other === undefined || !isRated(running) || !isRated(other)) throw new Error('refused')
    a.line.isDeaf = true
    running.settle({ ...NO_USAGE, input: used })
    running.release()
    await until(() => a.line.asked >= 3, 'it was said again')
    a.line.isDeaf = false
    await until(() => a.line.asked >= 4, 'it was heard')
    expect([used, standing()?.input]).toEqual([used, 40 + used])
    other.release()
  }
})

test('without an answer a node lets in its part of the rates, and asks again after a moment', async () => {
  const { nodes, clock } = makeNodes(2, { requestsPerMinute: 10 })
  const [a] = nodes
  if (a === undefined) throw new Error('none')
  expect(isRated(await a.gate.admit(KEY, 1))).toBe(true)
  a.line.isCut = true
  clock.ms += 1_001
  const alone = await Promise.all(Array.from({ length: 20 }, () => a.gate.admit(KEY, 1)))
  expect(alone.filter(isRated)).toHaveLength(5)
  const before = a.line.asked
  a.line.isCut = false
  clock.ms += 1_001
  expect(isRated(await a.gate.admit(KEY, 1))).toBe(true)
  expect(a.line.asked).toBe(before + 1)
})
