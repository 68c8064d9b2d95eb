/** What a wire format provides: how its request becomes a native call, and how a native answer becomes an answer in the format. Rules: house.md "One request". */

import type { Body } from './body.ts'
import type { Model } from './catalog.ts'
import type { ChatBody, ReasoningSetting, StrictSchema } from './chat-dialect.ts'
import type { Picos } from './money.ts'
import type { BodyNotes } from './native/body-notes.ts'
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
  /** The body for each of the model's chat dialects, in their order; absent where none of its upstreams speaks chat. */
  chat?: readonly ChatBody[]
  /** What the native body has only as a hint; absent where the model has no upstream that speaks chat. */
  strictSchema?: StrictSchema | undefined
  routing: Routing
  bounds: Bounds
  /** Tokens of thinking that the native body asks for: its `max_tokens` is above them. */
  thinkingTokens?: number | undefined
  /** `max_tokens` of the call, where a cap on the request's cost made it less than was asked. */
  maxTokensApplied?: number
  /** `anthropic-version` and `anthropic-beta` for the upstream; betas '' when there are none. */
  version: string
  betas: string
  tag?: string
  /** The client asked that the usage of the answer say what it cost. */
  includesCost: boolean
  /** False: the gateway writes the answer nowhere. */
  isStored: boolean
  echo: Echo
}>

/** What an upstream is chosen by, and where the body changes for an upstream that knows the model by another id. */
export type Routing = Readonly<{
  /** The conversation's key, see `conversationOf`. */
  conversation: string
  /** Where the JSON string that names the model begins in `body`. */
  modelAt: number
  /** Of a body that was read on a thread; absent: the body is light, so it may be looked through again. */
  notes?: BodyNotes
}>

/** The part of a call that its answer needs: a stream outlives the body of its request. */
export type Answered<Echo> = Omit<Call<Echo>, 'body' | 'chat' | 'strictSchema' | 'routing'>

export type ReadContext = Readonly<{
  headers: { get(name: string): string | null }
  /** The model under this id, if the key's plan has it. */
  find(modelId: string): Model | undefined
  /** Items of an earlier answer of the same key, by response id or item id (responses only), or why there are none. */
  recall(id: string): readonly unknown[] | Forgotten
  sha256Hex: Sha256Hex
  /** The most that the key's plan lets one request cost; absent: no limit. */
  planCapPicos?: Picos | undefined
  /** The account wants the ids of its end users to be tags. */
  tagsUserIds?: boolean | undefined
}>

/** Why an answer is not remembered. unknown: no such answer is known · expired: it was too old · crowded: others needed its room, or it never had any. */
export type Forgotten = 'unknown' | 'expired' | 'crowded'

/** SHA-256 of a text's UTF-8, in hexadecimal. The caller passes the engine's own, which is fast: a client decides how long the text is. */
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
  /** The client's body for a whole completion of a server that speaks chat, as the client does; only the chat format has this. */
  pass?(text: string, message: NativeMessage, reasoning: ReasoningSetting, call: Call<Echo>, stamp: Stamp): Uint8Array
  /** Splits off the input items, which only `finished` needs: they may be megabytes, which then do not travel to another thread and back. */
  apart?(echo: Echo): Readonly<{ echo: Echo; input: readonly FinishedItem[] }>
  /** What is remembered of the answer that `respond` gave; for a stream, the transcoder's `finished` gives it. */
  finished?(message: NativeMessage, call: Call<Echo>, stamp: Stamp): Finished | undefined
}
