/**
 * A native stream to chat chunks, on the fly. A delta costs no parsing and no decoding: its string literal is lifted between the halves of a chunk.
 * Rules: chat.md "Chunks", "End", "Errors in a stream".
 */

import { type ByteString, concat, EMPTY, toBytes } from '../../bytes/byte-string.ts'
import { ByteWriter } from '../../bytes/byte-writer.ts'
import type { Answered, Stamp } from '../../format.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { Delta, DeltaKind, Frame } from '../../native/delta.ts'
import type { Template } from '../../native/delta-run.ts'
import type { Dialect, NativeEvent } from '../../native/event.ts'
import type { Observation } from '../../native/observation.ts'
import { NativeReader, type NativeSink } from '../../native/reader.ts'
import { Refusal } from '../../refusal.ts'
import type { Pushed, StreamClose, Transcoder } from '../../transcoder.ts'
import { exactInput, hasInput } from '../translate/arguments.ts'
import { ChunkWriter } from './chunk.ts'
import { OpenThinking, OpenToolCall } from './open-blocks.ts'
import { finishReason } from './response.ts'
import { errorEnd, HEARTBEAT } from './stream-end.ts'
import { chatUsage } from './usage.ts'
import { type ChatEcho, completionId } from './wire.ts'

export class ChatTranscoder implements Transcoder, NativeSink {
  readonly #call: Answered<ChatEcho>
  readonly #stamp: Stamp
  readonly givesItsOwn = true
  readonly #reader: NativeReader
  /** Made with the role chunk, since it holds the answer's id. */
  #writer: ChunkWriter | undefined
  /** Output of the current push. */
  #out = EMPTY
  /** Blocks that are open, by native index. Text needs no state. */
  readonly #open = new Map<unknown, OpenToolCall | OpenThinking>()
  #toolCount = 0

  constructor(call: Answered<ChatEcho>, stamp: Stamp) {
    this.#call = call
    this.#stamp = stamp
    this.#reader = new NativeReader(this, call.model)
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

  hears(dialect: Dialect, hidesErrorText = false): void {
    this.#reader.dialect = dialect
    this.#reader.hidesErrorText = hidesErrorText
  }

  heartbeat(): Uint8Array {
    return HEARTBEAT
  }

  get observation(): Observation {
    return this.#reader.observation
  }

  delta(delta: Delta): void {
    if (delta.kind === 'text') {
      this.#lift((this.#writer ?? this.#started()).content, delta)
      return
    }
    const { kind, index, literal, from, to } = delta
    const open = this.#open.get(index)
    if (kind === 'json') {
      if (open instanceof OpenToolCall) this.#write(open.add(literal, from, to))
    } else {
      if (open instanceof OpenThinking) open.add(literal, from, to)
      this.#lift((this.#writer ?? this.#started()).reasoning, delta)
    }
  }

  /** The hot path: writes the literal between the halves of a chunk. An empty literal is left out. */
  #lift({ before, after }: Template, { literal, from, to }: Delta): void {
    if (to - from > 2) this.#out = concat(this.#out, concat(before, literal.slice(from, to), after))
  }

  lifts(kind: DeltaKind, index: number): Lifted | undefined {
    const template = this.#templateOf(kind, index)
    if (template === undefined) return undefined
    if (this.#out !== EMPTY) this.#move()
    return { template, out: OUT }
  }

  /** The template of a block whose deltas are only copied; undefined for thinking, whose pieces are also kept. */
  #templateOf(kind: DeltaKind, index: number): Template | undefined {
    if (kind === 'text') return this.#writer?.content
    const open = kind === 'json' ? this.#open.get(index) : undefined
    return open instanceof OpenToolCall ? open.template : undefined
  }

