/** The tables that the migration makes are those that drizzle is told of: columns with type, default and null, keys, indexes, CHECKs and triggers. */

import type { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { is, SQL } from 'drizzle-orm'
import { getTableConfig, type SQLiteColumn, SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'
import { openDatabase } from '../../db/open.ts'
import { TRIGGERS } from '../../db/schema/triggers.ts'
import { makePath } from '../support/ledger.ts'
import { TABLES } from '../support/schema.ts'

const db = open()
afterAll(() => db.close())

function open(): Database {
  const opened = openDatabase(makePath(), 'create')
  if ('problem' in opened) throw new Error(opened.message)
  return opened
}

const tables = TABLES.map(getTableConfig)
const dialect = new SQLiteSyncDialect()
const textOf = (value: unknown): string => (is(value, SQL) ? dialect.sqlToQuery(value).sql : String(value))
const rows = <Row>(query: string, ...given: string[]): Row[] => db.query<Row, string[]>(query).all(...given)

test('the same tables, each strict', () => {
  const made = rows<{ name: string; strict: bigint }>(
    "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  )
  expect(made.map(({ name }) => name).sort()).toEqual(tables.map(({ name }) => name).sort())
  expect(made.filter(({ strict }) => strict !== 1n)).toEqual([])
})

test('the same columns in the same order: type, null, default', () => {
  for (const { name, columns } of tables) {
    const made = rows<{ name: string; type: string; notnull: bigint; pk: bigint; dflt_value: string | null }>(
      'SELECT name, type, "notnull", pk, dflt_value FROM pragma_table_info(?)',
      name,
    ).map((column) => [column.name, column.type.toLowerCase(), column.notnull === 1n || column.pk > 0n, column.dflt_value])
    expect([name, made]).toEqual([name, columns.map((column) => [column.name, column.getSQLType(), column.notNull, defaultOf(column)])])
  }
})

function defaultOf({ default: value }: SQLiteColumn): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return `'${value}'`
  return String(typeof value === 'boolean' ? Number(value) : value)
}

test('the same primary keys and references', () => {
  for (const { name, columns, primaryKeys, foreignKeys } of tables) {
    const key = rows<{ name: string }>('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk', name)
    const told = primaryKeys.flatMap((one) => one.columns.map((column) => column.name))
    const own = columns.filter(({ primary }) => primary).map((column) => column.name)
    expect([name, key.map((column) => column.name)]).toEqual([name, [...told, ...own]])
    const references = rows<{ from: string; table: string; to: string }>(
      'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)',
      name,
    )
    const toldReferences = foreignKeys
      .map((one) => one.reference())
      .map((one) => `${one.columns[0]?.name} ${getTableConfig(one.foreignTable).name} ${one.foreignColumns[0]?.name}`)
    expect([name, references.map(({ from, table, to }) => `${from} ${table} ${to}`).sort()]).toEqual([name, toldReferences.sort()])
  }
})

test('the same indexes: columns, uniqueness, condition', () => {
  for (const { name, indexes } of tables) {
    const made = rows<{ name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      name,
    )
    const told = indexes.map(({ config }) => {
      const columns = config.columns.map((column) => (is(column, SQL) ? textOf(column) : 'name' in column ? column.name : '')).join(', ')
      const where = config.where === undefined ? '' : ` WHERE ${textOf(config.where)}`
      return `CREATE ${config.unique ? 'UNIQUE ' : ''}INDEX ${config.name} ON ${name} (${columns})${where}`
    })
    expect([name, made.map(({ sql }) => tidy(sql)).sort()]).toEqual([name, told.sort()])
  }
})

test('the same checks', () => {
  for (const { name, checks } of tables) {
    const [made] = rows<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", name)
    expect([name, checksIn(made?.sql ?? '').sort()]).toEqual([name, checks.map(({ value }) => textOf(value)).sort()])
  }
})

test('the same triggers', () => {
  const made = rows<{ name: string; tbl_name: string }>("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger'")
  expect(Object.fromEntries(made.map((trigger) => [trigger.name, trigger.tbl_name]))).toEqual(TRIGGERS)
})

const tidy = (sql: string): string => sql.replace(/\s+/g, ' ').replaceAll('( ', '(').replaceAll(' )', ')').trim()

/** What stands between the parentheses of each CHECK. */
function checksIn(sql: string): string[] {
  return [...tidy(sql.replace(/--.*$/gm, '')).matchAll(/CHECK \(/g)].map(({ index, input }) => {
    const start = index + 'CHECK ('.length
    let end = start
    for (let depth = 1; depth > 0; end++) depth += input[end] === '(' ? 1 : input[end] === ')' ? -1 : 0
    return input.slice(start, end - 1)
  })
}
