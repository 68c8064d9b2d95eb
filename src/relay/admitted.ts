/** The types that the steps of a request hand to one another once the request is admitted. */

import type { SealingKey } from '../answers/sealing.ts'
import type { Call, Format, Stamp } from '../core/format.ts'
import type { Refusal } from '../core/refusal.ts'
import type { KeptElsewhere, SharedAnswers, SharedClaims } from '../ledger/shared-answers.ts'
import type { World } from '../world.ts'
import type { BodyLease, BodyMemory } from './body-memory.ts'
import type { BodyReader } from './body-reader.ts'
import type { Connection, Exchange } from './exchange.ts'
import type { Claim } from './idempotency.ts'
import type { IdempotentResponses } from './idempotent-responses.ts'
import type { KeyGate } from './key-limits.ts'
import type { LiveStreams } from './live-streams.ts'
import type { RateGate } from './rate-gate.ts'
import type { ResponseMemory } from './response-memory.ts'
import type { Held } from './settle.ts'
import type { Timings } from './timings.ts'

/** What all requests of a relay share. */
export type RelayParts = Readonly<{
  world: World
  keyLimits: KeyGate
  rates: RateGate
  live: LiveStreams
  memory: ResponseMemory
  bodies: BodyMemory
  bodyReader: BodyReader
  answers: IdempotentResponses
  /** Answers of both kinds that survive a restart; undefined: none do, or they are shared. */
  kept?: KeptElsewhere | undefined
  /** Present where several nodes answer the same keys. */
  shared?: SharedAnswers | undefined
  /** Present where several relays of one ledger process answer the same keys. */
  claims?: SharedClaims | undefined
  timings: Timings
}>

/**
 * A request that may call the upstream: what it asks, what is held for it, and its place among the key's concurrent requests. `lease` is the memory of its body and
 * answer alone; `release` gives back all that the request has taken; `refusal` is what its repetitions get when the request has no answer to repeat.
 */
export type Grant<Echo> = Readonly<{
  call: Call<Echo>
  held: Held
  /** The key that encrypts its kept answer; absent where none is kept. */
  sealing: SealingKey | undefined
  lease: BodyLease
  /** Present when the request has an `Idempotency-Key`. */
  claim: Claim | undefined
  release: (refusal?: Refusal) => void
}>

/** A granted request, with the parts of the gateway and of its connection that its answer needs. */
export type Admitted<Echo> = Grant<Echo> &
  Readonly<{ parts: RelayParts; format: Format<Echo>; request: Request; connection: Connection; exchange: Exchange }>

export const stampOf = (exchange: Exchange): Stamp => ({
  createdSeconds: Math.floor(exchange.startedAt / 1000),
  requestId: exchange.requestId,
})
