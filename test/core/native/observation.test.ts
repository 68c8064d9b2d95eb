/** What a client that left is charged for: what was on its way to it, or the whole answer once that is told whole. Rules: money.md "Charges", "Estimates". */

import { expect, test } from 'bun:test'
import { nothingSeen, type Observation, observe, onlyDelivered, partialUsage } from '../../../src/core/native/observation.ts'
import { GOLDEN_BOUNDS } from '../../support/golden.ts'

/** An answer of 4,000 bytes without figures of its output, of which the client took 400. */
function leftAt(stopReason: string | undefined, usage?: object): Observation {
  const seen = nothingSeen()
  observe(seen, { type: 'message_start', body: { message: { usage: { input_tokens: 20 } } } })
  seen.contentBytes = 4_000
  if (stopReason !== undefined) observe(seen, { type: 'message_delta', body: { delta: { stop_reason: stopReason }, usage } })
  return onlyDelivered(seen, 400)
}
const outputOf = (seen: Observation) => partialUsage(seen, GOLDEN_BOUNDS).usage.output

test('an estimate of an answer that was cut counts what was delivered, behind a stop reason all that was written', () => {
  expect(outputOf(leftAt(undefined))).toBe(100)
  expect(outputOf(leftAt('end_turn'))).toBe(1_000)
})

test('what the upstream reports at the end is believed or not by what it wrote, not by what was delivered of it', () => {
  expect(outputOf(leftAt('end_turn', { output_tokens: 900 }))).toBe(900)
  expect(outputOf(leftAt('end_turn', { output_tokens: 0 }))).toBe(1_000)
})
