/**
 * The file of the history beside the ledger, to which each process of a machine writes. It may lose its last seconds with the power, and is begun anew where it is damaged:
 * charts then have a gap, and nothing else. Rules: pages.md "History"; architecture.md "Files beside the ledger".
 */

import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { NotOurs } from '../../db/damage.ts'
import type { AccountRow } from '../core/history/bounded-counts.ts'
import { type HistoryAsked, type HistoryFound, keptSince, type TrafficRead, writerSeen } from '../core/history/kept.ts'
import type { CellRow, MomentRows, Writer } from '../core/history/moment.ts'
import { HistorySeries } from '../core/history/series.ts'
import { secondsOf, type TrafficAsked, TrafficSums } from '../core/history/traffic.ts'
import schema from './history.sql' with { type: 'text' }

/** Spells 'TGHI'. */
const APPLICATION_ID = 0x54_47_48_49
const VERSION = 1
const BUSY_MS = 5_000
const LOG_BYTES_KEPT = 4 * 1024 * 1024

type AtCell = CellRow & Readonly<{ at: number }>
type WriterRow = Parameters<typeof writerSeen>[0]

export class HistoryFile {
  readonly #path: string
  readonly #db: Database
  readonly #inode: number

  /** Makes the file where it is missing, readable by its owner alone. Throws. */
  constructor(path: string) {
    this.#path = path
    this.#db = connect(path)
    this.#inode = statSync(path).ino
  }

  /** Whether the file still has its name: another process may have set it aside, and an operator may have deleted it. */
  isInPlace(): boolean {
    return existsSync(this.#path) && statSync(this.#path).ino === this.#inode
  }

  /** Writes the moments, and that their writer lives. `isWhole`: the writer ends, and has nothing left. `now`: Unix milliseconds. */
  write(writer: Writer, moments: readonly MomentRows[], { now, isWhole }: Readonly<{ now: number; isWhole: boolean }>): void {
    const db = this.#db
    db.transaction(() => {
      db.query(WRITER).run(writer.name, writer.beganAt, Math.floor(now / 1_000), isWhole ? 1 : 0)
      for (const moment of moments) this.#replace(moment)
    }).immediate()
  }

  prune(now: number): void {
    const { minutes, hours } = keptSince(now)
    const db = this.#db
    db.transaction(() => {
      for (const table of ['cells', 'accounts']) {
        db.query(`DELETE FROM ${table} WHERE step = 60 AND at < ?`).run(minutes)
        db.query(`DELETE FROM ${table} WHERE step = 3600 AND at < ?`).run(hours)
      }
      db.query('DELETE FROM writers WHERE seen_at < ?').run(hours)
    }).immediate()
  }

  read({ span, by }: HistoryAsked, now: number): HistoryFound {
    const { from, to, step } = span
    const [series, before] = [new HistorySeries(span, by), new HistorySeries(span, by)]
    const db = this.#db
    for (const { at, ...cell } of db.query<AtCell, [number, number, number]>(CELLS).iterate(step, from, to)) series.add(at, cell)
    const accounts = db.query<AccountRow, [number, number, number]>(ACCOUNTS)
    for (const row of accounts.iterate(step, from, to)) series.addAccount(row)
    for (const row of accounts.iterate(step, from - (to - from), from)) before.addAccount(row)
    const writers = db.query<WriterRow, [number, number]>(WRITERS).all(from, to)
    return {
      all: series.all(),
      lines: series.lines(),
      accounts: series.accounts(),
      accountsBefore: before.accounts(),
      writers: writers.map((row) => writerSeen(row, Math.floor(now / 1_000))),
    }
  }

  traffic(asked: TrafficAsked, now: number): TrafficRead {
    const { from, to } = secondsOf(asked)
    const sums = new TrafficSums(asked)
    const db = this.#db
    for (const { at, ...cell } of db.query<AtCell, [number, number, number]>(CELLS).iterate(3_600, from, to)) {
      sums.add(at, cell)
      if (sums.isTooMuch) break
    }
    const writers = db.query<WriterRow, [number, number]>(WRITERS).all(from, to)
    return { found: wholeOf(sums.found()), writers: writers.map((row) => writerSeen(row, Math.floor(now / 1_000))) }
  }

  close(): void {
    this.#db.close()
  }

  #replace({ writer, step, at, cells, accounts }: MomentRows): void {
    const db = this.#db
    for (const table of ['cells', 'accounts'])
      db.query(`DELETE FROM ${table} WHERE step = ? AND at = ? AND writer = ?`).run(step, at, writer)
    const cell = db.query('INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
    for (const { model, upstream, requests, refusals, firstByte, duration } of cells)
      cell.run(step, at, writer, model, upstream, requests, refusals, firstByte, duration)
    const counted = db.query('INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)')
    for (const { account, requests, refused } of accounts) counted.run(step, at, writer, account, requests, refused)
  }
}

const WRITER = `INSERT INTO writers (writer, began_at, seen_at, is_whole) VALUES (?, ?, ?, ?)
  ON CONFLICT (writer) DO UPDATE SET seen_at = excluded.seen_at, is_whole = excluded.is_whole`
const CELLS =
  'SELECT at, model, upstream, requests, refusals, first_byte AS firstByte, duration FROM cells WHERE step = ? AND at >= ? AND at < ?'
const ACCOUNTS =
  'SELECT account, sum(requests) AS requests, sum(refused) AS refused FROM accounts WHERE step = ? AND at >= ? AND at < ? GROUP BY account'
const WRITERS = 'SELECT writer, began_at, seen_at, is_whole FROM writers WHERE seen_at >= ? AND began_at < ? ORDER BY began_at'

/** In a thread without requests all of the work is done at once. */
function wholeOf<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

function connect(path: string): Database {
  // SQLite would make the file with the process's mask. The log beside the file gets the file's mode.
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const db = new Database(path, { readwrite: true, strict: true })
  try {
    db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    db.run('PRAGMA trusted_schema = OFF')
    db.run('PRAGMA journal_mode = WAL')
    // With NORMAL a power cut may lose the last rows, but never damages the file.
    db.run('PRAGMA synchronous = NORMAL')
    db.run('PRAGMA cell_size_check = ON')
    db.run(`PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`)
    // Under the write lock, since processes that start at once would both make the tables.
    db.transaction(() => check(db)).immediate()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function check(db: Database): void {
  const number = (pragma: string): number => Object.values(db.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0
  const isNew = number('application_id') === 0 && db.query('SELECT 1 FROM sqlite_schema LIMIT 1').get() === null
  if (isNew) {
    db.run(schema)
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.run(`PRAGMA user_version = ${VERSION}`)
  } else if (number('application_id') !== APPLICATION_ID || number('user_version') !== VERSION) {
    throw new NotOurs('it is no history of this version')
  }
}
