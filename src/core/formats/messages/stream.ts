/**
 * A native stream, passed through: whole frames leave as they came, and only what an upstream got wrong is spliced (model, `event:` lines, usage counters,
 * the end). Rules: requests.md "Terminal events", "Heartbeats"; messages.md "Pass-through", "What an upstream forgets", "Error events".
 */

import { ascii, type ByteString, concat, EMPTY, encode, encodeJson, toBytes } from '../../bytes/byte-string.ts'
import type { Span } from '../../bytes/json-scan.ts'
import { applyEdits, type Edit } from '../../bytes/splice.ts'
import type { Model } from '../../catalog.ts'
import { isObject } from '../../json.ts'
import type { Delta, Frame } from '../../native/delta.ts'
import { type Dialect, type NativeEvent, writeNativeEvent } from '../../native/event.ts'
import { finalCounters, type Observation } from '../../native/observation.ts'
import { NativeReader, type NativeSink } from '../../native/reader.ts'
import { costFields } from '../../native/shown-cost.ts'
import type { Bounds } from '../../pricing.ts'
import type { Refusal } from '../../refusal.ts'
import { errorEventBody } from '../../refusal-body.ts'
import { frameLines, readFrame } from '../../sse/read-event.ts'
import { writeEvent } from '../../sse/write-event.ts'
import type { Pushed, StreamClose, Transcoder } from '../../transcoder.ts'
import { HeldEnd } from './held-end.ts'
import { fallbackPlaces, modelEdits, modelLiteral, renamed } from './model-names.ts'
import { countersOf, isShown, jsonSpan, NOTHING_SHOWN, objectAt, usageEdits } from './usage.ts'

const MESSAGE_STOP = writeNativeEvent('message_stop')
const HEARTBEAT = toBytes(writeEvent('ping', encode('{"type": "ping"}')))

export class MessagesTranscoder implements Transcoder, NativeSink {
  readonly #reader: NativeReader
  readonly #model: Model
  readonly #bounds: Bounds
  /** The held end, for a client that asked to see the cost. */
  readonly #held: HeldEnd | undefined
  #shown = NOTHING_SHOWN
  /** The upstream's names, in this stream, of the model and of the models that answer in its place. */
  readonly #named: ByteString[] = []
  /** All frames of one push stand in one text, from its start to `#end`. */
  #text: ByteString = EMPTY
  #end = 0
  #edits: Edit[] = []
  /** Where `message_stop` starts in the text, once it has come. */
  #stopAt: number | undefined

  constructor(model: Model, bounds: Bounds, includesCost = false) {
    this.#model = model
    this.#bounds = bounds
    this.#held = includesCost ? new HeldEnd() : undefined
    this.#reader = new NativeReader(this, model)
  }

  push(chunk: Uint8Array): Pushed<Uint8Array> {
    this.#reader.push(chunk)
    const pushed = this.#pushed(chunk)
    this.#forget()
    return pushed
  }

  end(how: StreamClose): Pushed<Uint8Array> {
    this.#reader.end(how)
    const pushed = this.#pushed()
    return this.#reader.state === 'complete' && pushed.last === undefined ? { ...pushed, last: toBytes(MESSAGE_STOP) } : pushed
  }

