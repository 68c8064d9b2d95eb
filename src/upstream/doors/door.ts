/**
 * What the kind of an upstream changes in a call: its address, its fields, its body, and how its answer is read. Transports know doors only by this interface. Rules:
 * doors.md "Kinds".
 */

import type { CallEvents, Reply, UpstreamRequest } from '../upstream.ts'

/** See `Reply`. */
type ChatAnswers = Required<Pick<Reply, 'chat' | 'isFinishedAlone'>>

/** Header fields, their names in lower case. */
export type Fields = Readonly<Record<string, string>>

export interface Door {
  /** Path and query, to be put behind the base address. */
  target(request: UpstreamRequest): string
  /** The fields of every call. The head of a call is the same for the same target, version and betas. */
  readonly fields: Fields
  /** The request as this server takes it; absent: as it is. Pure, so that every turn of a conversation is edited alike. */
  edit?(request: UpstreamRequest): EditedRequest
  /** The fields of this one call, such as a signature; a promise only where something has to be waited for; a text: why there are none. Never rejects. */
  prove?(call: ProvenCall): Proof | Promise<Proof>
  /**
   * Present where the body of a 200 is a chat completion or a stream of its chunks, which are read by the format of the client; absent: the body is native, or becomes
   * it by `reading`.
   */
  readonly chat?: ChatAnswers
  /** See `Reply`. */
  readonly addedPrefix?: string
  /** The status as which an error counts whose name says more than its own status; `text`: its body. */
  errorStatus?(status: number, name: string, text: string): number
  /** Called when the server refused the proof: the next call has another one, if there is another. */
  refused?(): void
  /** How the body of a 200 is read; absent or undefined: it is native. */
  reading?(request: UpstreamRequest, contentType: string, events: CallEvents): Reading | undefined
}

/** `sent`: the body as it leaves, in pieces, so that what an edit does not touch is not copied; a promise where the whole of a large body has to be written anew. */
export type EditedRequest = UpstreamRequest & Readonly<{ sent: Pieces | Promise<Pieces> }>
export type Pieces = readonly Uint8Array[]

export type Proof = Fields | string

/** What is proven: the call as it is sent. `host`: with its port, unless that is the scheme's own. `fields`: those that are sent beside the proof. */
export type ProvenCall = Readonly<{ host: string; target: string; fields: Fields; body: Pieces }>

/** `isEventStream`: what `decoder` gives is a native stream; else it is one native message. */
export type Reading = Readonly<{ isEventStream: boolean; decoder: BodyDecoder }>

/** Turns the body of one answer into native bytes, piece by piece. The bytes that it gives are the caller's own. */
export interface BodyDecoder {
  /** What came last cannot be read, or the body must not have ended there; what was given before that still counts. The decoder is not to be fed again. */
  readonly isBroken: boolean
  push(piece: Uint8Array): Uint8Array
  /** The rest, when the body has ended. */
  end(): Uint8Array
}
