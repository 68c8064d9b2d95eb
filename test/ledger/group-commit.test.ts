/** The ledger behind its thread: many at once, one commit for all, and a thread that dies. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { picos, ZERO } from '../../src/core/money.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { KeyChange } from '../../src/ledger/ledger.ts'
import { openReport } from '../../src/ledger/report.ts'
import { addKey, createKey, holdRequest, makePath, NOW, openTestLedger, settlement, sha256, startThread, usd } from '../support/ledger.ts'

function differencesAt(path: string) {
  const report = openReport(path)
  if ('problem' in report) throw new Error(report.message)
  const found = report.verify()
  report.close()
  return found
}

test('a hundred parallel holds on a balance for ten are granted ten times', async () => {
  const { ledger, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => ledger.hold(holdRequest(`req_${n}`, 'key_a', usd('0.1')))))
  expect(answers.filter((answer) => answer === 'held')).toHaveLength(10)
  expect(answers.filter((answer) => answer === 'reserved')).toHaveLength(90)
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('one task that the database refuses leaves its neighbours in the same commit, and is told to the operator', async () => {
  const { ledger, faults } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  await Promise.all(['a', 'b', 'c'].map((id) => ledger.hold(holdRequest(id, 'key_a', usd('0.1')))))
  const answers = await Promise.all([
    ledger.settle(settlement('a', { input: 1 })),
    ledger.settle(settlement('b', { input: 1 }, { costPicos: ZERO })),
    ledger.settle(settlement('c', { input: 1 })),
    ledger.operate({ kind: 'topUp', topUpId: 'top_1', accountId: 'acc_a', amountPicos: usd('1'), ref: '', now: NOW }),
    ledger.balanceOf('key_a'),
  ])
  expect(answers).toEqual([
    'settled',
    'unavailable',
    'settled',
    { result: 'done' },
    { availablePicos: picos(usd('2') - 6_000_000n), lastSyncedAt: NOW + 1_000 },
  ])
  expect(faults).toEqual([expect.stringContaining('exact_price')])
  await ledger.close()
})

test('the hold of a settle that could not be written is released, uncharged', async () => {
  const { ledger, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  await ledger.hold(holdRequest('a', 'key_a', usd('5')))
  expect(await ledger.settle(settlement('a', { input: 1 }, { costPicos: ZERO }))).toBe('unavailable')
  // The release rides with the next commit.
  await ledger.void('none')
  expect(await ledger.hold(holdRequest('b', 'key_a', usd('5')))).toBe('held')
  expect(await ledger.settle(settlement('a', { input: 1 }))).toBe('already')
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('a change is told before the operator’s write resolves; a settle that uses up the limit is none', async () => {
  const { ledger } = await openTestLedger()
  const changes: KeyChange[] = []
  ledger.onKeyChange((change) => changes.push(change))
  await ledger.operate(createKey('key_a', { balanceUsd: '1', limitPicos: picos(3_000_000n) }))
  expect(changes).toEqual([{ keyId: 'key_a', stop: null }])
  await ledger.hold(holdRequest('a', 'key_a', usd('0.1')))
  await ledger.settle(settlement('a', { input: 1 }))
  expect(changes.slice(1)).toEqual([])
  await ledger.operate({ kind: 'setKeyLimit', keyId: 'key_a', limitPicos: null, now: NOW })
  await ledger.operate({ kind: 'setKeyActive', keyId: 'key_a', isActive: false, now: NOW })
  expect(changes.slice(1)).toEqual([
    { keyId: 'key_a', stop: null },
    { keyId: 'key_a', stop: 'disabled' },
  ])
  await ledger.close()
})

test('closing commits what was asked, leaves no log behind, and answers later questions with unavailable', async () => {
  const { ledger, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  const held = ledger.hold(holdRequest('a', 'key_a', usd('0.1')))
  const settled = ledger.settle(settlement('a', { input: 1 }))
  await Promise.all([ledger.close(), ledger.close()])
  expect(await held).toBe('held')
  expect(await settled).toBe('settled')
  expect(ledger.isWritable()).toBe(false)
  expect(await ledger.hold(holdRequest('b', 'key_a', usd('0.1')))).toBe('unavailable')
  expect(await ledger.operate(createKey('key_b'))).toEqual({ result: 'unavailable' })
  expect(await ledger.findKey(sha256('x'))).toBe('unavailable')
  expect(readdirSync(dirname(path)).sort()).toEqual([basename(path), `${basename(path)}.lock`])
})

test('a thread that dies is started again and asked again: every settle happens once', async () => {
  const workers: Worker[] = []
  const { ledger, path, faults } = await openTestLedger({
    startThread: () => {
      const worker = startThread()
      workers.push(worker)
      return worker
    },
  })
  await addKey(ledger, 'key_a', { balanceUsd: '10' })
  for (let round = 1; round <= 3; round++) {
    const ids = Array.from({ length: 40 }, (_, n) => `req_${round}_${n}`)
    expect(await Promise.all(ids.map((id) => ledger.hold(holdRequest(id, 'key_a', usd('0.001')))))).toEqual(ids.map(() => 'held'))
    const settles = Promise.all(ids.map((id) => ledger.settle(settlement(id, { input: 1 }))))
    // The questions are on their way, or not yet sent, when the thread goes.
    if (round > 1) await Promise.resolve()
    workers.at(-1)?.terminate()
    expect(await settles).toEqual(ids.map(() => 'settled'))
    expect(workers).toHaveLength(round + 1)
  }
  expect(await ledger.balanceOf('key_a')).toMatchObject({ availablePicos: picos(usd('10') - 120n * 3_000_000n) })
  expect(faults).toHaveLength(3)
  expect(ledger.isWritable()).toBe(true)
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('while no thread can be had everything is unavailable; the next one that opens the file serves again', async () => {
  let isBroken = false
  const workers: Worker[] = []
  const { ledger } = await openTestLedger({
    startThread: () => {
      const worker = isBroken ? new Worker('data:text/javascript,process.exit(1)') : startThread()
      workers.push(worker)
      return worker
    },
  })
  await addKey(ledger, 'key_a', { balanceUsd: '10' })
  isBroken = true
  workers[0]?.terminate()
  expect(await ledger.hold(holdRequest('a', 'key_a', usd('0.001')))).toBe('unavailable')
  expect(ledger.isWritable()).toBe(false)
  isBroken = false
  while (!ledger.isWritable()) await Bun.sleep(20)
  expect(await ledger.hold(holdRequest('a', 'key_a', usd('0.001')))).toBe('held')
  await ledger.close()
})

test('what an earlier run left in flight is settled at its last mark or released, once', async () => {
  const path = makePath()
  const first = await openTestLedger({ path, bootId: 'boot-1' })
  await addKey(first.ledger, 'key_a', { balanceUsd: '1' })
  for (const id of ['marked', 'unmarked', 'ended']) await first.ledger.hold(holdRequest(id, 'key_a', usd('0.1')))
  first.ledger.mark('marked', { ...NO_USAGE, input: 10, output: 1 })
  first.ledger.mark('marked', { ...NO_USAGE, input: 10, output: 7, serverToolUses: 1 })
  await first.ledger.settle(settlement('ended', { input: 1 }))
  await first.ledger.close()

  const second = await openTestLedger({ path, bootId: 'boot-2' })
  expect(second.recovered).toBe(2)
  const cost = 3_000_000n + 10n * 3_000_000n + 7n * 15_000_000n + 10_000_000_000n
  expect(await second.ledger.balanceOf('key_a')).toMatchObject({ availablePicos: picos(usd('1') - cost) })
  expect(await second.ledger.settle(settlement('marked', { input: 1 }))).toBe('already')
  await second.ledger.close()
  const db = new Database(path, { readonly: true })
  expect(db.query("SELECT outcome, usage_source, output_tokens FROM receipts WHERE request_id = 'marked'").get()).toEqual({
    outcome: 'recovered',
    usage_source: 'partial',
    output_tokens: 7,
  })
  db.close()
  const third = await openTestLedger({ path, bootId: 'boot-3' })
  expect(third.recovered).toBe(0)
  await third.ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('a mark whose cost no ledger can hold is released at the next start, and does not keep the others from being settled', async () => {
  const path = makePath()
  const first = await openTestLedger({ path, bootId: 'boot-1' })
  await addKey(first.ledger, 'key_a', { balanceUsd: '1' })
  for (const id of ['absurd', 'sound']) await first.ledger.hold(holdRequest(id, 'key_a', usd('0.1')))
  first.ledger.mark('absurd', { ...NO_USAGE, input: 1_000_000_000_000, output: 1_000_000_000_000 })
  first.ledger.mark('sound', { ...NO_USAGE, input: 10 })
  await first.ledger.close()

  const second = await openTestLedger({ path, bootId: 'boot-2' })
  expect(second.recovered).toBe(2)
  expect(await second.ledger.balanceOf('key_a')).toMatchObject({ availablePicos: picos(usd('1') - 10n * 3_000_000n) })
  await second.ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('a writer from outside delays the commit and loses nothing, and the gateway’s own loop never waits for it', async () => {
  const { ledger, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  const other = new Database(path)
  other.run('BEGIN IMMEDIATE')
  const held = ledger.hold(holdRequest('a', 'key_a', usd('0.1')))
  let longestMs = 0
  for (let last = performance.now(), end = last + 300; last < end; ) {
    await Bun.sleep(5)
    const now = performance.now()
    longestMs = Math.max(longestMs, now - last)
    last = now
  }
  other.run('ROLLBACK')
  other.close()
  expect(await held).toBe('held')
  expect(longestMs).toBeLessThan(200)
  await ledger.close()
})
