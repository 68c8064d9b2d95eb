/** The calls of one assistant turn and which of them are answered. Rules: translation.md "Turns". Linear however many calls share a name or an id. */

export type OpenCall = {
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
export type Answers = Readonly<{ rawId: string }> | Readonly<{ name: string }>

/** Calls that a result can mean, in order; those before `next` are answered. */
type Queue = { readonly calls: OpenCall[]; next: number }

export class OpenCalls {
  readonly #calls: OpenCall[] = []
  readonly #byRawId = new Map<string, Queue>()
  /** Made for the first result that names its call so: hardly a client does. */
  #byName: Map<string, Queue> | undefined

  get count(): number {
    return this.#calls.length
  }

  add(call: OpenCall): void {
    this.#calls.push(call)
    enqueue(this.#byRawId, call.rawId, call)
    if (this.#byName !== undefined) enqueue(this.#byName, call.name, call)
  }

  /** Equal ids are answered in their order; when all are answered, it is the last one's result that is replaced. */
  find(answers: Answers): OpenCall | undefined {
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

  firstUnanswered(): OpenCall | undefined {
    return this.#calls.find(({ resultIndex }) => resultIndex === undefined)
  }
}

function enqueue(queues: Map<string, Queue>, key: string, call: OpenCall): void {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}
