/** Several nodes settle on one ledger: none waits for ever, sums and chains are exact, and one that was fenced charges nobody. */

import { expect } from 'bun:test'
import { join } from 'node:path'
import { SETTLE_FUNCTION } from '../../../db/facts/settle.ts'
import { picos } from '../../../src/core/money.ts'
import { messageIdOf } from '../../../src/core/native/observation.ts'
import type { PostgresConnection } from '../../../src/ledger/postgres/connection.ts'
import { openLedger } from '../../../src/ledger/postgres/open.ts'
import { PostgresError } from '../../../src/ledger/postgres/storage-failure.ts'
import type { PostgresStore } from '../../../src/ledger/postgres/store.ts'
import { HOURS_BATCH } from '../../../src/ledger/sql/hour-sums.ts'
import type { Debit, Task } from '../../../src/ledger/task.ts'
import type { Committed } from '../../../src/ledger/thread-messages.ts'
import { CommitLoop } from '../../../src/ledger/writing/commit-loop.ts'
import { Spill } from '../../../src/ledger/writing/spill.ts'
import { frameOf, readFrame } from '../../../src/ledger/writing/spill-records.ts'
import {
  createKey,
  holdRequest,
  type Machine,
  makeFolder,
  NOW,
  openMachine,
  operateTask,
  settlement,
  sha256,
  usd,
} from '../../support/ledger.ts'
import { settleMany } from '../../support/many-settles.ts'
import { asking } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { fenceAll } from '../../support/stores.ts'
import { tableScans } from '../../support/table-scans.ts'
import { startThread } from '../../support/threads.ts'
import { until } from '../../support/until.ts'
import type { Settles } from './settles.ts'

const USED = { input: 10 }
const COST = 30_000_000n

async function open(): Promise<Machine & { url: string }> {
  const url = await postgres().createDatabase()
  const machine = openMachine(url)
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  return { ...machine, url }
}

/** A request that runs on that machine, and its settle. `boot`: as which it was admitted. */
function debitOf({ wallets, ledger, statesOf }: Machine, requestId: string, boot?: number): Debit {
  if (boot !== undefined) wallets.becomeBoot(boot)
  for (const state of statesOf('key_a')) wallets.keys.load(state)
  wallets.hold(holdRequest(requestId, 'key_a', usd('0.01')), 0)
  const debit = wallets.settle(settlement(requestId, USED))
  if (debit === undefined) throw new Error('not held')
  wallets.settled(requestId)
  ledger.define(wallets.prices)
  return debit
}

const settle = (debit: Debit): Task => ({ kind: 'settle', debit })
const balanceOf = ({ statesOf }: Machine) => statesOf('key_a')[0]?.balancePicos
const receiptOf = ({ db }: Machine, requestId: string) =>
  db
    .query<Record<string, unknown>, [string]>(
      'SELECT cost_picos AS cost, waived_picos AS waived, outcome FROM receipts WHERE request_id = ?',
    )
    .get(requestId)

for (const accounts of [1, 200]) {
  postgresTest(`four nodes settle at once on ${accounts} accounts in any order: no deadlock, exact sums, whole chains`, async () => {
    const url = await postgres().createDatabase()
    const machine = openMachine(url)
    for (let index = 0; index < accounts; index++) machine.ask(operateTask(createKey(`key_${index}`, { balanceUsd: '1000' })))
    const [groups, group] = [20, 32]
    const problems = await Promise.all(
      [1, 2, 3, 4].map(async (seed) => {
        const asked: Settles = { url, bootId: `node-${seed}`, groups, group, accounts, seed }
        const child = Bun.spawn([process.execPath, join(import.meta.dir, 'settles.ts'), JSON.stringify(asked)], { stderr: 'inherit' })
        return JSON.parse(await child.stdout.text())
      }),
    )
    expect(problems).toEqual([[], [], [], []])
    const sums = machine.db.query('SELECT CAST(sum(spent_picos) AS BIGINT) AS spent FROM accounts').get()
    expect(sums).toEqual({ spent: BigInt(4 * groups * group) * COST })
    const [[deadlocks]] = machine.db.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()').values() as [
      [bigint],
    ]
    expect(deadlocks).toBe(0n)
    const ends = machine.db
      .query('SELECT lane, CAST(sum(chain_count) AS BIGINT) AS rows FROM chain_heads GROUP BY lane ORDER BY lane')
      .all()
    expect(ends).toEqual([0, 1, 2, 3, 4].map((lane) => ({ lane: BigInt(lane), rows: BigInt(lane === 0 ? accounts : groups * group) })))
    expect(machine.differences()).toEqual([])
    machine.close()
  })
}

