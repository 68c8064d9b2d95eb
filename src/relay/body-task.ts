/** What the thread that reads large bodies is asked and what it answers, as data that crosses threads. Rules: requests.md "Large bodies". */

import type { Model } from '../core/catalog.ts'
import type { Call } from '../core/format.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { ReaderName } from './readers.ts'

/** By which a question of the thread is answered while it stands still: 1 in `isAnswered` when the answer is at the port. */
export type Line = Readonly<{ port: MessagePort; isAnswered: Int32Array }>

export type ToBodyThread =
  | (Readonly<{ kind: 'line' }> & Line)
  /** `headers`: those that a reader asks for, by name. `bytes` are handed over. */
  | Readonly<{ kind: 'read'; reader: ReaderName; bytes: Uint8Array; headers: ReadonlyMap<string, string> }>

export type FromBodyThread =
  | Readonly<{ kind: 'find'; modelId: string }>
  | Readonly<{ kind: 'recall'; id: string }>
  /** Without the model, which is the one that was found last. `body` is handed over. */
  | Readonly<{ kind: 'call'; call: Omit<Call<unknown>, 'model'> }>
  | Readonly<{ kind: 'refusal'; refusal: RefusalData }>
  | Readonly<{ kind: 'bug'; bug: unknown }>

/** `items`: each as JSON. */
export type LookedUp = Readonly<{ model?: Model | undefined; items?: readonly Uint8Array[] | undefined }>

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

/** The same bytes, in a buffer of their own: what is handed over is gone here, with all that shares it. */
export const handedOver = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer
    ? (bytes as Uint8Array<ArrayBuffer>)
    : new Uint8Array(bytes)
