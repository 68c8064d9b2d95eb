/**
 * The people's store in Postgres: the schema `people` of the ledger's database, over two connections of its own, so that pages wait for pages only. It connects with
 * the first question, and again after the database was away. Bun's client is named where it is used, never imported: an import would load it, which takes some 5 ms of
 * CPU at each start on a file. Rules: pages.md "People".
 */

import type { SQL, TransactionSQL } from 'bun'
import { ConnectionPool } from '../../../db/postgres/connection-pool.ts'
import { PEOPLE_CONNECTIONS } from '../../core/connections.ts'
import { type Given, PeopleAway, type PeopleSql, type PeopleStore, type SqlResult, sqlOver, type Value } from '../people-sql.ts'
import { migrate } from './migrate.ts'

/** The longest wait of a page. It also ends the locks of a node that hangs. */
const TIMEOUT_S = 10
/** A drain waits no longer than this for a database that does not answer. */
const CLOSE_S = 2

type SqlRunner = Pick<SQL | TransactionSQL, 'unsafe'>

export function postgresPeople(url: string, node = ''): PeopleStore {
  const timeout = String(TIMEOUT_S * 1_000)
  const client = new Bun.SQL({
    url,
    max: PEOPLE_CONNECTIONS,
    bigint: true,
    connectionTimeout: TIMEOUT_S,
    connection: { application_name: `tollgate ${node} people` },
  })
  const pool = new ConnectionPool(client, PEOPLE_CONNECTIONS, {
    search_path: 'people',
    // A statement that has waited for a lock then sees what the lock's holder wrote.
    default_transaction_isolation: 'read committed',
    statement_timeout: timeout,
    idle_in_transaction_session_timeout: timeout,
  })
  let migrating: Promise<void> | undefined
  const ready = async (): Promise<void> => {
    migrating ??= pool.use(migrate)
    try {
      await migrating
    } catch (error) {
      migrating = undefined
      throw error
    }
  }
  const whenReady = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      await ready()
      return await work()
    } catch (error) {
      throw isAway(error) ? new PeopleAway(error.message, { cause: error }) : error
    }
  }
  const ask: PeopleSql['ask'] = (text, given) => whenReady(() => pool.use((sql) => askOn(sql, text, given)))
  const transaction: PeopleSql['transaction'] = (subjects, work) =>
    whenReady(() =>
      pool.use((connection) =>
        connection.begin(async (sql) => {
          const inside: PeopleSql = sqlOver(
            'postgres',
            (text, given) => askOn(sql, text, given),
            (_subjects, within) => within(inside),
          )
          // All transactions take locks in one order, so that none waits for another in a circle.
          for (const subject of subjects.toSorted()) await inside.ask(LOCK, { subject: `people ${subject}` })
          return work(inside)
        }),
      ),
    )
  const close = (): Promise<void> => {
    pool.close()
    return client.close({ timeout: CLOSE_S })
  }
  return { ...sqlOver('postgres', ask, transaction), close }
}

/** Locks a subject until the end of the transaction (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS). */
const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($subject, 0))'

async function askOn(sql: SqlRunner, text: string, given: Given = {}): Promise<SqlResult> {
  const { numbered, values } = numberedOf(text, given)
  const rows: readonly Record<string, unknown>[] & { count?: number } = await sql.unsafe(numbered, [...values])
  return { rows: rows.map(plain), changes: rows.count ?? 0 }
}

/** `$name` becomes `$1`; the same name is the same number. */
function numberedOf(text: string, given: Given): { numbered: string; values: readonly Value[] } {
  const names: string[] = []
  const numbered = text.replace(/\$(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  const values = names.map((name) => {
    const value = given[name]
    if (value === undefined) throw new Error(`$${name} is not given`)
    return value
  })
  return { numbered, values }
}

/**
 * Whether there is no connection, or an answer that says as much: 08 connection, 25006 a standby, 25P03 and 57 ended from outside or by time, 40P01 a deadlock, 53 no
 * room (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const isAway = (error: unknown): error is InstanceType<typeof Bun.SQL.PostgresError> =>
  error instanceof Bun.SQL.PostgresError &&
  (/^ERR_POSTGRES_(?:CONNECTION|IDLE|LIFETIME)/.test(error.code) || /^(?:08|25006|25P03|40P01|53|57)/.test(String(error.errno)))

/** Makes numbers of bigints: times and counts are far below 2^53. */
const plain = (row: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]))
