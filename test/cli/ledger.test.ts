/**
 * `tollgate ledger copy`: the file's ledger and people are in Postgres afterwards, row for row, and every command says of the copy what it said of the file; where it cannot
 * be, nothing is there.
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { openPeopleFile, peoplePathOf } from '../../src/people/people-file.ts'
import { holdTask, makePath, openMachine, usd } from '../support/ledger.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { connectPostgres } from '../support/postgres-connection.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { startThread } from '../support/threads.ts'
import { writeVaried } from '../support/varied-ledger.ts'
import { NOW, type Ran, Workplace } from './run.ts'

setDefaultTimeout(60_000)
const original = makePath()
let place: Workplace
let url: string

beforeAll(() => {
  writeVaried(original, randomFrom(SEED), 120).close()
  const people = openPeopleFile(peoplePathOf(original))
  people.run(
    "INSERT INTO person (id, name, email, emailVerified, createdAt, updatedAt) VALUES ('p1', 'Ada', 'ada@example.com', 1, '2026-01-01', '2026-01-01')",
  )
  people.run("INSERT INTO memberships (person, account_id, role, created_at) VALUES ('p1', 'acc_a', 'owner', 5)")
  people.query("INSERT INTO secrets (name, value) VALUES ('cookies', ?)").run(new Uint8Array(32).fill(7))
  people.close()
})

beforeEach(() => {
  place = new Workplace()
  mkdirSync(dirname(place.ledgerPath), { recursive: true })
  cpSync(original, place.ledgerPath)
  cpSync(peoplePathOf(original), peoplePathOf(place.ledgerPath))
})
afterAll(() => place.remove())

const copyIn = async (database?: string): Promise<Ran> => {
  url = database ?? (await postgres().createDatabase())
  place.env['LEDGER_URL'] = url
  return await place.run('ledger', 'copy', '--to-env', 'LEDGER_URL', '--json')
}

const connectLedger = (of: string): Connection => connectPostgres(of)

const schemas = (): readonly unknown[] => {
  const db = connectLedger(url)
  try {
    return db.query("SELECT CAST(nspname AS TEXT) AS name FROM pg_namespace WHERE nspname IN ('ledger', 'people') ORDER BY 1").all()
  } finally {
    db.close()
  }
}

const onPostgres = (more = ''): void => place.write('tollgate.toml', `[ledger]\nurl_env = "LEDGER_URL"\n${more}`)

describe('a copy', () => {
  const COMMANDS = [
    ['keys', 'list'],
    ['accounts', 'list'],
    ['keys', 'show', 'key_b'],
    ['usage'],
    ['usage', '--account', 'acc_a'],
    ['receipts', 'list'],
    ['receipts', 'list', '--account', 'acc_b'],
    ['attempts', 'list'],
    ['top-ups', 'list'],
    ['codes', 'list'],
    ['audit', 'list'],
    ['verify'],
  ]

  postgresTest('answers every command that reads as the file does', async () => {
    const before = []
    for (const command of COMMANDS) before.push(await place.run(...command, '--json'))
    const { code, out } = await copyIn()
    expect({ code, ok: JSON.parse(out).ok }).toEqual({ code: 0, ok: true })
    onPostgres()
    for (const [index, command] of COMMANDS.entries()) {
      expect({ command, ...(await place.run(...command, '--json')) }).toEqual({
        command,
        ...(before[index] ?? { code: -1, out: '', err: '' }),
      })
    }
    expect(before.filter((ran) => ran.code !== 0)).toEqual([])
    expect(await place.run('holds', 'list')).toMatchObject({
      code: 0,
      out: 'Nothing is reserved here, nor by other nodes for longer than a second.\n',
    })
  })

  postgresTest('has the people, and what signs their cookies', async () => {
    await copyIn()
    const db = connectLedger(url)
    const file = new Database(peoplePathOf(place.ledgerPath), { safeIntegers: true })
    const order = 'SELECT * FROM'
    for (const table of ['person', 'memberships', 'secrets']) {
      const rows = db
        .query<Record<string, unknown>, []>(`${order} people.${table}`)
        .all()
        .map((row) => JSON.stringify(row, asText))
      expect(rows).toEqual(
        file
          .query(`${order} ${table}`)
          .all()
          .map((row) => JSON.stringify(row, asText)),
      )
    }
    db.close()
    file.close()
  })

  postgresTest('leaves a file that can be read and that nobody serves or writes', async () => {
    await copyIn()
    for (const writing of [['serve'], ['accounts', 'create', '--name', 'late'], ['ledger', 'copy', '--to-env', 'LEDGER_URL']]) {
      const { code, err } = await place.run(...writing)
      expect([writing, code, err.includes('was copied to Postgres 127.0.0.1'), err.includes('only-for-tests')]).toEqual([
        writing,
        3,
        true,
        false,
      ])
    }
    expect(await place.run('verify')).toMatchObject({ code: 0 })
  })

  postgresTest('counts on from the file’s numbers, and keeps its hashes', async () => {
    await copyIn()
    const db = connectLedger(url)
    const [next] = db
      .query<{ next: bigint; last: bigint }, []>(
        "SELECT nextval('ledger.receipts_number_seq') AS next, (SELECT max(number) FROM receipts) AS last",
      )
      .all()
    expect(next?.next).toBe((next?.last ?? 0n) + 1n)
    const salt = new Database(place.ledgerPath).query("SELECT value FROM meta WHERE name = 'salt'").get()
    expect(db.query("SELECT value FROM meta WHERE name = 'salt'").get()).toEqual(salt as never)
    db.close()
  })

  postgresTest('settles first what a dead gateway left in flight', async () => {
    const machine = openMachine(place.ledgerPath, 'boot-dead')
    machine.ask(holdTask('req_left', 'key_a', usd('0.01'), { now: NOW }))
    machine.ask({
      kind: 'checkpoint',
      requestId: 'req_left',
      progress: { usage: { ...NO_USAGE, input: 3 }, usageSource: 'partial' },
      now: NOW,
    })
    machine.db.close()
    const { out } = await copyIn()
    expect(JSON.parse(out).recovered).toBe(1)
    onPostgres()
    expect(await place.run('receipts', 'show', 'req_left', '--json')).toMatchObject({ code: 0, out: expect.stringContaining('recovered') })
  })

  postgresTest('notes the key that signed the file’s statements, and signs by the one that is configured', async () => {
    await place.run('statement', 'acc_a')
    const keyPath = `${place.ledgerPath}.statement-key`
    const { out } = await copyIn()
    expect(JSON.parse(out).statement_key).toBe(keyPath)
    onPostgres('statement_key_env = "SIGNING_KEY"\n')
    expect(await place.run('statement', 'acc_a')).toMatchObject({ code: 2, err: expect.stringContaining('names no key') })
    onPostgres()
    expect(await place.run('serve', '--port', '0')).toMatchObject({
      code: 3,
      err: expect.stringContaining('its statements are signed by the key'),
    })
    onPostgres('statement_key_env = "SIGNING_KEY"\n')
    place.env['SIGNING_KEY'] = readFileSync(keyPath, 'utf8')
    const ofPostgres = await place.run('statement', 'acc_a')
    place.write('tollgate.toml', '')
    expect(ofPostgres).toEqual(await place.run('statement', 'acc_a'))
    onPostgres('statement_key_env = "SIGNING_KEY"\n')
    place.write('statement.jsonl', ofPostgres.out)
    expect(await place.run('verify', '--against', 'statement.jsonl')).toMatchObject({ code: 0 })
    const noted = () => connectLedger(url).query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'statement_key'").get()?.value
    expect(noted()).toBe(JSON.parse(ofPostgres.out.split('\n')[0] ?? '').public_key)
    place.env['SIGNING_KEY'] = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    expect(await place.run('verify', '--against', 'statement.jsonl')).toMatchObject({
      code: 2,
      err: expect.stringContaining('another key'),
    })
  })
})

describe('nothing is copied, and nothing is left,', () => {
  postgresTest('into a database that is not empty', async () => {
    expect(await copyIn()).toMatchObject({ code: 0 })
    cpSync(original, place.ledgerPath)
    const again = await copyIn(url)
    expect(again).toMatchObject({ code: 2, out: '' })
    expect(again.err).toMatch(/has a schema "ledger" and "people" already/)
    expect(again.err).not.toContain(new URL(url).password)
  })

  postgresTest('of a ledger that a gateway has open', async () => {
    const opened = await openLedger({ path: place.ledgerPath, create: false, bootId: 'gateway', startThread, now: () => NOW })
    if ('problem' in opened) throw new Error(opened.message)
    expect(await copyIn()).toMatchObject({ code: 3, err: expect.stringContaining('in use') })
    await opened.ledger.close()
    expect(schemas()).toEqual([])
  })

  postgresTest('of a ledger that is not in order', async () => {
    const db = new Database(place.ledgerPath)
    db.run('UPDATE keys SET spent_picos = spent_picos + 1')
    db.close()
    const { code, out } = await copyIn()
    expect({ code, of: JSON.parse(out).of }).toEqual({ code: 1, of: 'file' })
    expect(schemas()).toEqual([])
  })

  postgresTest('when the connection dies in the middle', async () => {
    url = await postgres().createDatabase()
    place.env['LEDGER_URL'] = url
    const killer = new Worker(new URL('./kill-copy.ts', import.meta.url), { env: { URL: postgres().asSuperuser(url) } as never })
    await new Promise((resolve) => killer.addEventListener('message', resolve, { once: true }))
    const { code, err } = await place.run('ledger', 'copy', '--to-env', 'LEDGER_URL')
    killer.terminate()
    expect({ code, isSaid: err.includes('nothing was copied') }).toEqual({ code: 2, isSaid: true })
    expect(schemas()).toEqual([])
    expect(await copyIn(url)).toMatchObject({ code: 0 })
  })

  test('without an address', async () => {
    expect(await place.run('ledger', 'copy')).toMatchObject({ code: 2 })
    expect(await place.run('ledger', 'copy', '--to-env', 'NOWHERE')).toMatchObject({ code: 2, err: expect.stringContaining('NOWHERE') })
    place.env['ELSEWHERE'] = 'postgres://me:hunter2@127.0.0.1:1/toll'
    for (const target of [
      ['--to-env', 'ELSEWHERE'],
      ['--to', place.env['ELSEWHERE']],
    ]) {
      const { code, err } = await place.run('ledger', 'copy', ...target)
      expect({ code, isNamed: err.includes('127.0.0.1:1'), hasPassword: err.includes('hunter2') }).toEqual({
        code: 2,
        isNamed: true,
        hasPassword: false,
      })
    }
    expect(await place.run('ledger', 'copy', '--to', 'db.example.com')).toMatchObject({
      code: 2,
      err: expect.stringContaining('after --to'),
    })
    expect(await place.run('ledger', 'copy', '--to', 'postgres://h/d', '--to-env', 'ELSEWHERE')).toMatchObject({ code: 2 })
    expect(existsSync(join(place.folder, 'people.db'))).toBe(false)
  })
})

const asText = (_: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return (value as { type?: string } | null)?.type === 'Buffer'
    ? Buffer.from((value as unknown as { data: number[] }).data).toString('hex')
    : value
}
