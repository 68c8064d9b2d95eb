/** One writer of the file, not of the path: whatever name a second opener comes by, the first one keeps the ledger, and no side file can be lost. */

import { afterAll, expect, test } from 'bun:test'
import { linkSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openReport } from '../../src/ledger/report.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { makeFolder, makePath, NOW, openMachine, openTestLedger } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'
import { startWatch } from '../support/until.ts'

const LOCK_FILE = join(import.meta.dir, '../../src/ledger/sqlite/lock.ts')

/** What another process is told when it takes the lock: the holder, or `free`. */
async function askElsewhere(path: string): Promise<string> {
  const script = `
    import { takeLock } from '${LOCK_FILE}'
    const lock = takeLock(process.argv[1])
    console.log('holder' in lock ? lock.holder : 'free')
  `
  const child = Bun.spawn([process.execPath, '-e', script, path], { stderr: 'inherit' })
  return (await new Response(child.stdout).text()).trim()
}

/** Another process that holds the lock until it is told to go. */
async function holdElsewhere(path: string) {
  const script = `
    import { takeLock } from '${LOCK_FILE}'
    const lock = takeLock(process.argv[1])
    console.log('release' in lock ? 'held' : 'refused')
    setInterval(() => undefined, 1_000)
  `
  const child = Bun.spawn([process.execPath, '-e', script, path], { stderr: 'inherit' })
  afterAll(() => child.kill('SIGKILL'))
  for await (const chunk of child.stdout) {
    expect(new TextDecoder().decode(chunk)).toBe('held\n')
    break
  }
  return child
}

const open = (path: string, more: { create?: boolean; lockWaitMs?: number } = {}) =>
  openLedger({ path, create: false, bootId: 'second', startThread, now: () => NOW, ...more })

test('through a symlink, a hard link or another way to the folder a second opener is refused, in this process and in another', async () => {
  const { ledger, path } = await openTestLedger()
  const other = makeFolder()
  const [symlink, hard, folder] = [join(other, 'symlink.db'), join(dirname(path), 'hard.db'), join(other, 'folder')]
  symlinkSync(path, symlink)
  linkSync(path, hard)
  symlinkSync(dirname(path), folder)
  for (const way of [path, symlink, hard, join(folder, 'ledger.db')]) {
    expect(await askElsewhere(way), way).toBe(String(process.pid))
    expect(await open(way), way).toEqual({ problem: 'locked', message: `ledger is in use by pid ${process.pid}` })
  }
  rmSync(hard)
  await ledger.close()
  expect(await askElsewhere(symlink)).toBe('free')
})

test('what is locked stays locked however often this process looks at it, and SQLite goes on writing', async () => {
  const { ledger, path } = await openTestLedger()
  for (let n = 0; n < 20; n++) {
    expect(await open(path)).toMatchObject({ problem: 'locked' })
    const report = openReport({ kind: 'sqlite', path })
    if ('problem' in report) throw new Error(report.message)
    report.close()
  }
  expect(await askElsewhere(path)).toBe(String(process.pid))
  expect(await ledger.operate({ kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: NOW })).toEqual({
    result: 'done',
  })
  await ledger.close()
})

test('a process that is killed gives the lock back; one that ends in time is waited for', async () => {
  const path = makePath()
  openMachine(path).close()
  const holder = await holdElsewhere(path)
  expect(await open(path)).toEqual({ problem: 'locked', message: `ledger is in use by pid ${holder.pid}` })
  setTimeout(() => holder.kill('SIGKILL'), 200)
  const opened = await open(path, { lockWaitMs: 5_000 })
  if ('problem' in opened) throw new Error(opened.message)
  await opened.ledger.close()
})

test('the wait for a lock ends', async () => {
  const path = makePath()
  openMachine(path).close()
  const holder = await holdElsewhere(path)
  const began = performance.now()
  using watch = startWatch()
  expect(await open(path, { lockWaitMs: 300 })).toMatchObject({ problem: 'locked' })
  expect(performance.now() - began).toBeGreaterThan(250)
  expect(watch.ms()).toBeLessThan(3_000)
  holder.kill('SIGKILL')
})

test('a ledger with a second name is refused, by readers too: its log lies beside one of them only', async () => {
  const path = makePath()
  openMachine(path).close()
  const hard = join(dirname(path), 'hard.db')
  linkSync(path, hard)
  for (const way of [path, hard]) {
    expect(await open(way)).toEqual({ problem: 'unwritable', message: expect.stringContaining('hard link') })
    expect(openReport({ kind: 'sqlite', path: way })).toMatchObject({ problem: 'unwritable' })
  }
  rmSync(hard)
  const opened = await open(path)
  if ('problem' in opened) throw new Error(opened.message)
  await opened.ledger.close()
})

test('a link that leads nowhere is no place for a new ledger', async () => {
  const folder = makeFolder()
  symlinkSync(join(folder, 'unmounted', 'ledger.db'), join(folder, 'ledger.db'))
  expect(await open(join(folder, 'ledger.db'), { create: true })).toEqual({
    problem: 'missing',
    message: expect.stringContaining('where nothing is'),
  })
  expect(readdirSync(folder)).toEqual(['ledger.db'])
})

test('through a symlink the ledger is the file that it leads to, with all that lies beside it', async () => {
  const folder = makeFolder()
  mkdirSync(join(folder, 'disk'))
  const real = join(folder, 'disk', 'ledger.db')
  openMachine(real).close()
  symlinkSync(real, join(folder, 'ledger.db'))
  const opened = await open(join(folder, 'ledger.db'))
  if ('problem' in opened) throw new Error(opened.message)
  expect(opened).toMatchObject({ path: real, isNew: false })
  expect(readdirSync(folder).sort()).toEqual(['disk', 'ledger.db'])
  await opened.ledger.close()
})

test('of two that make a ledger at once both find the same one', async () => {
  const path = makePath()
  const script = `
    import { openLedger } from '${join(import.meta.dir, '../../src/ledger/sqlite/open.ts')}'
    const startThread = () => new Worker('${join(import.meta.dir, '../../src/ledger/thread.ts')}')
    const [path, id] = process.argv.slice(1)
    const opened = await openLedger({ path, create: true, bootId: id, startThread, now: () => 1, lockWaitMs: 10_000 })
    if ('problem' in opened) throw new Error(opened.message)
    const { result } = await opened.ledger.operate({ kind: 'createAccount', accountId: id, name: id, topUp: null, now: 1 })
    if (result !== 'done') throw new Error(result)
    await opened.ledger.close()
  `
  const children = ['acc_1', 'acc_2', 'acc_3'].map((id) => Bun.spawn([process.execPath, '-e', script, path, id], { stderr: 'inherit' }))
  expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0])
  const report = openReport({ kind: 'sqlite', path })
  if ('problem' in report) throw new Error(report.message)
  expect(
    report.accounts
      .accounts({ after: undefined, limit: 10 })
      .rows.map(({ id }) => id)
      .sort(),
  ).toEqual(['acc_1', 'acc_2', 'acc_3'])
  report.close()
}, 180_000)
