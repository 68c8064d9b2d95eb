/**
 * The kept history: what ended is there within seconds, from all processes; a file that is damaged, deleted or cannot be written costs a gap and nothing else.
 * Rules: pages.md "History".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HistoryRecorder } from '../../src/core/history/recorder.ts'
import { spanOf } from '../../src/core/history/series.ts'
import { HistoryFile } from '../../src/history/history-file.ts'
import type { HistoryEvent } from '../../src/history/store.ts'
import { historyPathOf, ThreadedHistory } from '../../src/history/threaded-store.ts'
import { HistoryWriting } from '../../src/history/writing.ts'
import { startHistoryThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

let folder: string
let events: HistoryEvent[]
const open: ThreadedHistory[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-history-'))
  events = []
})
afterEach(() => {
  for (const store of open.splice(0)) store.close()
  rmSync(folder, { recursive: true, force: true })
})

const NOW = Date.now()
const SPAN = spanOf(NOW - 600_000, NOW + 600_000, NOW)
const ASKED = { span: SPAN, by: 'upstream' } as const
const writer = (name: string) => ({ name, beganAt: Math.floor(NOW / 1_000) })
const path = (): string => historyPathOf(join(folder, 'ledger.db'))

function store(): ThreadedHistory {
  const made = new ThreadedHistory({ path: path(), startThread: startHistoryThread, onEvent: (event) => events.push(event) })
  open.push(made)
  return made
}

function process(boot: string) {
  const recorder = new HistoryRecorder({ boot, now: () => NOW })
  const own = store()
  return { recorder, store: own, writing: new HistoryWriting({ store: own, recorder, monotonicMs: () => performance.now(), everyMs: 20 }) }
}

const requests = async (): Promise<number | undefined> => (await store().read(ASKED))?.all.requests.reduce((sum, count) => sum + count, 0)

test('what ended is kept within moments, by the processes of a machine in one file, for its owner alone', async () => {
  const [one, two] = [process('b1'), process('b2')]
  for (const { writing } of [one, two]) writing.begin()
  for (let count = 0; count < 5; count++) for (const { recorder } of [one, two]) recorder.ended({ upstream: 'east', durationMs: 3 })
  await until(async () => (await requests()) === 10)
  one.recorder.ended({ upstream: 'west', durationMs: 3 })
  await one.writing.close()
  await two.writing.close()
  const found = await store().read(ASKED)
  expect(found?.lines.map(({ name, requests: counts }) => [name, counts.reduce((a, b) => a + b, 0)])).toEqual([
    ['east', 10],
    ['west', 1],
  ])
  expect(found?.writers.map(({ lostAfter }) => lostAfter)).toEqual([null, null])
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  expect(events).toEqual([])
})

test('a process without requests makes no file', async () => {
  const { recorder, writing } = process('b1')
  writing.begin()
  const take = spyOn(recorder, 'take')
  await until(() => take.mock.calls.length >= 3)
  await writing.close()
  expect(existsSync(path())).toBe(false)
})

test('a process that has died says from when on requests may be missing', () => {
  const file = new HistoryFile(path())
  file.write(writer('b1'), [], { now: NOW, isWhole: false })
  file.write(writer('b2'), [], { now: NOW, isWhole: true })
  const lost = (now: number) => file.read(ASKED, now).writers.map(({ writer, lostAfter }) => [writer, lostAfter !== null])
  expect(lost(NOW + 60_000)).toEqual([
    ['b1', false],
    ['b2', false],
  ])
  expect(lost(NOW + 120_000)).toEqual([
    ['b1', true],
    ['b2', false],
  ])
  file.close()
})

test('refusals and first bytes of all processes of a machine come from their hours, by way of the thread', async () => {
  const [one, two] = [process('b1'), process('b2')]
  for (const { recorder, store: own } of [one, two]) {
    recorder.ended({ model: 'm', upstream: 'east', firstByteMs: 40, durationMs: 90 })
    recorder.ended({ refusal: 'keyInvalid', durationMs: 1 })
    expect(await own.write(recorder.writer, recorder.take(), false)).toBe(true)
  }
  const hour = Math.floor(NOW / 3_600_000)
  const asked = { fromHour: hour - 1, toHour: hour, by: ['model'], step: 'hour', measure: 'refusals', only: {}, isFile: true } as const
  const read = await store().traffic(asked)
  expect(read?.found).toMatchObject({
    total: { requests: 4, refused: 2 },
    series: [
      { ids: ['(none)'], values: [null, 2] },
      { ids: ['m'], values: [null, 0] },
    ],
  })
  expect(read?.writers.map(({ writer: name }) => name)).toEqual(['b1', 'b2'])
  // Before the hour there is nothing, and a lost file is nothing too.
  for (const suffix of ['', '-wal', '-shm']) rmSync(path() + suffix, { force: true })
  expect(await store().traffic(asked)).toMatchObject({ found: { total: { requests: 0 }, groups: [], series: [] }, writers: [] })
})

test('minutes older than two days go, hours stay', () => {
  const file = new HistoryFile(path())
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => NOW - 3 * 86_400_000 })
  recorder.ended({ durationMs: 1 })
  file.write(writer('b1'), recorder.take(), { now: NOW, isWhole: false })
  file.prune(NOW)
  const at = (step: 60 | 3_600) => {
    const from = Math.floor((NOW - 4 * 86_400_000) / 3_600_000) * 3_600
    return file
      .read({ span: { from, to: from + 4 * 86_400, step, partS: 3_600 }, by: 'model' }, NOW)
      .all.requests.reduce((a, b) => a + b, 0)
  }
  expect([at(60), at(3_600)]).toEqual([0, 1])
  file.close()
})

test('a file that is none of ours is set aside, and the next one is written', async () => {
  writeFileSync(path(), 'no database at all, and longer than a header of one would be: '.repeat(20))
  const { recorder, writing } = process('b1')
  recorder.ended({ durationMs: 1 })
  writing.begin()
  await until(async () => (await requests()) === 1)
  expect(events.map(({ kind }) => kind)).toEqual(['setAside'])
  expect(readdirSync(folder).filter((name) => /history\.\d{8}T/.test(name)).length).toBe(1)
  await writing.close()
})

test('a file that was deleted under its writers is begun anew', async () => {
  const { recorder, writing } = process('b1')
  recorder.ended({ durationMs: 1 })
  writing.begin()
  await until(async () => (await requests()) === 1)
  for (const suffix of ['', '-wal', '-shm']) rmSync(path() + suffix, { force: true })
  recorder.ended({ durationMs: 1 })
  await until(() => existsSync(path()))
  // The running minute was written whole.
  await until(async () => (await requests()) === 2)
  await writing.close()
})

test('what cannot be written waits, and comes when it can', async () => {
  const { recorder, writing } = process('b1')
  const inTheWay = path()
  rmSync(folder, { recursive: true, force: true })
  recorder.ended({ durationMs: 1 })
  writing.begin()
  await until(() => events.some(({ kind }) => kind === 'failed'))
  expect(existsSync(inTheWay)).toBe(false)
  const { mkdirSync } = await import('node:fs')
  mkdirSync(folder)
  await until(async () => (await requests()) === 1)
  await writing.close()
})

test('accounts of the span before are those of the span before, and writers are those that wrote in the span', () => {
  const file = new HistoryFile(path())
  const from = SPAN.from - (SPAN.to - SPAN.from)
  const put = (boot: string, second: number, accountId: string): void => {
    const recorder = new HistoryRecorder({ boot, now: () => second * 1_000 })
    recorder.ended({ accountId, durationMs: 1 })
    file.write(recorder.writer, recorder.take(), { now: second * 1_000, isWhole: true })
  }
  put('before', from + 60, 'acc_before')
  put('now', SPAN.from + 60, 'acc_now')
  put('later', SPAN.to + 60, 'acc_later')
  const { accounts, accountsBefore, writers } = file.read(ASKED, NOW)
  expect([accounts, accountsBefore].map((rows) => rows.map(({ account }) => account))).toEqual([['acc_now'], ['acc_before']])
  expect(writers.map(({ writer: name }) => name)).toEqual(['now'])
  file.close()
})

test('a writer of whom nothing is kept any more is forgotten', () => {
  const file = new HistoryFile(path())
  file.write(writer('b1'), [], { now: NOW, isWhole: false })
  const known = (now: number): number => {
    file.prune(now)
    return file.read(ASKED, now).writers.length
  }
  expect([known(NOW + 399 * 86_400_000), known(NOW + 401 * 86_400_000)]).toEqual([1, 0])
  file.close()
})

test('a file of another version is none of ours', () => {
  new HistoryFile(path()).close()
  const db = new Database(path())
  db.run('PRAGMA user_version = 2')
  db.close()
  expect(() => new HistoryFile(path())).toThrow('it is no history of this version')
})

test('a process without news says that it lives, and one write is under way at a time', async () => {
  let nowMs = 0
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => NOW })
  const written: number[] = []
  const answers: ((isWritten: boolean) => void)[] = []
  const own = {
    write: (_writer: unknown, moments: readonly unknown[]) => {
      written.push(moments.length)
      return new Promise<boolean>((resolve) => answers.push(resolve))
    },
    read: () => Promise.resolve(undefined),
    close: () => undefined,
  }
  const take = spyOn(recorder, 'take')
  const ticks = async (count: number): Promise<void> => {
    const before = take.mock.calls.length
    await until(() => take.mock.calls.length >= before + count)
  }
  const writing = new HistoryWriting({ store: own as never, recorder, monotonicMs: () => nowMs, everyMs: 5 })
  recorder.ended({ durationMs: 1 })
  writing.begin()
  await until(() => answers.length === 1)
  // As many ticks of a timer like its own pass meanwhile.
  let ticked = 0
  const timer = setInterval(() => ticked++, 5)
  await until(() => ticked >= 10)
  clearInterval(timer)
  expect(written).toEqual([2])
  answers[0]?.(true)
  await ticks(3)
  expect(written).toEqual([2])
  nowMs = 30_001
  await until(() => answers.length === 2)
  expect(written).toEqual([2, 0])
  answers[1]?.(true)
  const closed = writing.close()
  await until(() => answers.length === 3)
  answers[2]?.(true)
  await closed
})
