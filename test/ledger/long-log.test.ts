/** A log begins anew also while the ledger is never idle, so that it does not grow without end, and nothing is moved for that into a file that was overwritten. Rules: ledger.md "Group commit". */

import type { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, openSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../db/open.ts'
import { fileIdAt } from '../../src/ledger/sqlite/file-id.ts'
import { FileWatch } from '../../src/ledger/sqlite/file-watch.ts'
import { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import type { Loss } from '../../src/ledger/thread-messages.ts'
import { createKey, holdRequest, makeFolder, makePath, NOW, openTestLedger, settlement, usd } from '../support/ledger.ts'

/** Megabytes are written and compared. */
setDefaultTimeout(60_000)

const LONG = 4_000
const SHORT = 10

function connectTo(path: string): Database {
  const db = openDatabase(path, 'create')
  if ('problem' in db) throw new Error(db.message)
  return db
}

/** A store, its watch, whose looks and checkpoints the test makes itself, the connection that checkpoints, and a reader. */
function openAt(path: string) {
  const [db, mover, reader] = [connectTo(path), connectTo(path), connectTo(path)]
  const store = new SqliteStore(db, 'boot-1', NOW)
  // Without a flush from now on.
  store.advanceGeneration()
  const losses: (Loss | undefined)[] = []
  const handle = openSync(path, 'r+')
  const watch = new FileWatch({ named: path, path, file: { id: fileIdAt(path) ?? '', handle } }, store, (loss) => losses.push(loss))
  const read = (): void => {
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM meta').get()
  }
  const unread = () => reader.run('COMMIT')
  const insert = db.prepare("INSERT INTO boots (id, node, started_at) VALUES (hex(randomblob(1000)), 'node_1', 0)")
  const commitTo = (frames: number): void => {
    while (store.progress.frames < frames) insert.run()
  }
  /** A checkpoint of a log with so many frames at the least, and `rest` that are committed while it runs: behind a reader nothing is moved. The watch is not told of its end. */
  const checkpointAt = (frames: number, rest = 1): void => {
    commitTo(frames)
    expect(watch.beginCheckpoint()).toBeTrue()
    read()
    const { frames: before } = store.progress
    commitTo(before + rest)
    mover.run('PRAGMA wal_checkpoint(PASSIVE)')
    unread()
    expect(store.progress.moved).toBe(before)
    expect(store.progress.frames).toBeGreaterThanOrEqual(before + rest)
  }
  const close = (): void => {
    watch.close()
    for (const one of [reader, mover]) one.close()
    store.close()
    closeSync(handle)
  }
  return { store, watch, losses, mover, read, unread, checkpointAt, close }
}

/** Of another process: a handle of the file that this one closes would drop the locks of SQLite. */
function run(...command: readonly string[]): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command])
  expect(exitCode, stderr.toString()).toBe(0)
  return stdout
}

const bytesOf = (path: string): Buffer => run('cat', path)

test('what was committed while a checkpoint ran is moved from a long log, which begins anew, and is taken for a checkpoint of ours', () => {
  const { store, watch, losses, checkpointAt, close } = openAt(makePath())
  checkpointAt(LONG - 1_000)
  const { moved } = store.progress
  watch.endCheckpoint()
  expect(store.progress.moved).toBe(moved)
  for (let round = 0; round < 3; round++) {
    checkpointAt(LONG)
    watch.endCheckpoint()
    expect(store.progress.frames).toBeLessThan(SHORT)
    for (let looks = 0; looks < 5; looks++) watch.look()
  }
  expect(losses).toEqual([])
  close()
})

test('a reader keeps a long log for as long as it reads, and a rest that would hold up commits is left to the next checkpoint', () => {
  const { store, watch, losses, read, unread, checkpointAt, close } = openAt(makePath())
  checkpointAt(LONG)
  read()
  store.advanceGeneration()
  watch.endCheckpoint()
  expect(store.progress.frames).toBeGreaterThan(LONG)
  unread()
  checkpointAt(LONG, 1_100)
  const { moved } = store.progress
  watch.endCheckpoint()
  expect(store.progress.moved).toBe(moved)
  checkpointAt(LONG)
  watch.endCheckpoint()
  expect(store.progress.frames).toBeLessThan(SHORT)
  expect(losses).toEqual([])
  close()
})

test('while another program moves the log, it is left to that one and to the next checkpoint', () => {
  const { store, watch, losses, mover, checkpointAt, close } = openAt(makePath())
  checkpointAt(LONG)
  mover.run('VACUUM')
  watch.endCheckpoint()
  for (let looks = 0; looks < 5; looks++) watch.look()
  checkpointAt(LONG)
  mover.run('PRAGMA wal_checkpoint(TRUNCATE)')
  watch.endCheckpoint()
  expect(store.progress.frames).toBeLessThan(SHORT)
  for (let looks = 0; looks < 5; looks++) watch.look()
  expect(losses).toEqual([])
  close()
})

/** `old`: a copy of the file as it was before the checkpoint; `old.older`: before the one before. */
const OVERWRITES: Readonly<Record<string, (path: string, old: string) => void>> = {
  'an older copy is written over the file': (path, old) => run('cp', `${old}.older`, path),
  'a copy from before the checkpoint is written over the file': (path, old) => run('cp', old, path),
  'the head of a backup, which has no log, is written over that of the file': (path) =>
    run('sh', '-c', `printf '\\1\\1' | dd of='${path}' bs=1 seek=18 conv=notrunc`),
  'the file is cut to a page': (path) => run('truncate', '-s', '4096', path),
  'the file is cut to nothing': (path) => run('truncate', '-s', '0', path),
  'the log is cut to nothing': (path) => run('truncate', '-s', '0', `${path}-wal`),
  'the log is cut to a half': (path) => run('truncate', '-s', '8000000', `${path}-wal`),
  'the salt in the head of the log is another one': (path) =>
    run('dd', 'if=/dev/urandom', `of=${path}-wal`, 'bs=1', 'seek=16', 'count=8', 'conv=notrunc'),
}

test.each(Object.keys(OVERWRITES))('when %s just before the rest of a long log is moved, nothing is moved', (name) => {
  const path = makePath()
  const { store, watch, checkpointAt, close } = openAt(path)
  const old = join(makeFolder(), 'old.db')
  run('cp', path, `${old}.older`)
  checkpointAt(LONG - 1_000)
  watch.endCheckpoint()
  run('cp', path, old)
  checkpointAt(LONG)
  OVERWRITES[name]?.(path, old)
  const file = bytesOf(path)
  const { moved } = store.progress
  watch.endCheckpoint()
  expect(store.progress.moved).toBe(moved)
  expect(bytesOf(path).equals(file)).toBeTrue()
  close()
})

test.each(['first', 'last'])(
  'when the process dies while the rest is moved, with the %s pages in the file, the next start has all',
  async (which) => {
    const path = makePath()
    const { store, watch, checkpointAt, close } = openAt(path)
    checkpointAt(LONG, 100)
    const left = join(makeFolder(), 'ledger.db')
    const move = store.moveLog.bind(store)
    let pages = 0
    store.moveLog = () => {
      for (const suffix of ['', '-wal', '.mark']) run('cp', path + suffix, left + suffix)
      move()
      const [before, after] = [bytesOf(left), bytesOf(path)]
      pages = after.length / 4_096
      const isMoved = (page: number): boolean => page < pages / 2 === (which === 'first')
      const mixed = Array.from({ length: pages }, (_, page) => (isMoved(page) ? after : before).subarray(page * 4_096, (page + 1) * 4_096))
      writeFileSync(left, Buffer.concat(mixed))
    }
    watch.endCheckpoint()
    expect(pages).toBeGreaterThan(0)
    const { newest } = store.generations
    close()
    const db = connectTo(left)
    expect(newest > (db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'generation'").get()?.value ?? '')).toBeTrue()
    db.close()
    await (await openTestLedger({ path: left, bootId: 'boot-2' })).ledger.close()
  },
)

test('under requests that come one behind the other the log begins anew', async () => {
  const { ledger, path, faults } = await openTestLedger()
  await ledger.operate(createKey('key_a', { balanceUsd: '1000' }))
  // Each commit makes the log longer until one begins it anew: then it is written over.
  let [bytes, unchanged, settles] = [0, 0, 0]
  for (; unchanged < 10 && settles < 5_000; settles++) {
    await ledger.hold(holdRequest(`req_${settles}`, 'key_a', usd('0.001')))
    expect(await ledger.settle(settlement(`req_${settles}`, { input: 1 }))).toBe('settled')
    const now = statSync(`${path}-wal`).size
    unchanged = now === bytes ? unchanged + 1 : 0
    bytes = now
  }
  expect(settles).toBeLessThan(5_000)
  expect(faults).toEqual([])
  await ledger.close()
})
