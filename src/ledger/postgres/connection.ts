/**
 * A synchronous connection to Postgres, as bun:sqlite's is one to a file: a statement is posted to a thread that holds the socket (sync-driver.ts), and this one
 * stands still until it is answered or its time is over. A lost connection is made anew by the next use, but never inside a transaction: the rest of the
 * transaction fails. Rules: ledger.md "Two stores", "Failing writes".
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
  /** `postgres://user:password@host:port/database`, with `?sslmode=` if it is wanted. A pooler in between must give each connection a session of its own. */
  url: string
  /** `read`: the connection can change nothing, and each transaction sees one snapshot. */
  access: 'read' | 'write'
  /** Makes a Worker of src/ledger/postgres/sync-driver.ts. */
  startSyncDriver: () => Worker
  /** The limit of a statement. Postgres itself ends a statement after this time; a server that is still silent a little later is given up. */
  timeoutMs: number
  /** How long to wait for a lock that another transaction holds; absent: as long as a statement may take. */
  lockMs?: number
  /** Told every ten seconds while a statement is not answered. Must not use the connection. */
  onWait?: (waitedMs: number) => void
  /** The name of the connection in pg_stat_activity. */
  name: string
}>

/** The time after a statement's limit in which Postgres' own refusal may arrive. */
const GRACE_MS = 1_000
/** The limit for making a connection, also when its statements may take longer. */
const CONNECT_MAX_MS = 10_000
const connectLimit = (timeoutMs: number): number => Math.min(timeoutMs, CONNECT_MAX_MS)
const TOLD_EVERY_MS = 10_000
/** After a failed attempt to connect, no other is made for as long as that attempt took, but at most this long, so that statements that are asked together do not each wait. */
const NO_CONNECTION_MS_MAX = 500
/** How many rows `iterate` fetches at once. */
const FETCHED_ROWS = 500
const SILENT: DriverFault = { sqlState: '08006', message: 'Postgres does not answer', constraint: undefined, isLost: true, wasAsked: true }

type Socket = Readonly<{ worker: Worker; port: MessagePort; answered: Int32Array<SharedArrayBuffer> }>

export class PostgresConnection implements Connection {
  readonly #options: PostgresOptions
  readonly #queries = new Map<string, PostgresStatement>()
  #socket: Socket | undefined
  /** How many transactions are open, one inside the other, and the statements that begin them on Postgres, which are sent with the first statement inside. */
  #depth = 0
  #begins: string[] = []
  /** Why the last attempt to connect failed, and until when no other is made. */
  #failed: Readonly<{ fault: DriverFault; untilMs: number }> | undefined
  #isLost = false
  /** Whether a statement of the transaction failed: nothing more can be done in it until the innermost transaction is rolled back. */
  #isAborted = false
  #cursors = 0
  #losses = 0

  constructor(options: PostgresOptions) {
    this.#options = options
  }

  /** How often the connection was lost: after each loss, statements may go to another server. */
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

  /** Runs any number of statements, without parameters. */
  run(text: string): void {
    this.ask({ text, values: undefined })
  }

  transaction<T>(work: () => T): (() => T) & { deferred: () => T; immediate: () => T; exclusive: () => T } {
    const transact = () => this.#transact(work)
    return Object.assign(transact, { deferred: transact, immediate: transact, exclusive: transact })
  }

  /** Fetches rows as the caller takes them, in a transaction of its own if none is open; a caller that stops early also ends that transaction. */
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

  /** The statement is not prepared, because its columns depend on which cursor has the name now. */
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

  /** Ends the innermost transaction. If no statement was sent in it, it has not begun on Postgres either, and nothing is sent. */
  #end(): void {
    const isCommit = this.#depth === 1
    // Postgres would answer the COMMIT of a failed transaction with a ROLLBACK, and no error.
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
      // A transaction is also undone when its connection is dropped. The caller gets the error that made it be undone, and not this one.
      if (!(error instanceof PostgresError)) throw error
      this.#drop()
    }
  }

  /** `isCommit`: the statement may have been done if no answer comes. Outside a transaction this holds for every statement. */
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

/** Waits until `answered` is set. A wake-up alone is no answer: the driver may wake this thread for the answer before, which was taken without waiting. */
function waitFor(answered: Int32Array<SharedArrayBuffer>, limitMs: number, onWait: PostgresOptions['onWait']): void {
  const end = performance.now() + limitMs
  for (let leftMs = limitMs; leftMs > 0 && Atomics.load(answered, 0) === 0; leftMs = end - performance.now()) {
    if (Atomics.wait(answered, 0, 0, Math.min(leftMs, TOLD_EVERY_MS)) === 'timed-out') onWait?.(limitMs - (end - performance.now()))
  }
}

const BEGIN = { write: 'BEGIN', read: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }
