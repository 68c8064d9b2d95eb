/**
 * Chat chunks as bytes around what changes in them. All of a chunk but its delta is the same for a whole stream, so it is encoded once; a delta's JSON string
 * literal is put between two halves as it came from the upstream. Rules: chat.md "Chunks", "End".
 */

import { ascii, type ByteString, concat, encodeJson, solid } from '../../bytes/byte-string.ts'
import type { ChatChunk, ChatDelta, ChatUsage, FinishReason } from './wire.ts'

/** What comes before and after a JSON string literal. */
export type Template = Readonly<{ before: ByteString; after: ByteString }>

/** The members of a chunk before `choices`. */
export type ChunkHead = Readonly<Omit<ChatChunk, 'choices' | 'usage'>>

const BRACE = ascii`}`
const CLOSE = solid(ascii`,"logprobs":null,"finish_reason":null}]}\n\n`)
const CLOSE_BEFORE_USAGE = solid(ascii`,"logprobs":null,"finish_reason":null}],"usage":null}\n\n`)
const DONE = ascii`data: [DONE]\n\n`

export class ChunkWriter {
  readonly content: Template
  readonly reasoning: Template
  readonly #head: ByteString
  readonly #open: ByteString
  readonly #close: ByteString
  readonly #includesUsageChunk: boolean

  constructor(head: ChunkHead, includesUsageChunk: boolean) {
    this.#head = solid(ascii`data: ${encodeJson(head).slice(0, -1)},"choices":[`)
    this.#open = solid(ascii`${this.#head}{"index":0,"delta":`)
    this.#close = includesUsageChunk ? CLOSE_BEFORE_USAGE : CLOSE
    this.#includesUsageChunk = includesUsageChunk
    this.content = this.template(ascii`{"content":`, BRACE)
    this.reasoning = this.template(ascii`{"reasoning_content":`, BRACE)
  }

  /** A chunk whose delta is `deltaHead`, a string literal, `deltaTail`. */
  template(deltaHead: ByteString, deltaTail: ByteString): Template {
    return { before: solid(concat(this.#open, deltaHead)), after: solid(concat(deltaTail, this.#close)) }
  }

  /** A chunk with a whole delta. */
  delta(delta: ChatDelta): ByteString {
    return concat(this.#open, encodeJson(delta), this.#close)
  }

  /** The finish chunk, the usage where the client wants it, and `[DONE]`. */
  finish(reason: FinishReason, usage: ChatUsage): ByteString {
    const figures = encodeJson(usage)
    const finish = ascii`${this.#open}{},"logprobs":null,"finish_reason":${encodeJson(reason)}}],"usage":`
    if (!this.#includesUsageChunk) return ascii`${finish}${figures}}\n\n${DONE}`
    return ascii`${finish}null}\n\n${this.#head}],"usage":${figures}}\n\n${DONE}`
  }
}
