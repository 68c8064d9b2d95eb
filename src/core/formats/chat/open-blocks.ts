/**
 * Blocks while they stream: a tool call, whose arguments are sent as they come, and thinking, which is sent once more as a whole when it is signed, so that the
 * client can send it back. Rules: chat.md "Chunks".
 */

import { ascii, type ByteString, concat, decode, EMPTY, encodeJson, quoted } from '../../bytes/byte-string.ts'
import type { JsonObject } from '../../json.ts'
import type { Template } from '../../native/delta-run.ts'
import { argumentsText, customInput } from '../translate/arguments.ts'
import type { ChunkWriter } from './chunk.ts'
import { calledOf } from './tools.ts'
import type { ChatEcho } from './wire.ts'

/** A tool call: id, type and name are sent once; a call without arguments ends as `{}`. */
export class OpenToolCall {
  /** The chunk that opens the call. */
  readonly first: ByteString
  readonly #more: Template
  readonly #input: unknown
  /** The argument text of a custom tool so far, as the inside of a JSON string: the tool's free text can only be read from the whole. */
  #buffered: ByteString | undefined
  #hasArguments = false

  /** `position` counts tool calls from 0, whatever other blocks there are. `input`: arguments that came with the block, exact. */
  constructor(block: JsonObject, position: number, input: unknown, { isLegacy, customTools }: ChatEcho, writer: ChunkWriter) {
    const called = calledOf(block, position)
    const isCustom = !isLegacy && customTools.has(called.name)
    this.#input = input
    this.#buffered = isCustom ? EMPTY : undefined
    if (isLegacy) {
      this.first = writer.delta({ function_call: { name: called.name, arguments: '' } })
      this.#more = writer.template(ascii`{"function_call":{"arguments":`, ascii`}}`)
      return
    }
    const kind = isCustom
      ? ({ type: 'custom', custom: { name: called.name, input: '' } } as const)
      : ({ type: 'function', function: { name: called.name, arguments: '' } } as const)
    this.first = writer.delta({ tool_calls: [{ index: position, id: called.id, ...kind }] })
    this.#more = writer.template(
      ascii`{"tool_calls":[{"index":${position},${isCustom ? ascii`"custom":{"input":` : ascii`"function":{"arguments":`}`,
      ascii`}}]}`,
    )
  }

  /** The halves of a chunk for further pieces; undefined before the first piece, and where pieces are kept. */
  get template(): Template | undefined {
    return this.#hasArguments && this.#buffered === undefined ? this.#more : undefined
  }

  /** The chunk for a piece of arguments, whose literal is `text[from, to)`; '' when there is nothing to show yet. */
  add(text: ByteString, from: number, to: number): ByteString {
    if (to - from === 2) return EMPTY
    this.#hasArguments = true
    if (this.#buffered === undefined) return this.#shown(text.slice(from, to))
    this.#buffered = concat(this.#buffered, text.slice(from + 1, to - 1))
    return EMPTY
  }

  /** The chunk that remains to be sent when the block ends. */
  end(): ByteString {
    if (this.#buffered !== undefined) {
      const whole = this.#hasArguments ? String(JSON.parse(decode(quoted(this.#buffered)))) : argumentsText(this.#input)
      return this.#shown(encodeJson(customInput(whole)))
    }
    return this.#hasArguments ? EMPTY : this.#shown(encodeJson(argumentsText(this.#input)))
  }

  #shown(literal: ByteString): ByteString {
    return concat(this.#more.before, literal, this.#more.after)
  }
}

/** Thinking: its pieces are shown as they come, and kept to be repeated as a whole at the end. */
export class OpenThinking {
  /** All the thinking so far, as the inside of a JSON string, in bytes. */
  #inside: ByteString
  #signature: string
  readonly #data: string | undefined

  constructor({ type, thinking, signature, data }: JsonObject) {
    this.#inside = typeof thinking === 'string' ? encodeJson(thinking).slice(1, -1) : EMPTY
    this.#signature = typeof signature === 'string' ? signature : ''
    this.#data = type === 'redacted_thinking' && typeof data === 'string' ? data : undefined
  }

  add(text: ByteString, from: number, to: number): void {
    this.#inside = concat(this.#inside, text.slice(from + 1, to - 1))
  }

  /** Takes the signature of a `signature_delta`; any other delta is ignored. */
  sign({ type, signature }: JsonObject): void {
    if (type === 'signature_delta' && typeof signature === 'string') this.#signature += signature
  }

  /** The chunk with the whole block; empty where the block could not be sent back. */
  end(writer: ChunkWriter): ByteString {
    if (this.#data !== undefined) return writer.delta({ thinking_blocks: [{ type: 'redacted_thinking', data: this.#data }] })
    if (this.#signature === '') return EMPTY
    const { before, after } = writer.template(
      ascii`{"thinking_blocks":[{"type":"thinking","thinking":`,
      ascii`,"signature":${encodeJson(this.#signature)}}]}`,
    )
    return concat(before, quoted(this.#inside), after)
  }
}
