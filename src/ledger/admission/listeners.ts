/** Who is told of an event, in the order in which they asked for it. Rules: keys.md "Key records". */

export class Listeners<Event> {
  readonly #listeners: ((event: Event) => void)[] = []

  add(listener: (event: Event) => void): void {
    this.#listeners.push(listener)
  }

  tell(event: Event): void {
    for (const listener of this.#listeners) listener(event)
  }
}
