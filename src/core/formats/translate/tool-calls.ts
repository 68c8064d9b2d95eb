/**
 * The calls of a conversation: the ids that native knows them by, and which are answered. Linear however many share a name or an id.
 * Rules: translation.md "Turns", "Call ids".
 */

import { cleanName, NAME_LENGTH_MAX } from '../../native/names.ts'

export type OpenToolCall = {
  readonly rawId: string
  readonly name: string
  /** The id that native knows the call by. */
  readonly id: string
  /** The message or item that a refusal names. */
  readonly path: () => string
  /** Where its result stands in the user turn; undefined while it has none. */
  resultIndex: number | undefined
}

/** A result names its call by the client's id or, where the format has no ids, by the function. */
export type CallReference = Readonly<{ rawId: string }> | Readonly<{ name: string }>

/** Calls that a result can mean, in order; those before `next` are answered. */
type Queue = { readonly calls: OpenToolCall[]; next: number }

/** The calls of one assistant turn. */
export class OpenToolCalls {
  readonly #calls: OpenToolCall[] = []
  readonly #byRawId = new Map<string, Queue>()
  /** Made for the first result that names its call so: hardly a client does. */
  #byName: Map<string, Queue> | undefined

  get count(): number {
    return this.#calls.length
  }

  add(call: OpenToolCall): void {
    this.#calls.push(call)
    enqueue(this.#byRawId, call.rawId, call)
    if (this.#byName !== undefined) enqueue(this.#byName, call.name, call)
  }

  /** Equal ids are answered in their order; when all are answered, it is the last one's result that is replaced. */
  find(answers: CallReference): OpenToolCall | undefined {
    const queue = 'rawId' in answers ? this.#byRawId.get(answers.rawId) : this.#queuesByName().get(answers.name)
    if (queue === undefined) return undefined
    while (queue.calls[queue.next]?.resultIndex !== undefined) queue.next++
    return queue.calls[queue.next] ?? queue.calls.at(-1)
  }

  #queuesByName(): Map<string, Queue> {
    if (this.#byName !== undefined) return this.#byName
    this.#byName = new Map()
    for (const call of this.#calls) enqueue(this.#byName, call.name, call)
    return this.#byName
  }

  firstUnanswered(): OpenToolCall | undefined {
    return this.#calls.find(({ resultIndex }) => resultIndex === undefined)
  }
}

function enqueue(queues: Map<string, Queue>, key: string, call: OpenToolCall): void {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}

/** Of an id that needs a number, this much is kept: room for `_1000000`, more than a body can hold. */
const STEM_LENGTH_MAX = NAME_LENGTH_MAX - 8

/** Ids unique in the conversation. Some models' own are `functions.f:0`. */
export class ToolIds {
  readonly #used = new Set<string>()
  /** The last number tried after a stem: starting over from 2 would take quadratic time. */
  readonly #numbers = new Map<string, number>()

  /** The id that a call gets: its own when it is valid and unseen, else a cleaned one. */
  assign(rawId: string): string {
    const base = cleanName(rawId)
    const id = this.#used.has(base) ? this.#numbered(base.slice(0, STEM_LENGTH_MAX)) : base
    this.#used.add(id)
    return id
  }

  #numbered(stem: string): string {
    let number = this.#numbers.get(stem) ?? 1
    let id: string
    do id = `${stem}_${++number}`
    while (this.#used.has(id))
    this.#numbers.set(stem, number)
    return id
  }
}
