/**
 * A native stream to responses events: which native event opens, feeds and ends which item. The deltas' literals are lifted, never parsed.
 * Rules: requests.md "Heartbeats"; responses.md "Events", "Failures".
 */

import { ascii, EMPTY, encodeJson, toBytes } from '../../bytes/byte-string.ts'
import type { Answered, Stamp } from '../../format.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { Delta, Frame } from '../../native/delta.ts'
import type { Dialect, NativeEvent } from '../../native/event.ts'
import type { Observation } from '../../native/observation.ts'
import { NativeReader, type NativeSink } from '../../native/reader.ts'
import { Refusal } from '../../refusal.ts'
import type { Finished, Pushed, StreamClose, Transcoder, Written } from '../../transcoder.ts'
import { exactInput, hasInput } from '../translate/arguments.ts'
import { EventWriter } from './event-writer.ts'
import { type OpenItem, OpenReasoning } from './open-items.ts'
import { Output } from './output.ts'
import { inputText } from './output-items.ts'
import { type Pieces, pieces } from './pieces.ts'
import { finishedItems, stringOf } from './response.ts'
import { type Ending, failureCode, responseObject, statusOf, suffixOf } from './response-object.ts'
import { responsesUsage } from './usage.ts'
import type { ResponsesEcho } from './wire.ts'

/** A native block: its item, `text` for a block that feeds the open message, `ignored` for one that clients of this format never see. */
type BlockTarget = OpenItem | 'text' | 'ignored'

/** The heartbeat before `response.created`: clients accept no event before it, so a comment keeps the connection alive. */
const COMMENT = ascii`: keep-alive\n\n`

export class ResponsesTranscoder implements Transcoder {
  readonly #reader: NativeReader
  readonly #events = new EventWriter()
  readonly #call: Answered<ResponsesEcho>
  readonly #stamp: Stamp
  readonly #blocks = new Map<number, BlockTarget>()
  /** The answer that has begun; undefined until `response.created` was written. */
  #started: Readonly<{ responseId: string; output: Output }> | undefined
  #isFinished = false

  constructor(call: Answered<ResponsesEcho>, stamp: Stamp) {
    this.#call = call
    this.#stamp = stamp
    const sink: NativeSink = {
      delta: (delta) => this.#onDelta(delta),
      event: (event, frame) => this.#onEvent(event, frame),
      ignored: () => undefined,
    }
    this.#reader = new NativeReader(sink, call.model)
  }

  push(chunk: Uint8Array): Pushed {
    this.#reader.push(chunk)
    return this.#pushed()
  }

  end(how: StreamClose): Pushed {
    this.#reader.end(how)
    return this.#pushed()
  }

