/** The schema's versions, embedded in the binary. A file says its version in `user_version` and whose it is in `application_id`. */

import type { Database } from 'bun:sqlite'
import init from './migrations/0001_init.sql' with { type: 'text' }

/** In order; the schema's version is how many of them a file has had. */
const MIGRATIONS: readonly string[] = [init]

export const SCHEMA_VERSION = MIGRATIONS.length
/** "toll" in ASCII. */
export const APPLICATION_ID = 0x746f6c6c

/** Brings a file to the newest version, all or nothing. */
export function migrate(db: Database, version: number): void {
  if (version >= SCHEMA_VERSION) return
  db.transaction(() => {
    for (const migration of MIGRATIONS.slice(version)) db.run(migration)
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  }).immediate()
}
