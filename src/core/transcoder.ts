/** A stream rewriter without a stream: upstream bytes in, client bytes out. The relay owns the I/O, the time and the money. Rules: house.md "One stage". */

import type { ChatDialect } from './chat-dialect.ts'
import type { Dialect } from './native/event.ts'
import type { Observation } from './native/observation.ts'
import type { Refusal } from './refusal.ts'

/** Bytes for the client, in order: several pieces where a long text is repeated without being copied. */
export type Written = Uint8Array | readonly Uint8Array[]

export const piecesOf = (written: Written): readonly Uint8Array[] => (written instanceof Uint8Array ? [written] : written)

/** What one push makes. `now` leaves at once. Beside it stands at most one of `fault` and `last`, which waits until the settle is durable and ends the client's stream. */
export type Pushed<Bytes extends Written = Written> = Readonly<{
  now?: Bytes
  last?: Bytes
  /** The upstream failed: the relay settles, then writes `fail(fault)`. */
  fault?: Refusal
}>

/** `broken`: reset, cut short, badly compressed. The answer may still be whole, when its upstream had already told its final figures. */
export type StreamClose = 'ended' | 'broken'

/** What is remembered of an answer: the items of its input, then its own. Only the responses format lets clients refer to them later. */
export type Finished = Readonly<{ responseId: string; items: readonly FinishedItem[] }>

/** An item as JSON, in bytes that do not change and keep no larger buffer alive; `id`: what later requests refer to it by, when it has one. */
export type FinishedItem = Readonly<{ id?: string; json: Written }>

/** What a transcoder must know of a chat stream that goes to a chat client. */
export type ChatManner = Pick<ChatDialect, 'reasoning'>

export interface Transcoder {
  /**
   * Told before the first chunk, once the upstream is known: its dialect, and whether its errors are told in our words. `chat`: the transcoder is fed chat chunks,
   * which only that of the chat format takes.
   */
  hears(dialect: Dialect, hidesErrorText?: boolean, chat?: ChatManner): void
  /** Feeds one chunk of the upstream's body. Must not be called again after `last` or `fault`. */
  push(chunk: Uint8Array): Pushed
  /** The transcoder's output never shares memory with its input, and it reads neither again, so that both may be released at once. Absent: no such promise. */
  readonly givesItsOwn?: true
  /** The upstream's body has ended, in order or broken off: gives `last` when the answer is whole, else `fault`. */
  end(how: StreamClose): Pushed
  /** The bytes that end the client's stream with an error: exactly one terminal form, nothing after it. */
  fail(refusal: Refusal): Uint8Array
  /** Bytes that keep an idle connection alive and mean nothing. They may be written between any two pushes, each of which gives whole frames only. */
  heartbeat(): Uint8Array
  readonly observation: Observation
  /** What is remembered of the answer; to be called after `last` was given. Undefined when the client forbade it. */
  finished?(): Finished | undefined
}