  /** Ends the stream with an error. Open items stay open, since they are incomplete. */
  fail(refusal: Refusal): Uint8Array {
    const error = { code: failureCode(refusal), message: refusal.message }
    return inOnePiece(this.#terminal('response.failed', { status: 'failed', error, output: this.#output.items(), usage: null }))
  }

  hears(dialect: Dialect, hidesErrorText = false): void {
    this.#reader.dialect = dialect
    this.#reader.hidesErrorText = hidesErrorText
  }

  heartbeat(): Uint8Array {
    if (this.#started === undefined) return toBytes(COMMENT)
    this.#events.event('keepalive', EMPTY)
    return inOnePiece(this.#taken())
  }

  get observation(): Observation {
    return this.#reader.observation
  }

  /** What the memory keeps, once the answer is whole; undefined before, and when the request forbade it. */
  finished(): Finished | undefined {
    const { remembered } = this.#call.echo
    if (!this.#isFinished || remembered === undefined) return undefined
    return { responseId: this.#start().responseId, items: finishedItems(remembered, this.#output.items()) }
  }

  #pushed(): Pushed {
    const { state } = this.#reader
    const end = statusOf(this.observation.stopReason)
    if (state === 'complete') this.#output.closeAll(end.status)
    const bytes = this.#events.take()
    const now = bytes === undefined ? {} : { now: bytes }
    if (state instanceof Refusal) return { ...now, fault: state }
    if (state === 'reading') return now
    this.#isFinished = true
    const usage = responsesUsage(this.observation, this.#call)
    return { ...now, last: this.#terminal(`response.${end.status}`, { ...end, output: this.#output.items(), usage }) }
  }

  #onDelta(delta: Delta): void {
    if (delta.to - delta.from > 2) this.#itemOf(delta)?.add(delta.literal.slice(delta.from, delta.to))
  }

  /** The item that a delta feeds. Text and thinking are accepted even for a block that never started. */
  #itemOf({ index, kind }: Delta): OpenItem | undefined {
    const block = this.#blocks.get(index) ?? (kind === 'text' ? 'text' : undefined)
    if (block === undefined) return kind === 'thinking' ? this.#kept(index, this.#output.reasoning()) : undefined
    if (block === 'text') return kind === 'text' ? this.#output.message() : undefined
    return block !== 'ignored' && block.kind === kind ? block : undefined
  }

  #onEvent({ type, body }: NativeEvent, frame: Frame): void {
    switch (type) {
      case 'message_start':
        this.#start(isObject(body['message']) ? body['message']['id'] : undefined)
        break
      case 'content_block_start':
        if (isObject(body['content_block']) && typeof body['index'] === 'number')
          this.#startBlock(body['index'], body['content_block'], frame)
        break
      case 'content_block_delta':
        this.#sign(body['index'], body['delta'])
        break
      case 'content_block_stop':
        this.#stop(body['index'])
        break
      default:
    }
  }

  #startBlock(index: number, block: JsonObject, frame: Frame): void {
    this.#stop(index)
    this.#output.closeStopped()
    switch (block['type']) {
      case 'text':
        this.#blocks.set(index, 'text')
        addString(this.#output.message(), block['text'])
        break
      case 'thinking': {
        const item = this.#kept(index, this.#output.reasoning())
        addString(item, block['thinking'])
        item.signature = stringOf(block['signature'])
        break
      }
      case 'tool_use':
        this.#kept(index, this.#output.call(block, hasInput(block['input']) ? inputText(exactInput(frame, block['input'])) : ''))
        break
      case 'redacted_thinking':
        this.#output.redacted(stringOf(block['data']))
        this.#blocks.set(index, 'ignored')
        break
      default:
        this.#blocks.set(index, 'ignored')
    }
  }

  #sign(index: unknown, delta: unknown): void {
    const block = this.#blocks.get(index as number)
    if (block instanceof OpenReasoning && isObject(delta) && delta['type'] === 'signature_delta')
      block.signature = stringOf(delta['signature'])
  }

  #stop(index: unknown): void {
    const block = this.#blocks.get(index as number)
    if (typeof block === 'object') block.isStopped = true
  }

  #kept<Item extends OpenItem>(index: number, item: Item): Item {
    this.#blocks.set(index, item)
    return item
  }

  /** The output that items are written to; its first use begins the answer. */
  get #output(): Output {
    return this.#start().output
  }

  /** Begins the answer. Only the first call has an effect: later starts and ids are ignored. */
  #start(nativeId?: unknown): Readonly<{ responseId: string; output: Output }> {
    if (this.#started !== undefined) return this.#started
    const suffix = suffixOf(nativeId, this.#stamp)
    const { model, echo } = this.#call
    this.#started = { responseId: `resp_${suffix}`, output: new Output(this.#events, suffix, model.id, echo.tools) }
    const response = this.#response({ status: 'in_progress', output: [], usage: null })
    this.#events.event('response.created', pieces`,"response":${response}`)
    this.#events.event('response.in_progress', pieces`,"response":${response}`)
    return this.#started
  }

  #response(ending: Ending): Pieces {
    const id = this.#start().responseId
    return responseObject({ id, createdSeconds: this.#stamp.createdSeconds, call: this.#call }, ending)
  }

  #terminal(type: string, ending: Ending): Written {
    this.#events.event(type, pieces`,"response":${this.#response(ending)}`)
    return this.#taken()
  }

  #taken(): Written {
    return this.#events.take() ?? toBytes(EMPTY)
  }
}

const inOnePiece = (written: Written): Uint8Array => (written instanceof Uint8Array ? written : Buffer.concat(written))

function addString(item: OpenItem, value: unknown): void {
  if (typeof value === 'string' && value !== '') item.add(encodeJson(value))
}
