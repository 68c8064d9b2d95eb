/**
 * The people's store as better-auth asks it: by Kysely (https://kysely.dev/docs/dialects), whose standard SQL both stores take. Times are texts and flags are numbers
 * in both stores, as better-auth writes them on SQLite. better-auth gets no transactions: an effect that it needs once, it makes in one statement. Rules: pages.md
 * "Sign-in routes".
 */

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Given, PeopleSql, Value } from './people-sql.ts'

/** The value of `database` in better-auth's options. */
export const kyselyOver = (sql: PeopleSql) => ({ dialect: dialectOver(sql), type: 'sqlite' as const, transaction: false })

const dialectOver = (sql: PeopleSql): Dialect => ({
  createDriver: () => driverOver(sql),
  createQueryCompiler: () => new PostgresQueryCompiler(),
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db) => new PostgresIntrospector(db),
})

function driverOver(sql: PeopleSql): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const { rows, changes } = await sql.ask(text, givenOf(parameters))
      return { rows: rows as Row[], numAffectedRows: BigInt(changes) }
    },
    streamQuery: () => {
      throw new Error('nothing here is read as a stream')
    },
  }
  const noTransactions = (): Promise<void> => Promise.reject(new Error('better-auth gets no transactions'))
  return {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connection),
    beginTransaction: noTransactions,
    commitTransaction: noTransactions,
    rollbackTransaction: noTransactions,
    releaseConnection: () => Promise.resolve(),
    destroy: () => Promise.resolve(),
  }
}

/** Kysely writes `$1`, which is a name like any other in `Given`. */
const givenOf = (parameters: readonly unknown[]): Given => Object.fromEntries(parameters.map((value, index) => [index + 1, value as Value]))
