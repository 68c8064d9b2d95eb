/**
 * Reads of the ledger on their own thread: they see what was committed, hold nothing open, wait in turn, and neither a thread that dies nor one that hangs takes
 * an answer along. Rules: ledger.md "Reads".
 */

import { afterAll, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { openDatabase } from '../../db/open.ts'
import { Reads } from '../../src/ledger/reading/reads.ts'
import { addKey, holdRequest, makePath, openTestLedger, RATES, settlement, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'

const opened = await openTestLedger()
const { ledger, path } = opened
await addKey(ledger, 'key_a', { balanceUsd: '25', limitPicos: usd('3') })
await addKey(ledger, 'key_b', { balanceUsd: '25' })

const faults: string[] = []
const makeReads = (more: Partial<ConstructorParameters<typeof Reads>[0]> = {}): Reads => {
  const reads = new Reads({ place: { kind: 'sqlite', path }, startThread, onFault: ({ problem }) => faults.push(problem), ...more })
  afterAll(() => reads.close())
  return reads
}
afterAll(() => ledger.close())

async function spend(
  requestId: string,
  keyId: string,
  more: Parameters<typeof settlement>[2] = {},
  modelId = 'sample-large',
): Promise<void> {
  await ledger.hold(holdRequest(requestId, keyId, usd('0.1'), { modelId }))
  expect(await ledger.settle(settlement(requestId, { input: 10, output: 5, cacheRead: 7, cacheWrite1h: 2 }, more))).toBe('settled')
}

const COST = 10n * RATES.input + 5n * RATES.output + 7n * RATES.cacheRead + 2n * RATES.cacheWrite1h

test('what was acknowledged is what is read: the key, its request, its day', async () => {
  const reads = makeReads()
  await spend('req_1', 'key_a')
  const key = await reads.ask('key_a', { kind: 'key', keyId: 'key_a' })
  expect(key).toMatchObject({ id: 'key_a', limitPicos: usd('3'), spentPicos: COST, isActive: true, createdAt: 1_800_000_000_000 } as object)
  const receipt = await reads.ask('key_a', { kind: 'receipt', keyId: 'key_a', requestId: 'req_1' })
  expect(receipt).toMatchObject({
    requestId: 'req_1',
    modelId: 'sample-large',
    usage: { input: 10, output: 5, cacheRead: 7, cacheWrite5m: 0, cacheWrite1h: 2, serverToolUses: 0 },
    rates: RATES,
    costPicos: COST,
    attempts: 1,
    firstByteMs: 12,
    durationMs: 346,
  } as object)
  const days = await reads.ask('key_a', { kind: 'daily', keyId: 'key_a', fromDay: 20_833, toDay: 20_833, modelId: null, limit: 100 })
  expect(days).toMatchObject({ hasMore: false, days: [{ day: 20_833, modelId: 'sample-large', requests: 1, costPicos: COST }] } as object)
})

test('a key has no other’s requests and days, and what is unknown is nothing', async () => {
  const reads = makeReads()
  await spend('req_of_a', 'key_a')
  expect(await reads.ask('key_b', { kind: 'receipt', keyId: 'key_b', requestId: 'req_of_a' })).toBeUndefined()
  expect(await reads.ask('key_b', { kind: 'receipts', keyId: 'key_b', after: 'req_of_a', limit: 10 })).toBeUndefined()
  expect(await reads.ask('key_b', { kind: 'receipts', keyId: 'key_b', limit: 10 })).toEqual({ rows: [], next: null })
  expect(await reads.ask('key_b', { kind: 'daily', keyId: 'key_b', fromDay: 0, toDay: 99_999, modelId: null, limit: 100 })).toEqual({
    days: [],
    hasMore: false,
  })
  expect(await reads.ask('key_c', { kind: 'key', keyId: 'key_c' })).toBeUndefined()
})

test('a read leaves no snapshot behind: the log is emptied while its connection stays open', async () => {
  const reads = makeReads()
  for (let n = 0; n < 3; n++) {
    await spend(`req_snapshot_${n}`, 'key_a')
    await reads.ask('key_a', { kind: 'receipts', keyId: 'key_a', limit: 100 })
    await reads.ask('key_a', { kind: 'daily', keyId: 'key_a', fromDay: 0, toDay: 99_999, modelId: null, limit: 100 })
  }
  const db = openDatabase(path, 'write')
  if ('problem' in db) throw new Error(db.message)
  const [state] = db.query('PRAGMA wal_checkpoint(TRUNCATE)').all() as [{ busy: bigint }]
  db.close()
  expect(state.busy).toBe(0n)
  expect(statSync(`${path}-wal`).size).toBe(0)
})

test('what waits is bounded, of each client and of all together, and there is room again when it was answered', async () => {
  const reads = makeReads()
  const ask = (client: string) => reads.ask(client, { kind: 'key', keyId: 'key_a' })
  // The first goes to the thread at once, 8 more of its client wait; of 31 other clients 8 each, which makes 256.
  const greedy = Array.from({ length: 10 }, () => ask('greedy'))
  const others = Array.from({ length: 31 * 8 }, (_, n) => ask(`client ${n % 31}`))
  const late = ask('late')
  expect(await greedy.at(-1)).toBe('tooMany')
  expect(await late).toBe('overloaded')
  expect((await Promise.all([...greedy.slice(0, -1), ...others])).filter((found) => typeof found === 'string')).toEqual([])
  expect(await ask('late')).toMatchObject({ id: 'key_a' })
})

test('one that asks for much waits behind itself', async () => {
  const reads = makeReads()
  const order: string[] = []
  const ask = (client: string, keyId: string) =>
    reads.ask(client, { kind: 'key', keyId }).then((found) => order.push(typeof found === 'string' ? `${client} ${found}` : client))
  const asked = [...Array.from({ length: 20 }, () => ask('greedy', 'key_a')), ask('modest', 'key_b')]
  await Promise.all(asked)
  expect(order.filter((one) => one === 'greedy tooMany').length).toBeGreaterThanOrEqual(11)
  expect(order.filter((one) => !one.includes('tooMany')).indexOf('modest')).toBeLessThanOrEqual(2)
})

test('a thread that dies costs one answer; the next question has another', async () => {
  const workers: Worker[] = []
  const reads = makeReads({
    startThread: () => {
      const worker = startThread()
      workers.push(worker)
      return worker
    },
  })
  const first = reads.ask('a', { kind: 'key', keyId: 'key_a' })
  const second = reads.ask('b', { kind: 'key', keyId: 'key_b' })
  workers[0]?.terminate()
  expect(await first).toBe('unavailable')
  expect(await second).toMatchObject({ id: 'key_b' })
  expect(workers).toHaveLength(2)
})

test('a thread that does not answer in time is given up, and none is begun before it has ended', async () => {
  const hangs = `data:text/javascript,${encodeURIComponent('onmessage = () => undefined')}`
  let started = 0
  const reads = makeReads({ timeoutMs: 500, startThread: () => (++started === 1 ? new Worker(hangs) : startThread()) })
  faults.length = 0
  const first = reads.ask('a', { kind: 'key', keyId: 'key_a' })
  const second = reads.ask('a', { kind: 'key', keyId: 'key_a' })
  expect(await first).toBe('unavailable')
  expect(faults.join()).toContain('key took too long')
  for (let answer = await second; answer !== undefined; answer = await reads.ask('a', { kind: 'key', keyId: 'key_a' })) {
    if (typeof answer !== 'string') break
    await Bun.sleep(20)
  }
  expect(started).toBeGreaterThan(1)
})

test('a file that cannot be read is said so, and read again when it can', async () => {
  const elsewhere = makePath()
  const reads = makeReads({ place: { kind: 'sqlite', path: elsewhere } })
  faults.length = 0
  expect(await reads.ask('a', { kind: 'key', keyId: 'key_a' })).toBe('unavailable')
  expect(faults.join()).toContain('there is no ledger')
  const other = await openTestLedger({ path: elsewhere })
  await addKey(other.ledger, 'key_a')
  expect(await reads.ask('a', { kind: 'key', keyId: 'key_a' })).toMatchObject({ id: 'key_a' })
  await reads.close()
  await other.ledger.close()
})

test('closing answers what waits, and nothing is asked after it', async () => {
  const reads = makeReads()
  const asked = Array.from({ length: 5 }, () => reads.ask('a', { kind: 'key', keyId: 'key_a' }))
  await reads.close()
  const answers = await Promise.all(asked)
  expect(answers.slice(1)).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable'])
  expect(await reads.ask('a', { kind: 'key', keyId: 'key_a' })).toBe('unavailable')
})

test('every kind of question of the pages is answered by the thread, also when nothing is known', async () => {
  const reads = makeReads()
  await spend('req_of_pages', 'key_a')
  const of = { accountId: 'acc_a' }
  const page = { limit: 5 }
  const span = { fromDay: 20_833, toDay: 20_833, by: 'model' } as const
  const found = await Promise.all([
    reads.ask('person:1', { kind: 'account', ...of }),
    reads.ask('person:1', { kind: 'accountKeys', ...of, ...page }),
    reads.ask('person:1', { kind: 'accountPlans', ...of }),
    reads.ask('person:2', { kind: 'accountKey', ...of, keyId: 'key_a' }),
    reads.ask('person:2', { kind: 'accountReceipts', ...of, ...page }),
    reads.ask('person:3', { kind: 'accountReceipt', ...of, requestId: 'req_of_pages' }),
    reads.ask('person:3', { kind: 'accountCredits', ...of, ...page }),
    reads.ask('person:4', { kind: 'spend', ...of, ...span }),
    reads.ask('person:4', { kind: 'spendHours', ...of, by: 'key', day: 20_833 }),
    reads.ask('person:4', { kind: 'budgets', ...of, keyId: 'key_a', plans: ['default'], now: 1_800_000_001_000 }),
    reads.ask('person:5', { kind: 'accounts', ...page }),
    reads.ask('person:5', { kind: 'keys', ...page }),
    reads.ask('person:6', { kind: 'allReceipts', ...page }),
    reads.ask('person:6', { kind: 'anyReceipt', requestId: 'req_of_pages' }),
    reads.ask('person:7', { kind: 'attempts', ...page }),
    reads.ask('person:7', { kind: 'credits', ...page }),
    reads.ask('person:8', { kind: 'audit', ...page }),
    reads.ask('person:8', { kind: 'usageOfDay', day: 20_833 }),
    reads.ask('person:9', { kind: 'alertFacts', day: 20_833, ...page }),
  ])
  for (const finding of found) expect(finding).toBeObject()
  expect(found[3]).toMatchObject({ id: 'key_a', lastUsedAt: 1_800_000_001_000 } as object)
  expect(await reads.ask('person:1', { kind: 'account', accountId: 'acc_none' })).toBeUndefined()
})
