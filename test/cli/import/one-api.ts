/** Databases of one-api and new-api for tests, in SQLite, with rows for them. */

import { Database } from 'bun:sqlite'
import { readFileSync } from 'node:fs'

export type Values = Readonly<Record<string, string | number | null>>

/** Writes rows into a database of theirs, which is made with the first. */
export function writeRows(path: string, system: 'one-api' | 'new-api', rows: Readonly<Record<string, readonly Values[]>>): void {
  const db = new Database(path)
  try {
    const isNew = db.query("SELECT 1 FROM sqlite_schema WHERE name = 'tokens'").get() === null
    if (isNew) db.run(readFileSync(new URL(`${system}-tables.sql`, import.meta.url), 'utf8'))
    db.transaction(() => {
      for (const [table, values] of Object.entries(rows)) for (const row of values) insert(db, table, row)
    })()
  } finally {
    db.close()
  }
}

function insert(db: Database, table: string, row: Values): void {
  const names = Object.keys(row)
  const quoted = names.map((name) => `"${name}"`).join(', ')
  db.query(`INSERT INTO ${table} (${quoted}) VALUES (${names.map(() => '?').join(', ')})`).run(...Object.values(row))
}

/** A key of 48 characters, as one-api makes them, but not at random. */
export const keyOf = (n: number): string => `${n}`.padStart(48, 'oneApiKeyOfFortyEightCharacters')

export const user = (id: number, more: Values = {}): Values => ({ id, username: `user${id}`, password: 'hash', quota: 1_000_000, ...more })

export const token = (id: number, more: Values = {}): Values => ({
  ...{ id, user_id: 1, key: keyOf(id), name: `token${id}`, remain_quota: 500_000, unlimited_quota: 0 },
  ...more,
})
