/** Ledgers as released programs left them (test/ledger/released), each in a place of its own: nothing of this program has touched them. */

import { Database } from 'bun:sqlite'
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from './ledger.ts'
import { postgres } from './postgres.ts'
import { connectPostgres } from './postgres-connection.ts'

/** Of each: its version, and that of its tables. */
export const RELEASES: readonly (readonly [version: string, schema: number])[] = [['0.1.0', 2]]

type Store = 'sqlite' | 'postgres'

/** What a released ledger must say: `key` is a live secret of Shop, `code` one that nobody redeemed; exact amounts of accounts by name and of receipts by id. */
export type Left = Readonly<{
  key: string
  code: string
  accounts: Readonly<Record<string, string>>
  receipts: Readonly<Record<string, string>>
}>

const pathOf = (version: string, name: string): string => join(import.meta.dir, '../ledger/released', version, name)

export const leftBy = (version: string, store: Store): Left => JSON.parse(readFileSync(pathOf(version, `${store}.json`), 'utf8')) as Left

/** A signed statement of Shop. */
export const statementOf = (version: string, store: Store): string => pathOf(version, `${store}.statement.jsonl`)

export const statementKeyOf = (version: string): string => readFileSync(pathOf(version, 'postgres.statement-key'), 'utf8')

/** As a process that was killed leaves it. */
export function releasedFile(version: string, path = join(makeFolder(), 'ledger.db')): string {
  mkdirSync(dirname(path), { recursive: true })
  const db = new Database(path, { create: true, readwrite: true })
  db.run(`BEGIN; ${readFileSync(pathOf(version, 'sqlite.sql'), 'utf8')} COMMIT`)
  db.close()
  chmodSync(path, 0o600)
  copyFileSync(pathOf(version, 'sqlite.statement-key'), `${path}.statement-key`)
  return path
}

const databases = new Map<string, Promise<string>>()

/** The address of a copy of its own. */
export async function releasedDatabase(version: string): Promise<string> {
  const made = databases.get(version) ?? makeDatabase(version)
  databases.set(version, made)
  return postgres().createDatabase(await made)
}

/** The rows go past the triggers. */
async function makeDatabase(version: string): Promise<string> {
  const url = await postgres().createDatabase()
  const [tables = '', rows = ''] = readFileSync(pathOf(version, 'postgres.sql'), 'utf8').split('\n-- Rows.\n')
  const owner = connectPostgres(url)
  owner.run(`CREATE SCHEMA ledger; ${tables}`)
  owner.close()
  const admin = connectPostgres(postgres().asSuperuser(url))
  admin.run(`SET session_replication_role = replica; ${rows}`)
  admin.close()
  await postgres().untilNobodyIsConnected(url)
  return url
}
