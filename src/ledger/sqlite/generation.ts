/**
 * Which of our checkpoints the file is as of, in a row of the file: a new one is in the log behind every checkpoint, so that the next one carries it into the file,
 * where it is read past SQLite, which would look into the log first. A copy that was made before says an older one, and what is no copy says none.
 * Rules: ledger.md "A ledger that is overwritten". Source: "Database File Format" of sqlite.org, "B-tree Pages", "Record Format".
 */

import type { Database, Statement } from 'bun:sqlite'

/** An id of the opening that wrote it, and the number of it there: those of one opening stand in the order of their texts. */
export type Generation = string

const NAME = 'generation'
const ID_CHARS = 32
const NUMBER_DIGITS = 10
const VALUE_CHARS = ID_CHARS + 1 + NUMBER_DIGITS

export class Generations {
  readonly #id = crypto.randomUUID().replaceAll('-', '')
  readonly #write: Statement
  #count = 0

  /** `db`: a writer's connection. */
  constructor(db: Database) {
    this.#write = db.prepare(`INSERT OR REPLACE INTO meta (name, value) VALUES ('${NAME}', ?)`)
  }

  /** The last one that was committed. */
  get newest(): Generation {
    return this.#textOf(this.#count)
  }

  /** Inside the caller's transaction. */
  write(): void {
    this.#write.run(this.#textOf(this.#count + 1))
  }

  /** What was written is committed. */
  advanced(): void {
    this.#count++
  }

  #textOf(count: number): Generation {
    return `${this.#id}.${String(count).padStart(NUMBER_DIGITS, '0')}`
  }
}

/** The page of a file, from 1, in which the row is: that of the table that is made first, which is small and has no other. */
export const GENERATION_PAGE = 2

/** Whether a file that said `before` can say `now` by the checkpoints of the opening that wrote `newest`. */
export function canFollow(before: Generation | undefined, now: Generation | undefined, newest: Generation): boolean {
  if (now === before) return true
  return now !== undefined && areOfOneOpening(now, newest) && !(before !== undefined && areOfOneOpening(now, before) && now < before)
}

const areOfOneOpening = (a: Generation, b: Generation): boolean => a.slice(0, ID_CHARS) === b.slice(0, ID_CHARS)

const LEAF_OF_INDEX = 0x0a
const CELLS_AT = 3
const POINTERS_AT = 8
const RECORD_HEAD_BYTES = 3
const typeOfText = (chars: number): number => 13 + 2 * chars
/** Length of the payload, then the record: length of its head, the types of name and value, both. All fit a byte. */
const HEAD = Buffer.from([
  RECORD_HEAD_BYTES + NAME.length + VALUE_CHARS,
  RECORD_HEAD_BYTES,
  typeOfText(NAME.length),
  typeOfText(VALUE_CHARS),
])
const CELL = Buffer.concat([HEAD, Buffer.from(NAME)])

/** The one in a page of the file; undefined where it is another page, or has none. */
export function generationIn(page: Buffer): Generation | undefined {
  if (page.length < POINTERS_AT || page[0] !== LEAF_OF_INDEX) return undefined
  const pointersEnd = Math.min(page.length - 1, POINTERS_AT + 2 * page.readUInt16BE(CELLS_AT))
  for (let pointer = POINTERS_AT; pointer < pointersEnd; pointer += 2) {
    const at = page.readUInt16BE(pointer)
    if (page.subarray(at, at + CELL.length).equals(CELL)) return page.toString('latin1', at + CELL.length, at + CELL.length + VALUE_CHARS)
  }
  return undefined
}
