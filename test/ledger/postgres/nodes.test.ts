/**
 * Protects nodes.md "Notifications", "Take-over", "Fencing" over whole ledgers: two and three nodes of one Postgres in one process, with threads and connections of their own. What one does the others know, and
 * what one left is waived, once.
 */

import { describe, expect } from 'bun:test'
import type { KeyRecord } from '../../../src/core/key.ts'
import type { KeyChange, Ledger } from '../../../src/ledger/ledger.ts'
import type { LedgerOptions } from '../../../src/ledger/open-options.ts'
import { openLedger } from '../../../src/ledger/postgres/open.ts'
import { spendLastCent } from '../../support/last-cent.ts'
import { createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../../support/ledger.ts'
import { asking, throughPort } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { startSyncDriver } from '../../support/postgres-connection.ts'
import { type TcpProxy, tcpProxyThread } from '../../support/tcp-proxy.ts'
import { startThread } from '../../support/threads.ts'
import { startWatch, until } from '../../support/until.ts'

type Options = Partial<LedgerOptions> & Readonly<{ leaseMs?: number; folder?: string; crossing?: TcpProxy }>

async function openNode(url: string, { leaseMs = 10_000, folder = makeFolder(), crossing, ...options }: Options = {}) {
  const faults: string[] = []
  const changes: KeyChange[] = []
  const opened = await openLedger({
    place: {
      kind: 'postgres',
      path: `${folder}/ledger.db`,
      url: crossing === undefined ? url : throughPort(url, crossing.port),
      node: 'n',
      leaseMs,
      statementKey: undefined,
      startSyncDriver,
    },
    create: true,
    bootId: Bun.randomUUIDv7(),
    startThread,
    now: Date.now,
    spillBytes: 1024 * 1024,
    onFault: ({ problem, bug }) => void faults.push(bug === undefined ? problem : `${problem}: ${String(bug)}`),
    ...options,
  })
  if ('problem' in opened) throw new Error(opened.message)
  const { ledger, shared } = opened
  const answers = shared?.answers
  if (shared === undefined || answers === undefined) throw new Error('a ledger on Postgres is shared')
  ledger.onKeyChange((change) => void changes.push(change))
  return { ledger, faults, changes, shared: { ...shared, answers } }
}
type Node = Awaited<ReturnType<typeof openNode>>

const close = async (...nodes: readonly Node[]): Promise<void> => void (await Promise.all(nodes.map(({ ledger }) => ledger.close())))

/** By the ledger itself, as the key store would find it. */
const find = (ledger: Ledger): Promise<KeyRecord | undefined | 'unavailable'> => ledger.findKey(sha256('key_1'))

const holdOf = (requestId: string) => holdRequest(requestId, 'key_1', usd('0.5'), { now: Date.now() })
const settlementOf = (requestId: string) => settlement(requestId, { input: 100_000 }, { now: Date.now() })

async function hold(ledger: Ledger, requestId: string) {
  await find(ledger)
  return await ledger.hold(holdOf(requestId))
}
const receipts = (url: string) => {
  const outside = asking(url)
  return outside
    .ask<{ request_id: string; outcome: string; cost_picos: bigint; waived_picos: bigint; lane: bigint }>(
      'SELECT request_id, outcome, cost_picos, waived_picos, lane FROM receipts ORDER BY request_id',
    )
    .finally(() => outside.close())
}

const withKey = async ({ ledger }: Node): Promise<void> =>
  expect(await ledger.operate(createKey('key_1', { balanceUsd: '10', now: Date.now() }))).toEqual({ result: 'done' })

describe('what is said', () => {
  postgresTest('a key that is disabled on one node is cut on the others within a second, and found disabled there', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    expect(await hold(b.ledger, 'req_1')).toBe('held')
    b.changes.length = 0
    await a.ledger.operate({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: Date.now() })
    using watch = startWatch()
    await until(() => b.changes.some((change) => 'keyId' in change && change.keyId === 'key_1' && change.stop === 'disabled'), 'it is cut')
    expect(watch.ms()).toBeLessThan(1_000)
    expect(await find(b.ledger)).toMatchObject({ isActive: false })
    await until(async () => (await b.ledger.hold(holdOf('req_2'))) === 'disabled', 'it holds nothing')
    b.ledger.void('req_1')
    await close(a, b)
  })

  postgresTest('an account that is disabled on one node is cut on the others, and all its keys are found disabled there', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    await a.ledger.operate(createKey('key_2', { accountId: 'acc_1', now: Date.now() }))
    for (const keyId of ['key_1', 'key_2']) await b.ledger.findKey(sha256(keyId))
    b.changes.length = 0
    await a.ledger.operate({ kind: 'setAccountActive', accountId: 'acc_1', isActive: false, now: Date.now() })
    await until(() => b.changes.some(({ stop }) => stop === 'disabled'), 'it is cut')
    expect(b.changes).toEqual([
      { accountId: 'acc_1', stop: null },
      { accountId: 'acc_1', stop: 'disabled' },
    ])
    for (const keyId of ['key_1', 'key_2'])
      expect(await b.ledger.hold(holdRequest(`req_${keyId}`, keyId, usd('0.01'), { now: Date.now() }))).toBe('disabled')
    await close(a, b)
  })

  postgresTest('a top-up on one node counts on the others, in the key balance as well', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    const record = await find(b.ledger)
    if (typeof record !== 'object') throw new Error('no key')
    const { accountId } = record
    await a.ledger.operate({
      kind: 'credit',
      creditKind: 'top-up',
      accountId,
      creditId: 'credit_2',
      amountPicos: usd('5'),
      ref: '',
      now: Date.now(),
    })
    await until(() => b.ledger.keyBalanceOf('key_1')?.account.balancePicos === usd('15'), 'the key balance has it')
    await close(a, b)
  })

  postgresTest('what is taken off a balance or a limit is not spent out of leases that were had before, on no node', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    const small = (requestId: string) => holdRequest(requestId, 'key_1', usd('0.01'), { now: Date.now() })
    const whatIsIdle = async (round: string): Promise<void> => {
      for (const { ledger } of [a, b]) {
        await find(ledger)
        const requestId = `${round}_${ledger === a.ledger ? 'a' : 'b'}`
        expect(await ledger.hold(small(requestId))).toBe('held')
        ledger.void(requestId)
        // Out of what is idle: it is not asked for.
        expect(ledger.hold(small(`${requestId}_2`))).toBe('held')
        ledger.void(`${requestId}_2`)
      }
    }
    const now = Date.now()
    await a.ledger.operate({ kind: 'setKeyLimit', keyId: 'key_1', limitPicos: usd('5'), now })
    await until(() => b.ledger.keyBalanceOf('key_1')?.limitPicos !== null, 'b knows of the limit')
    await whatIsIdle('limited')
    await a.ledger.operate({ kind: 'setKeyLimit', keyId: 'key_1', limitPicos: usd('0'), now })
    await until(() => b.ledger.keyBalanceOf('key_1')?.limitPicos === usd('0'), 'b knows of the new one')
    for (const { ledger } of [a, b]) expect(await ledger.hold(small('over'))).toBe('exhausted')

    await a.ledger.operate({ kind: 'setKeyLimit', keyId: 'key_1', limitPicos: null, now })
    await until(() => b.ledger.keyBalanceOf('key_1')?.limitPicos === null, 'b knows that there is none')
    await whatIsIdle('paid')
    const { accountId } = (await find(a.ledger)) as KeyRecord
    const refund = {
      kind: 'credit',
      creditKind: 'refund',
      accountId,
      creditId: 'credit_2',
      amountPicos: usd('-9.999'),
      ref: '',
      now,
    } as const
    expect(await a.ledger.operate(refund)).toEqual({ result: 'done' })
    await until(() => b.ledger.keyBalanceOf('key_1')?.account.balancePicos === usd('0.001'), 'b knows of it')
    const answers = [await a.ledger.hold(small('first')), await b.ledger.hold(small('second'))]
    // Whichever has what is left.
    expect(answers.toSorted()).toEqual(['held', 'reserved'])
    await close(a, b)
  })

  postgresTest('who may only speak on the channel cuts nobody: what counts is what the rows say', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    expect(await hold(b.ledger, 'req_1')).toBe('held')
    const outside = asking(url)
    b.changes.length = 0
    const forged = { kind: 'keys', lane: 99, stop: 'disabled', keyIds: ['key_1'] }
    await outside.ask("SELECT pg_notify('tollgate_ledger', $1)", [JSON.stringify([1, forged])])
    await until(() => b.changes.length > 0, 'b looks')
    await Bun.sleep(100)
    expect(b.changes.filter(({ stop }) => stop !== null)).toEqual([])
    b.ledger.void('req_1')
    await close(a, b)
    await outside.close()
  })

  postgresTest('without hearing anything a node finds within a second that a key which runs was disabled', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    expect(await hold(b.ledger, 'req_1')).toBe('held')
    const outside = asking(postgres().asSuperuser(url))
    // By hand in the database, so that nobody says anything; and who listens stands still, so that nothing is heard and no connection is lost.
    const listening = await outside.ask<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE application_name = 'tollgate n listens'")
    for (const { pid } of listening) process.kill(pid, 'SIGSTOP')
    await outside.ask('UPDATE ledger.keys SET is_active = 0')
    using watch = startWatch()
    await until(() => b.changes.some((change) => 'keyId' in change && change.keyId === 'key_1' && change.stop === 'disabled'), 'it is cut')
    expect(watch.ms()).toBeLessThan(1_500)
    for (const { pid } of listening) process.kill(pid, 'SIGCONT')
    b.ledger.void('req_1')
    await close(a, b)
    await outside.close()
  })
})

/** Of the nodes of a ledger: what they ask is done when they go on. */
async function standStill(url: string): Promise<() => void> {
  const outside = asking(postgres().asSuperuser(url))
  const backends = await outside.ask<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'tollgate n %' AND datname = current_database()",
  )
  await outside.close()
  for (const { pid } of backends) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const { pid } of backends) process.kill(pid, 'SIGCONT')
  }
}

postgresTest('what a Postgres that stood still grants after nobody waited any more is free again: a hold, and a claim', async () => {
  const url = await postgres().createDatabase()
  const a = await openNode(url)
  await withKey(a)
  await find(a.ledger)
  const repeatable = { keyId: 'key_1', headerHash: Buffer.alloc(32, 1), bodyHash: Buffer.alloc(32, 2) }
  // Every connection is there before the server stands still.
  expect(await a.shared.answers.claim({ ...repeatable, headerHash: Buffer.alloc(32, 3) })).toEqual({ kind: 'claimed' })
  const goOn = await standStill(url)
  using watch = startWatch()
  const [held, claimed] = await Promise.all([a.ledger.hold(holdOf('req_1')), a.shared.answers.claim({ ...repeatable })])
  const waitedMs = watch.ms()
  goOn()
  expect([held, claimed]).toEqual(['unavailable', { kind: 'unavailable' }])
  expect(waitedMs).toBeLessThan(2_000)
  // Behind the one before.
  expect(await a.ledger.hold(holdOf('req_2'))).toBe('held')
  expect(a.ledger.holds().map(({ requestId }) => requestId)).toEqual(['req_2'])
  await until(async () => (await a.shared.answers.claim({ ...repeatable })).kind === 'claimed', 'it may be claimed again')
  a.ledger.void('req_2')
  await close(a)
  const outside = asking(url)
  expect(await outside.ask('SELECT FROM leases WHERE amount_picos <> 0')).toEqual([])
  await outside.close()
})