  fail(refusal: Refusal): Uint8Array {
    return toBytes(concat(this.#held?.release() ?? EMPTY, writeEvent('error', encodeJson(errorEventBody(refusal)))))
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

  delta({ isNamed, isRenamed }: Delta, frame: Frame): void {
    this.#relay(frame)
    this.#held?.content()
    if (!isNamed) this.#nameEvent('content_block_delta', frame)
    if (isRenamed === true) this.#editData(frame, 'content_block_delta', (text, data) => typeEdits(text, data, 'content_block_delta'))
  }

  event({ type, body }: NativeEvent, frame: Frame): void {
    this.#relay(frame)
    this.#nameEvent(type, frame)
    if (this.#held !== undefined) hold(this.#held, type, frame)
    const isRenamed = typeof body['type'] === 'string' && body['type'] !== type
    if (type === 'message_stop') this.#stopAt = frame.start
    const isFallback = type === 'content_block_start' && isObject(body['content_block']) && body['content_block']['type'] === 'fallback'
    if (isRenamed || isFallback || type === 'message_start' || type === 'message_delta')
      this.#editData(frame, type, (text, data) => [
        ...(isRenamed ? typeEdits(text, data, type) : []),
        ...(isFallback ? this.#fallbackEdits(text, data) : []),
        ...(type === 'message_start' ? this.#startEdits(text, data) : []),
        ...(type === 'message_delta' ? this.#deltaEdits(text, data) : []),
      ])
  }

  /** A frame without data is passed on. A frame with data is removed: it is `[DONE]`, or an event that the format does not have. */
  ignored(frame: Frame): void {
    this.#relay(frame)
    if (readFrame(frame.text, frame.start, frame.end).data.trim() !== '')
      this.#edits.push({ start: frame.start, end: frame.end, text: EMPTY })
  }

  /** Drops the text and the edits of this push: a stream that waits for its next chunk must not keep the last one alive. */
  #forget(): void {
    this.#text = EMPTY
    this.#end = 0
    if (this.#edits.length > 0) this.#edits = []
  }

  #relay(frame: Frame): void {
    this.#text = frame.text
    this.#end = frame.end
  }

  /** Clients dispatch on the `event:` line: without the line they miss the event, with a wrong one they fail. */
  #nameEvent(type: string, { text, start, end }: Frame): void {
    const name = encode(type)
    if (name === EMPTY || LINE_END.test(name) || text.startsWith(`event: ${name}\n`, start)) return
    const lines = frameLines(text, start, end)
    const event = lines.findLast(({ field }) => field === 'event')
    if (event !== undefined && text.slice(event.value.start, event.value.end) === name) return
    const place = event?.line ?? startOf(lines.find(({ field }) => field === 'data')?.line)
    if (place !== undefined) this.#edits.push({ ...place, text: ascii`event: ${name}${event === undefined ? ascii`\n` : EMPTY}` })
  }

  /** Edits the JSON of a frame in place; JSON on several lines is first put on one. */
  #editData(frame: Frame, type: string, editsOf: (text: ByteString, data: Span) => readonly Edit[]): void {
    const lines = frameLines(frame.text, frame.start, frame.end).filter(({ field }) => field === 'data')
    const [only] = lines
    if (only !== undefined && lines.length === 1) {
      this.#edits.push(...editsOf(frame.text, jsonSpan(frame.text, only.value)))
      return
    }
    const data = onOneLine(readFrame(frame.text, frame.start, frame.end).data)
    const edits = editsOf(data, { start: 0, end: data.length })
    if (edits.length === 0 && this.#held === undefined) return
    this.#edits = this.#edits.filter(({ start }) => start < frame.start)
    this.#edits.push({ start: frame.start, end: frame.end, text: writeEvent(type, applyEdits(data, edits)) })
  }

  #startEdits(text: ByteString, data: Span): readonly Edit[] {
    const place = objectAt(text, data).members.findLast(({ name }) => name === 'message')?.value
    if (place === undefined || text[place.start] !== '{') return []
    const message = objectAt(text, place)
    this.#named.push(...[modelLiteral(text, message) ?? []].flat())
    const counters = countersOf(this.observation.reported)
    const edits = [...modelEdits(text, message, this.#model, this.#named), ...usageEdits(text, message, counters, NOTHING_SHOWN)]
    this.#shown = counters
    return edits
  }

  #fallbackEdits(text: ByteString, data: Span): readonly Edit[] {
    const block = objectAt(text, data).members.findLast(({ name }) => name === 'content_block')?.value
    const places = block === undefined ? [] : fallbackPlaces(text, objectAt(text, block))
    this.#named.push(...places.map(({ start, end }) => text.slice(start, end)))
    return renamed(places, this.#model)
  }

  #deltaEdits(text: ByteString, data: Span): readonly Edit[] {
    const billed = this.#billed
    const delta = objectAt(text, data)
    const edits = [...modelEdits(text, delta, this.#model, this.#named), ...usageEdits(text, delta, billed, this.#shown)]
    this.#shown = billed
    return edits
  }

  get #billed() {
    return countersOf(finalCounters(this.observation, this.#bounds))
  }

  /** The output of this push: bytes of the chunk itself where nothing had to change and no frame was open before the chunk. */
  #pushed(chunk?: Uint8Array): Pushed<Uint8Array> {
    if (this.#held !== undefined) return this.#pushedButHeld(this.#held)
    const { state } = this.#reader
    const isUntouched = this.#edits.length === 0 && chunk !== undefined && chunk.length === this.#text.length
    if (isUntouched && state === 'reading') return { now: this.#end === chunk.length ? chunk : chunk.subarray(0, this.#end) }
    const fault = typeof state === 'string' ? undefined : state
    const stopAt = this.#stopAt ?? this.#end
    const piece = (from: number, to: number): Uint8Array | undefined => {
      if (isUntouched) return from === to ? undefined : from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to)
      const text = applyEdits(this.#text, this.#edits, from, to)
      return text === EMPTY ? undefined : toBytes(text)
    }
    const late = state === 'complete' && !isShown(this.#shown, this.#billed) ? toBytes(this.#lateDelta()) : undefined
    const now = join(piece(0, stopAt), late)
    const last = piece(stopAt, this.#end)
    return { ...(now && { now }), ...(last && { last }), ...(fault && { fault }) }
  }

  /** The output of this push where the end is held: the end leaves with the cost in it. */
  #pushedButHeld(held: HeldEnd): Pushed<Uint8Array> {
    const { state } = this.#reader
    const piece = (from: number, to: number): ByteString => applyEdits(this.#text, this.#edits, from, to)
    const stopAt = this.#stopAt ?? this.#end
    const ready = held.take(piece, stopAt)
    const leaves = state === 'reading' || state === 'complete' ? ready : concat(ready, held.release())
    const now = leaves === EMPTY ? {} : { now: toBytes(leaves) }
    if (state === 'reading') return now
    if (state !== 'complete') return { ...now, fault: state }
    const late = held.isEmpty || !isShown(this.#shown, this.#billed) ? this.#lateDelta() : undefined
    const end = held.end(late, costFields(this.observation, { model: this.#model, bounds: this.#bounds }))
    const stop = piece(stopAt, this.#end)
    return { ...now, last: toBytes(concat(end, stop === EMPTY ? MESSAGE_STOP : stop)) }
  }

  /** A `message_delta` with the figures that are billed, for an upstream that ends without having told them. */
  #lateDelta(): ByteString {
    const billed = this.#billed
    this.#shown = billed
    const { stopReason, stopSequence } = this.observation
    const delta = { stop_reason: stopReason ?? null, stop_sequence: stopSequence ?? null }
    return writeNativeEvent('message_delta', { delta, usage: billed })
  }
}

/** Tells `held` of an event: a later event of the answer shows that a `message_delta` was not the last. */
function hold(held: HeldEnd, type: string, { start }: Frame): void {
  if (type === 'message_delta') held.delta(start)
  else if (type !== 'message_stop' && type !== 'ping') held.content()
}

/** Some clients dispatch on the `type` in the data: it must not differ from the `event:` line. */
const typeEdits = (text: ByteString, data: Span, type: string): readonly Edit[] =>
  objectAt(text, data)
    .members.filter(({ name }) => name === 'type')
    .map(({ value }) => ({ ...value, text: encodeJson(type) }))

const LINE_END = /[\r\n]/

const onOneLine = (json: ByteString): ByteString => json.replaceAll('\n', ' ').trim() as ByteString

const startOf = (span: Span | undefined): Span | undefined => span && { start: span.start, end: span.start }

const join = (first: Uint8Array | undefined, second: Uint8Array | undefined): Uint8Array | undefined =>
  first === undefined || second === undefined ? (first ?? second) : Buffer.concat([first, second])
