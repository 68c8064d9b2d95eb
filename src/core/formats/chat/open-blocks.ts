/** A tool call while its arguments stream. Rules: chat.md "Chunks". Id, type and name are sent once; a call without arguments ends as `{}`. */

import { type ByteString, decode, EMPTY, encodeJson } from '../../bytes/byte-string.ts'
import type { JsonObject } from '../../json.ts'
import { argumentsText, customInput } from '../translate/tool-input.ts'
import type { ChunkWriter, Template } from './chunk.ts'
import { calledOf } from './tool-call.ts'
import type { ChatEcho } from './wire.ts'

export class OpenTool {
  /** The chunk that opens the call. */
  readonly first: ByteString
  readonly #more: Template
  readonly #input: unknown
  /** The argument text of a custom tool so far, as the inside of a JSON string: its free text can only be read when it is whole. */
  #buffered: string | undefined
  #hasArguments = false

  /** `position` counts tool calls from 0, whatever other blocks there are. `input`: arguments that came with the block, exact. */
  constructor(block: JsonObject, position: number, input: unknown, { isLegacy, customTools }: ChatEcho, writer: ChunkWriter) {
    const called = calledOf(block, position)
    const isCustom = !isLegacy && customTools.has(called.name)
    this.#input = input
    this.#buffered = isCustom ? '' : undefined
    if (isLegacy) {
      this.first = writer.delta({ function_call: { name: called.name, arguments: '' } })
      this.#more = writer.template('{"function_call":{"arguments":', '}}')
      return
    }
    const kind = isCustom
      ? ({ type: 'custom', custom: { name: called.name, input: '' } } as const)
      : ({ type: 'function', function: { name: called.name, arguments: '' } } as const)
    this.first = writer.delta({ tool_calls: [{ index: position, id: called.id, ...kind }] })
    this.#more = writer.template(
      `{"tool_calls":[{"index":${position},${isCustom ? '"custom":{"input":' : '"function":{"arguments":'}`,
      '}}]}',
    )
  }

  /** The chunk for a piece of arguments, whose literal is `text[from, to)`; '' when there is nothing to show yet. */
  add(text: string, from: number, to: number): string {
    if (to - from === 2) return EMPTY
    this.#hasArguments = true
    if (this.#buffered === undefined) return this.#more.before + text.slice(from, to) + this.#more.after
    this.#buffered += text.slice(from + 1, to - 1)
    return EMPTY
  }

  /** The chunk that is still owed when the block ends. */
  end(): string {
    if (this.#buffered !== undefined) {
      const whole = this.#hasArguments ? String(JSON.parse(decode(`"${this.#buffered}"`))) : argumentsText(this.#input)
      return this.#more.before + encodeJson(customInput(whole)) + this.#more.after
    }
    return this.#hasArguments ? EMPTY : this.#more.before + encodeJson(argumentsText(this.#input)) + this.#more.after
  }
}
