/**
 * The generation of the file: a row that says which of our WAL checkpoints was the last. After each checkpoint a new generation is written into the log, and the next one
 * moves it into the file. There it is read without SQLite, which would look into the log first. An older copy has an older generation, and any other file has none.
 * Rules: ledger.md "A ledger that is overwritten". Source: "Database File Format" of sqlite.org, "B-tree Pages", "Record Format".
 */

import type { Database, Statement } from 'bun:sqlite'

/** The id of the opening that wrote the generation, and a number. The texts of the generations of one opening sort in the order in which they were written. */
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

  /** The last generation that was committed. */
  get newest(): Generation {
    return this.#textOf(this.#count)
  }

  /** Writes the next generation, inside the caller's transaction. */
  write(): void {
    this.#write.run(this.#textOf(this.#count + 1))
  }

  /** To be called when the generation that was written is committed. */
  advanced(): void {
    this.#count++
  }

  #textOf(count: number): Generation {
    return `${this.#id}.${String(count).padStart(NUMBER_DIGITS, '0')}`
  }
}

/** The page of the file with the row, counted from 1: the only page of the table that is made first, which is small. */
export const GENERATION_PAGE = 2

/** Whether a file with the generation `before` can come to have `now` by checkpoints of the opening that wrote `newest`. */
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
/** The length of the payload, then the head of the record: its length, and the types of name and value. Each fits a byte. */
const HEAD = Buffer.from([
  RECORD_HEAD_BYTES + NAME.length + VALUE_CHARS,
  RECORD_HEAD_BYTES,
  typeOfText(NAME.length),
  typeOfText(VALUE_CHARS),
])
const CELL = Buffer.concat([HEAD, Buffer.from(NAME)])

/** The generation in a page of the file; undefined: the page is another one, or has none. */
export function generationIn(page: Buffer): Generation | undefined {
  if (page.length < POINTERS_AT || page[0] !== LEAF_OF_INDEX) return undefined
  const pointersEnd = Math.min(page.length - 1, POINTERS_AT + 2 * page.readUInt16BE(CELLS_AT))
  for (let pointer = POINTERS_AT; pointer < pointersEnd; pointer += 2) {
    const at = page.readUInt16BE(pointer)
    if (page.subarray(at, at + CELL.length).equals(CELL)) return page.toString('latin1', at + CELL.length, at + CELL.length + VALUE_CHARS)
  }
  return undefined
}