  /** Moves the output that was written as a string into `OUT`, before the deltas that are lifted there. */
  #move(): void {
    OUT.reserve(this.#out.length)
    OUT.text(this.#out)
    this.#out = EMPTY
  }

  event({ type, body }: NativeEvent, frame: Frame): void {
    switch (type) {
      case 'message_start':
        this.#started(isObject(body['message']) ? body['message']['id'] : undefined)
        return
      case 'content_block_start':
        if (isObject(body['content_block'])) this.#openBlock(body['index'], body['content_block'], frame)
        return
      case 'content_block_delta': {
        const open = this.#open.get(body['index'])
        if (open instanceof OpenThinking && isObject(body['delta'])) open.sign(body['delta'])
        return
      }
      case 'content_block_stop':
        this.#closeBlock(body['index'])
    }
  }

  ignored(): void {}

  #write(chunk: ByteString): void {
    this.#out = concat(this.#out, chunk)
  }

  /** The writer; its first use writes the role chunk. */
  #started(nativeId?: unknown): ChunkWriter {
    if (this.#writer !== undefined) return this.#writer
    const id = completionId(nativeId, this.#stamp.requestId)
    const head = { id, object: 'chat.completion.chunk', created: this.#stamp.createdSeconds, model: this.#call.model.id } as const
    this.#writer = new ChunkWriter(head, this.#call.echo.includesUsageChunk)
    this.#write(this.#writer.delta({ role: 'assistant', content: '' }))
    return this.#writer
  }

  /** Opens a block, which may have content from its beginning or be complete at once. */
  #openBlock(index: unknown, block: JsonObject, frame: Frame): void {
    this.#closeBlock(index)
    switch (block['type']) {
      case 'text':
        this.#show('content', block['text'])
        return
      case 'thinking':
      case 'redacted_thinking':
        this.#open.set(index, new OpenThinking(block))
        this.#show('reasoning_content', block['thinking'])
        return
      case 'tool_use':
        this.#openTool(index, block, frame)
    }
  }

  #openTool(index: unknown, block: JsonObject, frame: Frame): void {
    const position = this.#toolCount++
    if (this.#call.echo.isLegacy && position > 0) return
    const input = hasInput(block['input']) ? exactInput(frame, block['input']) : undefined
    const tool = new OpenToolCall(block, position, input, this.#call.echo, this.#started())
    this.#open.set(index, tool)
    this.#write(tool.first)
  }

  #closeBlock(index: unknown): void {
    const open = this.#open.get(index)
    if (open === undefined) return
    this.#open.delete(index)
    const writer = this.#started()
    this.#write(open.end(writer))
  }

  #show(field: 'content' | 'reasoning_content', text: unknown): void {
    if (typeof text !== 'string' || text === '') return
    const writer = this.#started()
    this.#write(writer.delta({ [field]: text }))
  }

  /** The output of this push, in one piece, and the state of the stream. */
  #take(): Pushed {
    const { state } = this.#reader
    if (state === 'reading') return this.#now()
    const last = state === 'complete' ? this.#finish() : undefined
    const now = this.#now()
    if (last !== undefined) return { ...now, last }
    return state instanceof Refusal ? { ...now, fault: state } : now
  }

  #now(): Pushed {
    if (OUT.length > 0) {
      if (this.#out !== EMPTY) this.#move()
      return { now: OUT.take() }
    }
    if (this.#out === EMPTY) return NOTHING
    const now = toBytes(this.#out)
    this.#out = EMPTY
    return { now }
  }

  /** Closes the blocks that the upstream left open, then ends the stream. */
  #finish(): Uint8Array {
    const writer = this.#started()
    for (const index of [...this.#open.keys()]) this.#closeBlock(index)
    const reason = finishReason(this.observation.stopReason, this.#toolCount > 0, this.#call.echo.isLegacy)
    return toBytes(writer.finish(reason, chatUsage(this.observation, this.#call)))
  }
}

type Lifted = Readonly<{ template: Template; out: ByteWriter }>

/** All streams share this writer: it is empty between two pushes. */
const OUT = new ByteWriter()
const NOTHING: Pushed = {}
