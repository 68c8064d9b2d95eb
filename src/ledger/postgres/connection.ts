/**
 * A synchronous connection to Postgres, as bun:sqlite's is one to a file: a statement is posted to a thread that holds the socket (sync-driver.ts), and this one
 * stands still until it is answered or its time is over. A connection that is lost is made anew by the next use, but never inside of a transaction: that fails to
 * its end. Rules: ledger.md "Two stores", "Failing writes".
 */

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Connection } from '../sql/connection.ts'
import { numberPlaceholders } from './placeholders.ts'
import { settingsOf } from './session-settings.ts'
import { PostgresStatement } from './statement.ts'
import { PostgresError } from './storage-failure.ts'
import type { DriverFault, DriverValue, FromDriver, OpenDriver, Rows, ToDriver } from './sync-driver-message.ts'
import { asRecord, readRows } from './values.ts'

export type PostgresOptions = Readonly<{
  /** `postgres://user:password@host:port/database`, with `?sslmode=` where it is wanted. A pooler in between must leave it its session. */
  url: string
  /** `read`: it can change nothing, and each transaction sees one moment. */
  access: 'read' | 'write'
  /** Makes a Worker of src/ledger/postgres/sync-driver.ts. */
  startSyncDriver: () => Worker
  /** Of a statement. Postgres ends a statement itself after that; a server that says nothing a little later is given up. */
  timeoutMs: number
  /** How long to wait for a lock that another transaction holds; absent: as long as a statement may take. */
  lockMs?: number
  /** Told every ten seconds while a statement is not answered. Must not use the connection. */
  onWait?: (waitedMs: number) => void
  /** What stands in pg_stat_activity. */
  name: string
}>

/** Beyond the limit, for Postgres' own refusal to arrive. */
const GRACE_MS = 1_000
/** A connection whose statements may be long still gives up soon on a server that is not there. */
const CONNECT_MAX_MS = 10_000
const connectLimit = (timeoutMs: number): number => Math.min(timeoutMs, CONNECT_MAX_MS)
const TOLD_EVERY_MS = 10_000
/** For as long as it took to find that no connection can be made, and this at most, none is tried: what is asked together does not wait for one each. */
const NO_CONNECTION_MS_MAX = 500
/** Rows that `iterate` fetches at once. */
const FETCHED_ROWS = 500
const SILENT: DriverFault = { sqlState: '08006', message: 'Postgres does not answer', constraint: undefined, isLost: true, wasAsked: true }

type Socket = Readonly<{ worker: Worker; port: MessagePort; answered: Int32Array<SharedArrayBuffer> }>

export class PostgresConnection implements Connection {
  readonly #options: PostgresOptions
  readonly #queries = new Map<string, PostgresStatement>()
  #socket: Socket | undefined
  /** How many transactions are open, one inside of the other, and what begins them on Postgres with their first statement. */
  #depth = 0
  #begins: string[] = []
  /** Why there was no connection when one was made last, and until when that counts. */
  #failed: Readonly<{ fault: DriverFault; untilMs: number }> | undefined
  #isLost = false
  /** A statement of the transaction failed: nothing more can be done in it, until it is undone to where that part of it began. */
  #isAborted = false
  #cursors = 0
  #losses = 0

  constructor(options: PostgresOptions) {
    this.#options = options
  }

  /** How often it was lost: what comes after that may be asked of another server. */
  get losses(): number {
    return this.#losses
  }

  query(text: string): PostgresStatement {
    const known = this.#queries.get(text)
    if (known !== undefined) return known
    const made = this.prepare(text)
    this.#queries.set(text, made)
    return made
  }

  prepare(text: string): PostgresStatement {
    return new PostgresStatement(this, numberPlaceholders(text))
  }

  /** Any number of statements, without parameters. */
  run(text: string): void {
    this.ask({ text, values: undefined })
  }

  transaction<T>(work: () => T): (() => T) & { deferred: () => T; immediate: () => T; exclusive: () => T } {
    const transact = () => this.#transact(work)
    return Object.assign(transact, { deferred: transact, immediate: transact, exclusive: transact })
  }

  /** Rows as they are taken, in a transaction of its own where there is none; a caller that stops early ends it as well. */
  *iterate(text: string, values: readonly DriverValue[]): Generator<Record<string, unknown>, void> {
    const isAlone = this.#depth === 0
    if (isAlone) this.#begin()
    const cursor = `c${++this.#cursors}`
    try {
      this.ask({ text: `DECLARE ${cursor} NO SCROLL CURSOR FOR ${text}`, values })
      yield* this.#fetch(cursor)
    } finally {
      this.#cursors--
      if (!this.#isAborted) this.ask({ text: `CLOSE ${cursor}`, values: undefined })
      if (isAlone) {
        if (this.#isAborted) this.#undo()
        else this.#end()
        this.#leave()
      }
    }
  }

  /** Not prepared: the columns are those of the cursor that has the name now. */
  *#fetch(cursor: string): Generator<Record<string, unknown>, void> {
    for (;;) {
      const found = this.ask({ text: `FETCH ${FETCHED_ROWS} FROM ${cursor}`, values: undefined })
      for (const row of readRows(found)) yield asRecord(found.names, row)
      if (found.rows.length < FETCHED_ROWS) return
    }
  }

  #transact<T>(work: () => T): T {
    this.#begin()
    try {
      const result = work()
      this.#end()
      return result
    } catch (error) {
      this.#undo()
      throw error
    } finally {
      this.#leave()
    }
  }

