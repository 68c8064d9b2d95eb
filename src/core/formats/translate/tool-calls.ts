/**
 * The calls of a conversation: the ids that native knows them by, and which of them are answered. The time is linear, however many calls share a name or an id.
 * Rules: translation.md "Turns", "Call ids".
 */

import { cleanName, NAME_LENGTH_MAX } from '../../native/names.ts'

export type OpenToolCall = {
  readonly rawId: string
  readonly name: string
  /** The id that native knows the call by. */
  readonly id: string
  /** Returns the message or item that a refusal names. */
  readonly path: () => string
  /** The index of the call's result in the user turn; undefined while there is none. */
  resultIndex: number | undefined
}

/** A result names its call by the client's id or, where the format has no ids, by the function. */
export type CallReference = Readonly<{ rawId: string }> | Readonly<{ name: string }>

/** The calls that share an id or a name, in order; those before `next` are answered. */
type Queue = { readonly calls: OpenToolCall[]; next: number }

/** The calls of one assistant turn. */
export class OpenToolCalls {
  readonly #calls: OpenToolCall[] = []
  readonly #byRawId = new Map<string, Queue>()
  /** Made only when a result names its call by the function, which hardly a client does. */
  #byName: Map<string, Queue> | undefined

  get count(): number {
    return this.#calls.length
  }

  add(call: OpenToolCall): void {
    this.#calls.push(call)
    enqueue(this.#byRawId, call.rawId, call)
    if (this.#byName !== undefined) enqueue(this.#byName, call.name, call)
  }

  /** The call that a result answers. Calls with equal ids are answered in order; when all are answered, the last one's result is replaced. */
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

/** An id that needs a number is cut to this length, which leaves room for `_1000000`: no body holds more calls. */
const STEM_LENGTH_MAX = NAME_LENGTH_MAX - 8

/** Gives calls ids that are unique in the conversation. The ids of some models, such as `functions.f:0`, are not. */
export class ToolIds {
  readonly #used = new Set<string>()
  /** The last number that was tried with each stem: starting over from 2 would take quadratic time. */
  readonly #numbers = new Map<string, number>()

  /** The id that a call gets: `rawId` when it is valid and unseen, else a cleaned and numbered one. */
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
