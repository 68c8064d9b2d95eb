/**
 * The stream of `invoke-with-response-stream` as the native stream inside it: binary frames in, server-sent events out. The JSON of a delta is decoded
 * from its base64 directly into the output, and is not parsed. Rules: native.md "Binary frames"; house.md "One stage".
 */

import { decodeBase64Line } from '../bytes/base64-line.ts'
import { ascii, type ByteString, EMPTY, fromBytes, toBytes } from '../bytes/byte-string.ts'
import { ByteWriter } from '../bytes/byte-writer.ts'
import { membersOf, scanJson } from '../bytes/json-scan.ts'
import { edited, memberEdits } from '../bytes/splice.ts'
import { isObject } from '../json.ts'
import { type NativeEvent, readNativeEvent } from '../native/event.ts'
import { writeEvent } from '../sse/write-event.ts'
import { mergeUsage, NOT_REPORTED } from '../usage.ts'
import { exceptionEvent, unmodeledErrorEvent } from './frame-error.ts'
import { readFrameHeaders } from './frame-headers.ts'
import { type CountDifference, countDifference, DOOR_PREFIX, METRICS_FIELD } from './invocation-metrics.ts'
import { BinaryFrameSplitter, type Crc32, type OnBinaryFrame } from './split-frames.ts'

export type DecoderOptions = Readonly<{
  crc32: Crc32
  /** Called when the door's count of the answer differs from the answer's own usage. */
  onDifference: (difference: CountDifference) => void
}>

/** How a payload begins that needs no parser, and how the base64 of nearly every event begins: its first 30 bytes are exactly 40 characters of base64. */
const PAYLOAD_HEAD = '{"bytes":"'
const DELTA_JSON_HEAD = ascii`{"type":"content_block_delta",`
const DELTA_BASE64 = Buffer.from(Buffer.from(DELTA_JSON_HEAD).toString('base64'))
const DELTA_HEAD = copied(DELTA_BASE64, 0, DELTA_BASE64.length)
const DELTA_LINES = ascii`event: content_block_delta\ndata: ${DELTA_JSON_HEAD}`
const WORD_BYTES = 4
/** In a longer payload the engine's own search and decoder pay off. */
const SHORT_BYTES_MAX = 4 * 1024
/** The output of the running push. It is taken before the push ends, so all streams share one writer. */
const OUT = new ByteWriter()
const BLANK_LINE = ascii`\n\n`
/** The types that can be written in an `event:` line. */
const TYPE = /^[\w.-]{1,64}$/
const NOTHING = new Uint8Array()
const NO_VIEW = new DataView(new ArrayBuffer(0))

export class EventStreamDecoder {
  /** The bytes are no such stream. What was decoded so far still counts; nothing more is decoded. */
  isBroken = false
  readonly #splitter: BinaryFrameSplitter
  readonly #onDifference: DecoderOptions['onDifference']
  /** The headers of the last frame that held an event, and the beginning of its payload: nearly all frames have the same. */
  #usualHead: DataView = NO_VIEW
  #reported = NOT_REPORTED
  #hasFailed = false

  constructor({ crc32, onDifference }: DecoderOptions) {
    this.#splitter = new BinaryFrameSplitter(crc32)
    this.#onDifference = onDifference
  }

  /** Decodes a chunk; returns the events that became whole, as a native upstream would send them. */
  push(chunk: Uint8Array): Uint8Array {
    OUT.clear()
    if (!this.isBroken && !this.#splitter.push(chunk, this.#onFrame)) this.isBroken = true
    return OUT.take()
  }

  /** A stream that ends inside a frame is broken. Nothing is left to give. */
  end(): Uint8Array {
    this.isBroken ||= !this.#splitter.isBetweenFrames
    return NOTHING
  }

  readonly #onFrame: OnBinaryFrame = (bytes, view, headersAt, payloadAt, payloadEnd) => {
    if (this.isBroken || this.#hasFailed) return
    const base64At = Math.min(payloadEnd, payloadAt + PAYLOAD_HEAD.length)
    const isUsual = base64At - headersAt === this.#usualHead.byteLength && stands(this.#usualHead, view, headersAt)
    if (isUsual && writeDelta(bytes, view, base64At, payloadEnd)) return
    const fields = readFrameHeaders(bytes, headersAt, payloadAt)
    const payload = fromBytes(bytes, payloadAt, payloadEnd)
    if (!this.#message(fields, payload)) this.isBroken = true
    else if (fields?.get(':event-type') === 'chunk' && payload.startsWith(PAYLOAD_HEAD))
      this.#usualHead = copied(bytes, headersAt, base64At)
  }

  /** False where the frame is no message of such a stream. Events of a type other than `chunk` hold no part of an answer and are left out. */
  #message(fields: ReadonlyMap<string, string> | undefined, payload: ByteString): boolean {
    switch (fields?.get(':message-type')) {
      case 'event':
        return fields.get(':event-type') !== 'chunk' || this.#event(base64Of(payload))
      case 'exception':
        return this.#fail(exceptionEvent(fields.get(':exception-type') ?? '', payload))
      case 'error':
        return this.#fail(unmodeledErrorEvent(fields.get(':error-code') ?? '', fields.get(':error-message') ?? ''))
      default:
        return false
    }
  }

  #fail(event: ByteString): true {
    this.#hasFailed = true
    write(event)
    return true
  }

