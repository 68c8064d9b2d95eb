/** Protects ledger.md "Leases": what Postgres grants, backs and takes back is what the model says, on every walk, and with any number of connections at once. */

import { expect } from 'bun:test'
import { SQL } from 'bun'
import fc from 'fast-check'
import { openPostgres } from '../../../db/postgres/open.ts'
import { picos } from '../../../src/core/money.ts'
import { Wallets } from '../../../src/ledger/admission/wallets.ts'
import type { LeaseAnswer, LeaseAsk } from '../../../src/ledger/lease-move.ts'
import type { NodeMessage } from '../../../src/ledger/nodes.ts'
import type { PostgresConnection } from '../../../src/ledger/postgres/connection.ts'
import { CHANNEL, decodeMessage } from '../../../src/ledger/postgres/messages.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import type { Answer, Answers, Task } from '../../../src/ledger/task.ts'
import { LeasePostgres } from '../../support/lease-postgres.ts'
import { LeaseWalk, walkSetting, walkStep } from '../../support/lease-walk.ts'
import { ACT, createKey, holdRequest, NOW, settlement } from '../../support/ledger.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'
import { runs } from '../../support/property-runs.ts'
import { fenceAll, openStore } from '../../support/stores.ts'
import { until } from '../../support/until.ts'

async function openEmpty(): Promise<{ url: string; db: PostgresConnection }> {
  const url = await postgres().createDatabase()
  const db = connectPostgres(url)
  const problem = openPostgres(db, 'here', 'create')
  if (problem !== undefined) throw new Error(problem.message)
  return { url, db }
}

postgresTest(
  'every walk of nodes has on Postgres the answers and rows of the model',
  async () => {
    const { db } = await openEmpty()
    fc.assert(
      fc.property(walkSetting, fc.array(walkStep, { maxLength: 80, size: 'max' }), (setting, steps) => {
        const walk = new LeaseWalk(setting, new LeasePostgres(db, setting))
        for (const step of steps) walk.step(step)
        walk.finish()
      }),
      { numRuns: runs(150) },
    )
    db.close()
  },
  300_000,
)

type Verdict = 'granted' | 'disabled' | 'exhausted' | 'reserved' | 'wanted'
type Asker = Readonly<{ lane: bigint; boot: bigint; epoch: bigint }>

/** Nodes whose asks come at once, each over a connection of its own. */
async function makeAskers(url: string, count: number) {
  const sql = new SQL({ url, max: count, bigint: true, connection: { search_path: 'ledger' } })
  const askers: Asker[] = []
  for (let n = 0; n < count; n++) {
    const [asker] = await sql.unsafe<Asker[]>(
      "SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM register_node('n', $1, 1000000000)",
      [crypto.randomUUID()],
    )
    if (asker !== undefined) askers.push(asker)
  }
  /** One move an account. `keys`: one for each; absent: those of the same numbers. */
  const ask = async (
    { lane, boot, epoch }: Asker,
    accounts: readonly number[],
    runs: bigint,
    amount: bigint,
    keys = accounts,
  ): Promise<readonly Verdict[]> => {
    const list = (value: bigint | number) => `{${accounts.map(() => value).join(',')}}`
    const numbers = `{${accounts.join(',')}}`
    const rows = await sql.unsafe<{ verdict: Verdict }[]>(
      `SELECT verdict FROM move_leases($1, $2, $3, CAST(CAST($4 AS TEXT) AS BIGINT[]), CAST(CAST($5 AS TEXT) AS BIGINT[]), CAST(CAST($6 AS TEXT) AS BIGINT[]),
         CAST(CAST($8 AS TEXT) AS BIGINT[]), CAST(CAST($6 AS TEXT) AS BIGINT[]), CAST(CAST($7 AS TEXT) AS BIGINT[]))`,
      [lane, boot, epoch, list(1), numbers, list(runs), list(amount), `{${keys.join(',')}}`],
    )
    return rows.map(({ verdict }) => verdict)
  }
  return { askers, ask, sql }
}

async function withAccounts(balances: readonly bigint[], limit: bigint | null = null) {
  const { url, db } = await openEmpty()
  for (const [index, balance] of balances.entries()) {
    db.query("INSERT INTO accounts (id, name, credited_picos, balance_picos, created_at) VALUES (?1, '', ?2, ?2, 0)").run(
      `acc_${index}`,
      balance,
    )
    db.query(
      "INSERT INTO keys (id, account_number, name, plan, limit_picos, last_synced_at, created_at) VALUES (?, ?, '', 'default', ?, 0, 0)",
    ).run(`key_${index}`, index + 1, limit)
  }
  db.close()
  return url
}

postgresTest(
  'of twenty nodes that ask at the same moment six are let in where there is a balance for five',
  async () => {
    for (const [balance, limit] of [
      [100n, null],
      [1_000_000n, 100n],
    ] as const) {
      const { askers, ask, sql } = await makeAskers(await withAccounts([balance], limit), 20)
      const verdicts = (await Promise.all(askers.map((asker) => ask(asker, [1], 0n, 19n)))).flat()
      expect(verdicts.filter((verdict) => verdict === 'granted')).toHaveLength(6)
      expect(verdicts.filter((verdict) => verdict === 'wanted')).toHaveLength(14)
      await sql.close()
    }
  },
  180_000,
)