postgresTest('a process that cannot be a node gives up within seconds', async () => {
  const url = await postgres().createDatabase()
  await close(await openNode(url))
  const outside = asking(url)
  await outside.ask('ALTER FUNCTION register_node_3 RENAME TO register_nobody')
  using watch = startWatch()
  await expect(openNode(url)).rejects.toThrow('this process cannot be a node of it (function register_node_3')
  expect(watch.ms()).toBeLessThan(6_000)
  await outside.close()
})

describe('what is left', () => {
  postgresTest(
    'what a thread had spilled when it died the next one of its process writes, at its price',
    async () => {
      const url = await postgres().createDatabase()
      const threads: Worker[] = []
      const start = (): Worker => threads[threads.push(startThread()) - 1] as Worker
      const node = await openNode(url, { retryMs: 50, startThread: start })
      await withKey(node)
      expect(await hold(node.ledger, 'req_1')).toBe('held')
      const outside = asking(postgres().asSuperuser(url))
      await outside.ask('REVOKE INSERT ON ledger.receipts FROM tollgate')
      expect(await node.ledger.settle(settlementOf('req_1'))).toBe('settled')
      threads[0]?.terminate()
      await outside.ask('GRANT INSERT ON ledger.receipts TO tollgate')
      await until(async () => (await receipts(url)).length === 1, 'it is written')
      const [{ outcome, cost_picos: cost } = {}] = await receipts(url)
      expect([outcome, cost]).toEqual(['complete', settlementOf('req_1').costPicos])
      await until(() => node.ledger.keyBalanceOf('key_1')?.account.balancePicos === usd('10') - BigInt(cost ?? 0), 'the key balance knows')
      await close(node)
      await outside.close()
    },
    60_000,
  )

  postgresTest(
    'a node that is cut off is fenced: what it had checkpointed is waived once, and its own settles of then cost nothing',
    async () => {
      const url = await postgres().createDatabase()
      const crossing = await tcpProxyThread(postgres().port)
      const a = await openNode(url, { leaseMs: 1_600, crossing, checkpointAfterMs: 50, retryMs: 300 })
      const b = await openNode(url, { leaseMs: 1_600 })
      await withKey(b)
      for (const requestId of ['req_marked', 'req_settled_late', 'req_spilled']) expect(await hold(a.ledger, requestId)).toBe('held')
      const outside = asking(url)
      await until(async () => (await outside.ask('SELECT 1 FROM marks')).length === 3, 'marks')
      crossing.part()
      await until(() => !a.ledger.isWritable(), 'it admits nothing')
      expect(a.ledger.hold(holdOf('req_refused'))).toBe('unavailable')
      // Its client sees its end: it is kept.
      expect(await a.ledger.settle(settlementOf('req_spilled'))).toBe('settled')
      await until(async () => (await receipts(url)).length === 3, 'another waives them')
      expect((await receipts(url)).map(({ outcome, cost_picos }) => [outcome, cost_picos])).toEqual(
        Array.from({ length: 3 }, () => ['recovered', 0n]),
      )
      crossing.heal()
      await until(() => a.ledger.isWritable(), 'it is a node again')
      expect(a.shared.fences()).toBe(1)
      expect(await a.ledger.settle(settlementOf('req_settled_late'))).toBe('settled')
      expect(await hold(a.ledger, 'req_new')).toBe('held')
      expect(await a.ledger.settle(settlementOf('req_new'))).toBe('settled')
      const all = await receipts(url)
      expect(all.map(({ request_id }) => request_id)).toEqual(['req_marked', 'req_new', 'req_settled_late', 'req_spilled'])
      expect(all.filter(({ cost_picos }) => cost_picos > 0n).map(({ request_id }) => request_id)).toEqual(['req_new'])
      expect(a.faults.some((fault) => fault.includes('this node was fenced'))).toBe(true)
      expect(b.faults.some((fault) => fault.includes('left in flight were waived'))).toBe(true)
      const { cost_picos: cost = 0n } = all.find(({ request_id }) => request_id === 'req_new') ?? {}
      await until(() => a.ledger.keyBalanceOf('key_1')?.account.balancePicos === usd('10') - cost, 'the key balance knows')
      await outside.close()
      await close(a, b)
      crossing.close()
    },
    60_000,
  )

  postgresTest('Postgres that stops at once and comes back within the term loses no settle and fences nobody', async () => {
    const url = await postgres().createDatabase()
    const [a, b] = [await openNode(url), await openNode(url)]
    await withKey(a)
    for (const [index, { ledger }] of [a, b].entries()) expect(await hold(ledger, `req_${index}`)).toBe('held')
    await postgres().stop('immediate')
    const settles = [a, b].map(({ ledger }, index) => ledger.settle(settlementOf(`req_${index}`)))
    await Bun.sleep(300)
    await postgres().start()
    expect(await Promise.all(settles)).toEqual(['settled', 'settled'])
    await until(async () => (await receipts(url)).length === 2, 'both are written')
    expect((await receipts(url)).every(({ cost_picos }) => cost_picos > 0n)).toBe(true)
    expect([a.shared.fences(), b.shared.fences()]).toEqual([0, 0])
    await close(a, b)
  })
})

