/** What waits for the one place, taken from each owner in turn: how much one of them brings delays the others by one thing each. */
export class FairLine<Item> {
  /** In the order of their turns; an owner is here while something of it waits. */
  readonly #waiting = new Map<string, Item[]>()
  /** Who had the last turn: what he brought meanwhile does not make him the next. */
  #served: string | undefined

  add(owner: string, item: Item): void {
    const items = this.#waiting.get(owner)
    if (items === undefined) this.#waiting.set(owner, [item])
    else items.push(item)
  }

  take(): Item | undefined {
    const [first, second] = this.#waiting
    const next = first?.[0] === this.#served ? (second ?? first) : first
    if (next === undefined) return undefined
    const [owner, [item, ...rest]] = next
    this.#served = owner
    this.#waiting.delete(owner)
    if (rest.length > 0) this.#waiting.set(owner, rest)
    return item
  }

  /** Whether it was still waiting. */
  remove(owner: string, item: Item): boolean {
    const items = this.#waiting.get(owner) ?? []
    const rest = items.filter((other) => other !== item)
    if (rest.length === 0) this.#waiting.delete(owner)
    else this.#waiting.set(owner, rest)
    return rest.length < items.length
  }
}
