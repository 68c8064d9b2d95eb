/** The ledger as the command line reads it, beside a running gateway: a read-only connection of its own. Rules: ledger.md "One writer". */

import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { eq, or, type SQL, sql } from 'drizzle-orm'
import { type DatabaseProblem, problemOf } from '../../db/open.ts'
import { accounts, keys } from '../../db/schema.ts'
import { availableOf, type KeyRecord } from '../core/key.ts'
import { type Picos, picos } from '../core/money.ts'
import { statementFindings } from './against-statement.ts'
import { CodeLists } from './code-lists.ts'
import { type Connection, ormOf } from './connection.ts'
import type { Difference } from './difference.ts'
import { accountColumns, keyColumns } from './key-columns.ts'
import type { Hold } from './ledger.ts'
import { type MarksQuery, markedHolds } from './marked-holds.ts'
import { openForReading, readProblem } from './open-for-reading.ts'
import { OperatorLists } from './operator-lists.ts'
import { OperatorReceipts } from './operator-receipts.ts'
import type { Place, ReadablePlace } from './place.ts'
import { type NodeReport, nodesOf } from './postgres/nodes-report.ts'
import { differencesInDatabase } from './postgres/verify.ts'
import { differencesInFile } from './sqlite/verify.ts'
import { type StatementRange, statementLines } from './statement.ts'
import type { StatementKey } from './statement-key.ts'
import { type BooksCall, type BooksQuery, type BooksRow, upstreamBooks, upstreamCalls } from './upstream-books.ts'

export type ReportProblem = DatabaseProblem | Readonly<{ problem: 'unknown' | 'ambiguous'; message: string }>

export type KeyReport = KeyRecord &
  Readonly<{
    accountName: string
    spentPicos: Picos
    /** Of requests that run for more than a second. */
    heldPicos: Picos
    /** min(account balance, limit − spent), as the balance endpoints show it. */
    availablePicos: Picos
    createdAt: number
    lastSyncedAt: number
    lastUsedAt: number | null
  }>

export type AccountReport = Readonly<{
  id: string
  name: string
  creditedPicos: Picos
  spentPicos: Picos
  balancePicos: Picos
  /** Of requests that run for more than a second. */
  heldPicos: Picos
  isActive: boolean
  toppedUpAt: number | null
  keyCount: number
  createdAt: number
}>

export function openReport(place: ReadablePlace): Report | DatabaseProblem {
  const db = openForReading(place)
  if ('problem' in db) return db
  try {
    return new Report(db, place)
  } catch (error) {
    // What it prepares reads pages that nobody has read before.
    db.close()
    return readProblem(error, place)
  }
}

export class Report {
  readonly lists: OperatorLists
  readonly codes: CodeLists
  readonly receipts: OperatorReceipts
  readonly #db: Connection
  readonly #orm: ReturnType<typeof ormOf>
  readonly #place: Place

  constructor(db: Connection, place: Place) {
    this.#db = db
    this.#place = place
    this.#orm = ormOf(db)
    this.lists = new OperatorLists(db)
    this.codes = new CodeLists(db)
    this.receipts = new OperatorReceipts(db)
  }

  /** Oldest first. */
  keys(): readonly KeyReport[] {
    return this.#keysWhere(undefined)
  }

  /** By id, else by name. */
  key(idOrName: string): KeyReport | ReportProblem {
    const found = this.#keysWhere(or(eq(keys.id, idOrName), eq(keys.name, idOrName)))
    return theOne(found, idOrName, 'key')
  }

  accounts(): readonly AccountReport[] {
    return this.#accountsWhere(undefined)
  }

  account(idOrName: string): AccountReport | ReportProblem {
    const found = this.#accountsWhere(or(eq(accounts.id, idOrName), eq(accounts.name, idOrName)))
    return theOne(found, idOrName, 'account')
  }

