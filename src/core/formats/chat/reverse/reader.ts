/**
 * Reads a chat stream for a writer: cuts frames, lifts pieces without parsing them, parses the other chunks, keeps the observation, and decides how the stream ends.
 * Rules: openai.md "Chunks", "Ends", "Usage"; requests.md "Terminal events".
 */

import { type ByteString, decode } from '../../../bytes/byte-string.ts'
import { scanJson } from '../../../bytes/json-scan.ts'
import type { ReasoningSetting } from '../../../chat-dialect.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { JSON_DEPTH_MAX } from '../../../limits.ts'
import type { NativeError } from '../../../native/error.ts'
import { messageIdOf, nothingSeen, type Observation } from '../../../native/observation.ts'
import { readFrame } from '../../../sse/read-event.ts'
import { FrameSplitter } from '../../../sse/split-frames.ts'
import type { StreamClose } from '../../../transcoder.ts'
import { mergeUsage } from '../../../usage.ts'
import { type ChatChoice, callsOf, choiceOf, errorOf, onlyPiece, reasoningOf, textOf } from './chunk.ts'
import { ChunkFinder, type Piece } from './chunk-finder.ts'
import { nativeStopReason } from './stop-reason.ts'
import { nativeUsage } from './usage.ts'

export interface ChatSink {
  /** Takes a piece of text, reasoning or arguments. The piece is only valid during the call. */
  piece(piece: Piece): void
  /** Takes any other chunk with a choice. */
  chunk(choice: ChatChoice, chunk: JsonObject): void
}

/** `complete`: `[DONE]` has come, or a finish reason and the end. `error`: the error that the upstream told; undefined: the stream is broken. */
export type ChatState = 'reading' | 'complete' | Readonly<{ error: NativeError | undefined }>

const BROKEN = { error: undefined }
/** JSON of up to this length cannot be too deep, since each level has two brackets. */
const SHALLOW_LENGTH_MAX = 2 * JSON_DEPTH_MAX

export class ChatReader {
  readonly observation: Observation = nothingSeen()
  state: ChatState = 'reading'
  /** The finish reason as the upstream gave it; undefined until then. */
  finish: string | undefined
  /** The usage that was told last, as native counters. */
  usage: JsonObject | undefined
  hasCalls = false
  readonly #splitter = new FrameSplitter()
  readonly #finder = new ChunkFinder()
  readonly #sink: ChatSink
  readonly #reasoning: ReasoningSetting
  #isDenial = false

  constructor(sink: ChatSink, reasoning: ReasoningSetting) {
    this.#sink = sink
    this.#reasoning = reasoning
  }

  /** Feeds one chunk of the upstream's body. Does nothing once the stream has ended. */
  push(chunk: Uint8Array): void {
    if (this.state !== 'reading') return
    if (!this.#splitter.push(chunk, this.#onFrame, this.#takePiece)) this.state = BROKEN
    this.#finder.forget()
  }

  /** The answer is finished, and only its usage or `[DONE]` is waited for. */
  get isFinished(): boolean {
    return this.state === 'reading' && this.finish !== undefined
  }

  /** The upstream's body has ended. When the connection broke off before the usage, the usage may be lost. */
  end(how: StreamClose): void {
    if (this.state !== 'reading') return
    const rest = this.#splitter.rest()
    if (rest.trim() !== '') this.#read(rest, 0, rest.length)
    if (this.state !== 'reading') return
    const isWhole = this.finish !== undefined && (how === 'ended' || this.usage !== undefined)
    if (isWhole) this.#complete()
    else this.state = BROKEN
  }

  readonly #takePiece = (text: ByteString, start: number): number => {
    const finder = this.#finder
    if (this.state !== 'reading' || !finder.find(text, start)) return -1
    this.observation.contentBytes += finder.to - finder.from - 2
    this.#sink.piece(finder)
    return finder.end
  }

  readonly #onFrame = (text: ByteString, start: number, end: number): void => {
    if (this.state === 'reading') this.#read(text, start, end)
  }

  #read(text: ByteString, start: number, end: number): void {
    const data = readFrame(text, start, end).data.trim()
    if (data === '') return
    if (data === '[DONE]') {
      if (this.observation.hasStarted) this.#complete()
      else this.state = BROKEN
      return
    }
    const chunk = parse(data as ByteString)
    if (chunk === undefined) {
      this.state = BROKEN
      return
    }
    this.#take(chunk, { text, start, end })
  }

  #take(chunk: JsonObject, { text, start, end }: Readonly<{ text: ByteString; start: number; end: number }>): void {
    const choice = choiceOf(chunk)
    const error = errorOf(chunk, choice)
    if (error !== undefined) {
      this.state = { error }
      return
    }
    const { observation } = this
    const usage = nativeUsage(chunk['usage']) ?? nativeUsage(choice?.choice['usage'])
    if (usage !== undefined) {
      this.usage = usage
      observation.reported = mergeUsage(observation.reported, usage)
    }
    if (choice === undefined && usage === undefined) return
    observation.hasStarted = true
    observation.messageId ??= messageIdOf(chunk)
    if (choice !== undefined) this.#takeChoice(choice, chunk, { text, start, end })
  }

  #takeChoice(choice: ChatChoice, chunk: JsonObject, frame: Readonly<{ text: ByteString; start: number; end: number }>): void {
    const { observation } = this
    const { delta, finish } = choice
    const calls = callsOf(delta)
    this.hasCalls ||= calls.length > 0
    this.#isDenial ||= textOf(delta['refusal']) !== undefined
    observation.contentBytes += bytesOf(delta['content']) + bytesOf(delta['refusal'])
    observation.contentBytes += bytesOf(reasoningOf(delta, 'auto')?.said)
    for (const { name, args } of calls) observation.contentBytes += bytesOf(name) + bytesOf(args)
    if (finish !== undefined) {
      this.finish = finish
      observation.stopSequence ??= textOf(choice.choice['stop_reason'])
      observation.isFinished = true
    }
    this.#sink.chunk(choice, chunk)
    const only = onlyPiece(choice, this.#reasoning)
    if (only !== undefined) this.#finder.learn(frame.text, frame.start, frame.end, only)
  }

  #complete(): void {
    this.state = 'complete'
    const { observation } = this
    const { finish, hasCalls } = this
    observation.stopReason = nativeStopReason(finish, { hasCalls, isDenial: this.#isDenial, stopSequence: observation.stopSequence })
    if (observation.stopReason !== 'stop_sequence') observation.stopSequence = undefined
    observation.isOutputFinal = observation.reported.output !== undefined
  }
}

function parse(data: ByteString): JsonObject | undefined {
  if (data.length > SHALLOW_LENGTH_MAX && typeof scanJson(data) === 'string') return undefined
  try {
    const chunk: unknown = JSON.parse(decode(data))
    return isObject(chunk) ? chunk : undefined
  } catch {
    return undefined
  }
}

const bytesOf = (said: unknown): number => (typeof said === 'string' ? Buffer.byteLength(said) : 0)
