/**
 * A ledger whose file or log is changed in place by another program takes nothing more and is left as it is; its own checkpoints, and what leaves the content alone,
 * are no such thing. Rules: ledger.md "A ledger that is overwritten".
 */

import { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, test } from 'bun:test'
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, symlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../db/open.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { fileIdAt } from '../../src/ledger/sqlite/file-id.ts'
import { FileWatch } from '../../src/ledger/sqlite/file-watch.ts'
import { GENERATION_PAGE, Generations, generationIn } from '../../src/ledger/sqlite/generation.ts'
import { ProgressOfLog } from '../../src/ledger/sqlite/log-progress.ts'
import { readWatermark } from '../../src/ledger/sqlite/watermark.ts'
import type { Loss } from '../../src/ledger/thread-messages.ts'
import { createKey, holdRequest, makeFolder, makePath, openTestLedger, settlement, type TestLedger, usd } from '../support/ledger.ts'
import { until } from '../support/until.ts'

const KEY = 'key_a'

/** Opened, with money, and a first receipt. */
async function openWithKey(path = makePath()): Promise<TestLedger> {
  const opened = await openTestLedger({ path, spillBytes: 1_048_576, retryMs: 50 })
  expect(await opened.ledger.operate(createKey(KEY, { balanceUsd: '1000' }))).toMatchObject({ result: 'done' })
  await spend(opened.ledger, 'first')
  return opened
}

async function spend(ledger: Ledger, requestId: string): Promise<void> {
  expect(await ledger.hold(holdRequest(requestId, KEY, usd('0.001')))).toBe('held')
  expect(await ledger.settle(settlement(requestId, { input: 1 }))).toBe('settled')
}

/** Of another process: a handle of the file that this one closes would drop the locks of its thread. */
function run(...command: readonly string[]): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command])
  expect(exitCode, stderr.toString()).toBe(0)
  return stdout
}

const bytesOf = (path: string): Buffer => run('cat', path)
const copy = (from: string, to: string): Buffer => run('cp', from, to)
const prompt = (path: string, sql: string): Buffer => run(process.execPath, '-e', PROMPT, path, sql)
const PROMPT = `const db = new (require('bun:sqlite').Database)(process.argv[1], { readwrite: true }); db.run('PRAGMA busy_timeout = 5000'); db.run(process.argv[2])`

/** Commits until a checkpoint of the ledger has moved a newer generation into the file, and has been seen to. */
async function spendToCheckpoint({ ledger, path }: Pick<TestLedger, 'ledger' | 'path'>, label: string): Promise<void> {
  const before = readWatermark(path)?.generation
  for (let count = 0; readWatermark(path)?.generation === before; count++) await spend(ledger, `${label}-${count}`)
  // The watermark is written before the end of a long log is moved, and this behind it.
  await spend(ledger, `${label}-behind`)
}

const untilRefused = (ledger: Ledger): Promise<void> => until(() => !ledger.isWritable(), 'the ledger is refused')

/** Several looks at the files. */
const LOOKS_MS = 1_000

const OVERWRITES: Readonly<Record<string, (path: string) => void>> = {
  'an older copy is written over the file': (path) => copy(`${path}.old`, path),
  'a copy of the file as it is now is written over it': (path) => {
    copy(path, `${path}.now`)
    copy(`${path}.now`, path)
  },
  'a backup that was made just now is written over it': (path) => {
    prompt(path, `VACUUM INTO '${path}.backup'`)
    run('dd', `if=${path}.backup`, `of=${path}`, 'conv=notrunc')
  },
  'a page in the middle of the file is written over': (path) =>
    run('dd', 'if=/dev/urandom', `of=${path}`, 'bs=4096', 'seek=5', 'count=1', 'conv=notrunc'),
  'the file is cut to a page': (path) => run('truncate', '-s', '4096', path),
  'the file is cut to nothing': (path) => run('truncate', '-s', '0', path),
  'the file is made longer': (path) => run('truncate', '-s', '+4096', path),
  'the log is cut to nothing': (path) => run('truncate', '-s', '0', `${path}-wal`),
  'the salt in the head of the log is another one': (path) =>
    run('dd', 'if=/dev/urandom', `of=${path}-wal`, 'bs=1', 'seek=16', 'count=8', 'conv=notrunc'),
  'an older log is written over the log': (path) => copy(`${path}-wal.old`, `${path}-wal`),
}

