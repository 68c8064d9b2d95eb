/**
 * The file of kept answers: encrypted rows, bounded for each account and in all. The oldest rows go first and their pages are used again, so the file never outgrows
 * its bound. It has one connection, on a thread of its own. Rules: requests.md "Kept answers"; ledger.md "Files".
 */

import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, openSync } from 'node:fs'
import { NotOurs } from '../../db/damage.ts'
import type { Forgotten } from '../core/format.ts'
import schema from './answers.sql' with { type: 'text' }

/** `items`: names of the items in the answer to which a later request may refer. */
export type SealedAnswer = Readonly<{
  name: Uint8Array
  accountId: string
  /** Unix milliseconds. */
  expiresAt: number
  sealed: Uint8Array
  items: readonly Uint8Array[]
}>

/** `name`: the answer's name, also where one of its items was asked for. */
export type FoundSealed = Readonly<{ name: Uint8Array; sealed: Uint8Array }>

/** Spells 'TGAN'. */
const APPLICATION_ID = 0x54_47_41_4e
const VERSION = 1
const PAGE_BYTES = 4_096
/** Bytes of a row beside its content, and of each item's two index entries. */
const ROW_BYTES = 250
const ITEM_BYTES = 130
const ACCOUNT_SHARE = 8
const LOG_BYTES_KEPT = 8 * 1024 * 1024
/** How many expired rows are deleted with each new one. */
const PRUNED_AT_ONCE = 64
const GONE_MAX = 100_000
const BYTES_PER_GONE = 4_096
/** How many pages are given back to the disk at once. */
const VACUUMED_AT_ONCE = 2_048

export class AnswersFile {
  readonly #db: Database
  readonly #bytesMax: number
  readonly #statements: ReturnType<typeof statementsOf>
  /** Bytes of each account that was asked for so far. */
  readonly #accounts = new Map<string, number>()

  /** Makes the file where it is missing, readable by its owner alone. Throws. */
  constructor(path: string, bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#db = connect(path)
    try {
      this.#statements = statementsOf(this.#db)
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** Bytes of the pages in use. */
  get bytes(): number {
    return (this.#number('page_count') - this.#number('freelist_count')) * PAGE_BYTES
  }

  /** Keeps an answer. The account's own oldest rows make room in its share, then the oldest of all. False: the answer is larger than a share. */
  keep({ name, accountId, expiresAt, sealed, items }: SealedAnswer, now: number): boolean {
    const { replace, insert, item } = this.#statements
    const bytes = ROW_BYTES + sealed.byteLength + ITEM_BYTES * items.length
    return this.#write(() => {
      this.#dropExpired(now)
      for (const old of replace.all(name)) this.#drop(old)
      const share = Math.floor(this.#bytesMax / ACCOUNT_SHARE)
      if (bytes > share) {
        this.#note(name, 'crowded')
        return false
      }
      this.#makeRoom(accountId, bytes, share)
      const { number } = insert.get(name, accountId, expiresAt, bytes, sealed) ?? { number: 0 }
      for (const one of items) item.run(one, number)
      this.#count(accountId, bytes)
      return true
    })
  }

  /** Finds an answer by its name, or the answer that holds the item of this name. */
  find(name: Uint8Array, now: number): FoundSealed | Forgotten {
    const { byName, byItem, gone } = this.#statements
    const row = byName.get(name) ?? byItem.get(name)
    if (row === null) return gone.get(name)?.why ?? 'unknown'
    return row.expires_at <= now ? 'expired' : { name: row.name, sealed: row.sealed }
  }

  /** Deletes rows that have expired or exceed the bound, and returns free pages to the file system, some at a time. True: there is more to do. */
  prune(now: number): boolean {
    const dropped = this.#write(() => {
      const expired = this.#dropExpired(now)
      return expired + this.#dropOldest(() => this.bytes > this.#bytesMax, PRUNED_AT_ONCE)
    })
    const free = this.#number('freelist_count')
    // `all` runs the statement to its last row: each row gives one page back to the disk.
    if (free > 0) this.#db.query(`PRAGMA incremental_vacuum(${VACUUMED_AT_ONCE})`).all()
    return dropped >= PRUNED_AT_ONCE || free > VACUUMED_AT_ONCE
  }

  close(): void {
    this.#db.close()
  }

