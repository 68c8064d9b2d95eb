/** The spill: what could not be written to the ledger is kept whole, replayed once, by whichever process comes next, and never doubled. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { appendFileSync, copyFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { picos } from '../../src/core/money.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import type { Task } from '../../src/ledger/task.ts'
import type { Committed } from '../../src/ledger/thread-messages.ts'
import { CommitLoop } from '../../src/ledger/writing/commit-loop.ts'
import { Spill, spillPathOf } from '../../src/ledger/writing/spill.ts'
import { SpillFile } from '../../src/ledger/writing/spill-file.ts'
import {
  balanceAt,
  createKey,
  holdRequest,
  holdTask,
  makeFolder,
  makePath,
  NOW,
  openMachine,
  openTestLedger,
  operateTask,
  settlement,
  sha256,
  usd,
} from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

const SPILL_BYTES = 64 * 1024
const COST = 3_000_000n

function machineWithSpill(path = makePath()) {
  const machine = openMachine(path)
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  const spill = Spill.open(path, machine.ledger, SPILL_BYTES)
  if ('problem' in spill) throw new Error(spill.message)
  spill.reserve(SPILL_BYTES)
  const told: Committed[] = []
  const loop = new CommitLoop(machine.ledger, spill, (committed) => told.push(committed), 50)
  const settle = (requestId: string, more: Parameters<typeof settlement>[2] = {}): Task => {
    machine.ask(holdTask(requestId, 'key_a', usd('0.001')))
    const debit = machine.wallets.settle(
      settlement(requestId, { input: 1 }, { upstream: { name: 'main', model: 'vendor', messageId: 'msg' }, ...more }),
    )
    if (debit === undefined) throw new Error('not held')
    return { kind: 'settle', debit }
  }
  const fail = (isFailing: boolean): void => {
    const [[pages]] = machine.db.query('PRAGMA page_count').values() as [[bigint]]
    machine.db.run(`PRAGMA max_page_count = ${isFailing ? pages : 1_000_000n}`)
  }
  return { machine, spill, loop, told, settle, fail, path }
}

const answersIn = (told: readonly Committed[]): unknown[] => told.flatMap(({ answers }) => answers.map(({ answer }) => answer))
const receiptsIn = (db: Database): number => Number(db.query<{ n: bigint | number }, []>('SELECT count(*) AS n FROM receipts').get()?.n)

async function fillSpill(count: number, path?: string) {
  const place = machineWithSpill(path)
  const { loop, settle, fail, machine, told } = place
  const tasks = Array.from({ length: count }, (_, n) => ({ number: n + 1, task: settle(`req_${n}`) }))
  fail(true)
  loop.add([...tasks, { number: count + 1, task: { kind: 'dropCheckpoint', requestId: 'req_voided' } }], machine.wallets.prices)
  await until(() => answersIn(told).length >= count + 1)
  return place
}

test('what was acknowledged for a relay while the ledger could not be written is charged, although the relay is gone by the time that it can', async () => {
  const { machine, loop, told, settle, path } = machineWithSpill()
  const relays = machine.ledger.relays
  const boot = relays?.join('relay-1', NOW, { accounts: [], keys: [] })
  const task = settle('req_1')
  if (task.kind !== 'settle' || boot === undefined) throw new Error('no relay')
  machine.db.run('PRAGMA query_only = 1')
  loop.add([{ number: 1, task: { ...task, debit: { ...task.debit, boot } }, from: boot }], machine.wallets.prices)
  await until(() => answersIn(told).length === 1, 'it is answered')
  expect(answersIn(told)).toEqual(['spilled'])
  relays?.leave(boot)
  machine.db.run('PRAGMA query_only = 0')
  await until(() => told.at(-1)?.isWritable === true, 'the storage works again')
  expect(told.flatMap(({ replayed = [] }) => replayed)).toEqual(['req_1'])
  expect(balanceAt(path, 'key_a')?.availablePicos).toBe(picos(usd('10') - COST))
  expect(told.flatMap(({ faults }) => faults).filter(({ kind }) => kind === 'node')).toEqual([])
})

const useOf = (header: string) => ({ headerHash: sha256(header), bodyHash: sha256('body'), expiresAt: NOW + 1_000_000 })
const findUse = (header: string): Task => ({ kind: 'findIdempotency', keyId: 'key_a', headerHash: sha256(header), now: NOW })

/** The first of many settles, which do not all fit into the ledger, uses an Idempotency-Key up. `ask`: the answers to tasks that come together. */
function fillWithUse() {
  const place = machineWithSpill()
  const { machine, loop, told, settle, fail } = place
  let number = 0
  const ask = async (...tasks: readonly Task[]): Promise<readonly unknown[]> => {
    const numbered = tasks.map((task) => ({ number: ++number, task }))
    const answerTo = (asked: number) => told.flatMap(({ answers }) => answers).find((answered) => answered.number === asked)
    loop.add(numbered, machine.wallets.prices)
    await until(() => numbered.every((one) => answerTo(one.number) !== undefined), 'all are answered')
    return numbered.map((one) => answerTo(one.number)?.answer)
  }
  const settles = Array.from({ length: 200 }, (_, n) => settle(`req_${n}`, n === 0 ? { idempotency: useOf('again') } : {}))
  fail(true)
  return { ...place, ask, settles }
}

