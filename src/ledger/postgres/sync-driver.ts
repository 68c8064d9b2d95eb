/**
 * The thread that holds a connection's socket; as the file of a Worker, it begins when it is loaded. It runs one statement at a time and never makes a second
 * connection by itself, so that no transaction can continue on another connection. Rules: ledger.md "Two stores".
 */

import { parentPort } from 'node:worker_threads'
import { type ReservedSQL, SQL } from 'bun'
import { settingStatement } from '../../../db/postgres/connection-pool.ts'
import type { DriverFault, DriverValue, FromDriver, OpenDriver, Rows, ToDriver } from './sync-driver-message.ts'

/** A code of class 08, which Postgres uses for connection errors that a driver reports. */
const NO_CONNECTION = '08001'
const CONNECTION_FAILURE = '08006'

function run(): void {
  parentPort?.once('message', ({ port, answered, ...options }: OpenDriver) => {
    const driver = new SyncDriver(options)
    port.on('message', (asked: ToDriver) => {
      driver
        .ask(asked)
        .catch((error: unknown): FromDriver => ({ fault: driver.faultOf(error) }))
        .then((answer) => {
          port.postMessage(answer)
          Atomics.store(answered, 0, 1)
          Atomics.notify(answered, 0)
        })
        .catch(() => process.exit(1))
    })
  })
}

class SyncDriver {
  readonly #sql: SQL
  readonly #setting: string
  #connection: ReservedSQL | undefined

  constructor({ url, name, settings, connectTimeoutMs }: Pick<OpenDriver, 'url' | 'name' | 'settings' | 'connectTimeoutMs'>) {
    this.#setting = settingStatement(settings)
    this.#sql = new SQL({
      url,
      adapter: 'postgres',
      max: 1,
      bigint: true,
      idleTimeout: 0,
      maxLifetime: 0,
      connectionTimeout: connectTimeoutMs / 1_000,
      connection: { application_name: name },
    })
  }

  async ask({ first, text, values }: ToDriver): Promise<FromDriver> {
    // The connection is reserved, because a pool would go on with another one if it is lost.
    this.#connection ??= await this.#connect()
    for (const statement of first) await this.#connection.unsafe(statement)
    const query = this.#connection.unsafe<Result>(text, values?.map(this.#given))
    return rowsOf(await (values === undefined ? query.simple() : query).values())
  }

  async #connect(): Promise<ReservedSQL> {
    const connection = await this.#sql.reserve()
    await connection.unsafe(this.#setting)
    return connection
  }

  readonly #given = (value: DriverValue): unknown =>
    value !== null && typeof value === 'object' && 'elements' in value ? this.#sql.array([...value.elements], value.type) : value

  faultOf(error: unknown): DriverFault {
    const wasAsked = this.#connection !== undefined
    const { errno, message, constraint, severity } = error instanceof SQL.PostgresError ? error : wordsOf(error)
    const sqlState = errno ?? (wasAsked ? CONNECTION_FAILURE : NO_CONNECTION)
    return {
      sqlState,
      message,
      constraint,
      isLost: !wasAsked || errno === undefined || severity === 'FATAL' || severity === 'PANIC',
      wasAsked,
    }
  }
}

const wordsOf = (error: unknown) => ({ message: String(error), errno: undefined, constraint: undefined, severity: undefined })

/** The result of Bun's client; for several statements at once it is a list of lists, without columns. */
type Result = readonly unknown[][] & Readonly<{ columns?: readonly Readonly<{ name: string; type: number }>[]; count?: number }>

function rowsOf(result: Result): Rows {
  const columns = result.columns ?? []
  return {
    names: columns.map(({ name }) => name),
    types: columns.map(({ type }) => type),
    rows: columns.length === 0 ? [] : [...result],
    changes: result.count ?? 0,
  }
}

run()
