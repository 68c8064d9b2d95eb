/**
 * Connections whose settings are sent by a statement after their start, because a pooler refuses settings that it does not know in a startup message, or drops them
 * (https://www.pgbouncer.org/config.html#ignore_startup_parameters). Rules: nodes.md "Poolers".
 */

import type { ReservedSQL, SQL } from 'bun'

/** The settings by Postgres' names; times in ms. */
export type Settings = Readonly<Record<string, string>>

export const settingStatement = (settings: Settings): string =>
  `SELECT ${Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', false)`)
    .join(', ')}`

export class ConnectionPool {
  readonly #sql: Pick<SQL, 'reserve'>
  readonly #max: number
  readonly #setting: string
  readonly #idle: ReservedSQL[] = []
  #count = 0
  #isClosing = false
  readonly #waiting: ((connection: Promise<ReservedSQL>) => void)[] = []

  /** `sql` has room for `max`, and has no other user. */
  constructor(sql: Pick<SQL, 'reserve'>, max: number, settings: Settings) {
    this.#sql = sql
    this.#max = max
    this.#setting = settingStatement(settings)
  }

  /** Rejects with what Bun's client or `work` rejects with. */
  async use<T>(work: (connection: ReservedSQL) => Promise<T>): Promise<T> {
    const connection = await this.#take()
    try {
      const result = await work(connection)
      this.#giveBack(connection)
      return result
    } catch (error) {
      if (isLost(error)) this.#drop(connection)
      else this.#giveBack(connection)
      throw error
    }
  }

  /** To be called before the client is closed: it waits for each connection that it has not back, also for one that is not in use. */
  close(): void {
    this.#isClosing = true
    for (const connection of this.#idle.splice(0)) this.#drop(connection)
  }

  #take(): Promise<ReservedSQL> {
    const idle = this.#idle.pop()
    if (idle !== undefined) return Promise.resolve(idle)
    if (this.#count < this.#max) return this.#open()
    const { promise, resolve } = Promise.withResolvers<ReservedSQL>()
    this.#waiting.push(resolve)
    return promise
  }

  async #open(): Promise<ReservedSQL> {
    this.#count++
    let connection: ReservedSQL | undefined
    try {
      connection = await this.#sql.reserve()
      await connection.unsafe(this.#setting)
      return connection
    } catch (error) {
      this.#drop(connection)
      throw error
    }
  }

  #giveBack(connection: ReservedSQL): void {
    const next = this.#waiting.shift()
    if (next !== undefined) next(Promise.resolve(connection))
    else if (this.#isClosing) this.#drop(connection)
    else this.#idle.push(connection)
  }

  /** Gives the connection up; a waiting caller tries another one. */
  #drop(connection: ReservedSQL | undefined): void {
    this.#count--
    connection?.release()
    this.#waiting.shift()?.(this.#open())
  }
}

/** Whether the connection is lost. An error with a state of Postgres leaves the connection open, unless Postgres ended it. */
const isLost = (error: unknown): boolean =>
  error instanceof Bun.SQL.PostgresError && (typeof error.errno !== 'string' || error.severity === 'FATAL' || error.severity === 'PANIC')
