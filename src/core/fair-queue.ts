/**
 * A queue that takes from each owner in turn: however many items one owner adds, another one's item waits for at most one of them. The caller bounds the
 * length.
 */
export class FairQueue<Item> {
  /** The owners in the order of their turns; an owner is here while an item of it waits. */
  readonly #waiting = new Map<string, Item[]>()
  /** The owner of the last turn. While another owner waits, the next turn is not this one's, even when it has added items meanwhile. */
  #served: string | undefined
  #length = 0

  get length(): number {
    return this.#length
  }

  lengthOf(owner: string): number {
    return this.#waiting.get(owner)?.length ?? 0
  }

  add(owner: string, item: Item): void {
    const items = this.#waiting.get(owner)
    if (items === undefined) this.#waiting.set(owner, [item])
    else items.push(item)
    this.#length++
  }

  /** The item that `take` would give now. */
  peek(): Item | undefined {
    return this.#next()?.[1][0]
  }

  take(): Item | undefined {
    const next = this.#next()
    if (next === undefined) return undefined
    const [owner, items] = next
    const item = items.shift()
    this.#served = owner
    this.#length--
    this.#waiting.delete(owner)
    if (items.length > 0) this.#waiting.set(owner, items)
    return item
  }

  #next(): readonly [owner: string, items: Item[]] | undefined {
    const [first, second] = this.#waiting
    return first?.[0] === this.#served ? (second ?? first) : first
  }

  /** Removes an item; true when it was still waiting. */
  remove(owner: string, item: Item): boolean {
    const items = this.#waiting.get(owner) ?? []
    const at = items.indexOf(item)
    if (at === -1) return false
    items.splice(at, 1)
    this.#length--
    if (items.length === 0) this.#waiting.delete(owner)
    return true
  }
}
