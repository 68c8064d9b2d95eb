/** The upstream's port: one native call. The relay sees an answer or a fault, never a network. Rules: faults.md "Upstream calls". */

import type { CountDifference } from '../core/aws-event-stream/invocation-metrics.ts'
import type { Model } from '../core/catalog.ts'
import type { ChatBody, ChatDialect } from '../core/chat-dialect.ts'
import type { BodyNotes } from '../core/native/body-notes.ts'
import type { Dialect } from '../core/native/event.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'
import type { Trouble } from './breaker.ts'

export interface Upstream {
  /**
   * Never rejects. `stop` ends the call and the body.
   */
  call(request: UpstreamRequest, stop: Stop, events?: CallEvents): Promise<Reply | Fault>
}

export type CallEvents = Readonly<{
  /** Called when a fault is certain while its text is still being read: for a quarter of a second at most, or until the call is a second old. */
  onErrorHead?: () => void
  /** Called once: the upstream has nothing more to do for the call, body included. */
  onOver?: () => void
  /** Called where the door counted an answer otherwise than the answer's own usage does. */
  onCountDiffers?: (difference: CountDifference) => void
  /** Called where a 400 speaks of betas: with the betas that it names, or with all that were sent. */
  onBetasRefused?: (betas: readonly string[]) => void
}>

/** Says that a call is not wanted any more. A part that waits for the call takes the one place of `listener`, and leaves it when it has stopped waiting. */
export interface Stop {
  readonly isStopped: boolean
  /** Stopped because its time is over. */
  readonly isOverdue: boolean
  listener: (() => void) | undefined
}

/** The receiver of a body. Nothing is called after `end` or `broken`. */
export interface BodySink {
  /** The piece is the sink's own. */
  data(piece: Uint8Array): void
  end(): void
  /** Reset, cut short, badly compressed, or stopped by us. */
  broken(): void
}

/** How many bytes of a body may wait for a sink before its source is paused; one read, which is half a megabyte at most, can come on top of it. */
export const WAITING_BYTES_MAX = 64 * 1024

/** The source of a body. Pieces of the present read may still come after `pause`. */
export interface BodySource {
  pause(): void
  resume(): void
  /** The body is not wanted any more; the sink hears nothing of it. */
  cancel(): void
  /**
   * Sends what still comes to `sink`, past all bodies between it and the source. Returns the source itself, which is to be paused, resumed and cancelled from now on.
   * To be called only when `sink` has taken the body and no bytes wait in between.
   */
  handOn(sink: BodySink): BodySource
}

export interface Body extends BodySource {
  /** Called once. Pieces that have come by now are delivered before it returns, all others as they come. */
  take(sink: BodySink): void
}

export type UpstreamRequest = Readonly<{
  path: '/v1/messages' | '/v1/messages/count_tokens' | '/chat/completions'
  /** `?beta=true` or ''. */
  query: string
  model: Model
  body: Uint8Array
  /** Where the JSON string that names the model begins in the body, and by which id it names it, where this upstream knows it by another. */
  named?: Readonly<{ at: number; as: string }>
  /** Of a heavy body. */
  notes?: BodyNotes
  /** The body asks for a stream. */
  isStream: boolean
  /** '' of a request in chat. */
  version: string
  betas: string
  /** The request for servers that speak chat, in each of the model's manners of chat; absent where none of them could take it. */
  chat?: readonly ChatBody[]
}>

/** A 200. The body may still turn out to be broken. */
export type Reply = Readonly<{
  kind: 'reply'
  /** The name of the upstream that answered, for the log. */
  upstream: string
  isEventStream: boolean
  /** The dialect of this upstream's streams. */
  dialect: Dialect
  /** Present where the body is a chat completion, or a stream of its chunks. */
  chat?: ChatReply
  /** So begin the names of the members that the door adds to an answer in one piece; they are not part of the native message. */
  addedPrefix?: string
  /** The body is read to its end also after its client has left, since the usage comes there. */
  isFinishedAlone?: boolean
  /** The upstream's errors reach customers in our words. */
  hidesErrorText?: boolean
  /** The upstream's own id of the request, where it gave one. */
  requestId?: string
  /**
   * Judges the model that the answer names: returns a fault where such an answer must not be handed on. Absent: any model is right. `usage`: what the answer cost,
   * where it is known.
   */
  judgeModel?: (named: unknown, usage?: Usage) => Fault | undefined
  /** Must be taken or cancelled. */
  body: Body
  /** The call was sent once before, on a connection that turned out to be dead; it is unknown whether it had arrived there. */
  isSecondTry?: boolean
}>

/** How an answer in the chat format is read. */
export type ChatReply = Pick<ChatDialect, 'reasoning'>

/** The upstream failed or refused before its first byte: what the client is told, and what the operator should know. */
export type Fault = Readonly<{
  kind: 'fault'
  upstream: string
  refusal: Refusal
  /** For the log and the metric: 'connect', 'status 529', 'content-type'. Never the upstream's text. */
  cause: string
  /** Our account or configuration is wrong: an operator must act. */
  isAlarm: boolean
  /** What the fault says about the upstream; absent where it is the client's mistake, or where we stopped the call. */
  trouble?: Trouble
  /** The status of the upstream's answer; absent where none came. */
  status?: number
  /** Set for a token count for which an estimate of ours may answer. */
  mayEstimate?: true
  requestId?: string
  /** The usage of an answer that cannot be handed on, as the upstream told it. */
  usage?: Usage
  /** As in a reply. */
  isSecondTry?: boolean
}>

export const isFault = (value: object): value is Fault => 'kind' in value && value.kind === 'fault'