  /** Of a ledger on Postgres; a file has one writer. */
  nodes(): readonly NodeReport[] {
    return nodesOf(this.#db)
  }

  /** What upstreams were asked for, by bucket of time, model and cause. */
  upstreamBooks(query: BooksQuery): readonly BooksRow[] {
    return upstreamBooks(this.#db, query)
  }

  /** The calls of these buckets, `limit` each. */
  upstreamCalls(query: BooksQuery, buckets: readonly number[], limit: number): readonly BooksCall[] {
    return upstreamCalls(this.#db, query, buckets, limit)
  }

  /** What all nodes have reserved, but for the last second. */
  marks(query: MarksQuery): readonly Hold[] {
    return markedHolds(this.#db, query)
  }

  verify(): readonly Difference[] {
    return this.#place.kind === 'sqlite' ? differencesInFile(this.#db) : differencesInDatabase(this.#db)
  }

  /** Lines of a signed statement, made as they are read. `account`: its id. */
  statement(account: string, range: StatementRange, key: StatementKey, madeAt: number): Iterable<string> {
    return statementLines(this.#db, account, range, key, madeAt)
  }

  /** `lines` gives those of a sound statement each time it is called. */
  against(lines: () => Iterable<Uint8Array>): readonly Difference[] {
    return statementFindings(this.#db, lines)
  }

  /** Of a file: a copy that is whole and was verified; nothing is left at `file` when it could not be made. An existing file is refused. */
  backup(file: string): readonly Difference[] | ReportProblem {
    if (existsSync(file)) return { problem: 'unwritable', message: `${file} exists; a backup never replaces a file` }
    try {
      this.#db.query('VACUUM INTO ?').run(file)
      flush(file)
    } catch (error) {
      if (existsSync(file)) rmSync(file)
      const ofCopy = problemOf(error, file)
      // What is damaged is what was read.
      return ofCopy.problem === 'corrupt' ? problemOf(error, this.#place.path) : ofCopy
    }
    const copy = openReport({ kind: 'sqlite', path: file })
    if ('problem' in copy) return copy
    const found = copy.verify()
    copy.close()
    return found
  }

  close(): void {
    this.#db.close()
  }

  #keysWhere(condition: SQL | undefined): readonly KeyReport[] {
    return this.#orm
      .select(keysWithHolds)
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(condition)
      .orderBy(keys.createdAt, keys.id)
      .all()
      .map(({ balancePicos, toppedUpAt, ...key }) => ({
        ...key,
        availablePicos: availableOf({ ...key, balancePicos }),
        lastSyncedAt: Math.max(key.lastSyncedAt, toppedUpAt ?? 0),
      }))
  }

  #accountsWhere(condition: SQL | undefined): readonly AccountReport[] {
    return this.#orm.select(accountsWithHolds).from(accounts).where(condition).orderBy(accounts.createdAt, accounts.id).all()
  }
}

/** What requests in flight have reserved, as far as the file knows: those that are older than a second have a mark in it. */
const heldBy = (condition: SQL) =>
  sql<Picos>`(select cast(coalesce(sum(hold_picos), 0) as bigint) from marks where ${condition})`.mapWith((sum: bigint) => picos(sum))

const keysWithHolds = { ...keyColumns, heldPicos: heldBy(sql`marks.key_number = keys.number`) }

const accountsWithHolds = {
  ...accountColumns,
  heldPicos: heldBy(sql`marks.key_number in (select number from keys where account_number = accounts.number)`),
  keyCount: sql`(select count(*) from keys where keys.account_number = accounts.number)`.mapWith(Number),
}

/** An id wins over a name. */
function theOne<T extends Readonly<{ id: string }>>(found: readonly T[], idOrName: string, what: 'key' | 'account'): T | ReportProblem {
  const byId = found.find(({ id }) => id === idOrName)
  const [first, second] = found
  if (byId !== undefined) return byId
  if (first === undefined) return { problem: 'unknown', message: `there is no ${what} ${idOrName}` }
  if (second !== undefined)
    return { problem: 'ambiguous', message: `${idOrName} names ${found.length} ${what}s: ${found.map(({ id }) => id).join(', ')}` }
  return first
}

function flush(file: string): void {
  const handle = openSync(file, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
