/**
 * Another gateway's database, read in one transaction that cannot write: Postgres and MySQL by their address, SQLite by its file. Rules: operator.md "Import".
 */

import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { SQL } from 'bun'
import type { Row } from '../../core/import/row.ts'
import type { CliEnvironment } from '../environment.ts'

type Dialect = 'postgres' | 'mysql' | 'sqlite'

/** `quote`: puts a column's name into the quotes of its dialect. */
export type Source = Readonly<{ dialect: Dialect; query: (text: string) => Promise<readonly Row[]>; quote: (name: string) => string }>

export type SourceOptions = Readonly<{ from?: string; fromEnv?: string }>

type Problem = Readonly<{ problem: string }>

const CONNECT_SECONDS = 10

/** What `read` makes of the source, or why it cannot be read, in words without its address. */
export async function readSource<T>(
  options: SourceOptions,
  environment: CliEnvironment,
  read: (source: Source) => Promise<T>,
): Promise<T | Problem> {
  const place = placeOf(options, environment)
  if ('problem' in place) return place
  try {
    return 'file' in place ? await readFile(place.file, read) : await readServer(place.url, read)
  } catch (error) {
    return { problem: `their database cannot be read: ${error instanceof Error ? error.message : String(error)}` }
  }
}

function placeOf(
  { from, fromEnv }: SourceOptions,
  { env, folder }: CliEnvironment,
): Readonly<{ file: string }> | Readonly<{ url: URL }> | Problem {
  if ((from === undefined) === (fromEnv === undefined)) return { problem: 'expected one of --from-env VARIABLE and --from FILE' }
  const text = from ?? env[fromEnv ?? ''] ?? ''
  const where = from === undefined ? `in the environment variable ${fromEnv}` : 'after --from'
  if (/^(postgres(ql)?|mysql|mariadb):\/\//.test(text)) {
    if (from !== undefined)
      return { problem: 'an address holds a password: put it into an environment variable and name that by --from-env' }
    return URL.canParse(text) ? { url: new URL(text) } : { problem: `the address ${where} cannot be read` }
  }
  const file = resolve(folder, text.replace(/^(sqlite|file):(\/\/)?/, ''))
  if (text === '' || !existsSync(file)) return { problem: `expected the address of Postgres or MySQL, or a file of SQLite, ${where}` }
  return problemOfFile(file) ?? { file }
}

const SQLITE = 'SQLite format 3\0'
const DUMPS = ['PGDMP', '--\n-- PostgreSQL', '-- MySQL', '-- MariaDB', '/*!']

function problemOfFile(file: string): Problem | undefined {
  const head = Buffer.alloc(SQLITE.length)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, head)
  } finally {
    closeSync(handle)
  }
  const begins = head.toString('latin1')
  if (begins === SQLITE) return undefined
  return DUMPS.some((dump) => begins.startsWith(dump))
    ? { problem: `${file} is a dump, which is not read: restore it into a database and give the address of that` }
    : { problem: `${file} is no file of SQLite` }
}

async function readFile<T>(file: string, read: (source: Source) => Promise<T>): Promise<T> {
  const db = new Database(file, { readonly: true, safeIntegers: true })
  try {
    db.run('BEGIN')
    return await read({ dialect: 'sqlite', query: async (text) => db.query<Row, []>(text).all(), quote: (name) => `"${name}"` })
  } finally {
    db.close()
  }
}

async function readServer<T>(url: URL, read: (source: Source) => Promise<T>): Promise<T> {
  const dialect = url.protocol.startsWith('postgres') ? 'postgres' : 'mysql'
  const schema = url.searchParams.get('schema')
  // Parameters of other drivers, such as Prisma's, are none of this one's.
  for (const name of [...url.searchParams.keys()]) if (name !== 'sslmode') url.searchParams.delete(name)
  const sql = new SQL(url.href.replace(/^mariadb:/, 'mysql:'), { max: 1, connectionTimeout: CONNECT_SECONDS })
  const mode = dialect === 'postgres' ? 'isolation level repeatable read read only' : 'read only'
  try {
    return await sql.begin(mode, async (transaction) => {
      if (schema !== null) await transaction.unsafe(`SET LOCAL search_path = "${schema.replaceAll('"', '""')}"`)
      return await read({
        dialect,
        query: async (text) => [...(await transaction.unsafe<Row[]>(text))],
        quote: (name) => (dialect === 'mysql' ? `\`${name}\`` : `"${name}"`),
      })
    })
  } finally {
    await sql.close()
  }
}
