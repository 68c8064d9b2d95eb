/**
 * Chat chunks as bytes around what changes in them. All of a chunk but its delta is the same for a whole stream, so it is encoded once; a delta's JSON string
 * literal is put between two halves as it came from the upstream. Rules: chat.md "Chunks", "End".
 */

import { ascii, type ByteString, concat, encodeJson, solid } from '../../bytes/byte-string.ts'
import type { Template } from '../../native/delta-run.ts'
import type { ChatChunk, ChatDelta, ChatUsage, FinishReason } from './wire.ts'

/** The members of a chunk before `choices`. */
export type ChunkHead = Readonly<Omit<ChatChunk, 'choices' | 'usage'>>

/** How a chunk ends: `plain` follows the whole delta, `braced` begins with the delta's closing brace, as nearly all chunks need it. */
type Close = Readonly<{ plain: ByteString; braced: ByteString }>

const closeOf = (plain: ByteString): Close => ({ plain, braced: solid(ascii`}${plain}`) })

const NO_LOGPROBS = ascii`,"logprobs":null`
const CLOSE = closeOf(solid(ascii`,"logprobs":null,"finish_reason":null}]}\n\n`))
const CLOSE_BEFORE_USAGE = closeOf(solid(ascii`,"logprobs":null,"finish_reason":null}],"usage":null}\n\n`))
const CHOICE = ascii`{"index":0,"delta":`
const CONTENT = ascii`{"content":`
const DONE = ascii`data: [DONE]\n\n`

/** Writes the chunks of one stream. It holds one text of its own, the one before `content`: the other texts begin alike and are made when they are needed. */
export class ChunkWriter {
  readonly content: Template
  readonly #close: Close
  #reasoning: Template | undefined

  constructor(head: ChunkHead, includesUsageChunk: boolean) {
    this.#close = includesUsageChunk ? CLOSE_BEFORE_USAGE : CLOSE
    const before = solid(ascii`data: ${encodeJson(head).slice(0, -1)},"choices":[${CHOICE}${CONTENT}`)
    this.content = { before, after: this.#close.braced }
  }

  get reasoning(): Template {
    this.#reasoning ??= { before: solid(ascii`${this.#open}{"reasoning_content":`), after: this.#close.braced }
    return this.#reasoning
  }

  /** The halves of a chunk whose delta is `deltaHead`, a string literal and `deltaTail`. */
  template(deltaHead: ByteString, deltaTail: ByteString): Template {
    return { before: solid(concat(this.#open, deltaHead)), after: solid(concat(deltaTail, this.#close.plain)) }
  }

  /** A chunk with a whole delta. */
  delta(delta: ChatDelta): ByteString {
    return concat(this.#open, encodeJson(delta), this.#close.plain)
  }

  /** A chunk with a whole delta from a server that speaks chat, with its `logprobs`. */
  chunk(delta: unknown, logprobs: unknown): ByteString {
    const after =
      logprobs === null
        ? this.#close.plain
        : concat(ascii`,"logprobs":${encodeJson(logprobs)}`, this.#close.plain.slice(NO_LOGPROBS.length))
    return concat(this.#open, encodeJson(delta), after)
  }

  /** The finish chunk, the usage where the client wants it, and `[DONE]`. */
  finish(reason: FinishReason, usage: ChatUsage): ByteString {
    const figures = encodeJson(usage)
    const finish = ascii`${this.#open}{},"logprobs":null,"finish_reason":${encodeJson(reason)}}],"usage":`
    if (this.#close === CLOSE) return ascii`${finish}${figures}}\n\n${DONE}`
    return ascii`${finish}null}\n\n${this.#open.slice(0, -CHOICE.length)}],"usage":${figures}}\n\n${DONE}`
  }

  get #open(): ByteString {
    return this.content.before.slice(0, -CONTENT.length)
  }
}