test('an Idempotency-Key is not called free while the settle waits that uses it up', async () => {
  const { loop, ask, settles } = fillWithUse()
  expect(await ask(...settles, findUse('again'))).toEqual([...settles.map(() => 'spilled'), 'unavailable'])
  loop.close()
})

test('while the spill keeps a settle its Idempotency-Key is not called free, and others are; once the ledger has it, it is used up', async () => {
  const { told, loop, fail, ask, settles } = fillWithUse()
  await ask(...settles)
  expect(await ask(findUse('again'), findUse('other'))).toEqual(['unavailable', undefined])
  fail(false)
  await until(() => told.at(-1)?.isWritable === true, 'the storage works again')
  expect(await ask(findUse('again'), findUse('other'))).toMatchObject([{ requestId: 'req_0' }, undefined])
  loop.close()
})

test('an Idempotency-Key is not called free, either, whose settle comes when the storage fails already', async () => {
  const { loop, ask, settles, settle } = fillWithUse()
  await ask(...settles)
  const [settled, found] = await Promise.all([ask(settle('req_late', { idempotency: useOf('late') })), ask(findUse('late'))])
  expect([...settled, ...found]).toEqual(['spilled', 'unavailable'])
  loop.close()
})

test('what cannot be committed is kept and acknowledged, and is in the ledger once when the storage works again', async () => {
  const { machine, told, spill, fail, loop } = await fillSpill(300)
  expect(answersIn(told)).toEqual([...Array.from({ length: 300 }, () => 'spilled'), 'unavailable'])
  expect(told.at(-1)).toMatchObject({ isWritable: false, faults: [{ problem: expect.stringContaining('SQLITE_FULL') }] })
  expect(receiptsIn(machine.db)).toBe(0)
  expect(told.at(-1)?.spillBytes).toBeGreaterThan(300 * 100)
  expect(told.map(({ commitMs }) => commitMs)).toEqual(told.map(() => undefined))
  fail(false)
  await until(() => told.at(-1)?.isWritable === true)
  expect(told.at(-1)?.spillBytes).toBe(0)
  expect(told.flatMap(({ replayed = [] }) => replayed)).toHaveLength(300)
  expect(spill.isEmpty).toBeTrue()
  expect(machine.differences()).toEqual([])
  expect(machine.db.query('SELECT spent_picos FROM accounts').get()).toEqual({ spent_picos: 300n * COST })
  loop.close()
})