postgresTest(
  'nodes that ask for the same accounts in any order do not wait for one another in a ring',
  async () => {
    const { askers, ask, sql } = await makeAskers(await withAccounts([1_000_000n, 1_000_000n, 1_000_000n, 1_000_000n]), 8)
    const shuffled = (seed: number): number[] => [1, 2, 3, 4].sort((a, b) => ((a * seed) % 7) - ((b * seed) % 7))
    const all = Array.from({ length: 25 }, (_, round) => askers.map((asker, n) => ask(asker, shuffled(round + n + 1), 0n, 3n)))
    expect(new Set((await Promise.all(all.flat())).flat())).toEqual(new Set(['granted']))
    await sql.close()
  },
  180_000,
)

postgresTest(
  'as many are let in where each of them asks for another key of the account',
  async () => {
    const { askers, ask, sql } = await makeAskers(await withAccounts([100n]), 20)
    await sql.unsafe(`INSERT INTO keys (id, account_number, name, plan, last_synced_at, created_at)
    SELECT 'more_' || n, 1, '', 'default', 0, 0 FROM generate_series(2, 20) AS n`)
    const verdicts = (await Promise.all(askers.map((asker, index) => ask(asker, [1], 0n, 19n, [index + 1])))).flat()
    expect(verdicts.filter((verdict) => verdict === 'granted')).toHaveLength(6)
    await sql.close()
  },
  180_000,
)

postgresTest('a key or an account that is off is granted nothing, whatever a node thinks of it', async () => {
  const { askers, ask, sql } = await makeAskers(await withAccounts([100n, 100n]), 1)
  const [asker] = askers
  if (asker === undefined) throw new Error('there is one')
  await sql.unsafe('UPDATE keys SET is_active = 0 WHERE number = 1')
  await sql.unsafe('UPDATE accounts SET is_active = 0 WHERE number = 2')
  expect(await ask(asker, [1, 2], 0n, 1n)).toEqual(['disabled', 'disabled'])
  await sql.close()
})

postgresTest('a node that is none any more is granted nothing', async () => {
  const { askers, ask, sql } = await makeAskers(await withAccounts([100n]), 2)
  const [first, second] = askers
  if (first === undefined || second === undefined) throw new Error('there are two')
  expect(await ask(first, [1], 0n, 19n)).toEqual(['granted'])
  await sql.unsafe('UPDATE nodes SET lease_until = 1 WHERE lane = $1', [first.lane])
  await sql.unsafe('SELECT fence_expired(0)')
  const refused = await ask(first, [1], 19n, 19n).catch((error: unknown) => String(error))
  expect(refused).toContain('fenced')
  expect(await ask(second, [1], 0n, 19n)).toEqual(['granted'])
  await sql.close()
})

postgresTest('who has to wait asks all others for what is idle with them, by account and key', async () => {
  const url = await withAccounts([100n])
  const { askers, ask, sql } = await makeAskers(url, 2)
  const [first, second] = askers
  if (first === undefined || second === undefined) throw new Error('there are two')
  const heard: (NodeMessage | undefined)[] = []
  const listener = new SQL({ url, max: 1 })
  await listener.listen(CHANNEL, (text: string) => heard.push(decodeMessage(text)))
  await ask(first, [1], 0n, 120n)
  expect(await ask(second, [1], 0n, 1n)).toEqual(['wanted'])
  await until(() => heard.length > 0)
  expect(heard).toEqual([{ kind: 'giveBack', lane: Number(second.lane), accountNumber: 1, keyNumber: 1 }])
  await listener.close()
  await sql.close()
})

