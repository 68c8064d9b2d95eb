/** A map of at most so many entries: those that were asked for or set last. It grows as it fills: most processes never hold a thousandth of what they may. */
export class Recent<Value extends {}> {
  readonly #max: number
  readonly #onDropped: (value: Value, key: string) => void
  /** In the order of their last use, oldest first. */
  readonly #entries = new Map<string, Value>()

  /** `onDropped` is told of what is deleted or pushed out, not of what is replaced or cleared. */
  constructor(max: number, onDropped: (value: Value, key: string) => void = () => undefined) {
    this.#max = max
    this.#onDropped = onDropped
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#max) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.delete(oldest)
  }

  delete(key: string): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#entries.delete(key)
    this.#onDropped(value, key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