  #begin(): void {
    this.#begins.push(this.#depth === 0 ? BEGIN[this.#options.access] : `SAVEPOINT s${this.#depth}`)
    this.#depth++
  }

  #leave(): void {
    this.#depth--
    if (this.#depth > 0) return
    this.#isLost = false
    this.#isAborted = false
  }

  /** A transaction in which no statement was sent has not begun on Postgres either. */
  #end(): void {
    const isCommit = this.#depth === 1
    // Postgres would answer such a COMMIT with a quiet ROLLBACK.
    if (this.#isAborted) throw new PostgresError('25P02', 'a statement of the transaction failed, and it went on')
    if (this.#begins.length > 0) this.#begins.pop()
    else this.ask({ text: isCommit ? 'COMMIT' : `RELEASE s${this.#depth - 1}`, values: [] }, isCommit)
  }

  #undo(): void {
    if (this.#begins.length > 0) {
      this.#begins.pop()
      return
    }
    if (this.#isLost) return
    try {
      this.ask({ text: this.#depth === 1 ? 'ROLLBACK' : `ROLLBACK TO s${this.#depth - 1}; RELEASE s${this.#depth - 1}`, values: undefined })
      this.#isAborted = false
    } catch (error) {
      // Without its connection a transaction is undone, too; and what is told is why it was to be undone.
      if (!(error instanceof PostgresError)) throw error
      this.#drop()
    }
  }

  /** `isCommit`: when it is not answered, it may have been done. Outside of a transaction that holds for any statement. */
  ask(asked: Omit<ToDriver, 'first'>, isCommit = false): Rows {
    if (this.#isLost) throw new PostgresError(SILENT.sqlState, 'the transaction was lost with its connection')
    const first = this.#begins
    this.#begins = []
    const isAlone = this.#depth === 0
    const askedMs = performance.now()
    const answer = this.#exchange({ ...asked, first })
    if (!('fault' in answer)) return answer
    const { sqlState, message, constraint, isLost, wasAsked } = answer.fault
    if (isLost) this.#drop()
    if (!wasAsked)
      this.#failed ??= { fault: answer.fault, untilMs: performance.now() + Math.min(performance.now() - askedMs, NO_CONNECTION_MS_MAX) }
    this.#isAborted = !isAlone
    throw new PostgresError(sqlState, message, { constraint, isIndeterminate: isLost && wasAsked && (isCommit || isAlone) })
  }

  #exchange(asked: ToDriver): FromDriver {
    if (this.#failed !== undefined && performance.now() < this.#failed.untilMs) return { fault: this.#failed.fault }
    this.#failed = undefined
    const { timeoutMs } = this.#options
    const connectMs = this.#socket === undefined ? connectLimit(timeoutMs) : 0
    const { port, answered } = this.#openSocket()
    Atomics.store(answered, 0, 0)
    port.postMessage(asked)
    waitFor(answered, connectMs + timeoutMs + GRACE_MS, this.#options.onWait)
    const received = receiveMessageOnPort(port) as { message: FromDriver } | undefined
    return received?.message ?? { fault: SILENT }
  }

  #openSocket(): Socket {
    if (this.#socket !== undefined) return this.#socket
    const { port1, port2 } = new MessageChannel()
    const answered = new Int32Array(new SharedArrayBuffer(4))
    const worker = this.#options.startSyncDriver()
    worker.unref()
    const { url, name, timeoutMs } = this.#options
    const settings = settingsOf(this.#options)
    const message: OpenDriver = { port: port2, answered, url, name, settings, connectTimeoutMs: connectLimit(timeoutMs) }
    worker.postMessage(message, [port2 as never])
    this.#socket = { worker, port: port1, answered }
    return this.#socket
  }

  #drop(): void {
    this.#isLost = this.#depth > 0
    this.#isAborted = this.#isLost
    this.#losses++
    this.#socket?.worker.terminate()
    this.#socket?.port.close()
    this.#socket = undefined
  }

  close(): void {
    this.#drop()
    this.#queries.clear()
  }
}

/** Woken is not answered: the driver may wake this thread for the answer before, which was taken without waiting. */
function waitFor(answered: Int32Array<SharedArrayBuffer>, limitMs: number, onWait: PostgresOptions['onWait']): void {
  const end = performance.now() + limitMs
  for (let leftMs = limitMs; leftMs > 0 && Atomics.load(answered, 0) === 0; leftMs = end - performance.now()) {
    if (Atomics.wait(answered, 0, 0, Math.min(leftMs, TOLD_EVERY_MS)) === 'timed-out') onWait?.(limitMs - (end - performance.now()))
  }
}

const BEGIN = { write: 'BEGIN', read: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }
