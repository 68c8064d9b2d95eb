/** The parts of one streamed answer. Rules: house.md "One stage". */

import type { Transcoder } from '../core/transcoder.ts'
import type { World } from '../world.ts'
import type { CallStop } from './deadline.ts'
import type { Connection, Exchange } from './exchange.ts'
import type { RecordedAnswer } from './idempotency.ts'
import type { Held, Kept } from './settle.ts'
import type { End } from './stream-end.ts'
import type { Timings } from './timings.ts'

export type ClientStreamParts = Readonly<{
  world: World
  exchange: Exchange
  connection: Connection
  held: Held
  transcoder: Transcoder
  /** Stops the upstream call. */
  call: CallStop
  timings: Timings
  /** Where the answer is kept for a repetition of its request; absent where it is not. */
  kept?: Pick<RecordedAnswer, 'add'>
  /** Runs once, when the stream has ended and its money is settled, or could not be. */
  onEnd: (end: End, kept: Kept) => void
}>
