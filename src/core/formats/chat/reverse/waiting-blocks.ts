/**
 * Blocks that wait until the one before them has ended. A chat stream may have several open calls and add to any of them; native blocks never overlap. The waiting content is
 * bounded, since an upstream decides how large it gets. Rules: openai.md "Blocks".
 */

import { type ByteString, decode, join } from '../../../bytes/byte-string.ts'

/** A waiting call; `position` is its place among all calls. `parts`: its waiting literals, with their quotes. */
export type WaitingCall = { kind: 'call'; position: number; id: string | undefined; name: string | undefined; parts: ByteString[] }
export type WaitingText = { kind: 'text' | 'reasoning'; parts: ByteString[] }
export type WaitingBlock = WaitingCall | WaitingText

const BYTES_MAX = 4 * 1024 * 1024
/** How often the arguments of one call are parsed at most, to see whether they are whole. */
const LOOKS_MAX = 16

export class WaitingBlocks {
  readonly #blocks: WaitingBlock[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#blocks.length === 0
  }

  /** More content waits than may be kept. */
  get isOverfull(): boolean {
    return this.#bytes > BYTES_MAX
  }

  call(position: number): WaitingCall | undefined {
    return this.#blocks.find((block): block is WaitingCall => block.kind === 'call' && block.position === position)
  }

  /** Adds a block behind those that wait. */
  add(block: WaitingBlock): void {
    this.#blocks.push(block)
    for (const part of block.parts) this.#bytes += part.length
  }

  put(block: WaitingBlock, part: ByteString): void {
    block.parts.push(part)
    this.#bytes += part.length
  }

  /** The last waiting block, when it is of this kind; else a new one behind it. */
  lastText(kind: WaitingText['kind']): WaitingText {
    const last = this.#blocks.at(-1)
    if (last !== undefined && last.kind === kind) return last
    const block: WaitingText = { kind, parts: [] }
    this.#blocks.push(block)
    return block
  }

  next(): WaitingBlock | undefined {
    const block = this.#blocks.shift()
    if (block !== undefined) for (const part of block.parts) this.#bytes -= part.length
    return block
  }
}

/** The arguments of the open call. Another block may begin only when they are whole. */
export class OpenArguments {
  readonly #parts: ByteString[] = []
  #length = 0
  #looks = 0
  #isWhole = false
  #isLookedAt = false

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** Arguments beyond the bound are not kept and never count as whole: the call then stays open until the answer ends. */
  add(literal: ByteString): void {
    this.#length += literal.length
    this.#isLookedAt = false
    if (this.#length <= BYTES_MAX) this.#parts.push(literal.slice(1, -1))
  }

  /** To be read when another block wants to begin. It parses the arguments only when they have grown since it was last read. */
  get isWhole(): boolean {
    if (this.#isLookedAt || this.#looks >= LOOKS_MAX || this.#length > BYTES_MAX || this.isEmpty) return this.#isWhole
    this.#isLookedAt = true
    this.#looks++
    this.#isWhole = isJson(join(this.#parts))
    return this.#isWhole
  }
}

/** Whether the text of a literal is itself a JSON object or array. */
function isJson(inside: ByteString): boolean {
  try {
    const text: unknown = JSON.parse(`"${decode(inside)}"`)
    if (typeof text !== 'string') return false
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