  /** Writes the event that `base64` holds; false where it is not base64. */
  #event(base64: string | undefined): boolean {
    if (base64 === undefined) return false
    OUT.reserve(base64.length)
    const start = OUT.length
    const isDecoded = OUT.base64(base64)
    const json = fromBytes(OUT.bytes, start, OUT.length)
    OUT.length = start
    if (isDecoded) this.#other(json)
    return isDecoded
  }

  /** Writes an event that is no usual delta. An event without a type is left out; an event that cannot be parsed goes on, for the stream's reader to judge. */
  #other(json: ByteString): void {
    const event = readNativeEvent({ event: EMPTY, data: json }, 'vendor')
    if (event === undefined) return
    if (event === 'malformed') write(ascii`data: ${oneLine(json)}\n\n`)
    else {
      this.#count(event)
      if (event.type !== '') write(written(event, json))
    }
  }

  #count({ type, body }: NativeEvent): void {
    const { message } = body
    if (type === 'message_start' && isObject(message)) this.#reported = mergeUsage(this.#reported, message['usage'])
    else if (type === 'message_delta') this.#reported = mergeUsage(this.#reported, body['usage'])
    const difference = countDifference(this.#reported, body[METRICS_FIELD])
    if (difference !== undefined) this.#onDifference(difference)
  }
}

/** The base64 of the event in a payload, or undefined where there is none. */
function base64Of(payload: ByteString): string | undefined {
  if (typeof scanJson(payload) === 'string') return undefined
  try {
    const json: unknown = JSON.parse(payload)
    return isObject(json) && typeof json['bytes'] === 'string' ? json['bytes'] : undefined
  } catch {
    return undefined
  }
}

function write(event: ByteString): void {
  OUT.reserve(event.length)
  OUT.text(event)
}

/** The event as it came, without the fields that the door added. */
function written({ type, body }: NativeEvent, json: ByteString): ByteString {
  const added = Object.keys(body).filter((name) => name.startsWith(DOOR_PREFIX))
  const line = oneLine(added.length === 0 ? json : without(added, body, json))
  return TYPE.test(type) ? writeEvent(type, line) : ascii`data: ${line}\n\n`
}

function without(names: readonly string[], json: NativeEvent['body'], text: ByteString): ByteString {
  const bytes = toBytes(text)
  return fromBytes(edited(bytes, memberEdits({ bytes, json, members: membersOf(text) }, new Map(names.map((name) => [name, undefined])))))
}

/** Replaces line ends by spaces: in JSON, line ends stand only between tokens, where a space means the same. */
const oneLine = (json: ByteString): ByteString => json.replace(LINE_ENDS, ' ') as ByteString

const LINE_ENDS = /[\r\n]/g

/** Writes a delta whose base64 begins at `from`, as it stands; false where it is none, or none that fits on a line: then nothing is written. */
function writeDelta(bytes: Uint8Array, view: DataView, from: number, to: number): boolean {
  if (to - from > SHORT_BYTES_MAX || to - from < DELTA_HEAD.byteLength || !stands(DELTA_HEAD, view, from)) return false
  const start = OUT.length
  OUT.reserve(DELTA_LINES.length + (to - from) + BLANK_LINE.length)
  OUT.text(DELTA_LINES)
  const end = decodeBase64Line(bytes, from + DELTA_HEAD.byteLength, to, OUT.bytes, OUT.length)
  OUT.length = end === -1 ? start : end
  if (end !== -1) OUT.text(BLANK_LINE)
  return end !== -1
}

/** Whether `view` has the `wanted` bytes at this place. Words of four are compared; for a call of the engine a string or another view would have to be made. */
function stands(wanted: DataView, view: DataView, at: number): boolean {
  let index = 0
  for (; index + WORD_BYTES <= wanted.byteLength; index += WORD_BYTES)
    if (view.getInt32(at + index) !== wanted.getInt32(index)) return false
  for (; index < wanted.byteLength; index++) if (view.getUint8(at + index) !== wanted.getUint8(index)) return false
  return true
}

function copied(bytes: Uint8Array, from: number, to: number): DataView {
  const copy = new Uint8Array(to - from)
  copy.set(bytes.subarray(from, to))
  return new DataView(copy.buffer)
}