test.each(Object.keys(OVERWRITES))(
  'when %s no request is admitted, what runs is kept by the spill, and neither file is touched again',
  async (name) => {
    const { ledger, path, faults } = await openWithKey()
    copy(path, `${path}.old`)
    copy(`${path}-wal`, `${path}-wal.old`)
    await spendToCheckpoint({ ledger, path }, 'a')
    await spendToCheckpoint({ ledger, path }, 'b')
    expect(await ledger.hold(holdRequest('running', KEY, usd('0.001')))).toBe('held')
    OVERWRITES[name]?.(path)
    await untilRefused(ledger)
    expect(faults.at(-1)).toMatch(/ledger\.db(-wal)? is another file than the one that is open: it was overwritten: .*restore FILE/)
    expect(await ledger.hold(holdRequest('late', KEY, usd('0.001')))).toBe('unavailable')
    expect(await ledger.operate(createKey('key_b'))).toMatchObject({ result: 'refused' })
    const [file, log] = [bytesOf(path), bytesOf(`${path}-wal`)]
    expect(await ledger.settle(settlement('running', { input: 1 }))).toBe('settled')
    await ledger.close()
    expect(bytesOf(path).equals(file)).toBeTrue()
    expect(bytesOf(`${path}-wal`).equals(log)).toBeTrue()
    expect(bytesOf(`${path}.spill`).includes('running')).toBeTrue()
  },
)

test('its own checkpoints, one behind the other under load, are never taken for another program', async () => {
  const { ledger, path, faults } = await openWithKey()
  const endMs = performance.now() + 3 * LOOKS_MS
  const seen = new Set<string | undefined>()
  for (let round = 0; performance.now() < endMs || seen.size <= 2; round++) {
    await Promise.all(Array.from({ length: 400 }, (_, index) => spend(ledger, `${round}-${index}`)))
    seen.add(readWatermark(path)?.generation)
  }
  expect(faults).toEqual([])
  await ledger.close()
})

/** Each leaves what stands in the file and in the log as it is, or moves it from one to the other. */
const HARMLESS: Readonly<Record<string, (path: string) => void>> = {
  'its mode is changed': (path) => run('chmod', '644', path, `${path}-wal`),
  'a backup program reads it': (path) => run('cp', path, `${path}-wal`, `${path}-shm`, makeFolder()),
  'an operator’s prompt moves the log into it': (path) => prompt(path, 'PRAGMA wal_checkpoint(PASSIVE)'),
  'an operator’s prompt empties the log into it': (path) => prompt(path, 'PRAGMA wal_checkpoint(TRUNCATE)'),
}

test.each(Object.keys(HARMLESS))('when %s the ledger is served on', async (name) => {
  const { ledger, path, faults } = await openWithKey()
  await spendToCheckpoint({ ledger, path }, 'a')
  await spend(ledger, 'b')
  // The file stands still by then, and anything that another program does to it is seen.
  await Bun.sleep(LOOKS_MS)
  HARMLESS[name]?.(path)
  const endMs = performance.now() + LOOKS_MS
  for (let count = 0; performance.now() < endMs; count++) {
    await spend(ledger, `c-${count}`)
    await Bun.sleep(5)
  }
  expect(faults).toEqual([])
  await ledger.close()
})

/** Of another process, again and again, until it is ended. */
const PROMPT_AGAIN = `const db = new (require('bun:sqlite').Database)(process.argv[1], { readwrite: true }); db.run('PRAGMA busy_timeout = 5000')
  for (let pauseMs = 0; ; pauseMs = (pauseMs + 37) % 100) { try { db.run(process.argv[2]) } catch {} Bun.sleepSync(pauseMs) }`

