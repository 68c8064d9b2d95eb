/** A statement whose placeholders are numbered. Its rows look like SQLite's. Rules: ledger.md "Two stores". */

import type { Numbered } from './placeholders.ts'
import type { DriverValue, Rows } from './sync-driver-message.ts'
import { asRecord, driverValues, readRows } from './values.ts'

type AskedConnection = Readonly<{
  ask(asked: Readonly<{ text: string; values: readonly DriverValue[] }>): Rows
  iterate(text: string, values: readonly DriverValue[]): Iterable<unknown>
}>

/** The caller declares the type of rows, as with bun:sqlite; the methods return `never` so that it fits any. Values are given as there: a list, or one object by name. */
export class PostgresStatement {
  readonly #connection: AskedConnection
  readonly #numbered: Numbered

  constructor(connection: AskedConnection, numbered: Numbered) {
    this.#connection = connection
    this.#numbered = numbered
  }

  all(...given: readonly unknown[]): never[] {
    const found = this.#ask(given)
    return readRows(found).map((row) => asRecord(found.names, row)) as never[]
  }

  /** The first row, or null. */
  get(...given: readonly unknown[]): never {
    return (this.all(...given)[0] ?? null) as never
  }

  values(...given: readonly unknown[]): never[] {
    return readRows(this.#ask(given)) as never[]
  }

  iterate(...given: readonly unknown[]): never {
    return this.#connection.iterate(this.#numbered.text, driverValues(this.#numbered, given)) as never
  }

  run(...given: readonly unknown[]): { changes: number; lastInsertRowid: number } {
    return { changes: this.#ask(given).changes, lastInsertRowid: 0 }
  }

  #ask(given: readonly unknown[]): Rows {
    return this.#connection.ask({ text: this.#numbered.text, values: driverValues(this.#numbered, given) })
  }
}
