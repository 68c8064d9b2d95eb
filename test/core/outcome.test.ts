/** What an ended request is charged, by how it ended and who ended it. Rules: money.md "Charges", "Estimates". */

import { describe, expect, test } from 'bun:test'
import { ZERO } from '../../src/core/money.ts'
import { nothingSeen, type Observation, observe } from '../../src/core/native/observation.ts'
import { chargeOf, OUTCOMES } from '../../src/core/outcome.ts'
import { costOf } from '../../src/core/pricing.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../support/golden.ts'

const { rates } = GOLDEN_MODEL

/** An answer as far as it came: `message_start`, 40 bytes of text, and what a `message_delta` said. */
function seen(usage: object | undefined, delta?: { usage?: object; stop_reason: string | null }): Observation {
  const observation = nothingSeen()
  observe(observation, { type: 'message_start', body: { message: { usage } } })
  observation.contentBytes = 40
  if (delta !== undefined)
    observe(observation, { type: 'message_delta', body: { delta: { stop_reason: delta.stop_reason }, usage: delta.usage } })
  return observation
}

const START = { input_tokens: 25, cache_read_input_tokens: 5, output_tokens: 1 }
const cut = seen(START)
const whole = seen(START, { usage: { output_tokens: 12 }, stop_reason: 'end_turn' })
const charge = (outcome: (typeof OUTCOMES)[number], observation: Observation) => chargeOf(outcome, observation, GOLDEN_BOUNDS, GOLDEN_MODEL)

describe('what an ended request is charged', () => {
  test('complete: the final figures, nothing waived', () => {
    const charged = charge('complete', whole)
    expect(charged).toMatchObject({ source: 'final', usage: { input: 25, output: 12, cacheRead: 5 }, waivedPicos: ZERO })
  })

  test('complete without figures: an estimate, marked', () => {
    expect(charge('complete', seen(undefined, { stop_reason: 'end_turn' }))).toMatchObject({
      source: 'estimated',
      usage: { input: 100, output: 10 },
    })
    expect(charge('complete', seen(START, { stop_reason: 'end_turn' }))).toMatchObject({ source: 'estimated', usage: { output: 10 } })
  })

  test('an estimate goes by the model’s bytes per token, and says so; a reported figure does not', () => {
    const bounds = { ...GOLDEN_BOUNDS, bytesPerToken: 2.5, inputEstimate: 160 }
    expect(chargeOf('complete', seen(undefined, { stop_reason: 'end_turn' }), bounds, GOLDEN_MODEL)).toMatchObject({
      source: 'estimated',
      bytesPerToken: 2.5,
      usage: { input: 160, output: 16 },
    })
    expect(chargeOf('leaver', cut, bounds, GOLDEN_MODEL)).toMatchObject({ bytesPerToken: 2.5, usage: { input: 25, output: 16 } })
    for (const outcome of OUTCOMES) expect(chargeOf(outcome, whole, bounds, GOLDEN_MODEL)).toMatchObject({ bytesPerToken: undefined })
  })

  test('figures that cannot be true are an estimate that says so, however the answer ends', () => {
    const silent: Observation = { ...seen({ input_tokens: 0, output_tokens: 0 }), contentBytes: 0 }
    expect(charge('leaver', silent)).toMatchObject({ source: 'estimated', usage: { input: 100, output: 0 } })
    const short: Observation = { ...seen({ input_tokens: 25 }, { usage: { output_tokens: 0 }, stop_reason: 'end_turn' }), contentBytes: 2 }
    expect(charge('complete', short)).toMatchObject({ source: 'estimated', usage: { input: 25, output: 1 } })
    const compaction = { type: 'compaction', input_tokens: 90, output_tokens: 7 }
    const elsewhere = seen({ input_tokens: 25 }, { usage: { output_tokens: 0, iterations: [compaction] }, stop_reason: 'compaction' })
    expect(charge('complete', elsewhere)).toMatchObject({ source: 'final', usage: { input: 115, output: 7 } })
  })

  test('the estimate of an input is of the whole prompt: what the cache has of it counts once', () => {
    const cached = { cache_read_input_tokens: 30, cache_creation_input_tokens: 20, output_tokens: 1 }
    expect(charge('leaver', seen(cached))).toMatchObject({ source: 'estimated', usage: { input: 50, cacheRead: 30, cacheWrite5m: 20 } })
    expect(charge('leaver', seen({ ...cached, cache_read_input_tokens: 3_000 }))).toMatchObject({ usage: { input: 0, cacheRead: 3_000 } })
  })

  test('cut by the client, a limit or the operator: exact input, output by what was delivered', () => {
    for (const outcome of ['leaver', 'deadline', 'cut'] as const) {
      const charged = charge(outcome, cut)
      expect(charged).toMatchObject({ source: 'estimated', usage: { input: 25, output: 10, cacheRead: 5 }, waivedPicos: ZERO })
    }
    const told = seen({ ...START, output_tokens: 11 })
    expect(charge('leaver', told)).toMatchObject({ source: 'partial', usage: { output: 11 } })
  })

  test('cut after the upstream had told its final figures: charged and marked as final', () => {
    for (const outcome of ['leaver', 'deadline', 'cut', 'recovered', 'fault', 'drain'] as const)
      expect(charge(outcome, whole)).toMatchObject({ source: 'final', usage: { input: 25, output: 12 } })
    expect(charge('leaver', seen(START, { stop_reason: 'end_turn' }))).toMatchObject({ source: 'estimated' })
  })

  test('the upstream broke, or we had to stop or died: nothing is charged, the price is recorded as waived', () => {
    for (const outcome of ['fault', 'drain', 'recovered'] as const)
      expect(charge(outcome, cut)).toMatchObject({ costPicos: ZERO, usage: { input: 25 } })
  })

  test('before message_start nothing is charged, however it ends', () => {
    for (const outcome of OUTCOMES) if (outcome !== 'complete') expect(charge(outcome, nothingSeen())).toBe('void')
  })

  test('cost and waived always add up to the price of the usage', () => {
    for (const outcome of OUTCOMES) {
      for (const observation of [cut, whole, seen(undefined)]) {
        const charged = charge(outcome, observation)
        if (charged === 'void') throw new Error('void')
        expect(charged.costPicos + charged.waivedPicos).toBe(costOf(charged.usage, rates) as bigint)
      }
    }
  })
})