test.each(['PRAGMA wal_checkpoint(PASSIVE)', 'PRAGMA wal_checkpoint(TRUNCATE)', 'VACUUM'])(
  'when an operator’s prompt says %s again and again, under load and between our own checkpoints, the ledger is served on',
  async (sql) => {
    const { ledger, path, faults } = await openWithKey()
    const prompts = Bun.spawn([process.execPath, '-e', PROMPT_AGAIN, path, sql])
    try {
      const endMs = performance.now() + 5 * LOOKS_MS
      for (let round = 0; performance.now() < endMs && faults.length === 0; round++) {
        await Promise.all(Array.from({ length: 400 }, (_, index) => spend(ledger, `${round}-${index}`)))
      }
      expect(faults).toEqual([])
    } finally {
      prompts.kill()
      await prompts.exited
      await ledger.close()
    }
    await (await openTestLedger({ path, bootId: 'boot-2' })).ledger.close()
  },
)

test('what is in doubt at the end is left as it is', async () => {
  const { ledger, path } = await openWithKey()
  await spendToCheckpoint({ ledger, path }, 'a')
  await Bun.sleep(LOOKS_MS)
  run('dd', 'if=/dev/urandom', `of=${path}`, 'bs=4096', 'seek=5', 'count=1', 'conv=notrunc')
  const [file, log] = [bytesOf(path), bytesOf(`${path}-wal`)]
  await ledger.close()
  expect(bytesOf(path).equals(file)).toBeTrue()
  expect(bytesOf(`${path}-wal`).equals(log)).toBeTrue()
})

test('a link that is pointed elsewhere is noticed, pointed back it is served again, and a start at the other place asks for all that was here', async () => {
  const folder = makeFolder()
  const [here, there, link] = [join(folder, 'here'), join(folder, 'there'), join(folder, 'link')]
  for (const made of [here, there]) mkdirSync(made)
  symlinkSync(here, link)
  const point = (target: string): void => {
    symlinkSync(target, `${link}.new`)
    renameSync(`${link}.new`, link)
  }
  const path = join(link, 'ledger.db')
  const { ledger, faults } = await openWithKey(path)
  prompt(path, `VACUUM INTO '${join(there, 'ledger.db')}'`)
  await spend(ledger, 'second')
  point(there)
  await untilRefused(ledger)
  expect(faults.at(-1)).toContain(`${path} leads to another file than the one that is open: no new requests; `)
  await expect(openTestLedger({ path, bootId: 'boot-2' })).rejects.toThrow('is an older copy of the ledger that was here')
  point(here)
  await until(() => ledger.isWritable(), 'it is served again')
  await spend(ledger, 'third')
  await ledger.close()
  await (await openTestLedger({ path, bootId: 'boot-3' })).ledger.close()
})

test('what another ledger’s mark says stays where a link leads to that one', async () => {
  const folder = makeFolder()
  const [own, other, link] = [join(folder, 'own.db'), join(folder, 'other.db'), join(folder, 'link.db')]
  await (await openTestLedger({ path: other })).ledger.close()
  const mark = readWatermark(other)
  await (await openTestLedger({ path: own })).ledger.close()
  symlinkSync(own, link)
  const { ledger } = await openTestLedger({ path: link, bootId: 'boot-2' })
  symlinkSync(other, `${link}.new`)
  renameSync(`${link}.new`, link)
  await untilRefused(ledger)
  await ledger.close()
  expect(readWatermark(other)).toEqual(mark)
})

test('a start refuses a file that its log does not belong to, and mixes nothing', async () => {
  const { ledger, path } = await openWithKey()
  copy(path, `${path}.old`)
  await spendToCheckpoint({ ledger, path }, 'a')
  // As after kill -9: all files as they stand.
  const left = join(makeFolder(), 'ledger.db')
  for (const suffix of ['', '-wal', '.mark']) copy(path + suffix, left + suffix)
  await ledger.close()
  copy(left, `${left}.right`)
  copy(`${path}.old`, left)
  const bytes = bytesOf(left)
  await expect(openTestLedger({ path: left, bootId: 'boot-2' })).rejects.toThrow(
    /ledger.db is another file than the one that .*ledger.db-wal belongs to: it was overwritten; .*restore FILE/,
  )
  expect(bytesOf(left).equals(bytes)).toBeTrue()
  copy(`${left}.right`, left)
  await (await openTestLedger({ path: left, bootId: 'boot-3' })).ledger.close()
})

