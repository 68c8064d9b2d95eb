/**
 * A chat stream to a chat client: the same pieces under our id and our name of the model. The gateway itself writes finish, usage and `[DONE]`, when the answer is settled.
 * Rules: openai.md "Chat answers", "Ends"; chat.md "Chunks", "End".
 */

import { ascii, encodeJson, solid, toBytes } from '../../../bytes/byte-string.ts'
import { ByteWriter } from '../../../bytes/byte-writer.ts'
import type { Answered, Stamp } from '../../../format.ts'
import { isGiven, type JsonObject } from '../../../json.ts'
import type { Template } from '../../../native/delta-run.ts'
import { refusalOfErrorEvent } from '../../../native/error-refusal.ts'
import type { Dialect } from '../../../native/event.ts'
import type { Observation } from '../../../native/observation.ts'
import { inOwnWords } from '../../../native/own-words.ts'
import { Refusal } from '../../../refusal.ts'
import type { ChatManner, Pushed, StreamClose, Transcoder } from '../../../transcoder.ts'
import { ChunkWriter } from '../chunk.ts'
import { CallPositions } from '../reverse/call-positions.ts'
import type { ChatChoice } from '../reverse/chunk.ts'
import type { Piece } from '../reverse/chunk-finder.ts'
import { ChatReader, type ChatSink } from '../reverse/reader.ts'
import { errorEnd, HEARTBEAT } from '../stream-end.ts'
import { chatUsage } from '../usage.ts'
import { type ChatEcho, completionId } from '../wire.ts'
import { allowedCalls, allowedFinish, allowedMessage } from './allowed.ts'

export class PassedStream implements Transcoder, ChatSink {
  readonly givesItsOwn = true
  readonly #call: Answered<ChatEcho>
  readonly #stamp: Stamp
  readonly #reader: ChatReader
  #hidesErrorText = false
  #hidesReasoning = false
  #writer: ChunkWriter | undefined
  /** The halves of a chunk around each kind of piece, made when first needed. */
  readonly #templates = new Map<string, Template>()
  readonly #calls = new CallPositions()
  #hasRole = false
  #isLegacy = false

  constructor(call: Answered<ChatEcho>, stamp: Stamp) {
    this.#call = call
    this.#stamp = stamp
    this.#reader = new ChatReader(this, 'auto')
  }

  hears(_dialect: Dialect, hidesErrorText = false, chat?: ChatManner): void {
    this.#hidesErrorText = hidesErrorText
    this.#hidesReasoning = chat?.reasoning === 'none'
  }

  push(chunk: Uint8Array): Pushed {
    // Clears what a bug in another stream's push may have left behind.
    OUT.clear()
    this.#reader.push(chunk)
    return this.#take()
  }

  end(how: StreamClose): Pushed {
    OUT.clear()
    this.#reader.end(how)
    return this.#take()
  }

  fail(refusal: Refusal): Uint8Array {
    return errorEnd(refusal)
  }

  heartbeat(): Uint8Array {
    return HEARTBEAT
  }

  get observation(): Observation {
    return this.#reader.observation
  }

  /** The hot path: writes the literal between the halves of a chunk. */
  piece({ field, call, literal, from, to }: Piece): void {
    if (to - from <= 2 || (this.#hidesReasoning && field !== 'content' && field !== 'arguments')) return
    const position = field === 'arguments' ? this.#calls.positionOf({ index: call, id: undefined, name: undefined }) : 0
    const { before, after } =
      this.#templates.get(field === 'arguments' ? `${field}${position}` : field) ?? this.#templateOf(field, position)
    OUT.reserve(before.length + to - from + after.length)
    OUT.text(before)
    OUT.text(literal.slice(from, to))
    OUT.text(after)
  }

  chunk({ choice, delta }: ChatChoice, _chunk: JsonObject): void {
    const allowed = allowedMessage(delta, this.#hidesReasoning)
    const calls = allowedCalls(delta, this.#calls, this.#stamp.requestId)
    if (calls.length > 0) allowed['tool_calls'] = calls
    this.#isLegacy ||= allowed['function_call'] !== undefined
    const logprobs = isGiven(choice['logprobs']) ? choice['logprobs'] : null
    const isFirst = !this.#hasRole
    this.#hasRole = true
    if (Object.keys(allowed).length === 0 && logprobs === null && !isFirst) return
    const head = isFirst ? { role: 'assistant', content: '' } : {}
    const written = this.#written.chunk({ ...head, ...allowed }, logprobs)
    OUT.reserve(written.length)
    OUT.text(written)
  }

  get #written(): ChunkWriter {
    if (this.#writer !== undefined) return this.#writer
    const { requestId, createdSeconds: created } = this.#stamp
    const head = { id: completionId(undefined, requestId), object: 'chat.completion.chunk', created, model: this.#call.model.id } as const
    this.#writer = new ChunkWriter(head, this.#call.echo.includesUsageChunk)
    return this.#writer
  }

  #templateOf(field: Piece['field'], position: number): Template {
    const template = this.#templated(field, position)
    this.#templates.set(field === 'arguments' ? `${field}${position}` : field, template)
    return template
  }

  #templated(field: Piece['field'], position: number): Template {
    const writer = this.#written
    if (field === 'content') return writer.content
    if (field !== 'arguments') return writer.template(ascii`{${encodeJson(field)}:`, ascii`}`)
    return writer.template(solid(ascii`{"tool_calls":[{"index":${position},"function":{"arguments":`), ascii`}}]}`)
  }

  #take(): Pushed {
    const { state } = this.#reader
    const now = OUT.length === 0 ? NOTHING : { now: OUT.take() }
    if (state === 'reading') return now
    if (state === 'complete') return { ...now, last: this.#finish() }
    const refusal = state.error === undefined ? new Refusal('upstreamBroken') : refusalOfErrorEvent(state.error, this.#call.model)
    return { ...now, fault: this.#hidesErrorText ? inOwnWords(refusal) : refusal }
  }

  #finish(): Uint8Array {
    const { finish, hasCalls } = this.#reader
    const reason = allowedFinish(finish, { hasCalls, isLegacy: this.#isLegacy })
    return toBytes(this.#written.finish(reason, chatUsage(this.observation, this.#call)))
  }
}

/** All streams share this writer: it is empty between two pushes. */
const OUT = new ByteWriter()
const NOTHING: Pushed = {}