postgresTest('a group that comes again because its answer was lost is once in the sums', async () => {
  const machine = await open()
  const tasks = ['r1', 'r2'].map((id) => settle(debitOf(machine, id)))
  expect(machine.ledger.apply(tasks)).toMatchObject({ answers: ['settled', 'settled'] })
  const third = settle(debitOf(machine, 'r3'))
  expect(machine.ledger.apply([...tasks, third, third])).toMatchObject({
    answers: ['already', 'already', 'settled', 'already'],
    faults: [],
  })
  expect(balanceOf(machine)).toBe(picos(usd('10') - 3n * COST))
  expect(machine.differences()).toEqual([])
  machine.close()
})

postgresTest('a settle that another writes at the same moment is once in the sums', async () => {
  const machine = await open()
  machine.ledger.apply([settle(debitOf(machine, 'r1'))])
  const outside = asking(machine.url)
  // It has the account until it has written the receipt, between this one's look for it and its own.
  const other = outside.ask(`DO $$ BEGIN
    PERFORM FROM accounts FOR UPDATE;
    PERFORM pg_sleep(1);
    INSERT INTO receipts SELECT (jsonb_populate_record(r, '{"request_id": "r2", "number": 1000, "lane": 9}')).* FROM receipts AS r;
  END $$`)
  await until(async () => (await outside.ask("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length > 0, 'it has the account')
  expect(machine.ledger.apply([settle(debitOf(machine, 'r2'))])).toMatchObject({ answers: ['already'], faults: [] })
  await other
  expect(machine.db.query('SELECT spent_picos AS spent FROM accounts').all()).toEqual([{ spent: COST }])
  await outside.close()
  machine.close()
})

postgresTest('two threads of one node in turn extend its chains without a gap', async () => {
  const machine = await open()
  const other = openMachine(machine.url, 'boot-1', true)
  for (let n = 0; n < 3; n++) {
    expect(machine.ledger.apply([settle(debitOf(machine, `a${n}`))])).toMatchObject({ answers: ['settled'] })
    expect(other.ledger.apply([settle(debitOf(other, `b${n}`))])).toMatchObject({ answers: ['settled'] })
  }
  expect(machine.db.query('SELECT lane, chain_count AS rows FROM chain_heads').all()).toEqual([{ lane: 0n, rows: 7n }])
  expect(machine.differences()).toEqual([])
  other.close()
  machine.close()
})

postgresTest('a node that was fenced writes nothing, whatever it is asked', async () => {
  const machine = await open()
  const debit = debitOf(machine, 'r1')
  fenceAll(machine.db)
  const tasks: readonly (readonly Task[])[] = [
    [settle(debit)],
    [{ kind: 'dropCheckpoint', requestId: 'r1' }],
    [{ kind: 'operate', operation: createKey('key_b'), act: { actor: 'x', address: 'x', reason: '' } }],
  ]
  for (const group of tasks) expect(machine.ledger.apply(group)).toMatchObject({ kind: 'failed', isFenced: true })
  expect(machine.ledger.canWrite()).toBe(false)
  expect(machine.ledger.replay([])).toMatchObject({ kind: 'failed', isFenced: true })
  expect(receiptOf(machine, 'r1')).toBeNull()
  machine.close()
})

postgresTest(
  'a group of a node that was fenced is kept or refused at once, not after the time of a storage that may come back',
  async () => {
    const machine = await open()
    const debit = debitOf(machine, 'r1')
    fenceAll(machine.db)
    const spill = Spill.open('/nowhere/ledger.db', machine.ledger, 0)
    if ('problem' in spill) throw new Error(spill.message)
    const { promise: told, resolve } = Promise.withResolvers<Committed>()
    const loop = new CommitLoop(machine.ledger, spill, resolve, 3_600_000)
    loop.add([{ number: 1, task: settle(debit) }])
    expect(await told).toMatchObject({ isWritable: false, answers: [{ number: 1, answer: 'unavailable' }] })
    loop.close()
  },
)

postgresTest('a process that is a node again while Postgres is away goes on when that is back', async () => {
  const machine = await open()
  const debit = debitOf(machine, 'r1')
  const db = machine.db as unknown as PostgresConnection
  const store = machine.ledger as PostgresStore
  const [row] = machine.db.query('SELECT lane, boot_number, epoch FROM nodes').values() as [[bigint, bigint, bigint]]
  const [lane, boot, epoch] = row.map(Number) as [number, number, number]
  const node = { lane, boot, epoch, bootId: 'boot-1' }
  const ask = db.ask.bind(db)
  db.ask = () => {
    throw new PostgresError('57P03', 'starting up')
  }
  store.rejoin(node)
  expect(store.recover(NOW)).toMatchObject({ kind: 'failed' })
  expect(store.apply([settle(debit)])).toMatchObject({ kind: 'failed' })
  db.ask = ask
  expect(store.apply([settle(debit)])).toMatchObject({ answers: ['settled'] })
  expect(machine.differences()).toEqual([])
  machine.close()
})

postgresTest('what a fenced node admitted is waived with a word, once, also out of its spill', async () => {
  const machine = await open()
  const boot = machine.ledger.boot
  const debit = debitOf(machine, 'r1', boot)
  const spilled = frameOf([{ kind: 'settle', debit: debitOf(machine, 'r2') }], (index) => machine.ledger.versionAt(index), boot)
  const next = openMachine(machine.url, 'boot-2')
  next.ledger.define(machine.wallets.prices)
  const waived = { cost: 0n, waived: COST, outcome: 'recovered' }
  expect(next.ledger.apply([settle(debit)])).toMatchObject({ answers: ['already'], faults: [{ problem: WAIVED('r1') }] })
  expect(next.ledger.apply([settle(debit)])).toMatchObject({ answers: ['already'], faults: [] })
  expect(next.ledger.replay([readFrame(spilled)])).toMatchObject({ settled: ['r2'], faults: [{ problem: WAIVED('r2') }] })
  expect(next.ledger.replay([readFrame(spilled)])).toMatchObject({ settled: ['r2'], faults: [] })
  expect([receiptOf(next, 'r1'), receiptOf(next, 'r2')]).toEqual([waived, waived])
  expect(balanceOf(next)).toBe(usd('10'))
  expect(next.differences()).toEqual([])
  next.close()
  machine.close()
})

postgresTest('a gateway that was fenced while a request ran ends it well, and its client pays nothing', async () => {
  const machine = await open()
  const faults: string[] = []
  const place = {
    kind: 'postgres',
    path: join(makeFolder(), 'ledger'),
    url: machine.url,
    node: 'n',
    leaseMs: 2_000,
    statementKey: undefined,
  } as const
  const startSyncDriver = () => new Worker(new URL('../../../src/ledger/postgres/sync-driver.ts', import.meta.url))
  const opened = await openLedger({
    place: { ...place, startSyncDriver },
    create: false,
    bootId: 'gateway',
    startThread,
    now: () => NOW,
    onFault: ({ problem }) => faults.push(problem),
  })
  if ('problem' in opened) throw new Error(opened.message)
  const { ledger } = opened
  await ledger.findKey(sha256('key_a'))
  expect(await ledger.hold(holdRequest('r1', 'key_a', usd('0.01')))).toBe('held')
  const boots = () => Number(machine.db.query<{ n: bigint }, []>('SELECT count(*) AS n FROM boots').get()?.n)
  const before = boots()
  fenceAll(machine.db)
  await until(() => boots() > before && ledger.isWritable(), 'the ledger to go on as a new boot')
  expect(await ledger.settle(settlement('r1', USED))).not.toBe('unavailable')
  await ledger.close()
  expect(receiptOf(machine, 'r1')).toEqual({ cost: 0n, waived: COST, outcome: 'recovered' })
  expect(faults).toContain(WAIVED('r1'))
  expect(balanceOf(machine)).toBe(usd('10'))
  machine.close()
})

postgresTest('what whoever took over has waived stays as it is when the settle comes late', async () => {
  const machine = await open()
  const boot = machine.ledger.boot
  const debit = debitOf(machine, 'r1', boot)
  const { requestId, keyNumber, price, format, isStream, holdPicos, startedAt, accountNumber, usage, usageSource } = debit
  const checkpoint = { requestId, keyNumber, price, format, isStream, holdPicos, startedAt, accountNumber, usage, usageSource }
  expect(machine.ledger.apply([{ kind: 'checkpoint', checkpoint, now: NOW }])).toMatchObject({ answers: ['checkpointed'] })
  const next = openMachine(machine.url, 'boot-2')
  next.ledger.define(machine.wallets.prices)
  expect(next.ledger.recover(NOW + 5_000)).toBe(1)
  const recovered = { cost: 0n, waived: COST, outcome: 'recovered' }
  expect(receiptOf(next, 'r1')).toEqual(recovered)
  expect(next.ledger.apply([settle(debit)])).toMatchObject({ answers: ['already'], faults: [] })
  expect(receiptOf(next, 'r1')).toEqual(recovered)
  expect(next.db.query("SELECT id FROM credits WHERE kind = 'correction'").all()).toEqual([])
  expect(next.differences()).toEqual([])
  next.close()
  machine.close()
})

postgresTest('a spill of a node that still lives is charged, whoever replays it', async () => {
  const machine = await open()
  const spilled = frameOf(
    [{ kind: 'settle', debit: debitOf(machine, 'r1') }],
    (index) => machine.ledger.versionAt(index),
    machine.ledger.boot,
  )
  const beside = openMachine(machine.url, 'boot-2', true)
  expect(beside.ledger.replay([readFrame(spilled)])).toEqual({ kind: 'replayed', settled: ['r1'], faults: [] })
  expect(receiptOf(beside, 'r1')).toEqual({ cost: COST, waived: 0n, outcome: 'complete' })
  expect(beside.ledger.recover(NOW)).toBe(0)
  beside.close()
  machine.close()
})

postgresTest('a settle takes its cost from what its node has leased, and never more than that', async () => {
  const machine = await open()
  machine.db.run(`INSERT INTO leases (account_number, lane, amount_picos) VALUES (1, 0, ${COST + 5n})`)
  machine.db.run(`INSERT INTO key_leases (key_number, lane, amount_picos) VALUES (1, 0, ${COST + 7n})`)
  const leased = () =>
    machine.db.query('SELECT leases.amount_picos AS account, key_leases.amount_picos AS key FROM leases, key_leases').get()
  machine.ledger.apply([settle(debitOf(machine, 'r1'))])
  expect(leased()).toEqual({ account: 5n, key: 7n })
  machine.ledger.apply([settle(debitOf(machine, 'r2'))])
  expect(leased()).toEqual({ account: 0n, key: 0n })
  machine.close()
})

const WAIVED = (requestId: string): string => `${requestId} was settled after its node had been fenced: 0.00003 USD are waived`

postgresTest('a settle finds each row by an index, however small the tables were when its plan was made', async () => {
  const machine = await open()
  const scans = () => tableScans(machine.db, ['receipts', 'accounts', 'keys', 'price_versions', 'usage_daily'])
  const groups = Array.from({ length: 20 }, (_, n) => ['a', 'b', 'c', 'd'].map((id) => settle(debitOf(machine, `${id}${n}`))))
  machine.ledger.apply(groups.pop() ?? [])
  const before = scans()
  for (const group of groups) expect(machine.ledger.apply(group)).toMatchObject({ faults: [] })
  expect(scans()).toEqual(before)
  machine.close()
})

postgresTest('while the tables or functions are not there, as during a restore, what was acknowledged stays in the spill', async () => {
  const machine = await open()
  const debit = debitOf(machine, 'r1')
  const spilled = readFrame(frameOf([settle(debit) as never], (index) => machine.ledger.versionAt(index), machine.ledger.boot))
  const [gone, back] = [`ALTER FUNCTION ${SETTLE_FUNCTION} RENAME TO gone`, `ALTER FUNCTION gone RENAME TO ${SETTLE_FUNCTION}`]
  machine.db.run(gone)
  expect(machine.ledger.replay([spilled])).toMatchObject({ kind: 'failed' })
  machine.db.run(back)
  machine.db.run('ALTER TABLE receipts RENAME TO gone')
  expect(machine.ledger.replay([spilled])).toMatchObject({ kind: 'failed' })
  machine.db.run('ALTER TABLE gone RENAME TO receipts')
  expect(machine.ledger.replay([spilled])).toMatchObject({ settled: ['r1'], faults: [] })
  machine.close()
})

postgresTest('what is acknowledged is on disk, also where synchronous_commit was turned off since the start', async () => {
  const machine = await open()
  machine.db.run('SET synchronous_commit = off')
  const atCommit = (text: string) =>
    machine.db.transaction(() => {
      machine.db.run(text)
      return machine.db.query<{ value: string }, []>("SELECT current_setting('synchronous_commit') AS value").get()?.value
    })()
  expect(atCommit('SELECT 1')).toBe('off')
  expect(atCommit('SELECT assert_node(lane, boot_number, epoch) FROM nodes WHERE lease_until > 0')).toBe('on')
  machine.db.run('SET synchronous_commit = remote_apply')
  expect(atCommit('SELECT assert_node(lane, boot_number, epoch) FROM nodes WHERE lease_until > 0')).toBe('remote_apply')
  machine.close()
})

postgresTest('whatever an upstream calls its message, the request is charged', async () => {
  const machine = await open()
  for (const [index, id] of ['a\0b', 'a\ud800', '"\\{}\'', `${'x'.repeat(127)}😀`].entries()) {
    const messageId = messageIdOf({ id }) ?? ''
    const debit = { ...debitOf(machine, `r${index}`), upstream: { name: 'u', model: 'm', messageId } }
    expect(machine.ledger.apply([settle(debit)])).toMatchObject({ answers: ['settled'], faults: [] })
  }
  expect(machine.differences()).toEqual([])
  machine.close()
})

postgresTest(
  'sums by hour say that they wait for a transaction of others, go on behind it, and fail where their mark is gone',
  async () => {
    const url = await postgres().createDatabase()
    const machine = openMachine(url)
    machine.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
    const other = openMachine(url, 'boot-2', true)
    // Transactions of other tests on this server may be waited for, too.
    const rolled = async (): Promise<string> => {
      for (;;) {
        const done = machine.ledger.rollUp()
        if (done !== 'blocked') return done
        await Bun.sleep(1)
      }
    }
    const markOf = () => machine.db.query("SELECT value FROM meta WHERE name = 'summed'").values()
    try {
      settleMany(machine, HOURS_BATCH)
      other.db.run('BEGIN; SELECT pg_current_xact_id()')
      expect(Array.from({ length: 6 }, () => machine.ledger.rollUp())).toEqual(Array(6).fill('blocked'))
      other.db.run('COMMIT')
      expect([await rolled(), markOf()]).toEqual(['none', [[`${HOURS_BATCH}`]]])
      settleMany(machine, HOURS_BATCH)
      machine.db.run("DELETE FROM meta WHERE name = 'summed'")
      await expect(rolled()).rejects.toThrow("the mark 'summed'")
    } finally {
      for (const { close } of [other, machine]) close()
    }
  },
)
