/** A disk without space: nothing is half written, what cannot be written is said to be unavailable in bounded time, and the space's return is noticed. */

import { afterAll, expect, test } from 'bun:test'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { picos, ZERO } from '../../src/core/money.ts'
import type { Answer, Task } from '../../src/ledger/task.ts'
import type { Committed } from '../../src/ledger/thread-messages.ts'
import { CommitLoop } from '../../src/ledger/writing/commit-loop.ts'
import { Spill } from '../../src/ledger/writing/spill.ts'
import {
  type Ask,
  addKey,
  balanceAt,
  createKey,
  holdRequest,
  holdTask,
  makeFolder,
  openMachine,
  openTestLedger,
  operateTask,
  settlement,
  settleTask,
  sha256,
  usd,
} from '../support/ledger.ts'
import { startWatch, until } from '../support/until.ts'

const RETRY_MS = 200

/** Feeds a commit loop and waits for the answers of what it was fed; a settle is held first. */
function loopOver(machine: ReturnType<typeof openMachine>, retryMs = RETRY_MS) {
  const told: Committed[] = []
  const waiting = new Map<number, (answer: Answer) => void>()
  const spill = Spill.open('/nowhere/ledger.db', machine.ledger, 0)
  if ('problem' in spill) throw new Error(spill.message)
  const loop = new CommitLoop(
    machine.ledger,
    spill,
    (committed) => {
      told.push(committed)
      for (const { number, answer } of committed.answers) waiting.get(number)?.(answer)
      for (const number of committed.settled) waiting.get(number)?.('settled')
    },
    retryMs,
  )
  let last = 0
  let pricesTold = 0
  const taskOf = (asked: Ask | Task): Task => {
    if (asked.kind !== 'settle' || !('settlement' in asked)) return asked as Task
    machine.ask(holdTask(asked.settlement.requestId, 'key_a', usd('0.001')))
    const debit = machine.wallets.settle(asked.settlement)
    if (debit === undefined) throw new Error('not held')
    return { kind: 'settle', debit }
  }
  const ask = (...asked: readonly (Ask | Task)[]): Promise<readonly Answer[]> => {
    const tasks = asked.map(taskOf)
    const numbered = tasks.map((task) => ({ number: ++last, task }))
    const answers = numbered.map(({ number }) => new Promise<Answer>((resolve) => waiting.set(number, resolve)))
    loop.add(numbered, machine.wallets.prices.slice(pricesTold))
    pricesTold = machine.wallets.prices.length
    return Promise.all(answers)
  }
  return { ask, told, close: () => loop.close() }
}

const limitPages = (machine: ReturnType<typeof openMachine>, pages: number) => machine.db.run(`PRAGMA max_page_count = ${pages}`)

test('without space writes are unavailable within the bound, reads go on, and what fails takes nothing with it', async () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  const [[pages]] = machine.db.query('PRAGMA page_count').values() as [[bigint]]
  const { ask, told, close } = loopOver(machine)
  limitPages(machine, Number(pages))
  const ids = Array.from({ length: 200 }, (_, n) => `req_${n}`)
  const began = performance.now()
  using watch = startWatch()
  const answers = ask(...ids.map((id) => settleTask(id, { input: 1 })))
  const read = await ask({ kind: 'findKey', secretHash: sha256('key_a') })
  expect(read).toMatchObject([{ state: { balancePicos: usd('10'), spentPicos: ZERO } }])
  expect(new Set(await answers)).toEqual(new Set(['unavailable']))
  expect(performance.now() - began).toBeGreaterThan(RETRY_MS - 50)
  expect(watch.ms()).toBeLessThan(RETRY_MS * 5)
  expect(told.at(-1)).toMatchObject({ isWritable: false, faults: [{ problem: expect.stringContaining('SQLITE_FULL') }] })
  expect(machine.differences()).toEqual([])
  expect(machine.db.query('SELECT count(*) AS n FROM receipts').get()).toEqual({ n: 0n })

  limitPages(machine, 1_000_000)
  expect(new Set(await ask(...ids.map((id) => settleTask(`again_${id}`, { input: 1 }))))).toEqual(new Set(['settled']))
  expect(told.at(-1)?.isWritable).toBe(true)
  expect(machine.differences()).toEqual([])
  close()
})

test('reads that go on meanwhile do not keep writes waiting past the bound', async () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  const [[pages]] = machine.db.query('PRAGMA page_count').values() as [[bigint]]
  const { ask, close } = loopOver(machine)
  limitPages(machine, Number(pages))
  const reading = setInterval(() => void ask({ kind: 'findKey', secretHash: sha256('key_a') }), RETRY_MS / 8)
  const writes = ask(...Array.from({ length: 200 }, (_, n) => settleTask(`req_${n}`, { input: 1 })))
  const late = Bun.sleep(60_000).then(() => ['still waiting'] as const)
  expect(new Set<string>((await Promise.race([writes, late])) as readonly string[])).toEqual(new Set(['unavailable']))
  clearInterval(reading)
  close()
})

