/**
 * Writes a chat answer as native blocks, one after the other: text, reasoning and calls, as frames of a native stream. Rules: openai.md "Blocks", "Thinking";
 * native.md "Stream".
 */

import { ascii, type ByteString, encodeJson, solid } from '../../../bytes/byte-string.ts'
import { ByteWriter } from '../../../bytes/byte-writer.ts'
import { writeNativeEvent } from '../../../native/event.ts'
import { ownSignature, type ReasoningField } from '../../../native/own-signature.ts'
import { nativeCallId } from './call-id.ts'
import { CallPositions } from './call-positions.ts'
import type { Called } from './chunk.ts'
import { OpenArguments, type WaitingBlock, WaitingBlocks, type WaitingCall } from './waiting-blocks.ts'

type OpenBlock =
  | Readonly<{ kind: 'text'; before: ByteString }>
  | Readonly<{ kind: 'reasoning'; before: ByteString; field: ReasoningField }>
  | Readonly<{ kind: 'call'; before: ByteString; position: number; args: OpenArguments }>

/** All streams share this writer: it is empty between two pushes. */
const OUT = new ByteWriter()
const AFTER = ascii`}}\n\n`
const DELTAS = {
  text: ascii`text_delta","text":`,
  reasoning: ascii`thinking_delta","thinking":`,
  call: ascii`input_json_delta","partial_json":`,
} as const
/** Some servers send this text as the arguments of a call without arguments. */
const NO_ARGUMENTS = ascii`"null"`

export class NativeBlocks {
  readonly #waiting = new WaitingBlocks()
  #open: OpenBlock | undefined
  #index = 0
  readonly #calls = new CallPositions()
  readonly #answerId: string

  /** `answerId`: the ids of calls are made of it where the server gives none. */
  constructor(answerId: string) {
    this.#answerId = answerId
  }

  /** More content waits for its turn than may be kept. */
  get isOverfull(): boolean {
    return this.#waiting.isOverfull
  }

  /** Adds text or reasoning. `literal`: a JSON string with its quotes; an empty one is ignored. */
  say(kind: 'text' | 'reasoning', literal: ByteString, field: ReasoningField = 'reasoning_content'): void {
    if (literal.length <= 2) return
    if (this.#open?.kind !== kind && !this.#mayOpen()) {
      this.#waiting.put(this.#waiting.lastText(kind), literal)
      return
    }
    if (this.#open?.kind !== kind) this.#begin(kind, field)
    this.#delta(literal)
  }

  /** Adds a piece of a call, with all that the server tells of the call. */
  call(called: Called): void {
    const { id, name, args } = called
    const position = this.#calls.positionOf(called)
    const literal = args === undefined ? undefined : encodeJson(args)
    if (this.#isOpen(position)) {
      if (literal !== undefined) this.#arguments(literal)
      return
    }
    const known = this.#waiting.call(position)
    const call: WaitingCall = known ?? { kind: 'call', position, id, name, parts: [] }
    if (known === undefined) this.#waiting.add(call)
    call.id ??= id
    call.name ??= name
    if (literal !== undefined) this.#waiting.put(call, literal)
    this.#advance(false)
  }

  /** Adds a piece of the arguments of the call that the server numbers `index`. */
  arguments(index: number, literal: ByteString): void {
    const position = this.#calls.positionOf({ index, id: undefined, name: undefined })
    const waiting = this.#waiting.call(position)
    if (this.#isOpen(position)) this.#arguments(literal)
    else if (waiting !== undefined) this.#waiting.put(waiting, literal)
  }

  #isOpen(position: number): boolean {
    return this.#open?.kind === 'call' && this.#open.position === position
  }

  /** Writes more arguments of the open call. */
  #arguments(literal: ByteString): void {
    if (this.#open?.kind !== 'call' || literal.length <= 2) return
    if (this.#open.args.isEmpty && literal === NO_ARGUMENTS) return
    this.#open.args.add(literal)
    this.#delta(literal)
  }

  /** Ends the answer: writes all that waited, and closes the last block. */
  end(): void {
    this.#advance(true)
    this.#close()
  }

  /** Writes ready frames. */
  write(frames: ByteString): void {
    OUT.reserve(frames.length)
    OUT.text(frames)
  }

  /** Takes all frames since `take` or `clear` was last called; the bytes then belong to the caller. */
  static take(): Uint8Array {
    return OUT.take()
  }

  static clear(): void {
    OUT.clear()
  }

  /** Whether another block may begin now, which closes the open one. A call stays open until its arguments are whole. */
  #mayOpen(): boolean {
    if (!this.#waiting.isEmpty) return false
    return this.#open?.kind !== 'call' || this.#open.args.isWhole
  }

  /** Writes the waiting blocks as far as each may begin. `isEnd`: writes all of them. */
  #advance(isEnd: boolean): void {
    while (!this.#waiting.isEmpty && (isEnd || this.#open?.kind !== 'call' || this.#open.args.isWhole)) {
      const next = this.#waiting.next()
      if (next !== undefined) this.#sayAll(next)
    }
  }

  #sayAll(block: WaitingBlock): void {
    if (block.kind === 'call') this.#beginCall(block)
    else this.#begin(block.kind, 'reasoning_content')
    for (const part of block.parts) {
      if (block.kind === 'call') this.#arguments(part)
      else this.#delta(part)
    }
  }

  #begin(kind: 'text' | 'reasoning', field: ReasoningField): void {
    const block = kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
    const before = this.#start(kind, block)
    this.#open = kind === 'text' ? { kind, before } : { kind, before, field }
  }

  #beginCall({ position, id, name }: WaitingCall): void {
    const before = this.#start('call', { type: 'tool_use', id: nativeCallId(id, position, this.#answerId), name: name ?? '', input: {} })
    this.#open = { kind: 'call', before, position, args: new OpenArguments() }
  }

  /** Writes the frame that begins a block; returns the text that the block's deltas begin with. */
  #start(kind: OpenBlock['kind'], block: Readonly<Record<string, unknown>>): ByteString {
    this.#close()
    const index = this.#index++
    this.write(writeNativeEvent('content_block_start', { index, content_block: block }))
    return solid(ascii`event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${DELTAS[kind]}`)
  }

  #delta(literal: ByteString): void {
    if (this.#open === undefined) return
    const { before } = this.#open
    OUT.reserve(before.length + literal.length + AFTER.length)
    OUT.text(before)
    OUT.text(literal)
    OUT.text(AFTER)
  }

  #close(): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    const index = this.#index - 1
    if (open.kind === 'reasoning') {
      const delta = { type: 'signature_delta', signature: ownSignature(open.field) }
      this.write(writeNativeEvent('content_block_delta', { index, delta }))
    }
    this.write(writeNativeEvent('content_block_stop', { index }))
  }
}
