/**
 * An asynchronous connection to Postgres for the work beside the thread that writes: a node's heartbeat, notifications, claims. Nothing here waits longer than its limit:
 * Postgres itself ends a slow statement, and the connection to a server that does not answer is closed, so that the next question makes a new one. Rules: nodes.md
 * "Lanes and leases".
 */

import { SQL } from 'bun'
import { ConnectionPool } from '../../../db/postgres/connection-pool.ts'

export type SessionOptions = Readonly<{
  /** `postgres://user:password@host:port/database`. */
  url: string
  /** The name of the connection in pg_stat_activity. */
  name: string
  /** The limit of a statement. */
  limitMs: number
  /** How many statements may run at once; default 1. */
  connections?: number
  /** Called when a statement was done. */
  onDone?: () => void
  /** Called when a connection was lost that this session did not close. */
  onLost?: () => void
}>

/** What Postgres said, or that it did not answer. `sqlState`: five characters, or '' if there is none. Neither it nor the message holds values of rows. */
export class SessionFailure extends Error {
  override readonly name = 'SessionFailure'
  readonly sqlState: string

  constructor(sqlState: string, message: string) {
    super(message)
    this.sqlState = sqlState
  }
}

type Value = string | number | bigint | Uint8Array | null

/** The time after a statement's limit in which Postgres' own refusal may arrive. */
const GRACE_MS = 500

export class Session {
  readonly #options: SessionOptions
  #sql: SQL | undefined
  #pool: ConnectionPool | undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Resolves with the rows, as objects by column name; integers of 64 bits are bigints. Rejects with a SessionFailure; the statement may have been done all the same. */
  ask<Row>(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#within(async (sql) => {
      const pool = this.#poolOf(sql)
      const rows = await pool.use(async (connection) => (await connection.unsafe(text, [...values])) as Row[])
      this.#options.onDone?.()
      return [...rows]
    })
  }

  /**
   * Resolves when this session listens to the channel; `onListening` is called at that moment. Listening ends with the session, which must be closed when its connection is
   * lost: Bun would otherwise make another connection by itself, and write to standard error whenever it cannot.
   */
  listen(channel: string, onHeard: (text: string) => void, onListening: () => void): Promise<void> {
    return this.#within(async (sql) => void (await sql.listen(channel, onHeard, onListening)))
  }

  async #within<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    const sql = this.#connected()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new SessionFailure('', 'Postgres does not answer')), this.#options.limitMs + GRACE_MS)
    const working = work(sql)
    try {
      return await Promise.race([working, late])
    } catch (error) {
      working.catch(() => undefined)
      if (!(error instanceof SessionFailure)) throw failureOf(error)
      if (this.#sql === sql) this.#leave()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes the connection: statements that are under way fail, and the next question makes a new connection. */
  close(): void {
    this.#leave()
  }

  #leave(): void {
    const sql = this.#sql
    this.#sql = undefined
    this.#pool = undefined
    sql?.close({ timeout: 0 }).catch(() => undefined)
  }

  #connected(): SQL {
    if (this.#sql !== undefined) return this.#sql
    const { url, name, limitMs, connections = 1, onLost } = this.#options
    const sql = new SQL({
      url,
      adapter: 'postgres',
      max: connections,
      bigint: true,
      idleTimeout: 0,
      maxLifetime: 0,
      connectionTimeout: Math.ceil(limitMs / 1_000),
      onclose: () => {
        if (this.#sql === sql) onLost?.()
      },
      connection: { application_name: name },
    })
    this.#sql = sql
    return sql
  }

  #poolOf(sql: SQL): ConnectionPool {
    const { limitMs, connections = 1 } = this.#options
    this.#pool ??= new ConnectionPool(sql, connections, {
      search_path: 'ledger',
      statement_timeout: `${limitMs}`,
      idle_in_transaction_session_timeout: `${2 * limitMs}`,
      synchronous_commit: 'on',
    })
    return this.#pool
  }
}

function failureOf(error: unknown): SessionFailure {
  if (!(error instanceof SQL.PostgresError)) return new SessionFailure('', 'the connection failed')
  const { errno, message } = error
  return new SessionFailure(typeof errno === 'string' ? errno : '', message)
}
