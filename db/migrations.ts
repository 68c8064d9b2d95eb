/**
 * The versions of a ledger in a file, embedded in the binary. A file has its version in `user_version` and the id of our program in `application_id`. Rules: ledger.md
 * "Migrations".
 */

import type { Database } from 'bun:sqlite'
import { type Migration, newestOf } from '../src/core/migration.ts'
import init from './migrations/0002_init.sql' with { type: 'text' }
import bootsSchema from './migrations/0003_boots_schema.sql' with { type: 'text' }
import priceLevels from './migrations/0004_price_levels.sql' with { type: 'text' }
import costsTags from './migrations/0005_costs_tags.sql' with { type: 'text' }
import keyRates from './migrations/0005_key_rates.sql' with { type: 'text' }
import windows from './migrations/0005_windows.sql' with { type: 'text' }
import imports from './migrations/0006_imports.sql' with { type: 'text' }
import operatorApi from './migrations/0006_operator_api.sql' with { type: 'text' }
import spendHours from './migrations/0007_spend_hours.sql' with { type: 'text' }

/** The steps in order, each with the number of the version that it makes. Version 1 was that of a preview, and no file has it any more. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 2, sql: init },
  { version: 3, sql: bootsSchema },
  { version: 4, sql: priceLevels },
  { version: 5, sql: [costsTags, keyRates, windows].join('\n') },
  { version: 6, sql: [operatorApi, imports].join('\n') },
  { version: 7, sql: spendHours },
]

export const SCHEMA_VERSION = newestOf(MIGRATIONS)
/** "toll" in ASCII. */
export const APPLICATION_ID = 0x746f6c6c

/** Makes a new ledger in an empty file, all of it or nothing. */
export function makeTables(db: Database): void {
  db.transaction(() => {
    for (const { sql } of MIGRATIONS) db.run(sql)
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  }).immediate()
}
