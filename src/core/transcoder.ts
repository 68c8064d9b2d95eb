/** A stream rewriter without a stream: upstream bytes in, client bytes out. The relay owns the I/O, the time and the money. Rules: house.md "One stage". */

import type { ChatDialect } from './chat-dialect.ts'
import type { Dialect } from './native/event.ts'
import type { Observation } from './native/observation.ts'
import type { Refusal } from './refusal.ts'

/** Bytes for the client, in order: several pieces where a long text is written once more without being copied. */
export type Written = Uint8Array | readonly Uint8Array[]

export const piecesOf = (written: Written): readonly Uint8Array[] => (written instanceof Uint8Array ? [written] : written)

/** What one push makes. `now` leaves at once. Then at most one of: `last`, which waits until the settle is durable and ends the client's stream; `fault`. */
export type Pushed<Bytes extends Written = Written> = Readonly<{
  now?: Bytes
  last?: Bytes
  /** The upstream failed: the relay settles, then writes `fail(fault)`. */
  fault?: Refusal
}>

/** `broken`: reset, cut short, badly compressed. The answer may be whole all the same, when its upstream had told its final figures. */
export type StreamClose = 'ended' | 'broken'

/** What an answer leaves to be remembered: its items with those of its input. Only the responses format lets clients refer to them later. */
export type Finished = Readonly<{ responseId: string; items: readonly FinishedItem[] }>

/** An item as JSON, in bytes that do not change and keep no larger buffer alive; `id` by which it can be referred to, when it has one. */
export type FinishedItem = Readonly<{ id?: string; json: Written }>

/** What is to be known of a chat stream that goes to a chat client. */
export type ChatManner = Pick<ChatDialect, 'reasoning'>

export interface Transcoder {
  /**
   * How the upstream speaks that is fed, and whether its errors keep their words, once it is known which that is, and before its first chunk. `chat`: it is fed chat chunks,
   * which only the transcoder of chat takes.
   */
  hears(dialect: Dialect, hidesErrorText?: boolean, chat?: ChatManner): void
  /** Feeds one chunk of the upstream's body. Must not be called again after `last` or `fault`. */
  push(chunk: Uint8Array): Pushed
  /** What it gives stands in memory of its own, apart from what it was fed, and it looks at neither again. Absent: it may. */
  readonly givesItsOwn?: true
  /** The upstream's body has ended, in order or broken off: gives `last` when the answer is whole, else `fault`. */
  end(how: StreamClose): Pushed
  /** The bytes that end the client's stream with an error: exactly one terminal form, nothing after it. */
  fail(refusal: Refusal): Uint8Array
  /** Bytes that keep an idle connection alive and mean nothing. They may be written between any two pushes, each of which gives whole frames only. */
  heartbeat(): Uint8Array
  readonly observation: Observation
  /** After `last` was given; undefined when the client forbade to remember. */
  finished?(): Finished | undefined
}
