/**
 * Blocks that wait until the one before them has ended. Chat may tell several calls at once and go on with any of them; native blocks never overlap. What waits is
 * bounded, since an upstream decides how much it is. Rules: openai.md "Blocks".
 */

import { type ByteString, decode, join } from '../../../bytes/byte-string.ts'

/** A call by its place among all. `parts`: the literals that wait, with their quotes. */
export type WaitingCall = { kind: 'call'; position: number; id: string | undefined; name: string | undefined; parts: ByteString[] }
export type WaitingText = { kind: 'text' | 'reasoning'; parts: ByteString[] }
export type WaitingBlock = WaitingCall | WaitingText

const BYTES_MAX = 4 * 1024 * 1024
/** How often the arguments of a call are looked at, to see whether they are whole. */
const LOOKS_MAX = 16

export class WaitingBlocks {
  readonly #blocks: WaitingBlock[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#blocks.length === 0
  }

  /** More waits than is kept. */
  get isOverfull(): boolean {
    return this.#bytes > BYTES_MAX
  }

  call(position: number): WaitingCall | undefined {
    return this.#blocks.find((block): block is WaitingCall => block.kind === 'call' && block.position === position)
  }

  /** The call is the last thing that waits, or waits at all. */
  add(block: WaitingBlock): void {
    this.#blocks.push(block)
    for (const part of block.parts) this.#bytes += part.length
  }

  put(block: WaitingBlock, part: ByteString): void {
    block.parts.push(part)
    this.#bytes += part.length
  }

  /** The last block of text or reasoning, as long as nothing waits behind it. */
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

/** The arguments of the open call: whether they are whole decides whether another block may begin. */
export class OpenArguments {
  readonly #parts: ByteString[] = []
  #length = 0
  #looks = 0
  #isWhole = false
  #isLookedAt = false

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** What is not kept any more is never seen to be whole: the call then lasts until the answer ends. */
  add(literal: ByteString): void {
    this.#length += literal.length
    this.#isLookedAt = false
    if (this.#length <= BYTES_MAX) this.#parts.push(literal.slice(1, -1))
  }

  /** Looked at where another block wants to begin, and never twice for nothing. */
  get isWhole(): boolean {
    if (this.#isLookedAt || this.#looks >= LOOKS_MAX || this.#length > BYTES_MAX || this.isEmpty) return this.#isWhole
    this.#isLookedAt = true
    this.#looks++
    this.#isWhole = isJson(join(this.#parts))
    return this.#isWhole
  }
}

/** The text inside the quotes of a literal is JSON itself. */
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
