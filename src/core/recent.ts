/** A map of at most so many entries: those that were asked for or set last. It grows as it fills: most processes never hold a thousandth of what they may. */
export class Recent<Value extends {}> {
  readonly #max: number
  readonly #onDropped: (value: Value, key: string) => void
  /** In the order of their last use, oldest first. */
  readonly #entries = new Map<string, Value>()
  /** It stands last already: most are asked for several times in a row. */
  #latest: string | undefined

  /** `onDropped` is told of what is deleted or pushed out, not of what is replaced or cleared. */
  constructor(max: number, onDropped: (value: Value, key: string) => void = () => undefined) {
    this.#max = max
    this.#onDropped = onDropped
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value === undefined || key === this.#latest) return value
    this.#entries.delete(key)
    this.#entries.set(key, value)
    this.#latest = key
    return value
  }

  set(key: string, value: Value): void {
    if (key !== this.#latest) this.#entries.delete(key)
    this.#entries.set(key, value)
    this.#latest = key
    if (this.#entries.size <= this.#max) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.delete(oldest)
  }

  delete(key: string): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    if (key === this.#latest) this.#latest = undefined
    this.#entries.delete(key)
    this.#onDropped(value, key)
  }

  clear(): void {
    this.#latest = undefined
    this.#entries.clear()
  }
}
