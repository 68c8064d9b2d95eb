/**
 * A chat stream to a native one, on the fly, so that whatever reads native streams need not know which kind of server answered. Figures come last: the end waits for
 * them. Rules: openai.md "Blocks", "Ends", "Usage".
 */

import { concat, encodeJson } from '../../../bytes/byte-string.ts'
import type { ReasoningSetting } from '../../../chat-dialect.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { writeNativeEvent } from '../../../native/event.ts'
import type { StreamClose } from '../../../transcoder.ts'
import { type ChatChoice, callsOf, reasoningOf, textOf } from './chunk.ts'
import type { Piece } from './chunk-finder.ts'
import { NativeBlocks } from './native-blocks.ts'
import { ChatReader, type ChatSink } from './reader.ts'

export type NativeStreamOptions = Readonly<{
  reasoning: ReasoningSetting
  /** The id of the answer, used where the server gives none. */
  id: string
}>

export class NativeStream implements ChatSink {
  readonly #options: NativeStreamOptions
  readonly #reader: ChatReader
  readonly #blocks: NativeBlocks
  #hasStarted = false
  #isEnded = false

  constructor(options: NativeStreamOptions) {
    this.#options = options
    this.#blocks = new NativeBlocks(options.id)
    this.#reader = new ChatReader(this, options.reasoning)
  }

  /** The answer is finished except for its usage, for which the caller should not wait without a limit. */
  get isFinished(): boolean {
    return this.#reader.isFinished
  }

  /** The stream came to its end in order. */
  get isWhole(): boolean {
    return this.#reader.state === 'complete'
  }

  /** The end or an error was written; nothing follows. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  push(chunk: Uint8Array): Uint8Array {
    NativeBlocks.clear()
    this.#reader.push(chunk)
    return this.#take()
  }

  end(how: StreamClose): Uint8Array {
    NativeBlocks.clear()
    this.#reader.end(how)
    return this.#take()
  }

  piece(piece: Piece): void {
    this.#start(undefined)
    const { field, literal, from, to, call } = piece
    const said = literal.slice(from, to)
    if (field === 'content') this.#blocks.say('text', said)
    else if (field !== 'arguments') this.#blocks.say('reasoning', said, field)
    else this.#blocks.arguments(call, said)
  }

  chunk({ delta }: ChatChoice, chunk: JsonObject): void {
    this.#start(chunk)
    const reasoning = reasoningOf(delta, this.#options.reasoning)
    if (reasoning !== undefined) this.#blocks.say('reasoning', encodeJson(reasoning.said), reasoning.field)
    const text = textOf(delta['content']) ?? partsOf(delta['content']) ?? textOf(delta['refusal'])
    if (text !== undefined) this.#blocks.say('text', encodeJson(text))
    for (const call of callsOf(delta)) this.#blocks.call(call)
  }

  #start(chunk: JsonObject | undefined): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    const id = nativeId(chunk?.['id'], this.#options.id)
    this.#blocks.write(writeNativeEvent('message_start', { message: { ...headOf(id, chunk), content: [], ...UNENDED } }))
  }

  #take(): Uint8Array {
    const { state } = this.#reader
    if (this.#blocks.isOverfull && !this.#isEnded) return this.#fail({ type: 'api_error', message: 'too many calls at once' })
    if (state === 'complete' && !this.#isEnded) this.#finish()
    else if (state !== 'reading' && state !== 'complete' && state.error !== undefined) return this.#fail(state.error)
    else if (state !== 'reading' && state !== 'complete' && !this.#isEnded) return this.#fail(BROKEN)
    return NativeBlocks.take()
  }

  #finish(): void {
    this.#isEnded = true
    this.#start(undefined)
    this.#blocks.end()
    const { observation, usage } = this.#reader
    const delta = { stop_reason: observation.stopReason ?? null, stop_sequence: observation.stopSequence ?? null }
    const end = writeNativeEvent('message_delta', usage === undefined ? { delta } : { delta, usage })
    this.#blocks.write(concat(end, writeNativeEvent('message_stop')))
  }

  /** Writes the error behind what was written so far. */
  #fail(error: Readonly<Record<string, unknown>>): Uint8Array {
    if (this.#isEnded) return NOTHING
    this.#isEnded = true
    this.#blocks.write(writeNativeEvent('error', { error }))
    return NativeBlocks.take()
  }
}

const NOTHING = new Uint8Array()
const BROKEN = { type: 'api_error', message: 'the stream is broken' }
const UNENDED = { stop_reason: null, stop_sequence: null, usage: {} }

const headOf = (id: string, chunk: JsonObject | undefined): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  model: textOf(chunk?.['model']) ?? '',
})

/** The id of the answer in the form of native ids. */
export function nativeId(chatId: unknown, otherwise: string): string {
  const inside = typeof chatId === 'string' ? chatId.replace(/^(?:chatcmpl-|gen-|msg_)+/, '').replace(/[^\w-]/g, '') : ''
  return inside === '' ? otherwise : `msg_${inside.slice(0, ID_LENGTH_MAX)}`
}

const ID_LENGTH_MAX = 100

/** The text of content that comes as parts: some servers send parts, even in a stream. */
export function partsOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return undefined
  return textOf(
    content
      .filter(isObject)
      .map((part) => textOf(part['text']) ?? textOf(part['refusal']) ?? '')
      .join(''),
  )
}
