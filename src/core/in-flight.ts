/**
 * A map of what is in flight: entries come and go all the time, and hardly ever are there none. The engine's own map makes a new table after so many changes, and each old
 * table refers to the next one; so once a collection of young objects has found an old table old, all that was in flight at a later change of tables counts as reachable until
 * the next collection of everything. Here a table refers to an entry's value through a cell, which is emptied when the entry goes. Rules: platform.md "Memory".
 */

type Cell<Value> = { value: Value | undefined }

export class InFlight<Key, Value extends {}> {
  readonly #cells = new Map<Key, Cell<Value>>()

  get size(): number {
    return this.#cells.size
  }

  has(key: Key): boolean {
    return this.#cells.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value
  }

  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) this.#cells.set(key, { value })
    else cell.value = value
  }

  /** Removes the entry and returns its value. */
  take(key: Key): Value | undefined {
    const value = this.get(key)
    this.delete(key)
    return value
  }

  delete(key: Key): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) return
    this.#cells.delete(key)
    cell.value = undefined
  }

  clear(): void {
    for (const cell of this.#cells.values()) cell.value = undefined
    this.#cells.clear()
  }

  /** The values in the order in which their keys came. An entry that goes while they are walked is left out. */
  *values(): Generator<Value, void> {
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value
  }

  /** The entries in the order in which their keys came. */
  *entries(): Generator<[Key, Value], void> {
    for (const [key, { value }] of this.#cells) if (value !== undefined) yield [key, value]
  }
}
