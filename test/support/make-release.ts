/**
 * `bun test/support/make-release.ts VERSION`: a small ledger of this program on both stores, written by real gateways, one of them killed while it answers. What it
 * leaves in test/ledger/released/VERSION is what every later program must bring up to date: made once, with the release, and never anew.
 */

import { Database } from 'bun:sqlite'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { MIGRATIONS_TEXT } from '../../db/postgres/migrations.ts'
import { type GatewayProcess, type Key, Place, SOURCE } from '../crash/process.ts'
import { startPostgres } from './postgres-server.ts'

const STREAM_MS = 2_500
const MODEL = 'claude-sonnet-5-5'

async function make(version: string): Promise<void> {
  const folder = join(import.meta.dir, '../ledger/released', version)
  mkdirSync(folder, { recursive: true })
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  await inFile(write)
  await onPostgres(write)
}

type Write = (name: string, text: string) => void

async function inFile(write: Write): Promise<void> {
  const place = new Place(SOURCE)
  try {
    place.write('tollgate.toml', '[operator]\nport = 0\n')
    write('sqlite.json', await live(place, (statement) => write('sqlite.statement.jsonl', statement)))
    write('sqlite.statement-key', readFileSync(`${place.ledgerPath}.statement-key`, 'utf8'))
    write('sqlite.sql', dumpOfFile(place.ledgerPath))
  } finally {
    await place.remove()
  }
}

async function onPostgres(write: Write): Promise<void> {
  const postgres = await startPostgres(join(tmpdir(), `tollgate-release-${process.pid}`))
  const url = await postgres.createDatabase()
  const statementKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const place = new Place(SOURCE, { LEDGER_URL: url, STATEMENT_KEY: statementKey })
  try {
    place.write(
      'tollgate.toml',
      '[operator]\nport = 0\n[ledger]\nurl_env = "LEDGER_URL"\nnode = "old"\nstatement_key_env = "STATEMENT_KEY"\n',
    )
    write('postgres.json', await live(place, (statement) => write('postgres.statement.jsonl', statement)))
    write('postgres.statement-key', statementKey)
    write('postgres.sql', await dumpOfDatabase(url))
  } finally {
    await place.remove()
    await postgres.stop('immediate')
  }
}

/** Something of everything. What the ledger must say afterwards, as JSON. */
async function live(place: Place, onStatement: (text: string) => void): Promise<string> {
  const gateway = await place.serve()
  const main = await place.createKey(
    '--name',
    'main',
    '--account',
    (await place.json<{ id: string }>('accounts', 'create', 'Shop', '--balance', '40', '--ref', 'invoice-1')).id,
  )
  const other = await place.json<Key>('keys', 'create', '--name', 'other', '--balance', '3.5', '--limit', '2')
  await place.json('keys', 'rotate', 'other', '--overlap-hours', '24')
  const gone = await place.json<Key>('keys', 'create', '--name', 'gone', '--balance', '1')
  await place.json('keys', 'disable', gone.id)
  await place.json('accounts', 'refund', 'Shop', '1.25', '--reason', 'it’s "theirs"', '--ref', 'back-1')
  await place.json('accounts', 'correct', 'Shop', '-0.000000000001', '--reason', 'a picodollar')
  const { codes } = await place.json<{ codes: readonly string[] }>('codes', 'create', '--count', '3', '--amount', '5', '--batch', 'spring')
  await redeem(place, codes[0] ?? '')
  for (const [path, prompt, more] of REQUESTS) await ask(gateway, main.key, path, prompt, more)
  await ask(gateway, other.key, '/v1/messages', 'Hello [sim tokens=9]')
  onStatement((await place.run('statement', 'Shop')).out)
  const cut = ask(gateway, main.key, '/v1/messages', 'Hello [sim tokens=5000 speed=20]', { stream: true }).catch(() => undefined)
  await Bun.sleep(STREAM_MS)
  const accounts = await place.json<{ data: readonly { name: string; balance_usd_exact: string }[] }>('accounts', 'list')
  const receipts = await place.json<{ data: readonly { request_id: string; cost_usd_exact: string }[] }>('receipts', 'list')
  gateway.signal('SIGKILL')
  await gateway.exited
  await cut
  const left = {
    key: main.key,
    code: codes[1],
    accounts: Object.fromEntries(accounts.data.map((account) => [account.name, account.balance_usd_exact])),
    receipts: Object.fromEntries(receipts.data.map((receipt) => [receipt.request_id, receipt.cost_usd_exact])),
  }
  return `${JSON.stringify(left, null, 2)}\n`
}

