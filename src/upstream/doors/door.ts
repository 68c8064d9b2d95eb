/**
 * What the kind of an upstream changes of a call: its address, its fields, its body, and how its answer is read. Transports know doors only by this. Rules:
 * doors.md "Kinds".
 */

import type { CallEvents, Reply, UpstreamRequest } from '../upstream.ts'

/** See `Reply`. */
type ChatAnswers = Required<Pick<Reply, 'chat' | 'isFinishedAlone'>>

/** Header fields, their names in lower case. */
export type Fields = Readonly<Record<string, string>>

export interface Door {
  /** Path and query behind the base address. */
  target(request: UpstreamRequest): string
  /** Fields of every call. A call's head is the same for the same target, version and betas. */
  readonly fields: Fields
  /** The request as this server takes it; absent: as it is. Pure, so that every turn of a conversation is edited alike. */
  edit?(request: UpstreamRequest): UpstreamRequest
  /** Fields of this one call, such as a signature; a promise only where something has to be waited for; a text: why there are none. Never rejects. */
  prove?(call: ProvenCall): Proof | Promise<Proof>
  /** A 200 is a chat completion or a stream of its chunks, which are read by the format of the client; absent: it is native, or becomes it by `reading`. */
  readonly chat?: ChatAnswers
  /** As which status an error counts whose name says more than its own; `text`: its body. */
  errorStatus?(status: number, name: string, text: string): number
  /** The server refused the proof: the next call has another one, where there may be another. */
  refused?(): void
  /** How the body of a 200 is read; absent or undefined: it is native. */
  reading?(request: UpstreamRequest, contentType: string, events: CallEvents): Reading | undefined
}

export type Proof = Fields | string

/** What is proven: the call as it leaves. `host`: with its port, where that is not the scheme's own. `fields`: those that are sent beside the proof. */
export type ProvenCall = Readonly<{ host: string; target: string; fields: Fields; body: Uint8Array }>

/** `isEventStream`: what `decoder` gives is a native stream; else it is one native message. */
export type Reading = Readonly<{ isEventStream: boolean; decoder: BodyDecoder }>

/** The body of one answer, piece by piece, into native bytes. What is given is the caller's own. */
export interface BodyDecoder {
  push(piece: Uint8Array): Uint8Array | 'broken'
  /** What is left when the body has ended; 'broken': it must not end here. */
  end(): Uint8Array | 'broken'
}