test('only the page with the row says a generation', async () => {
  const { ledger, path } = await openWithKey()
  await spendToCheckpoint({ ledger, path }, 'a')
  await ledger.close()
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  const row = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'generation'").get()
  db.close()
  const file = readFileSync(path)
  const pages = Array.from({ length: file.length / 4_096 }, (_, index) => file.subarray(index * 4_096, (index + 1) * 4_096))
  expect(pages.map(generationIn)).toEqual(pages.map((_, index) => (index + 1 === GENERATION_PAGE ? row?.value : undefined)))
  for (const bytes of [Buffer.alloc(0), ...[0, 0xff, 0x0a].map((byte) => Buffer.alloc(4_096, byte))])
    expect(generationIn(bytes)).toBeUndefined()
})

/** A watch over a file that was opened and closed, whose looks and checkpoints the test makes itself. */
function watchAt(path: string) {
  const handle = openSync(path, 'r+')
  const db = new Database(path)
  const generations = new Generations(db)
  const losses: (Loss | undefined)[] = []
  const advanceGeneration = (): void => {
    generations.write()
    generations.advanced()
  }
  const progress = new ProgressOfLog(db)
  const store = {
    position: { ledger: 'node_1', rows: 1 },
    get progress() {
      return progress.read()
    },
    generations,
    advanceGeneration,
    keepInFile: () => undefined,
    moveLog: () => undefined,
    refuse: () => undefined,
  }
  const file = { id: fileIdAt(path) ?? '', handle }
  const watch = new FileWatch({ named: path, path, file }, store, (loss) => losses.push(loss))
  // Twice, so that the file is known to stand still.
  watch.look()
  watch.look()
  const checkpoint = (): void => {
    db.run('PRAGMA wal_checkpoint(PASSIVE)')
  }
  const close = (): void => {
    watch.close()
    db.close()
    closeSync(handle)
  }
  return { watch, losses, checkpoint, close, handle }
}

describe('while a checkpoint of ours runs', () => {
  let path: string
  beforeEach(async () => {
    const { ledger, path: made } = await openWithKey()
    path = made
    await ledger.close()
  })

  test('a checkpoint that is asked for again and again judges nothing: what is suspect is lost at looks in turn alone', () => {
    const { watch, losses, close } = watchAt(path)
    run('touch', path)
    for (let asked = 0; asked < 10; asked++) expect(watch.beginCheckpoint()).toBeFalse()
    expect(losses).toEqual([])
    for (let looks = 0; looks < 4; looks++) watch.look()
    expect(losses.map((loss) => loss?.isOverwritten)).toEqual([true])
    close()
  })

  test('whatever it has written so far is right, and what comes behind its end is another program’s', () => {
    const { watch, losses, checkpoint, close, handle } = watchAt(path)
    expect(watch.beginCheckpoint()).toBeTrue()
    expect(watch.beginCheckpoint()).toBeFalse()
    // Pages come in their order, and each look may find some of them.
    for (const page of [5, 6]) {
      const bytes = Buffer.alloc(4_096)
      readSync(handle, bytes, 0, 4_096, page * 4_096)
      writeSync(handle, bytes, 0, 4_096, page * 4_096)
      watch.look()
    }
    checkpoint()
    watch.endCheckpoint()
    watch.look()
    expect(losses).toEqual([])
    run('touch', path)
    watch.look()
    watch.look()
    // A checkpoint of another program leaves two looks without an explanation.
    expect(losses).toEqual([])
    watch.look()
    expect(losses).toEqual([{ problem: expect.stringContaining('it was overwritten'), isOverwritten: true }])
    close()
  })

  test.each(['before', 'after'])('a file that is smaller, or of an older generation, is another one, %s it wrote the row', (when) => {
    copy(path, `${path}.old`)
    for (const overwrite of [() => run('truncate', '-s', '-4096', path), () => copy(`${path}.old`, path)]) {
      copy(`${path}.old`, path)
      const { watch, losses, checkpoint, close } = watchAt(path)
      // The first checkpoint brings a generation that the copy does not have.
      watch.beginCheckpoint()
      checkpoint()
      watch.endCheckpoint()
      watch.beginCheckpoint()
      if (when === 'after') checkpoint()
      watch.look()
      expect(losses).toEqual([])
      overwrite()
      watch.endCheckpoint()
      expect(losses).toMatchObject([{ isOverwritten: true }])
      close()
    }
  })
})
