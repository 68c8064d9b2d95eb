/**
 * Reads a native stream for a transcoder: cuts frames, lifts deltas without parsing them, parses the few other events, keeps the observation, and
 * decides how the stream ends. Rules: requests.md "Terminal events"; native.md "Stream", "Frames".
 */

import { ascii, type ByteString, encodeJson } from '../bytes/byte-string.ts'
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { Refusal } from '../refusal.ts'
import { readFrame } from '../sse/read-event.ts'
import { FrameSplitter } from '../sse/split-frames.ts'
import type { StreamClose } from '../transcoder.ts'
import { type Delta, DeltaFinder, type DeltaKind, type Frame } from './delta.ts'
import { DeltaRun, type Template } from './delta-run.ts'
import { readNativeError } from './error.ts'
import { refusalOfErrorEvent } from './error-refusal.ts'
import { type Dialect, type NativeEvent, readNativeEvent } from './event.ts'
import { isToldWhole, nothingSeen, type Observation, observe } from './observation.ts'
import { inOwnWords } from './own-words.ts'
import type { NamedModel } from './scrubbed-text.ts'

export interface NativeSink {
  /** A piece of text, thinking or tool input. Delta and frame are only valid during the call. */
  delta(delta: Delta, frame: Frame): void
  /** Any other event: `message_start`, block start and stop, other deltas, `message_delta`, `message_stop`, `ping`, unknown ones. */
  event(event: NativeEvent, frame: Frame): void
  /**
   * For a block whose deltas are only copied: `out` is where their literals are written, `template` is what surrounds each. Undefined, or no such method: `delta` gets the deltas.
   */
  lifts?(kind: DeltaKind, index: number): Readonly<{ template: Template; out: ByteWriter }> | undefined
  /** A frame with nothing to act on: comments, a lone `event:` line, `[DONE]`, an event that the dialect does not have. */
  ignored(frame: Frame): void
}

/**
 * `complete`: `message_stop`, or an end after a stop reason (after a broken connection: only with the final figures, too). A refusal: the upstream failed, and the refusal is what
 * the client is told.
 */
export type ReaderState = 'reading' | 'complete' | Refusal

/** For a smaller chunk, making a string of the bytes is faster than making a view of them. */
const LARGE_BYTES = 1_001
const MISSES_MAX = 8
const BLANK_LINE = Buffer.from('\n\n')
const RUN = new DeltaRun()
const { indexOf } = Buffer.prototype

const SLOW_DELTAS: ReadonlyMap<unknown, { kind: DeltaKind; field: string }> = new Map([
  ['text_delta', { kind: 'text', field: 'text' }],
  ['input_json_delta', { kind: 'json', field: 'partial_json' }],
  ['thinking_delta', { kind: 'thinking', field: 'thinking' }],
])

export class NativeReader {
  readonly observation: Observation = nothingSeen()
  state: ReaderState = 'reading'
  /** The dialect of the upstream that is read; set once it is known which upstream answers. */
  dialect: Dialect = 'strict'
  /** The upstream's errors are told in our words; set at the same time. */
  hidesErrorText = false
  readonly #splitter = new FrameSplitter()
  readonly #finder = new DeltaFinder()
  readonly #sink: NativeSink
  readonly #model: NamedModel

  constructor(sink: NativeSink, model: NamedModel) {
    this.#sink = sink
    this.#model = model
  }

  /** Feeds one chunk of the upstream's body. Does nothing once the stream has ended. */
  push(chunk: Uint8Array): void {
    if (this.state !== 'reading') return
    if (chunk.length < LARGE_BYTES || this.#sink.lifts === undefined) this.#split(chunk)
    else this.#pushLarge(chunk)
    this.#finder.forget()
  }

  /** Splits off each frame that is no known delta, so that the deltas behind it are found in the bytes again. After several such frames in a row the rest goes to the splitter. */
  #pushLarge(chunk: Uint8Array): void {
    let at = 0
    for (let misses = 0; misses < MISSES_MAX && this.state === 'reading'; misses++) {
      const from = at
      if (this.#splitter.isBetweenFrames) at = this.#liftRun(chunk, at)
      if (at > from) misses = 0
      const blank = at === chunk.length ? -1 : indexOf.call(chunk, BLANK_LINE, at)
      if (blank === -1) break
      const end = blank + BLANK_LINE.length
      this.#split(chunk.subarray(at, end))
      at = end
    }
    if (at < chunk.length && this.state === 'reading') this.#split(chunk.subarray(at))
  }

  #liftRun(chunk: Uint8Array, at: number): number {
    const { kind, index, prefix } = this.#finder
    const lifted = this.#sink.lifts?.(kind, index)
    if (lifted === undefined) return at
    const end = RUN.lift(chunk, at, prefix, lifted.template, lifted.out)
    this.observation.contentBytes += RUN.contentBytes
    return end
  }

