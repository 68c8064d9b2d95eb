/** A file whose last run died: checked behind the start, once, and not forgotten until it is. Rules: ledger.md "A file left open". */

import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { addKey, balanceAt, createKey, makePath, openMachine, openTestLedger, operateTask } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'

/** A ledger that was closed, with so many keys that most of its pages are none that a start reads. */
function makeLedger(): string {
  const path = makePath()
  const machine = openMachine(path)
  machine.askAll(...Array.from({ length: 400 }, (_, index) => operateTask(createKey(`key_${index}`, { name: `name ${index}` }))))
  machine.close()
  return path
}

/** As `kill -9` leaves it: the log is there. What was in it is in the file by then. */
const leaveOpen = (path: string): void => writeFileSync(`${path}-wal`, '')

/** A page behind the middle of the file: content, and not the beginning of a table. */
function damage(path: string): void {
  const bytes = readFileSync(path)
  const middle = Math.floor((bytes.byteLength / 4_096) * 0.65) * 4_096
  bytes.fill(0xa5, middle, middle + 4_096)
  writeFileSync(path, bytes)
}

/** A ledger and what its threads say and are told; `checked` resolves with the answer of the check. */
async function openAndListen(path: string, checksFile = true) {
  const checked = Promise.withResolvers<unknown>()
  const kinds: string[] = []
  const threads: Worker[] = []
  const opened = await openTestLedger({
    path,
    checksFile,
    startThread: () => {
      const worker = startThread()
      worker.addEventListener('message', ({ data }: MessageEvent<{ kind: string; damage?: string }>) => {
        kinds.push(data.kind)
        if (data.kind === 'checked') setTimeout(() => checked.resolve(data.damage))
      })
      threads.push(worker)
      return worker
    },
  })
  return { ...opened, kinds, threads, checked: checked.promise }
}

test('after a clean end nothing is checked, not even a file that is damaged where a start does not look', async () => {
  const path = makeLedger()
  damage(path)
  const { ledger, kinds, threads, faults } = await openAndListen(path)
  expect([ledger.isSound(), threads.length]).toEqual([true, 1])
  await ledger.close()
  expect([kinds, faults]).toEqual([['opened', 'closed'], []])
  expect(existsSync(`${path}-wal`)).toBe(false)
})

test('after an unclean end the whole file is checked behind the start; when it is sound, the end is clean again', async () => {
  const path = makeLedger()
  leaveOpen(path)
  const { ledger, checked, faults } = await openAndListen(path)
  expect(await checked).toBeUndefined()
  expect([ledger.isSound(), ledger.isWritable(), faults]).toEqual([true, true, []])
  await ledger.close()
  expect(existsSync(`${path}-wal`)).toBe(false)
})

test('damage is named, the ledger goes on with what it can read, and the next start finds it again', async () => {
  const path = makeLedger()
  damage(path)
  leaveOpen(path)
  for (const run of [1, 2]) {
    const { ledger, checked, faults } = await openAndListen(path)
    expect(await checked, `run ${run}`).toEqual(expect.any(String))
    expect(ledger.isSound()).toBe(false)
    expect(faults).toEqual([expect.stringMatching(/ledger\.db is damaged \(.+\); restore a backup$/)])
    expect(ledger.isWritable()).toBe(true)
    await ledger.close()
  }
})

test('a command checks nothing and hides nothing: the gateway that starts after it still checks', async () => {
  const path = makeLedger()
  leaveOpen(path)
  const command = await openAndListen(path, false)
  await addKey(command.ledger, 'key_new')
  await command.ledger.close()
  expect(command.kinds).not.toContain('checked')
  expect(existsSync(`${path}-wal`)).toBe(true)
  const { ledger, checked } = await openAndListen(path)
  expect(await checked).toBeUndefined()
  expect(balanceAt(path, 'key_new')).toBeDefined()
  await ledger.close()
  expect(existsSync(`${path}-wal`)).toBe(false)
})

test('an end before the check’s leaves it to the next start', async () => {
  const path = makeLedger()
  leaveOpen(path)
  const first = await openAndListen(path)
  await first.ledger.close()
  expect(existsSync(`${path}-wal`)).toBe(!first.kinds.includes('checked'))
  const again = await openAndListen(path)
  expect(await again.checked).toBeUndefined()
  await again.ledger.close()
})
