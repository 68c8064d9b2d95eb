/** Which ledger a file is, and how many flushed commits are in it. Rules: ledger.md "A ledger that vanishes". */

import type { Database, Statement } from 'bun:sqlite'

/** `ledger`: the id that was made with the file; copies keep it. */
export type Position = Readonly<{ ledger: string; commit: number }>

export const positionOf = (db: Database): Position => ({ ledger: metaOf(db, 'node') ?? '', commit: Number(metaOf(db, 'commit') ?? 0) })

function metaOf(db: Database, name: string): string | undefined {
  return db.query<{ value: string }, [string]>('SELECT value FROM meta WHERE name = ?').get(name)?.value
}

/** Counts in the transaction that it counts. Commits that are not flushed are not counted: a loss of power may take them. */
export class CommitNumber {
  readonly #put: Statement<undefined, [string]>
  #last: number

  constructor(db: Database) {
    this.#put = db.prepare("INSERT INTO meta (name, value) VALUES ('commit', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1")
    this.#last = positionOf(db).commit
  }

  get last(): number {
    return this.#last
  }

  /** Inside the transaction, at its end. */
  write(): void {
    this.#put.run(String(this.#last + 1))
  }

  committed(): void {
    this.#last++
  }
}
