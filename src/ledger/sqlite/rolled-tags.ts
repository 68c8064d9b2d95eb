/**
 * The tags that have roll-ups of their own, by key and day, in the writer's memory: a settle asks the file for those of a key and day once, and not for each tag. After a
 * rollback they are forgotten and read again. Rules: ledger.md "Roll-ups".
 */

import type { DebitStatements } from './debit-statements.ts'

/** Tags of a key and day that have rows of their own; all others share the row of ''. */
const TAGS_OF_DAY_MAX = 200
/** When more tags than this are known, all are forgotten, and those of a key and day are read again when they are needed. */
const KNOWN_MAX = 100_000

export class RolledTags {
  readonly #statements: Pick<DebitStatements, 'tagsOfDay'>
  readonly #known = new Map<string, Set<string>>()
  #count = 0

  constructor(statements: Pick<DebitStatements, 'tagsOfDay'>) {
    this.#statements = statements
  }

  /** The tag by which a receipt is rolled up: its own, or '' if enough others of its key and day came first. It counts as one that has a row from here on. */
  rolledOf(key: number, day: number, tag: string): string {
    const tags = this.#tagsOf(key, day)
    if (tags.has(tag)) return tag
    const rolled = tags.size < TAGS_OF_DAY_MAX ? tag : ''
    if (!tags.has(rolled)) {
      tags.add(rolled)
      this.#count++
    }
    return rolled
  }

  /** To be called when rows were rolled back, or when others may have written some. */
  forget(): void {
    this.#known.clear()
    this.#count = 0
  }

  /** To be called between transactions, when the file has every row that is known here. */
  makeRoom(): void {
    if (this.#count > KNOWN_MAX) this.forget()
  }

  #tagsOf(key: number, day: number): Set<string> {
    const place = `${key} ${day}`
    const known = this.#known.get(place)
    if (known !== undefined) return known
    const tags = new Set(this.#statements.tagsOfDay.all(key, day).map(({ tag }) => tag))
    this.#known.set(place, tags)
    this.#count += tags.size
    return tags
  }
}
