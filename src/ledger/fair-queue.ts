/** Waiting work of many clients, taken in turn: whoever brings much waits behind himself, not before others. Bounded for each client and in all. */

export class FairQueue<Item> {
  readonly #clients = new Map<string, Item[]>()
  readonly #eachMax: number
  readonly #allMax: number
  #length = 0

  constructor(max: Readonly<{ each: number; all: number }>) {
    this.#eachMax = max.each
    this.#allMax = max.all
  }

  get length(): number {
    return this.#length
  }

  put(client: string, item: Item): 'waits' | 'tooMany' | 'overloaded' {
    const own = this.#clients.get(client)
    if (own !== undefined && own.length >= this.#eachMax) return 'tooMany'
    if (this.#length >= this.#allMax) return 'overloaded'
    if (own === undefined) this.#clients.set(client, [item])
    else own.push(item)
    this.#length++
    return 'waits'
  }

  /** The oldest of the client whose turn it is, which then goes behind all others. */
  take(): Item | undefined {
    for (const [client, own] of this.#clients) {
      const item = own.shift()
      this.#clients.delete(client)
      if (own.length > 0) this.#clients.set(client, own)
      this.#length--
      return item
    }
    return undefined
  }
}