test('a write that comes behind a full spill is committed behind it, not before', async () => {
  const { machine, told, fail, loop, settle } = await fillSpill(200)
  fail(false)
  loop.add([{ number: 900, task: settle('req_late') }])
  await until(() => told.some(({ settled }) => settled.includes(900)))
  const replayedAt = told.findIndex(({ replayed = [] }) => replayed.length > 0)
  expect(replayedAt).toBeGreaterThan(-1)
  expect(replayedAt).toBeLessThan(told.findIndex(({ settled }) => settled.includes(900)))
  expect(receiptsIn(machine.db)).toBe(201)
  expect(told.at(-1)?.commitMs).toBeGreaterThan(0)
  loop.add([{ number: 901, task: { kind: 'keyStates', keyIds: ['key_a'] } }])
  await until(() => told.some(({ answers }) => answers.some(({ number }) => number === 901)))
  expect(told.at(-1)?.commitMs).toBeUndefined()
  loop.close()
})

/** The files as a process leaves them that is killed now. */
function killedCopy(path: string): string {
  const copy = makePath()
  for (const suffix of ['', '-wal', '.spill']) copyFileSync(path + suffix, copy + suffix)
  return copy
}

test('a process that dies leaves its spill to the next, also when that one dies in the middle of the replay', async () => {
  const { path, loop } = await fillSpill(300)
  const copy = killedCopy(path)
  loop.close()
  const kept = readFileSync(spillPathOf(copy))
  for (let round = 0; round < 3; round++) {
    const opened = await openTestLedger({ path: copy, bootId: `boot_${round}` })
    expect(opened).toMatchObject({ replayed: 300, recovered: 0, faults: [] })
    expect(balanceAt(copy, 'key_a')).toMatchObject({ availablePicos: usd('10') - 300n * COST })
    await opened.ledger.close()
    // As if the replay were committed, and its end in the spill not on disk.
    writeFileSync(spillPathOf(copy), kept)
  }
  const again = openMachine(copy, 'boot-9')
  expect([receiptsIn(again.db), again.differences()]).toEqual([300, []])
  again.close()
})

test('how far a replay has come is told while the ledger is opened, a step for each thing that is kept', async () => {
  const { path, loop } = await fillSpill(300)
  const copy = killedCopy(path)
  loop.close()
  const beside = killedCopy(copy)
  const steps: string[] = []
  const { ledger } = await openTestLedger({ path: copy, bootId: 'next', onStep: (step) => void steps.push(step) })
  expect(steps[0]).toBe('what a spill has kept')
  await ledger.close()
  const machine = openMachine(beside, 'next')
  const spill = Spill.open(beside, machine.ledger, 0)
  let told = 0
  if ('problem' in spill) throw new Error(spill.message)
  spill.replay(() => void told++)
  expect(told).toBe(301)
  machine.close()
})

test('a spill of another ledger is refused, and not given away', async () => {
  const { path, loop } = await fillSpill(200)
  const copy = killedCopy(path)
  loop.close()
  const other = makePath()
  openMachine(other).close()
  copyFileSync(spillPathOf(copy), spillPathOf(other))
  const opened = await openLedger({ path: other, create: false, bootId: 'next', startThread, now: () => NOW })
  expect(opened).toEqual({ problem: 'unwritable', message: expect.stringContaining('charges of another ledger') })
})

const frame = (text: string): Uint8Array => new TextEncoder().encode(text)
const textsIn = (path: string): readonly string[] => {
  const file = SpillFile.open(path, 'ledger', false)
  if (file === undefined || file === 'foreign') throw new Error(String(file))
  const texts = file.frames.map((bytes) => new TextDecoder().decode(bytes))
  file.close()
  return texts
}

function makeSpillFile(...texts: readonly string[]) {
  const path = join(makeFolder(), 'spill')
  const file = SpillFile.open(path, 'ledger', true)
  if (file === undefined || file === 'foreign') throw new Error(String(file))
  for (const text of texts) expect(file.append(frame(text))).toBeTrue()
  return { path, file }
}

