/**
 * The tables that the migration makes on Postgres are those that drizzle is told of, as they are on SQLite (test/ledger/schema.test.ts): columns, keys,
 * indexes, CHECKs and triggers. They are made a second time, in a schema of their own, out of db/schema, and the catalogues of the two are compared, so that
 * both are in Postgres' own words. What differs on purpose stands in `MEANT`.
 */

import { expect } from 'bun:test'
import { is, SQL } from 'drizzle-orm'
import { getTableConfig, type SQLiteColumn, SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'
import { TRIGGERS } from '../../../db/schema/triggers.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../../support/postgres-connection.ts'
import { TABLES } from '../../support/schema.ts'

/** `more`: on Postgres alone; `less`: in db/schema alone. */
const MEANT: Readonly<Record<string, { more: readonly string[]; less: readonly string[] }>> = {
  accounts: {
    more: ['CHECK ((chain_count = 0))', 'CHECK ((chain_hash IS NULL))'],
    less: ['CHECK (((chain_count = 0) = (chain_hash IS NULL)))', 'CHECK ((chain_count >= 0))', 'CHECK ((length(chain_hash) = 32))'],
  },
  receipts: {
    more: ['CREATE INDEX receipts_key ON receipts USING btree (key_number, settled_at, number)'],
    less: [
      'FOREIGN KEY (account_number) REFERENCES accounts(number)',
      'FOREIGN KEY (boot_number) REFERENCES boots(number)',
      'FOREIGN KEY (key_number) REFERENCES keys(number)',
      'FOREIGN KEY (price_number) REFERENCES price_versions(number)',
      'FOREIGN KEY (upstream_cost_number) REFERENCES price_versions(number)',
      'FOREIGN KEY (upstream_number) REFERENCES upstreams(number)',
    ],
  },
}
const ONLY_ON_POSTGRES = [
  'chain_heads',
  'idempotency_claims',
  'idempotent_answers',
  'key_leases',
  'key_places',
  'key_rates',
  'leases',
  'nodes',
  'plan_leases',
  'rate_levels',
  'rate_running',
]
const VIEWS = ['receipt_pages']

const tables = TABLES.map(getTableConfig).filter(({ name }) => !VIEWS.includes(name))
const dialect = new SQLiteSyncDialect()
const textOf = (value: unknown): string => (is(value, SQL) ? dialect.sqlToQuery(value).sql : String(value))
const TYPES: Readonly<Record<string, string>> = { integer: 'BIGINT', text: 'TEXT COLLATE "C"', blob: 'BYTEA' }

function columnText(column: SQLiteColumn): string {
  const { default: value } = column
  const given =
    value === undefined
      ? ''
      : ` DEFAULT ${typeof value === 'string' ? `'${value}'` : String(typeof value === 'boolean' ? Number(value) : value)}`
  return `"${column.name}" ${TYPES[column.getSQLType()]}${column.notNull || column.primary ? ' NOT NULL' : ''}${given}`
}

/** Of all tables as db/schema tells them. */
function statements(): string {
  const made = tables.map(({ name, columns, primaryKeys, checks }) => {
    const own = columns.filter(({ primary }) => primary).map((column) => column.name)
    const key = [...own, ...primaryKeys.flatMap((one) => one.columns.map((column) => column.name))]
    const parts = [...columns.map(columnText), `PRIMARY KEY (${key.join(', ')})`, ...checks.map(({ value }) => `CHECK (${textOf(value)})`)]
    return `CREATE TABLE ${name} (${parts.join(', ')});`
  })
  const references = tables.flatMap(({ name, foreignKeys }) =>
    foreignKeys
      .map((one) => one.reference())
      .map(({ columns, foreignTable, foreignColumns }) => {
        const target = `${getTableConfig(foreignTable).name} (${foreignColumns[0]?.name})`
        return `ALTER TABLE ${name} ADD FOREIGN KEY (${columns[0]?.name}) REFERENCES ${target};`
      }),
  )
  const indexes = tables.flatMap(({ name, indexes: told }) =>
    told.map(({ config }) => {
      const columns = config.columns.map((column) => (is(column, SQL) ? textOf(column) : 'name' in column ? column.name : '')).join(', ')
      const where = config.where === undefined ? '' : ` WHERE ${textOf(config.where)}`
      return `CREATE ${config.unique ? 'UNIQUE ' : ''}INDEX ${config.name} ON ${name} (${columns})${where};`
    }),
  )
  return [...made, ...references, ...indexes].join('\n')
}

type Facts = Readonly<Record<string, readonly string[]>>

/** Of each table its columns in their order, then constraints and indexes sorted, in Postgres' words without the schema's name. */
function factsOf(db: Connection, name: 'ledger' | 'told'): Facts {
  db.run(`SET search_path = ${name}`)
  const rows = db
    .query<{ table: string; place: bigint; fact: string }, []>(
      `SELECT * FROM (
         SELECT relname AS "table", CAST(attnum AS BIGINT) AS place, concat_ws(' ', attname, format_type(atttypid, atttypmod),
           (SELECT collname FROM pg_collation c WHERE c.oid = attcollation), CASE WHEN attnotnull THEN 'NOT NULL' END,
           (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef d WHERE d.adrelid = attrelid AND d.adnum = attnum)) AS fact
         FROM pg_attribute JOIN pg_class r ON r.oid = attrelid
         WHERE relnamespace = to_regnamespace('${name}') AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
         UNION ALL
         SELECT relname, 1000, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class r ON r.oid = conrelid
         WHERE relnamespace = to_regnamespace('${name}') AND relkind = 'r' AND contype IN ('p', 'f', 'c', 'u')
         UNION ALL
         SELECT relname, 1001, replace(pg_get_indexdef(indexrelid), '${name}.', '') FROM pg_index JOIN pg_class r ON r.oid = indrelid
         WHERE relnamespace = to_regnamespace('${name}') AND relkind = 'r' AND NOT indisprimary
       ) facts ORDER BY 1, 2, 3`,
    )
    .all()
  return Object.fromEntries(
    Map.groupBy(rows, ({ table }) => table)
      .entries()
      .map(([table, own]) => [table, own.map(({ fact }) => fact)]),
  )
}

postgresTest('tables, columns, keys, references, indexes and CHECKs are those of db/schema, but for what is meant', async () => {
  const url = await createPostgresLedger()
  const db: Connection = connectPostgres(postgres().asSuperuser(url))
  db.run(`CREATE SCHEMA told; SET search_path = told; ${statements()}`)
  const [made, told] = [factsOf(db, 'ledger'), factsOf(db, 'told')]
  expect(Object.keys(made).filter((table) => !ONLY_ON_POSTGRES.includes(table))).toEqual(Object.keys(told))
  expect(ONLY_ON_POSTGRES.filter((table) => made[table] === undefined)).toEqual([])
  for (const [table, facts] of Object.entries(told)) {
    const { more, less } = MEANT[table] ?? { more: [], less: [] }
    const own = made[table] ?? []
    expect([table, own.filter((fact) => !facts.includes(fact))]).toEqual([table, [...more]])
    expect([table, facts.filter((fact) => !own.includes(fact))]).toEqual([table, [...less]])
    // The order of the columns, which an INSERT without their names counts on.
    const columns = (list: readonly string[]) => list.filter((fact) => !/^(?:CHECK|CREATE|FOREIGN|PRIMARY) /.test(fact))
    expect([table, columns(own)]).toEqual([table, columns(facts)])
  }
  expect(db.query<{ name: string }, []>("SELECT viewname AS name FROM pg_views WHERE schemaname = 'ledger'").all()).toEqual(
    VIEWS.map((name) => ({ name })),
  )
  db.close()
})

postgresTest('every text is ordered by its bytes, as on SQLite', async () => {
  const db: Connection = connectPostgres(await createPostgresLedger())
  const other = db
    .query<{ name: string }, []>(
      `SELECT relname || '.' || attname AS name FROM pg_attribute JOIN pg_class r ON r.oid = attrelid
       WHERE relnamespace = to_regnamespace('ledger') AND relkind = 'r' AND attnum > 0 AND atttypid = 25
         AND attcollation <> (SELECT oid FROM pg_collation WHERE collname = 'C')`,
    )
    .all()
  expect(other).toEqual([])
  db.close()
})

postgresTest('the same triggers, TRUNCATE refused where DELETE is, and those that number rows', async () => {
  const db: Connection = connectPostgres(await createPostgresLedger())
  const made = db
    .query<{ name: string; table: string }, []>(
      `SELECT tgname AS name, relname AS "table" FROM pg_trigger JOIN pg_class r ON r.oid = tgrelid
       WHERE NOT tgisinternal AND relnamespace = to_regnamespace('ledger') AND tgname NOT LIKE '%_numbered'`,
    )
    .all()
  const truncate = Object.entries(TRIGGERS)
    .filter(([name]) => name.endsWith('_no_delete'))
    .map(([name, table]) => [name.replace('delete', 'truncate'), table] as const)
  const own = { receipts_references: 'receipts', receipts_sum_hours: 'receipts', nodes_free_plan_leases: 'nodes' }
  const told = { ...TRIGGERS, ...Object.fromEntries(truncate), ...own }
  expect(Object.fromEntries(made.map(({ name, table }) => [name, table]))).toEqual(told)
  const numbered = db
    .query<{ name: string }, []>("SELECT tgname AS name FROM pg_trigger WHERE tgname LIKE '%_numbered' ORDER BY 1")
    .all()
    .map(({ name }) => name.replace('_numbered', ''))
  const ownNumber = tables
    .filter(({ columns }) => columns.some(({ primary, defaultFn }) => primary && defaultFn !== undefined))
    .map(({ name }) => name)
  expect(numbered).toEqual(ownNumber.sort())
  db.close()
})
