/** The people's tables in Postgres, made and brought up to date by the first node. Rules: pages.md "People". */

import type { SQL } from 'bun'
import alerts from './alerts.sql' with { type: 'text' }
import people from './schema.sql' with { type: 'text' }
import telegram from './telegram.sql' with { type: 'text' }
import telegramAlerts from './telegram-alerts.sql' with { type: 'text' }
import views from './views.sql' with { type: 'text' }

/** In the order of `people-file.ts`. */
const MIGRATIONS: readonly string[] = [people, alerts, telegram, telegramAlerts, views]

/** Throws where a newer program made the tables. */
export function migrate(pool: SQL): Promise<void> {
  return pool.begin(async (sql) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended('people migrations', 0))`
    const [found] = await sql`SELECT to_regclass('people.migrations') IS NOT NULL AS "isThere"`
    if (!found.isThere) await sql.unsafe(FIRST)
    const [{ version }] = await sql`SELECT CAST(coalesce(max(number), 0) AS INTEGER) AS version FROM people.migrations`
    if (version > MIGRATIONS.length) throw new Error('the schema people was made by a newer program')
    for (const [index, migration] of MIGRATIONS.slice(version).entries()) {
      await sql.unsafe(migration)
      await sql`INSERT INTO people.migrations (number) VALUES (${version + index + 1})`
    }
  })
}

/** All migrations, for a connection of another kind, within a transaction: `run` gets each as one text. Afterwards the search path is that of the people. */
export function makeTables(run: (text: string) => unknown): void {
  run(FIRST)
  run('SET LOCAL search_path = people')
  MIGRATIONS.forEach((migration, index) => {
    run(migration)
    run(`INSERT INTO people.migrations (number) VALUES (${index + 1})`)
  })
}

const FIRST = 'CREATE SCHEMA IF NOT EXISTS people; CREATE TABLE people.migrations (number BIGINT NOT NULL PRIMARY KEY)'
