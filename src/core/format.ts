/** What a wire format provides: how its request becomes a native call, and how the native answer becomes its own. Rules: house.md "One request". */

import type { Body } from './body.ts'
import type { Model } from './catalog.ts'
import type { ChatBody, ReasoningSetting } from './chat-dialect.ts'
import type { Picos } from './money.ts'
import type { NativeMessage } from './native/message.ts'
import type { Bounds } from './pricing.ts'
import type { Refusal } from './refusal.ts'
import type { Finished, FinishedItem, Transcoder } from './transcoder.ts'

export const FORMAT_NAMES = ['messages', 'chat', 'responses'] as const
export type FormatName = (typeof FORMAT_NAMES)[number]

/** A request after reading. `Echo` is what the format must remember of it to write the answer. */
export type Call<Echo> = Readonly<{
  model: Model
  isStream: boolean
  /** The native body for the upstream; empty where the model has no upstream of that kind. */
  body: Uint8Array
  /** The same as each of the model's manners of chat has it; absent where none of its upstreams speaks chat. */
  chat?: readonly ChatBody[]
  routing: Routing
  bounds: Bounds
  /** Tokens of thinking that the native body asks for: its `max_tokens` is above them. */
  thinkingTokens?: number | undefined
  /** `max_tokens` of the call, where a cap on the request's cost made it less than was asked. */
  maxTokensApplied?: number
  /** `anthropic-version` and `anthropic-beta` for the upstream; betas '' when there are none. */
  version: string
  betas: string
  /** The usage of the answer is to say what it cost. */
  includesCost: boolean
  /** False: its answer is written nowhere. */
  isStored: boolean
  echo: Echo
}>

/** What an upstream is chosen by, and what changes in the body for one that knows the model by another id. */
export type Routing = Readonly<{
  /** What tells the conversation, see `conversationOf`. */
  conversation: string
  /** Where the JSON string that names the model begins in `body`. */
  modelAt: number
}>

/** The part of a call that its answer needs: a stream outlives the body of its request. */
export type Answered<Echo> = Omit<Call<Echo>, 'body' | 'chat' | 'routing'>

export type ReadContext = Readonly<{
  headers: { get(name: string): string | null }
  /** The model under this id, if the key's plan has it. */
  find(modelId: string): Model | undefined
  /** Items of an earlier answer of the same key, by response id or item id (responses only), or why there are none. */
  recall(id: string): readonly unknown[] | Forgotten
  sha256Hex: Sha256Hex
  /** What the key's plan lets one request cost; absent: anything. */
  planCapPicos?: Picos | undefined
}>

/** Why an answer is not there: it never was, as far as is known; it was too old; its room was needed, or it never had any. */
export type Forgotten = 'unknown' | 'expired' | 'crowded'

/** SHA-256 of a text's UTF-8, in hexadecimal: the engine's own, handed in, since a client decides how long the text is. */
export type Sha256Hex = (text: string) => string

/** What the answer needs that is not pure: the time and the request's id. */
export type Stamp = Readonly<{ createdSeconds: number; requestId: string }>

export interface Format<Echo> {
  readonly name: FormatName
  /** Validates and translates. Order: shape of the body, then the model, then what depends on the model. */
  read(body: Body, context: ReadContext): Call<Echo> | Refusal
  /** The client's body for a complete native message. */
  respond(message: NativeMessage, call: Call<Echo>, stamp: Stamp): Uint8Array
  transcoder(call: Answered<Echo>, stamp: Stamp): Transcoder
  /** The client's body for a whole completion of a server that speaks the client's own format, chat; absent where that is another one. */
  pass?(text: string, message: NativeMessage, reasoning: ReasoningSetting, call: Call<Echo>, stamp: Stamp): Uint8Array
  /** The echo without what only `finished` puts before the answer's items, and that: it may be megabytes, which are not carried to another thread and back. */
  apart?(echo: Echo): Readonly<{ echo: Echo; input: readonly FinishedItem[] }>
  /** What the answer that `respond` gives leaves to be remembered; a stream's is the transcoder's `finished`. */
  finished?(message: NativeMessage, call: Call<Echo>, stamp: Stamp): Finished | undefined
}
