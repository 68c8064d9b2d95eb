/**
 * Chat chunks as bytes around what changes in them. All of a chunk but its delta is the same for a whole stream, so it is encoded once; a delta's JSON string
 * literal is put between two halves as it came from the upstream. Rules: chat.md "Chunks", "End".
 */

import { type ByteString, encodeJson } from '../../bytes/byte-string.ts'
import type { ChatChunk, ChatDelta, ChatUsage, FinishReason } from './wire.ts'

/** What comes before and after a JSON string literal. */
export type Template = Readonly<{ before: ByteString; after: ByteString }>

/** The members of a chunk before `choices`. */
export type ChunkHead = Readonly<Omit<ChatChunk, 'choices' | 'usage'>>

const DONE = 'data: [DONE]\n\n' as ByteString

export class ChunkWriter {
  readonly content: Template
  readonly reasoning: Template
  readonly #head: ByteString
  readonly #open: ByteString
  readonly #close: ByteString
  readonly #includesUsageChunk: boolean

  constructor(head: ChunkHead, includesUsageChunk: boolean) {
    this.#head = `data: ${encodeJson(head).slice(0, -1)},"choices":[` as ByteString
    this.#open = `${this.#head}{"index":0,"delta":` as ByteString
    this.#close = `,"logprobs":null,"finish_reason":null}]${includesUsageChunk ? ',"usage":null' : ''}}\n\n` as ByteString
    this.#includesUsageChunk = includesUsageChunk
    this.content = this.template('{"content":', '}')
    this.reasoning = this.template('{"reasoning_content":', '}')
  }

  /** A chunk whose delta is `deltaHead`, a string literal, `deltaTail`. Both are ASCII. */
  template(deltaHead: string, deltaTail: string): Template {
    return { before: (this.#open + deltaHead) as ByteString, after: (deltaTail + this.#close) as ByteString }
  }

  /** A chunk with a whole delta. */
  delta(delta: ChatDelta): ByteString {
    return (this.#open + encodeJson(delta) + this.#close) as ByteString
  }

  /** The finish chunk, the usage where the client wants it, and `[DONE]`. */
  finish(reason: FinishReason, usage: ChatUsage): ByteString {
    const figures = encodeJson(usage)
    const finish = `${this.#open}{},"logprobs":null,"finish_reason":"${reason}"}],"usage":`
    if (!this.#includesUsageChunk) return `${finish}${figures}}\n\n${DONE}` as ByteString
    return `${finish}null}\n\n${this.#head}],"usage":${figures}}\n\n${DONE}` as ByteString
  }
}