test('a frame that is torn or changed ends what is read, and takes nothing before it along', () => {
  const { path, file } = makeSpillFile('one', 'two', 'three')
  file.close()
  const bytes = readFileSync(path)
  expect(textsIn(path)).toEqual(['one', 'two', 'three'])
  for (let cut = bytes.length - 1; cut > bytes.length - 13; cut--) {
    writeFileSync(path, bytes.subarray(0, cut))
    expect(textsIn(path)).toEqual(['one', 'two'])
  }
  const changed = Buffer.from(bytes)
  changed[bytes.length - 1] = 0x20
  writeFileSync(path, changed)
  expect(textsIn(path)).toEqual(['one', 'two'])
  appendFileSync(path, 'rubbish')
  expect(textsIn(path)).toEqual(['one', 'two'])
})

test('a frame that was written whole but not flushed is not there, and the next one takes its place', () => {
  const path = join(makeFolder(), 'spill')
  let isFailing = false
  const flush = (): void => {
    if (!isFailing) return
    isFailing = false
    throw new Error('EIO')
  }
  const file = SpillFile.open(path, 'ledger', true, flush)
  if (file === undefined || file === 'foreign') throw new Error('not opened')
  expect(file.append(frame('one'))).toBeTrue()
  isFailing = true
  expect(file.append(frame('two'))).toBeFalse()
  expect(textsIn(path)).toEqual(['one'])
  expect(file.append(frame('three'))).toBeTrue()
  expect(textsIn(path)).toEqual(['one', 'three'])
  file.close()
})

test('what was cleared is never read again, also behind shorter frames that came later', () => {
  const { path, file } = makeSpillFile('one', 'two', 'three')
  file.clear()
  expect(textsIn(path)).toEqual([])
  expect(file.append(frame('one'))).toBeTrue()
  expect(textsIn(path)).toEqual(['one'])
  file.close()
})

test('room is taken once and appended into; a file that is cut off keeps nothing', () => {
  const { path, file } = makeSpillFile()
  file.reserve(SPILL_BYTES)
  expect(statSync(path).size).toBe(SPILL_BYTES)
  expect(file.append(frame('one'))).toBeTrue()
  expect(statSync(path).size).toBe(SPILL_BYTES)
  file.close()
  truncateSync(path, 100)
  expect(textsIn(path)).toEqual([])
})

test('a process that keeps nothing makes no spill', async () => {
  const { ledger, path } = await openTestLedger()
  await ledger.close()
  expect(existsSync(spillPathOf(path))).toBeFalse()
})

test('a receipt that another process wrote meanwhile is corrected by the difference, said aloud, and memory follows', async () => {
  const { ledger, path, faults } = await openTestLedger({ checkpointAfterMs: 10 })
  await ledger.operate(createKey('key_a', { balanceUsd: '10' }))
  expect(await ledger.findKey(new Uint8Array(32))).toBeUndefined()
  expect(await ledger.hold(holdRequest('req_1', 'key_a', usd('0.1')))).toBe('held')
  await until(() => new Database(path, { readonly: true }).query('SELECT 1 FROM marks').all().length > 0)
  // What a second writer does that takes the first for dead.
  const thief = openMachine(path, 'thief')
  expect(thief.ledger.recover(NOW)).toBe(1)
  thief.db.close()
  expect(await ledger.settle(settlement('req_1', { input: 1_000 }))).toBe('settled')
  expect(faults.join()).toContain('a receipt of req_1 was there with other figures: 0 USD where 0.003 USD was settled')
  await ledger.findKey(new Uint8Array(32))
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: usd('9.997') })
  expect(ledger.keyBalanceOf('key_a')).toMatchObject({ account: { balancePicos: usd('9.997') }, spentPicos: 0n })
  await ledger.close()
  const machine = openMachine(path, 'after')
  expect(machine.differences()).toEqual([])
  expect(machine.db.query('SELECT id, kind, amount_picos FROM credits WHERE kind = ?').all('correction')).toEqual([
    { id: 'correction_req_1', kind: 'correction', amount_picos: -3_000_000_000n },
  ])
  machine.close()
})