/** A node of the whole ledger: its wallets over its store, whose answers it hears at once. */
function makeLedgerNode(url: string, bootId: string) {
  const { store, db } = openStore(url, bootId, NOW, true)
  const wallets = new Wallets()
  let told = 0
  const apply = (tasks: readonly Task[]): readonly Answer[] => {
    store.define(wallets.prices.slice(told))
    told = wallets.prices.length
    const applied = store.apply(tasks)
    if (applied.kind === 'failed') throw new Error(applied.problem)
    const { answers } = applied
    tasks.forEach((task, index) => {
      if (task.kind === 'settle') wallets.settled(task.debit.requestId)
      if (task.kind === 'ask') wallets.answered(task.ask, answers[index] as Answers['ask'], 0)
      if (task.kind === 'release') wallets.released(task.release, answers[index] as Answers['release'])
    })
    return answers
  }
  const load = (keyId: string): void => {
    const [states] = apply([{ kind: 'keyStates', keyIds: [keyId] }])
    if (Array.isArray(states)) for (const state of states) wallets.keys.load(state)
  }
  const hold = (requestId: string, keyId: string, amount: bigint): string => {
    const asked = wallets.holdLeased(holdRequest(requestId, keyId, picos(amount)), 0)
    if (typeof asked === 'string') return asked
    const [answer] = apply([{ kind: 'ask', ask: asked }])
    return typeof answer === 'object' && 'verdict' in answer ? answer.verdict : 'unavailable'
  }
  /** What its end gives back goes with it. */
  const settleAndAsk = (requestId: string, keyId: string, inputTokens: number, next?: LeaseAsk): readonly Answer[] => {
    const debit = wallets.settle(settlement(requestId, { input: inputTokens }))
    const release = wallets.releaseOf(keyId)
    return apply([
      ...(next === undefined ? [] : [{ kind: 'ask', ask: next } as const]),
      ...(debit === undefined ? [] : [{ kind: 'settle', debit } as const]),
      ...(release === undefined ? [] : [{ kind: 'release', release } as const]),
    ])
  }
  const giveBack = (): readonly Answer[] => apply(wallets.releases('over').map((release) => ({ kind: 'release', release })))
  return { store, db, wallets, apply, load, hold, settleAndAsk, giveBack }
}

const TOKEN = 3_000_000n

postgresTest(
  'three nodes that settle on one account spend what it has and a request, and what is left is exact when all is given back',
  async () => {
    const url = await postgres().createDatabase()
    const nodes = ['a', 'b', 'c'].map((bootId) => makeLedgerNode(url, bootId))
    const [first] = nodes
    first?.apply([{ kind: 'operate', operation: createKey('key_1', { balanceUsd: '0.003' }), act: ACT }])
    for (const node of nodes) node.load('key_1')
    const running: { node: (typeof nodes)[number]; requestId: string }[] = []
    let spent = 0n
    for (let n = 0; n < 120; n++) {
      const node = nodes[(n * 7) % 3]
      if (node === undefined) throw new Error('there are three')
      const requestId = `req_${n}`
      if (['held', 'granted'].includes(node.hold(requestId, 'key_1', 60n * TOKEN))) running.push({ node, requestId })
      if (n % 3 === 0) continue
      const ended = running.splice((n * 5) % Math.max(1, running.length), 1)[0]
      if (ended === undefined) continue
      ended.node.settleAndAsk(ended.requestId, 'key_1', 20 + (n % 41))
      spent += BigInt(20 + (n % 41)) * TOKEN
    }
    for (const { node, requestId } of running) {
      node.settleAndAsk(requestId, 'key_1', 60)
      spent += 60n * TOKEN
    }
    for (const node of nodes) node.giveBack()
    const db: Connection = connectPostgres(url)
    const left = db
      .query<{ balance: bigint; leased: bigint }, []>(
        'SELECT (SELECT balance_picos FROM ledger.accounts) AS balance, (SELECT CAST(coalesce(sum(amount_picos), 0) AS BIGINT) FROM ledger.leases) AS leased',
      )
      .get()
    expect(left).toEqual({ balance: 3_000_000_000n - spent, leased: 0n })
    expect(spent).toBeGreaterThan(3_000_000_000n - 60n * TOKEN)
    expect(spent).toBeLessThan(3_000_000_000n + 60n * TOKEN)
    db.close()
    for (const { store } of nodes) store.close()
  },
  180_000,
)

postgresTest('an ask is answered behind the settles of its group, wherever it stands among them', async () => {
  const url = await postgres().createDatabase()
  const node = makeLedgerNode(url, 'a')
  node.apply([{ kind: 'operate', operation: createKey('key_1', { balanceUsd: '1' }), act: ACT }])
  node.load('key_1')
  expect(node.hold('req_1', 'key_1', 1_000n * TOKEN)).toBe('granted')
  const asked = node.wallets.holdLeased(holdRequest('req_2', 'key_1', picos(200_000n * TOKEN)), 0)
  if (typeof asked === 'string') throw new Error(asked)
  const [answer] = node.settleAndAsk('req_1', 'key_1', 1_000, asked)
  expect(answer).toMatchObject({ verdict: 'granted', balancePicos: 1_000_000_000_000n - 1_000n * TOKEN })
  const backed = (answer as LeaseAnswer).account.backedPicos
  const row = node.db.query<{ amount_picos: bigint }, []>('SELECT amount_picos FROM leases').get()
  expect(row?.amount_picos).toBe(backed)
  node.store.close()
})

postgresTest('a node that was fenced is told that its ask is unavailable, and nothing is held', async () => {
  const url = await postgres().createDatabase()
  const node = makeLedgerNode(url, 'a')
  node.apply([{ kind: 'operate', operation: createKey('key_1', { balanceUsd: '1' }), act: ACT }])
  node.load('key_1')
  const db: Connection = connectPostgres(url)
  fenceAll(db)
  expect(node.hold('req_1', 'key_1', TOKEN)).toBe('unavailable')
  expect(node.wallets.holds()).toEqual([])
  db.close()
  node.store.close()
})