  #split(chunk: Uint8Array): void {
    if (!this.#splitter.push(chunk, this.#onFrame, this.#takeDelta)) this.state = new Refusal('upstreamBroken')
  }

  /**
   * The upstream's body has ended: a last frame without its blank line still counts, then an end before a stop reason is a fault. Another fault is a connection that
   * broke off before the final figures, which may have been on their way.
   */
  end(how: StreamClose): void {
    if (this.state !== 'reading') return
    const rest = this.#splitter.rest()
    if (rest.trim() !== '') this.#closeLastFrame(rest)
    if (this.state !== 'reading') return
    const isWhole = how === 'ended' ? this.observation.stopReason !== undefined : isToldWhole(this.observation)
    this.state = isWhole ? 'complete' : new Refusal('upstreamBroken')
  }

  readonly #takeDelta = (text: ByteString, start: number): number => {
    if (this.state !== 'reading' || !this.#finder.find(text, start)) return -1
    this.#deliver(this.#finder, this.#finder)
    return this.#finder.end
  }

  readonly #onFrame = (text: ByteString, start: number, end: number): void => {
    if (this.state === 'reading') this.#readSlowly({ text, start, end })
  }

  #readSlowly(frame: Frame): void {
    const event = readNativeEvent(readFrame(frame.text, frame.start, frame.end), this.dialect, this.hidesErrorText)
    if (event === undefined) this.#sink.ignored(frame)
    else if (event === 'malformed') this.state = new Refusal('upstreamBroken')
    else if (event.type === 'error') this.state = this.#refusalOf(event)
    else this.#readEvent(event, frame)
  }

  #refusalOf({ body }: NativeEvent): Refusal {
    const refusal = refusalOfErrorEvent(readNativeError(body), this.#model)
    return this.hidesErrorText ? inOwnWords(refusal) : refusal
  }

  #readEvent(event: NativeEvent, frame: Frame): void {
    const delta = slowDelta(event)
    if (delta !== undefined) {
      this.#deliver(delta, frame)
      return
    }
    if (event.type === 'message_stop' && this.#isEmpty) {
      this.state = new Refusal('upstreamBroken')
      return
    }
    observe(this.observation, event)
    this.#sink.event(event, frame)
    if (event.type === 'message_stop') this.state = 'complete'
  }

  /** Nothing but an end came, without start, content or stop reason: that is no answer. */
  get #isEmpty(): boolean {
    const { hasStarted, contentBytes, stopReason } = this.observation
    return !hasStarted && contentBytes === 0 && stopReason === undefined
  }

  #deliver(delta: Delta, frame: Frame): void {
    this.observation.contentBytes += delta.to - delta.from - 2
    this.#sink.delta(delta, frame)
  }

  /** From a frame that the upstream did not close, only an event that ends the stream is taken. */
  #closeLastFrame(rest: ByteString): void {
    const event = readNativeEvent(readFrame(rest, 0, rest.length), this.dialect, this.hidesErrorText)
    if (event === undefined || event === 'malformed' || !CLOSING.has(event.type)) return
    const text = ascii`${withoutLineEnds(rest)}\n\n`
    this.#readSlowly({ text, start: 0, end: text.length })
  }
}

/** `trimEnd` would be wrong: in a byte string it may remove the last byte of a UTF-8 character. */
const withoutLineEnds = (text: ByteString): ByteString => text.slice(0, text.search(LAST_LINE_ENDS))

const LAST_LINE_ENDS = /[\r\n]*$/

const CLOSING = new Set(['message_delta', 'message_stop', 'error'])

/** A delta whose frame does not have the canonical shape, with its literal made anew. */
function slowDelta(event: NativeEvent): Delta | undefined {
  if (event.type !== 'content_block_delta') return undefined
  const delta = event.body['delta']
  const index = event.body['index']
  if (typeof delta !== 'object' || delta === null || typeof index !== 'number') return undefined
  const fields = delta as Record<string, unknown>
  const known = SLOW_DELTAS.get(fields['type'])
  const value = known === undefined ? undefined : fields[known.field]
  if (known === undefined || typeof value !== 'string') return undefined
  const literal = encodeJson(value)
  return { kind: known.kind, index, literal, from: 0, to: literal.length, isNamed: false, isRenamed: event.body['type'] !== event.type }
}
