/** Tool call ids that native accepts: `[A-Za-z0-9_-]`, unique in the conversation. Rules: translation.md "Call ids". Some models' ids are `functions.f:0`. */

const ID_LENGTH_MAX = 128
const VALID = /^[A-Za-z0-9_-]{1,128}$/
/** Of an id that needs a number, this much is kept: room for `_1000000`, more than a body can hold. */
const STEM_LENGTH_MAX = ID_LENGTH_MAX - 8

export class ToolIds {
  readonly #used = new Set<string>()
  /** The last number tried after a stem: starting over from 2 would take quadratic time. */
  readonly #numbers = new Map<string, number>()

  /** The id that a call gets: its own when it is valid and unseen, else a cleaned one. */
  assign(rawId: string): string {
    const base = VALID.test(rawId) ? rawId : rawId.slice(0, ID_LENGTH_MAX).replace(/[^A-Za-z0-9_-]/g, '_')
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
