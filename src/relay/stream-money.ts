/**
 * The money of one stream: its checkpoints in the ledger while it runs, so that a crash waives no more than was used, and its one settle. Rules: money.md
 * "Settle", "Charges", "Crashes".
 */

import { onlyDelivered, partialUsage } from '../core/native/observation.ts'
import type { Transcoder } from '../core/transcoder.ts'
import type { World } from '../world.ts'
import type { Exchange } from './exchange.ts'
import { answererOf, type Held, type Kept, settle } from './settle.ts'
import type { StreamEffect } from './stream-state.ts'

type Parts = Readonly<{ world: World; exchange: Exchange; held: Held; transcoder: Transcoder }>

/** Notes in the ledger how far the answer has come. */
export function checkpointStream({ world, exchange, held, transcoder }: Parts): void {
  const { usage, isEstimated } = partialUsage(transcoder.observation, held.bounds)
  const basis = isEstimated
    ? ({ usageSource: 'estimated', bytesPerToken: held.bounds.bytesPerToken } as const)
    : ({ usageSource: 'partial' } as const)
  const upstream = answererOf(exchange, transcoder.observation)
  world.ledger.checkpoint(exchange.requestId, { usage, ...basis, ...(upstream && { upstream }), otherAttempts: exchange.calls.others() })
}

/** The one place where a stream's money moves. */
export function settleStream(
  { world, exchange, held, transcoder }: Parts,
  { end, status, deliveredBytes }: Extract<StreamEffect, { do: 'settle' }>,
): Promise<Kept> {
  const more = end.refusal === undefined ? end.more : { ...end.more, refusal: end.refusal.name }
  const observation = deliveredBytes === undefined ? transcoder.observation : onlyDelivered(transcoder.observation, deliveredBytes)
  return settle(world, exchange, held, { outcome: end.outcome, observation, status, ...(more === undefined ? {} : { more }) })
}
