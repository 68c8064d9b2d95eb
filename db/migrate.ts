/** The schema's versions, embedded in the binary. A file says its version in `user_version` and whose it is in `application_id`. */

import type { Database } from 'bun:sqlite'
import init from './migrations/0001_init.sql' with { type: 'text' }

/** In order. The first makes version 2: version 1 was that of a preview, and no file of it is in use. */
const MIGRATIONS: readonly string[] = [init]

export const OLDEST_VERSION = 2
export const SCHEMA_VERSION = OLDEST_VERSION + MIGRATIONS.length - 1
/** "toll" in ASCII. */
export const APPLICATION_ID = 0x746f6c6c

/** Brings a file to the newest version, all or nothing. An empty file has version 0, any other `OLDEST_VERSION` or more. */
export function migrate(db: Database, version: number): void {
  if (version >= SCHEMA_VERSION) return
  db.transaction(() => {
    for (const migration of MIGRATIONS.slice(version === 0 ? 0 : version - OLDEST_VERSION + 1)) db.run(migration)
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  }).immediate()
}