test('a commit that fails for less than the bound is never noticed', async () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  const [[pages]] = machine.db.query('PRAGMA page_count').values() as [[bigint]]
  // No machine stands still for so long.
  const { ask, told, close } = loopOver(machine, 60_000)
  limitPages(machine, Number(pages))
  const answers = ask(...Array.from({ length: 200 }, (_, n) => settleTask(`req_${n}`, { input: 1 })))
  setTimeout(() => limitPages(machine, 1_000_000), RETRY_MS / 3)
  expect(new Set(await answers)).toEqual(new Set(['settled']))
  expect(told.map(({ isWritable }) => isWritable)).not.toContain(false)
  close()
})

test('a wallet that is read behind writes has them in it, also where their first commit failed', async () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  const [[pages]] = machine.db.query('PRAGMA page_count').values() as [[bigint]]
  // Long beside the time for which there is no space first; at the end it is waited out once.
  const { ask, close } = loopOver(machine, 10 * RETRY_MS)
  limitPages(machine, Number(pages))
  const settles = Array.from({ length: 200 }, (_, n) => settleTask(`req_${n}`, { input: 1 }))
  const answers = ask(...settles, { kind: 'keyStates', keyIds: ['key_a'] })
  setTimeout(() => limitPages(machine, 1_000_000), RETRY_MS / 3)
  expect((await answers).at(-1)).toMatchObject([{ spentPicos: 200n * 3_000_000n }])
  // Where they fail for good it is read all the same.
  const [[now]] = machine.db.query('PRAGMA page_count').values() as [[bigint]]
  limitPages(machine, Number(now))
  const late = Array.from({ length: 500 }, (_, n) => settleTask(`late_${n}`, { input: 1 }))
  const refused = await ask(...late, { kind: 'keyStates', keyIds: ['key_a'] })
  expect(refused[0]).toBe('unavailable')
  expect(refused.at(-1)).toMatchObject([{ spentPicos: 200n * 3_000_000n }])
  close()
})

test('a full file system stops the spending and nothing else; the ledger comes back with the space', async () => {
  // Where nothing can be mounted, the two tests above stand for this one: they meet the same SQLITE_FULL.
  const disk = smallDisk()
  if (disk === undefined) return
  const path = join(disk.folder, 'ledger.db')
  const { ledger, faults } = await openTestLedger({ path, retryMs: RETRY_MS })
  const secret = await addKey(ledger, 'key_a', { balanceUsd: '10' })
  expect(secret).toStartWith('sk-')
  expect(await ledger.hold(holdRequest('before', 'key_a', usd('0.001')))).toBe('held')
  disk.fill()
  const settled: string[] = []
  let refused: string | undefined
  for (let n = 0; refused === undefined && n < 2_000; n++) {
    const requestId = `req_${n}`
    const answer = await ledger.hold(holdRequest(requestId, 'key_a', usd('0.001')))
    if (answer !== 'held' || (await ledger.settle(settlement(requestId, { input: 1 }))) !== 'settled') refused = requestId
    else settled.push(requestId)
  }
  expect(refused).toBeDefined()
  expect(ledger.isWritable()).toBe(false)
  expect(faults.join()).toMatch(/SQLITE_FULL|SQLITE_IOERR/)
  expect(await ledger.settle(settlement('before', { input: 1 }))).toBe('unavailable')
  const leftPicos = usd('10') - BigInt(settled.length) * 3_000_000n
  expect(ledger.keyBalanceOf('key_a')?.account.balancePicos).toBe(picos(leftPicos))
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: leftPicos })

  disk.free()
  await until(() => ledger.isWritable())
  expect(await ledger.hold(holdRequest('after', 'key_a', usd('0.001')))).toBe('held')
  expect(await ledger.settle(settlement('after', { input: 1 }))).toBe('settled')
  await ledger.close()
  const machine = openMachine(join(disk.folder, 'ledger.db'))
  expect(machine.differences()).toEqual([])
  expect(machine.db.query('SELECT count(*) AS n FROM receipts').get()).toEqual({ n: BigInt(settled.length + 1) })
  expect(machine.db.query('SELECT count(*) AS n FROM marks').get()).toEqual({ n: 0n })
  machine.close()
}, 180_000)

test('where there is no room for a spill the operator is told, and what was taken of the room is given back', async () => {
  const disk = smallDisk()
  if (disk === undefined) return
  const { ledger, faults } = await openTestLedger({ path: join(disk.folder, 'ledger.db'), retryMs: RETRY_MS, spillBytes: 8 * 1024 * 1024 })
  await until(() => faults.length > 0)
  expect(faults).toEqual([expect.stringContaining('there is no room for a spill: while the disk is full, answers end in an error (ENOSPC')])
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  expect(await ledger.hold(holdRequest('req_1', 'key_a', usd('0.001')))).toBe('held')
  expect(await ledger.settle(settlement('req_1', { input: 1 }))).toBe('settled')
  expect(faults).toHaveLength(1)
  await ledger.close()
})

/** A file system of a megabyte, where this process may mount one. */
function smallDisk() {
  const folder = makeFolder()
  if (process.getuid?.() !== 0 || Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).exitCode !== 0) return undefined
  afterAll(() => Bun.spawnSync(['umount', '-l', folder]))
  const filler = join(folder, 'filler')
  return {
    folder,
    fill: () => {
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(filler, new Uint8Array(Math.max(0, bavail * bsize - 64 * 1024)))
    },
    free: () => rmSync(filler),
  }
}