async function redeem(place: Place, code: string): Promise<void> {
  const { code: exit, err } = await place.run('codes', 'redeem', code, '--account', 'Shop')
  if (exit !== 0) console.warn(`codes redeem ended with ${exit}: ${err}`)
}

const REQUESTS: readonly (readonly [path: string, prompt: string, more?: Record<string, unknown>])[] = [
  ['/v1/messages', 'Hello [sim tokens=40]'],
  ['/v1/messages', 'Hello [sim tokens=25]', { stream: true }],
  ['/v1/messages', 'Hello [sim error=529]'],
  ['/v1/messages', 'Hello [sim error=529 after=3]', { stream: true }],
  ['/v1/chat/completions', 'Hello [sim tokens=30]'],
  ['/v1/chat/completions', 'Hello [sim tool=look]', { stream: true, tools: [{ type: 'function', function: { name: 'look' } }] }],
  ['/v1/responses', 'Hello [sim tokens=31]', { stream: true }],
]

async function ask({ url }: GatewayProcess, key: string, path: string, prompt: string, more: Record<string, unknown> = {}): Promise<void> {
  const said = path.endsWith('responses') ? { input: prompt } : { max_tokens: 6_000, messages: [{ role: 'user', content: prompt }] }
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': prompt.replaceAll(/\W+/g, '-'),
    'x-session-id': 'release',
  }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify({ model: MODEL, ...said, ...more }) })
  await answer.text()
  console.info(`${path} ${prompt}: ${answer.status}`)
}

/** What `sqlite3 FILE .dump` prints, with whose file it is and of which version. */
function dumpOfFile(path: string): string {
  const db = new Database(path, { safeIntegers: true })
  const made = db
    .query<{ type: string; name: string; sql: string }, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all()
  const tables = made.filter(({ type }) => type === 'table')
  const rowsOf = (table: string): string[] => {
    const columns = db.query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)').all(table)
    const quoted = columns.map(({ name }) => `quote("${name}")`).join(" || ', ' || ")
    return db
      .query<{ row: string }, []>(`SELECT ${quoted} AS row FROM "${table}"`)
      .all()
      .map(({ row }) => `INSERT INTO ${table} VALUES (${row});`)
  }
  const pragmas = ['application_id', 'user_version'].map(
    (name) => `PRAGMA ${name} = ${Object.values(db.query<Record<string, bigint>, []>(`PRAGMA ${name}`).get() ?? {})[0]};`,
  )
  const text = [
    ...tables.map(({ sql }) => `${sql};`),
    ...tables.flatMap(({ name }) => rowsOf(name)),
    'DELETE FROM sqlite_sequence;',
    ...rowsOf('sqlite_sequence'),
    ...made.filter(({ type }) => type !== 'table').map(({ sql }) => `${sql};`),
    ...pragmas,
  ]
  db.close()
  return `${text.join('\n')}\n`
}

/** The tables as the migrations make them, then the rows, for who may write past triggers. */
async function dumpOfDatabase(url: string): Promise<string> {
  const sql = new SQL({ url, max: 1, connection: { search_path: 'ledger' } })
  const tables: { name: string }[] =
    await sql`SELECT relname AS name FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind = 'r' ORDER BY oid`
  const rows: string[] = []
  const counters: string[] = []
  for (const { name } of tables) {
    const columns: { name: string; identity: string }[] =
      await sql`SELECT attname AS name, attidentity AS identity FROM pg_attribute WHERE attrelid = ${name}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`
    const quoted = columns.map((column) => `quote_nullable("${column.name}")`).join(" || ', ' || ")
    const found: { row: string }[] = await sql.unsafe(`SELECT ${quoted} AS row FROM ${name}`)
    rows.push(...found.map(({ row }) => `INSERT INTO ${name} VALUES (${row});`))
    const numbered = columns.find(({ identity }) => identity !== '')?.name
    if (numbered !== undefined)
      counters.push(`SELECT setval(pg_get_serial_sequence('${name}', '${numbered}'), (SELECT max(${numbered}) FROM ${name}));`)
  }
  await sql.close()
  return [MIGRATIONS_TEXT, '-- Rows.', 'DELETE FROM meta;', ...rows, ...counters, ''].join('\n')
}

await make(process.argv[2] ?? '')
