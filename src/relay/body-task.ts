/**
 * The questions to the threads for bodies, and their replies, as data that crosses threads. Rules: requests.md "Heavy bodies"; architecture.md "What crosses
 * between threads".
 */

import type { Model } from '../core/catalog.ts'
import type { Answered, Call, Forgotten, FormatName, ReadContext, Stamp } from '../core/format.ts'
import type { Observation } from '../core/native/observation.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { Finished } from '../core/transcoder.ts'
import type { ChatReply } from '../upstream/upstream.ts'
import type { NoAnswer } from './answer-of.ts'
import type { ReaderName } from './readers.ts'

/** How the loop answers a question of the thread, which stands still meanwhile: `isAnswered` is 1 when the answer is at the port. */
export type QuestionChannel = Readonly<{ port: MessagePort; isAnswered: Int32Array }>

/** `pieces` of a body, in order, are handed over unjoined: joining 32 MiB would hold the event loop for some ten milliseconds. */
export type BodyTask =
  /** Makes the call for the upstream from a body. `headers`: those that a reader asks for, by name. */
  | Readonly<{
      kind: 'read'
      reader: ReaderName
      pieces: readonly Uint8Array[]
      headers: ReadonlyMap<string, string>
      planCapPicos: ReadContext['planCapPicos']
      tagsUserIds: ReadContext['tagsUserIds']
    }>
  /** Hashes the pieces with SHA-256. */
  | Readonly<{ kind: 'hash'; pieces: readonly Uint8Array[] }>
  /** Makes what the client gets from a complete answer. */
  | Readonly<{
      kind: 'answer'
      format: FormatName
      pieces: readonly Uint8Array[]
      call: Answered<unknown>
      stamp: Stamp
      chat: ChatReply | undefined
      addedPrefix: string | undefined
    }>

export type ToBodyThread = (Readonly<{ kind: 'line' }> & QuestionChannel) | BodyTask

/** What a task may ask of the loop while it runs. */
export type Question = Readonly<{ kind: 'find'; modelId: string }> | Readonly<{ kind: 'recall'; id: string }>

/** Items, each as JSON, or why there are none. */
export type Recalled = readonly Uint8Array[] | Forgotten
/** `droppedPaths`: what each kind of the model's upstreams cuts out of a native body. */
export type LookedUp = Readonly<{
  model?: Model | undefined
  droppedPaths?: readonly (readonly string[])[]
  items?: Recalled | undefined
}>

/** The result of a task. Its bytes are handed over. */
export type Done =
  /** The call comes without its model, which is the one that the task found last. */
  | Readonly<{ kind: 'call'; call: Omit<Call<unknown>, 'model'> }>
  | Readonly<{ kind: 'refusal'; refusal: RefusalData }>
  /** `bytes`: what was hashed, in one piece. */
  | Readonly<{ kind: 'hash'; hash: Uint8Array; bytes: Uint8Array }>
  | (Readonly<{ kind: 'answer' }> & HeavyAnswer)
  | (Readonly<{ kind: 'unusable' }> & Unusable)

/** `finished` lacks the items of the request. */
export type HeavyAnswer = Readonly<{ bytes: Uint8Array; observation: Observation; finished: Finished | undefined }>

/** An answer that is no message, or one that cannot be handed on; `usage` is what it costs nevertheless, `error` the error that came in its place. */
export type Unusable = NoAnswer

export type FromBodyThread = Question | Done | Readonly<{ kind: 'bug'; bug: unknown }>

export type RefusalData = Readonly<{
  name: RefusalName
  message: string
  retryAfterSeconds: number | undefined
  errorCode: string | undefined
}>

export const refusalData = ({ name, message, retryAfterSeconds, errorCode }: Refusal): RefusalData => ({
  name,
  message,
  retryAfterSeconds,
  errorCode,
})

export const refusalOf = ({ name, message, retryAfterSeconds, errorCode }: RefusalData): Refusal =>
  new Refusal(name, {
    message,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(errorCode === undefined ? {} : { errorCode }),
  })

/** Copies bytes to a buffer of their own: a buffer that is handed over is gone here, with everything else in it. */
export const handedOver = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer
    ? (bytes as Uint8Array<ArrayBuffer>)
    : new Uint8Array(bytes)
