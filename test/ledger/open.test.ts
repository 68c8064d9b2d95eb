/** What is opened, what is refused, and that nothing is ever made over a file that exists. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openDatabase, readText } from '../../db/open.ts'
import { openReport } from '../../src/ledger/report.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { createKey, makeFolder, makePath, NOW, openMachine, openTestLedger, operateTask } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'

const open = (path: string, create = false) => openLedger({ path, create, bootId: 'boot-1', startThread, now: () => NOW })

function makeLedger(): string {
  const path = makePath()
  const machine = openMachine(path)
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '25' })))
  machine.close()
  return path
}

test('a connection has every pragma that the ledger relies on', () => {
  const db = openDatabase(makePath(), 'create')
  if ('problem' in db) throw new Error(db.message)
  const pragmas = [
    'journal_mode',
    'synchronous',
    'foreign_keys',
    'trusted_schema',
    'busy_timeout',
    'journal_size_limit',
    'cell_size_check',
    'wal_autocheckpoint',
  ]
  expect(pragmas.map((pragma) => readText(db, pragma))).toEqual(['wal', '2', '1', '0', '5000', '67108864', '1', '0'])
  expect(db.query<{ n: unknown }, []>('SELECT 9007199254740993 AS n').get()?.n).toBe(9_007_199_254_740_993n)
  db.close()
})

test('a missing ledger is made only when asked for, with its folder, for the owner only', async () => {
  const path = join(makeFolder(), 'data', 'ledger.db')
  expect(await open(path)).toMatchObject({ problem: 'missing' })
  expect(openReport({ kind: 'sqlite', path })).toMatchObject({ problem: 'missing' })
  expect(existsSync(dirname(path))).toBe(false)
  const opened = await open(path, true)
  if ('problem' in opened) throw new Error(opened.message)
  expect(statSync(path).mode & 0o077).toBe(0)
  await opened.ledger.close()
  expect(readdirSync(dirname(path)).filter((name) => name.includes('.new'))).toEqual([])
})

test('a foreign, empty, truncated, damaged or newer file is refused with its reason and left as it was', async () => {
  const folder = makeFolder()
  const text = join(folder, 'text.db')
  writeFileSync(text, 'these are somebody’s notes\n'.repeat(500))
  const empty = join(folder, 'empty.db')
  writeFileSync(empty, '')
  const foreign = join(folder, 'foreign.db')
  const other = new Database(foreign)
  other.run('CREATE TABLE notes (text TEXT)')
  other.close()
  const truncated = makeLedger()
  truncateSync(truncated, 20_000)
  const damaged = makeLedger()
  const bytes = readFileSync(damaged)
  bytes.fill(0xa5, 4_096 * 2, 4_096 * 12)
  writeFileSync(damaged, bytes)
  const older = makeLedger()
  const preview = new Database(older)
  preview.run('PRAGMA user_version = 1')
  preview.run('PRAGMA wal_checkpoint(TRUNCATE)')
  preview.close()
  const newer = makeLedger()
  const raw = new Database(newer)
  raw.run('PRAGMA user_version = 99')
  raw.run('PRAGMA wal_checkpoint(TRUNCATE)')
  raw.close()
  const cases: readonly (readonly [string, string, string])[] = [
    [text, 'corrupt', 'not a sound ledger'],
    [empty, 'corrupt', 'not a Tollgate ledger'],
    [foreign, 'corrupt', 'not a Tollgate ledger'],
    [truncated, 'corrupt', 'restore a backup'],
    [damaged, 'corrupt', 'restore a backup'],
    [newer, 'newer', 'schema version 99'],
    [older, 'older', 'move the file away'],
  ]
  for (const [path, problem, words] of cases) {
    const before = readFileSync(path)
    for (const create of [false, true])
      expect(await open(path, create)).toEqual({ problem: problem as 'corrupt', message: expect.stringContaining(words) })
    expect(readFileSync(path).equals(before)).toBe(true)
  }
})

test('a lost file beside a log that is not empty is no reason to begin a new ledger', async () => {
  const path = makeLedger()
  writeFileSync(`${path}-wal`, 'frames')
  rmSync(path)
  expect(await open(path, true)).toEqual({ problem: 'corrupt', message: expect.stringContaining('write-ahead log') })
  expect(existsSync(path)).toBe(false)
})

test('a crash while a ledger is made leaves nothing that a second attempt trips over', async () => {
  const path = makePath()
  writeFileSync(`${path}.new`, 'half a ledger')
  writeFileSync(`${path}.new-wal`, 'half a log')
  const { ledger } = await openTestLedger({ path })
  expect(await ledger.findKey(new Uint8Array(32))).toBeUndefined()
  await ledger.close()
})

test('a path that cannot hold a ledger is named as unwritable', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'file'), '')
  expect(await open(join(folder, 'file', 'ledger.db'), true)).toMatchObject({ problem: 'unwritable' })
  mkdirSync(join(folder, 'directory.db'))
  expect(await open(join(folder, 'directory.db'), true)).toMatchObject({ problem: 'unwritable' })
})

test('a second opener in this process or another is told who holds the ledger; closing frees it', async () => {
  const { ledger, path } = await openTestLedger()
  expect(await open(path)).toEqual({ problem: 'locked', message: `ledger is in use by pid ${process.pid}` })
  const script = `
    import { takeLock } from '${join(import.meta.dir, '../../src/ledger/sqlite/lock.ts')}'
    const lock = takeLock(process.argv[1])
    console.log('holder' in lock ? lock.holder : 'free')
  `
  const ask = () => Bun.spawnSync([process.execPath, '-e', script, path]).stdout.toString().trim()
  expect(ask()).toBe(String(process.pid))
  expect(await open(path)).toMatchObject({ problem: 'locked' })
  expect(ask()).toBe(String(process.pid))
  await ledger.close()
  expect(ask()).toBe('free')
  const again = await open(path)
  if ('problem' in again) throw new Error(again.message)
  await again.ledger.close()
})

test('a file that another program keeps locked is named as such', async () => {
  const path = makeLedger()
  const holder = new Database(path)
  holder.run('PRAGMA locking_mode = EXCLUSIVE')
  holder.run('BEGIN EXCLUSIVE')
  holder.run('PRAGMA user_version = 1')
  const opened = await open(path)
  holder.run('ROLLBACK')
  holder.close()
  expect(opened).toMatchObject({ problem: 'locked' })
}, 180_000)
