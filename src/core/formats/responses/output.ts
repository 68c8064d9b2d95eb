/** The output of one streamed answer: opens its items in order, closes each at the right moment, and keeps what is closed. Rules: responses.md "Events". */

import type { JsonObject } from '../../json.ts'
import type { EventWriter } from './event-writer.ts'
import { type ItemSlot, type OpenItem, OpenMessage, OpenReasoning, OpenToolCall, writeRedacted } from './open-items.ts'
import { callIdOf, itemId, type OutputItem, toolOf } from './output-items.ts'
import type { ItemStatus, ToolName } from './wire.ts'

export class Output {
  readonly #events: EventWriter
  /** The text that the ids of this answer end with. */
  readonly #suffix: string
  readonly #modelId: string
  readonly #tools: ReadonlyMap<string, ToolName>
  readonly #open = new Set<OpenItem>()
  /** The closed items, by output index. */
  readonly #closed = new Map<number, OutputItem>()
  readonly #usedCallIds = new Set<string>()
  #message: OpenMessage | undefined
  #count = 0

  constructor(events: EventWriter, suffix: string, modelId: string, tools: ReadonlyMap<string, ToolName>) {
    this.#events = events
    this.#suffix = suffix
    this.#modelId = modelId
    this.#tools = tools
  }

  /** The message that text belongs to: text blocks form one message unless something that clients see stands between them. */
  message(): OpenMessage {
    this.#message ??= this.#opened(new OpenMessage(this.#place('message')))
    return this.#message
  }

  reasoning(): OpenReasoning {
    this.#closeMessage()
    return this.#opened(new OpenReasoning(this.#place('reasoning'), this.#modelId))
  }

  redacted(data: string): void {
    this.#closeMessage()
    const place = this.#place('reasoning')
    this.#closed.set(place.outputIndex, writeRedacted(place, this.#modelId, data))
  }

  /** `wholeInput`: see `OpenToolCall`. */
  call(block: JsonObject, wholeInput: string): OpenToolCall {
    this.#closeMessage()
    const tool = toolOf(block['name'], this.#tools)
    const place = this.#place(tool.kind)
    const callId = callIdOf(block['id'], this.#usedCallIds, this.#suffix, place.outputIndex)
    return this.#opened(new OpenToolCall(place, { callId, tool }, wholeInput))
  }

  /** Closes the item whose block has ended: another block starts, so the item was not cut short. */
  closeStopped(): void {
    for (const item of this.#open) if (item.isStopped) this.#close(item, 'completed')
  }

  /** Closes all items at the end of the answer. Where a limit cut the answer short, the last item is the incomplete one. */
  closeAll(lastStatus: ItemStatus): void {
    for (const item of this.#open) this.#close(item, item.outputIndex === this.#count - 1 ? lastStatus : 'completed')
    this.#message = undefined
  }

  /** The closed items, in order. */
  items(): readonly OutputItem[] {
    return [...this.#closed].sort(([a], [b]) => a - b).map(([, item]) => item)
  }

  #place(kind: Parameters<typeof itemId>[0]): ItemSlot {
    const outputIndex = this.#count++
    return { id: itemId(kind, this.#suffix, outputIndex), outputIndex, events: this.#events }
  }

  #opened<Item extends OpenItem>(item: Item): Item {
    this.#open.add(item)
    return item
  }

  #closeMessage(): void {
    if (this.#message !== undefined) this.#close(this.#message, 'completed')
    this.#message = undefined
  }

  #close(item: OpenItem, status: ItemStatus): void {
    this.#open.delete(item)
    this.#closed.set(item.outputIndex, item.close(status))
  }
}
