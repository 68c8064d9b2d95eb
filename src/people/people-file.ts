/**
 * The file of the people, beside the ledger and apart from it: nothing that a page writes can lock or break the file that holds the money. The gateway and the commands
 * have it open at the same time. Rules: pages.md "People"; architecture.md "Files beside the ledger".
 */

import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import alerts from './alerts.sql' with { type: 'text' }
import people from './schema.sql' with { type: 'text' }
import telegram from './telegram.sql' with { type: 'text' }
import telegramAlerts from './telegram-alerts.sql' with { type: 'text' }
import views from './views.sql' with { type: 'text' }

/** In order; `user_version` of a file says how many of them it has had. */
const MIGRATIONS: readonly string[] = [people, alerts, telegram, telegramAlerts, views]
export const PEOPLE_VERSION = MIGRATIONS.length
const BUSY_TIMEOUT_MS = 5_000

export const peoplePathOf = (ledgerPath: string): string => join(dirname(ledgerPath), 'people.db')

/** Makes the file where it is missing, readable by its owner alone. Throws where the folder cannot be written, or where a newer program made the file. */
export function openPeopleFile(path: string): Database {
  mkdirSync(dirname(path), { recursive: true })
  // SQLite would make the file with the process's mask. The log beside the file gets the file's mode.
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const db = new Database(path, { readwrite: true, strict: true })
  try {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    db.run('PRAGMA journal_mode = WAL')
    db.run('PRAGMA foreign_keys = ON')
    db.transaction(() => migrate(db, path)).immediate()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Runs under the write lock, so that two processes that start at once make one file. */
function migrate(db: Database, path: string): void {
  const version = db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0
  if (version > PEOPLE_VERSION) throw new Error(`${path} was made by a newer program`)
  for (const migration of MIGRATIONS.slice(version)) db.run(migration)
  if (version < PEOPLE_VERSION) db.run(`PRAGMA user_version = ${PEOPLE_VERSION}`)
}

/** `numbered`: the column whose numbers Postgres counts. */
type PeopleTable = Readonly<{ schema: 'people'; name: string; numbered?: string }>

const TABLES = [
  'person',
  'session',
  'credential',
  'verification',
  'passkey',
  'memberships',
  'saved_views',
  'operators',
  'invitations',
  'links',
  'secrets',
  'alerts',
  'alert_marks',
  'webhooks',
  'alert_events',
  'telegram_chats',
  'telegram_codes',
  'telegram_bots',
  'telegram_updates',
  'telegram_deletions',
]

/** The tables that are copied to Postgres with the ledger, ordered so that each row finds the rows that it names. Rules: ledger.md "Copy". */
export const PEOPLE_TABLES: readonly PeopleTable[] = [
  ...TABLES.map((name) => ({ schema: 'people', name }) as const),
  { schema: 'people', name: 'deliveries', numbered: 'number' },
]