  #write<T>(write: () => T): T {
    try {
      return this.#db.transaction(write).immediate()
    } catch (error) {
      // The transaction was undone, so the counts may be wrong.
      this.#accounts.clear()
      throw error
    }
  }

  #makeRoom(accountId: string, bytes: number, share: number): void {
    let own = this.#bytesOf(accountId)
    while (own + bytes > share) {
      const oldest = this.#statements.oldestOf.get(accountId)
      if (oldest === null) break
      this.#forget(oldest, 'crowded')
      own -= oldest.bytes
    }
    this.#dropOldest(() => this.bytes + bytes > this.#bytesMax)
  }

  #dropOldest(isTooMuch: () => boolean, max = Number.POSITIVE_INFINITY): number {
    let dropped = 0
    for (; dropped < max && isTooMuch(); dropped++) {
      const oldest = this.#statements.oldest.get()
      if (oldest === null) break
      this.#forget(oldest, 'crowded')
    }
    return dropped
  }

  #dropExpired(now: number): number {
    const expired = this.#statements.expired.all(now)
    for (const row of expired) this.#forget(row, 'expired')
    return expired.length
  }

  #forget(row: Row, why: Exclude<Forgotten, 'unknown'>): void {
    this.#drop(row)
    this.#note(row.name, why)
  }

  #drop({ number, account, bytes }: Row): void {
    this.#statements.drop.run(number)
    this.#count(account, -bytes)
  }

  #note(name: Uint8Array, why: Exclude<Forgotten, 'unknown'>): void {
    const { number } = this.#statements.note.get(name, why) ?? { number: 0 }
    this.#statements.trim.run(number - Math.min(GONE_MAX, Math.floor(this.#bytesMax / BYTES_PER_GONE)))
  }

  #bytesOf(account: string): number {
    const known = this.#accounts.get(account)
    if (known !== undefined) return known
    const bytes = this.#statements.bytesOf.get(account)?.bytes ?? 0
    this.#accounts.set(account, bytes)
    return bytes
  }

  #count(account: string, bytes: number): void {
    const known = this.#accounts.get(account)
    if (known === undefined) return
    if (known + bytes <= 0) this.#accounts.delete(account)
    else this.#accounts.set(account, known + bytes)
  }

  #number(pragma: string): number {
    const row = this.#db.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get()
    return Object.values(row ?? {})[0] ?? 0
  }
}

type Row = Readonly<{ number: number; name: Uint8Array; account: string; bytes: number }>
type Sealed = FoundSealed & Readonly<{ expires_at: number }>

const ROW = 'SELECT number, name, account, bytes FROM answers'

function statementsOf(db: Database) {
  const ask = <Result, Given extends (Uint8Array | string | number)[]>(sql: string) => db.query<Result, Given>(sql)
  return {
    insert: ask<{ number: number }, [Uint8Array, string, number, number, Uint8Array]>(
      'INSERT INTO answers (name, account, expires_at, bytes, sealed) VALUES (?, ?, ?, ?, ?) RETURNING number',
    ),
    item: ask<never, [Uint8Array, number]>(
      'INSERT INTO items (name, answer) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET answer = excluded.answer',
    ),
    replace: ask<Row, [Uint8Array]>(`${ROW} WHERE name = ?`),
    byName: ask<Sealed, [Uint8Array]>('SELECT name, sealed, expires_at FROM answers WHERE name = ?'),
    byItem: ask<Sealed, [Uint8Array]>(
      'SELECT answers.name, sealed, expires_at FROM items JOIN answers ON answers.number = items.answer WHERE items.name = ?',
    ),
    gone: ask<{ why: Forgotten }, [Uint8Array]>('SELECT why FROM gone WHERE name = ?'),
    oldestOf: ask<Row, [string]>(`${ROW} WHERE account = ? ORDER BY number LIMIT 1`),
    oldest: ask<Row, []>(`${ROW} ORDER BY number LIMIT 1`),
    expired: ask<Row, [number]>(`${ROW} WHERE expires_at <= ? ORDER BY expires_at LIMIT ${PRUNED_AT_ONCE}`),
    bytesOf: ask<{ bytes: number | null }, [string]>('SELECT sum(bytes) AS bytes FROM answers WHERE account = ?'),
    drop: ask<never, [number]>('DELETE FROM answers WHERE number = ?'),
    note: ask<{ number: number }, [Uint8Array, string]>('INSERT OR REPLACE INTO gone (name, why) VALUES (?, ?) RETURNING number'),
    trim: ask<never, [number]>('DELETE FROM gone WHERE number <= ?'),
  }
}

function connect(path: string): Database {
  // SQLite would make the file with the process's mask. The log beside the file gets the file's mode.
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const db = new Database(path, { readwrite: true, strict: true })
  try {
    db.run('PRAGMA busy_timeout = 5000')
    db.run('PRAGMA trusted_schema = OFF')
    const { application_id: id = 0 } = db.query<{ application_id: number }, []>('PRAGMA application_id').get() ?? {}
    const isNew = id === 0 && db.query('SELECT 1 FROM sqlite_schema LIMIT 1').get() === null
    // This works only before the first table is made.
    if (isNew) db.run('PRAGMA auto_vacuum = INCREMENTAL')
    db.run('PRAGMA journal_mode = WAL')
    // With NORMAL a power cut may lose the last rows, but never damages the file.
    db.run('PRAGMA synchronous = NORMAL')
    db.run('PRAGMA foreign_keys = ON')
    db.run('PRAGMA cell_size_check = ON')
    db.run(`PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`)
    if (isNew) db.transaction(() => makeTables(db)).immediate()
    const { user_version: version = 0 } = db.query<{ user_version: number }, []>('PRAGMA user_version').get() ?? {}
    if (!isNew && (id !== APPLICATION_ID || version !== VERSION)) throw new NotOurs('it is no file of kept answers of this version')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function makeTables(db: Database): void {
  db.run(schema)
  db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
  db.run(`PRAGMA user_version = ${VERSION}`)
}