postgresTest('the limits of a key are one over all nodes, and a node that has closed holds no place of them', async () => {
  const url = await postgres().createDatabase()
  const [a, b] = [await openNode(url), await openNode(url)]
  const ask = { keyId: 'key_1', perMinute: 10, atOnce: 10 }
  expect(await a.shared.limits.take({ ...ask, requests: 8, places: 7 })).toMatchObject({ requests: 8, places: 7, nodes: 2 })
  expect(await b.shared.limits.take({ ...ask, requests: 8, places: 7 })).toMatchObject({ requests: 2, places: 3 })
  await a.ledger.close()
  expect(await b.shared.limits.take({ ...ask, requests: 0, places: 7 })).toMatchObject({ places: 7, nodes: 1 })
  await b.ledger.close()
})

for (const of of ['key', 'account'] as const)
  postgresTest(`a hundred requests at once at the last cent of the ${of}’s window, over three nodes: one of them is admitted`, async () => {
    const url = await postgres().createDatabase()
    const nodes = [await openNode(url), await openNode(url), await openNode(url)]
    const [a] = nodes as [Node]
    expect(await a.ledger.operate(createKey('key_1', { balanceUsd: '1000', now: Date.now() }))).toEqual({ result: 'done' })
    for (const { ledger } of nodes) await find(ledger)
    await spendLastCent(
      nodes.map(({ ledger }) => ledger),
      a.ledger,
      of,
    )
    await close(...nodes)
    expect(nodes.flatMap(({ faults }) => faults)).toEqual([])
  })
