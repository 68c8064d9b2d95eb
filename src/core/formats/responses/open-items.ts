/** Output items while they are written: each knows the events of its kind, in order. Rules: responses.md "Events". */

import { ascii, type ByteString, decode, EMPTY, encodeJson } from '../../bytes/byte-string.ts'
import { redactedJson, seal, thinkingJson } from './envelope.ts'
import { type DeltaTemplate, deltaTemplate, type EventWriter } from './event-writer.ts'
import { LiteralText } from './literal-text.ts'
import { callItem, contentLiteral, messageItem, NOTHING, type OutputItem, reasoningItem, summaryPart, textPart } from './output-items.ts'
import { type Pieces, pieces, textOf } from './pieces.ts'
import type { ItemStatus, ToolName } from './wire.ts'

/** Where an item stands in the answer, and where its events go. */
export type ItemSlot = Readonly<{ id: string; outputIndex: number; events: EventWriter }>

export interface OpenItem {
  readonly kind: 'text' | 'json' | 'thinking'
  readonly outputIndex: number
  /** The item's native block has ended. The item closes when the next block starts, or with the status of the answer's end. */
  isStopped: boolean
  /** Takes a delta's literal, quotes included; never an empty one. */
  add(literal: ByteString): void
  /** Writes the events that end the item; returns the item. */
  close(status: ItemStatus): OutputItem
}

const NONE: Pieces = []

const itemFields = ({ id, outputIndex }: ItemSlot): ByteString => ascii`,"item_id":${encodeJson(id)},"output_index":${outputIndex}`

function added({ outputIndex, events }: ItemSlot, { json }: OutputItem): void {
  events.event('response.output_item.added', pieces`,"output_index":${outputIndex},"item":${json}`)
}

function done({ outputIndex, events }: ItemSlot, item: OutputItem): OutputItem {
  events.event('response.output_item.done', pieces`,"output_index":${outputIndex},"item":${item.json}`)
  return item
}

export class OpenMessage implements OpenItem {
  readonly kind = 'text'
  readonly outputIndex: number
  isStopped = false
  readonly #place: ItemSlot
  readonly #fields: ByteString
  readonly #delta: DeltaTemplate
  readonly #text = new LiteralText()

  constructor(place: ItemSlot) {
    this.#place = place
    this.outputIndex = place.outputIndex
    this.#fields = ascii`${itemFields(place)},"content_index":0`
    this.#delta = deltaTemplate('response.output_text.delta', this.#fields, ascii`,"logprobs":[]`)
    added(place, messageItem(place.id, 'in_progress', NONE))
    place.events.event('response.content_part.added', pieces`${this.#fields},"part":${textPart(NOTHING)}`)
  }

  add(literal: ByteString): void {
    this.#place.events.delta(this.#delta, this.#text.add(literal))
  }

  close(status: ItemStatus): OutputItem {
    const text = this.#text.literal()
    const part = textPart(text)
    this.#place.events.event('response.output_text.done', pieces`${this.#fields},"text":${text},"logprobs":[]`)
    this.#place.events.event('response.content_part.done', pieces`${this.#fields},"part":${part}`)
    return done(this.#place, messageItem(this.#place.id, status, part))
  }
}

export class OpenReasoning implements OpenItem {
  readonly kind = 'thinking'
  readonly outputIndex: number
  isStopped = false
  /** The signature that ends the thinking. Without one the block cannot be sent back, and the item has no envelope. */
  signature = ''
  readonly #place: ItemSlot
  readonly #modelId: string
  readonly #fields: ByteString
  readonly #delta: DeltaTemplate
  readonly #text = new LiteralText()

  constructor(place: ItemSlot, modelId: string) {
    this.#place = place
    this.#modelId = modelId
    this.outputIndex = place.outputIndex
    this.#fields = ascii`${itemFields(place)},"summary_index":0`
    this.#delta = deltaTemplate('response.reasoning_summary_text.delta', this.#fields, EMPTY)
    added(place, reasoningItem(place.id, NONE, null))
  }

  add(literal: ByteString): void {
    if (this.#text.isEmpty) {
      this.#place.events.event('response.reasoning_summary_part.added', pieces`${this.#fields},"part":${summaryPart(NOTHING)}`)
    }
    this.#place.events.delta(this.#delta, this.#text.add(literal))
  }

  close(): OutputItem {
    const text = this.#text.literal()
    const part = this.#text.isEmpty ? NONE : summaryPart(text)
    if (part !== NONE) {
      this.#place.events.event('response.reasoning_summary_text.done', pieces`${this.#fields},"text":${text}`)
      this.#place.events.event('response.reasoning_summary_part.done', pieces`${this.#fields},"part":${part}`)
    }
    const sealed = this.signature === '' ? null : seal(this.#modelId, thinkingJson(text, encodeJson(this.signature)))
    return done(this.#place, reasoningItem(this.#place.id, part, sealed))
  }
}

/** Writes thinking that the vendor hides, which is complete at once; returns the item. */
export function writeRedacted(place: ItemSlot, modelId: string, data: string): OutputItem {
  added(place, reasoningItem(place.id, NONE, null))
  return done(place, reasoningItem(place.id, NONE, seal(modelId, redactedJson(data))))
}

export class OpenToolCall implements OpenItem {
  readonly kind = 'json'
  readonly outputIndex: number
  isStopped = false
  readonly #place: ItemSlot
  readonly #call: Readonly<{ id: string; callId: string; tool: ToolName }>
  readonly #delta: DeltaTemplate
  readonly #json = new LiteralText()
  /** The whole input as JSON text, from upstreams that give it when the block starts; '' otherwise. */
  readonly #wholeInput: string

  constructor(place: ItemSlot, call: { callId: string; tool: ToolName }, wholeInput: string) {
    this.#place = place
    this.#call = { id: place.id, ...call }
    this.#wholeInput = wholeInput
    this.outputIndex = place.outputIndex
    this.#delta = deltaTemplate(this.#isCustom ? `${CUSTOM}.delta` : `${FUNCTION}.delta`, itemFields(place), EMPTY)
    added(place, callItem(this.#call, 'in_progress', NOTHING))
  }

  /** A function's arguments are passed on as they come; a custom tool's input is read from its JSON once that is whole. */
  add(literal: ByteString): void {
    const kept = this.#json.add(literal)
    if (!this.#isCustom) this.#place.events.delta(this.#delta, kept)
  }

  close(status: ItemStatus): OutputItem {
    const literal = this.#content()
    if (this.#isCustom || this.#json.isEmpty) this.#place.events.delta(this.#delta, literal)
    const name = encodeJson(this.#call.tool.name)
    const [type, content] = this.#isCustom
      ? [CUSTOM, pieces`"input":${literal}`]
      : [FUNCTION, pieces`"name":${name},"arguments":${literal}`]
    this.#place.events.event(`${type}.done`, pieces`${itemFields(this.#place)},${content}`)
    return done(this.#place, callItem(this.#call, status, literal))
  }

  get #isCustom(): boolean {
    return this.#call.tool.kind === 'custom'
  }

  #content(): Pieces {
    if (this.#json.isEmpty) return contentLiteral(this.#call.tool, this.#wholeInput)
    const literal = this.#json.literal()
    return this.#isCustom ? contentLiteral(this.#call.tool, JSON.parse(decode(textOf(literal)))) : literal
  }
}

const CUSTOM = 'response.custom_tool_call_input'
const FUNCTION = 'response.function_call_arguments'
