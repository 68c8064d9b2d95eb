/** Tool call ids that native accepts: `[A-Za-z0-9_-]`, unique in the conversation. Source: K5, wire.md §3.3.7. Some models' ids are `functions.f:0`. */

const ID_LENGTH_MAX = 128
const VALID = /^[A-Za-z0-9_-]{1,128}$/

export class ToolIds {
  readonly #used = new Set<string>()

  /** The id that a call gets: its own when it is valid and unseen, else a cleaned one; `fallback` for an empty one. */
  assign(rawId: string, fallback: string): string {
    const base = rawId === '' ? fallback : VALID.test(rawId) ? rawId : rawId.slice(0, ID_LENGTH_MAX).replace(/[^A-Za-z0-9_-]/g, '_')
    let id = base
    for (let next = 2; this.#used.has(id); next++) {
      const suffix = `_${next}`
      id = base.slice(0, ID_LENGTH_MAX - suffix.length) + suffix
    }
    this.#used.add(id)
    return id
  }
}
