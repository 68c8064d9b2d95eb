/**
 * Protects ledger.md "Failing writes", "Settles on Postgres": a commit whose answer is lost was done or was not, and nobody knows. Memory has in the end what the rows
 * have, whichever it was.
 */

import { expect } from 'bun:test'
import { differences } from '../../../src/ledger/chain/verify.ts'
import { openLedger } from '../../../src/ledger/postgres/open.ts'
import { answerText, createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../../support/ledger.ts'
import { asking, throughPort } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres, startSyncDriver } from '../../support/postgres-connection.ts'
import { type Loss, tcpProxyThread } from '../../support/tcp-proxy.ts'
import { startThread } from '../../support/threads.ts'
import { until } from '../../support/until.ts'

const COST = 30_000_000n

/** A node that tries nothing again, over a way that loses what the test says. */
async function openNode() {
  const url = await postgres().createDatabase()
  const crossing = await tcpProxyThread(postgres().port)
  const place = { path: `${makeFolder()}/ledger.db`, url: throughPort(url, crossing.port), node: 'n', leaseMs: 60_000 }
  const opened = await openLedger({
    place: { kind: 'postgres', ...place, statementKey: undefined, startSyncDriver },
    create: true,
    bootId: Bun.randomUUIDv7(),
    startThread,
    now: Date.now,
    retryMs: 0,
  })
  if ('problem' in opened) throw new Error(opened.message)
  const { ledger } = opened
  await ledger.operate(createKey('key_1', { balanceUsd: '10', now: Date.now() }))
  await ledger.findKey(sha256('key_1'))
  const hold = async (requestId: string, amount: string) =>
    await ledger.hold(holdRequest(requestId, 'key_1', usd(amount), { now: Date.now() }))
  const settle = (requestId: string) => ledger.settle(settlement(requestId, { input: 10 }, { now: Date.now() }))
  const lose = async (loss: Omit<Loss, 'of'>): Promise<void> => {
    crossing.lose({ ...loss, of: 'tollgate n writes' })
    await crossing.obeyed()
  }
  const balance = (): bigint | undefined => ledger.keyBalanceOf('key_1')?.account.balancePicos
  const rows = async () => {
    const outside = asking(url)
    const [row] = await outside.ask<{ balance: bigint; receipts: bigint }>(
      'SELECT balance_picos AS balance, (SELECT count(*) FROM receipts) AS receipts FROM accounts',
    )
    await outside.close()
    return row
  }
  const close = async (): Promise<void> => {
    await ledger.close()
    crossing.close()
    const db = connectPostgres(url)
    expect(differences(db, () => [])).toEqual([])
    db.close()
  }
  return { ledger, crossing, lose, hold, settle, balance, rows, close }
}

const credit = {
  ...({ kind: 'credit', creditKind: 'top-up', creditId: 'top_2', accountId: 'acc_1', ref: '' } as const),
  amountPicos: usd('1'),
}

for (const [what, from, added] of [
  ['was done', 'server', usd('1')],
  ['was not done', 'client', 0n],
] as const) {
  postgresTest(`an act whose commit was not answered, and ${what}: memory follows the rows, and once more is once`, async () => {
    const { ledger, crossing, lose, balance, rows, close } = await openNode()
    await lose({ text: 'COMMIT', from })
    expect(await ledger.operate({ ...credit, now: Date.now() })).toEqual({ result: 'unavailable' })
    expect((await rows())?.balance).toBe(usd('10') + added)
    expect(balance()).toBe(usd('10'))
    crossing.heal()
    await until(() => ledger.isWritable(), 'it writes again')
    await until(() => balance() === usd('10') + added, 'memory has what the rows have')
    expect(await ledger.operate({ ...credit, now: Date.now() })).toEqual({ result: 'done' })
    expect([balance(), (await rows())?.balance]).toEqual([usd('11'), usd('11')])
    await close()
  })
}

for (const [what, loss, spent] of [
  ['was done', { text: 'SELECT 1\0', from: 'server' }, 2n * COST],
  ['was not done', { text: 'req_1', from: 'client' }, COST],
] as const) {
  postgresTest(`a settle that was not answered, and ${what}: it is kept, and spent once`, async () => {
    const { ledger, crossing, lose, hold, settle, balance, rows, close } = await openNode()
    // What it asks before the first one is known for the second.
    expect(await hold('req_0', '0.5')).toBe('held')
    expect(await settle('req_0')).toBe('settled')
    await ledger.findKey(sha256('key_1'))
    expect(await hold('req_1', '0.5')).toBe('held')
    await lose(loss)
    expect(await settle('req_1')).toBe('settled')
    // Unless the thread has come back by itself and replayed it: then it is there, and once.
    const { balance: left, receipts = 0n } = (await rows()) ?? {}
    expect([spent / COST, 2n]).toContain(receipts)
    expect(left).toBe(usd('10') - receipts * COST)
    expect(balance()).toBe(usd('10') - 2n * COST)
    crossing.heal()
    await until(() => ledger.isWritable(), 'it writes again')
    await until(async () => (await rows())?.receipts === 2n, 'it is replayed')
    expect((await rows())?.balance).toBe(usd('10') - 2n * COST)
    // The server may count as silent for a moment more.
    const answers: string[] = []
    const holdNext = async (): Promise<boolean> =>
      answers.push(answerText(await hold(`next_${answers.length + 1}`, '9.9'))) > 0 && answers.at(-1) === 'held'
    await until(
      holdNext,
      () =>
        `it holds again, after ${answers.length} that were ${[...new Set(answers)]}, with ${balance()} and ${ledger.holds().length} holds`,
    )
    expect(balance()).toBe(usd('10') - 2n * COST)
    expect(await settle(`next_${answers.length}`)).toBe('settled')
    expect([balance(), await rows()]).toEqual([usd('10') - 3n * COST, { balance: usd('10') - 3n * COST, receipts: 3n }])
    await close()
  })
}
