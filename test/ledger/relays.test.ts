/** Protects processes.md "Relays", "Admission", "Death": relays of one ledger process spend together what one process would, and what is acknowledged is there once. */

import type { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_AMOUNTS } from '../../src/core/token-buckets.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { FollowAsk, FollowTold } from '../../src/ledger/shared-answers.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { spendLastCent } from '../support/last-cent.ts'
import { ACT, answerText, balanceAt, createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../support/ledger.ts'
import { cutter, openLedgerProcess, openTestRelay, type TestRelay } from '../support/relays.ts'
import { openToRead } from '../support/stores.ts'
import { until } from '../support/until.ts'

const pathOf = (): string => join(makeFolder(), 'ledger.db')
const find = (ledger: Ledger) => ledger.findKey(sha256('key_1'))
const holdOf = (requestId: string, dollars = '0.5') => holdRequest(requestId, 'key_1', usd(dollars), { now: Date.now() })
/** 0.3 USD. */
const settlementOf = (requestId: string) => settlement(requestId, { input: 100_000 }, { now: Date.now() })

function differencesOf(path: string): readonly unknown[] {
  const db = openToRead(path) as Database
  try {
    return differencesInFile(db)
  } finally {
    db.close()
  }
}

async function openAll(path: string, count: number, balanceUsd = '10') {
  const main = await openLedgerProcess(path)
  await main.ledger.operate(createKey('key_1', { balanceUsd }), ACT)
  const relays = await Promise.all(Array.from({ length: count }, () => openTestRelay(path)))
  for (const { ledger } of relays) await find(ledger)
  await until(() => relays.every(({ ledger }) => ledger.mayAdmit()), 'all may admit')
  return { main, relays }
}

async function closeAll({ main, relays }: Awaited<ReturnType<typeof openAll>>): Promise<void> {
  await Promise.all(relays.map(({ ledger }) => ledger.close()))
  await main.ledger.close()
}

async function spend({ ledger }: TestRelay, requestId: string): Promise<string> {
  const held = await ledger.hold(holdOf(requestId))
  return held === 'held' ? await ledger.settle(settlementOf(requestId)) : answerText(held)
}

test('what relays spend at once is what one process would: a hot account near its last cent ends one request below zero at most', async () => {
  const path = pathOf()
  const all = await openAll(path, 4)
  const results = await Promise.all(all.relays.flatMap((relay, at) => Array.from({ length: 40 }, (_, n) => spend(relay, `req_${at}_${n}`))))
  for (let round = 0; round < 40; round++)
    results.push(...(await Promise.all(all.relays.map((relay, at) => spend(relay, `req_${at}_r${round}`)))))
  const settled = results.filter((result) => result === 'settled').length
  const left = balanceAt(path, 'key_1')?.availablePicos ?? 0n
  expect(left).toBe(usd('10') - BigInt(settled) * usd('0.3'))
  expect(left).toBeLessThanOrEqual(0n)
  expect(left).toBeGreaterThan(-usd('0.5'))
  expect(all.relays.flatMap(({ faults }) => faults)).toEqual([])
  expect(all.main.faults).toEqual([])
  await closeAll(all)
  expect(differencesOf(path)).toEqual([])
})

for (const of of ['key', 'account'] as const)
  test(`a hundred requests at once at the last cent of the ${of}’s window, over four relays: one of them is admitted`, async () => {
    const path = pathOf()
    const all = await openAll(path, 4, '1000')
    await spendLastCent(
      all.relays.map(({ ledger }) => ledger),
      all.main.ledger,
      of,
    )
    expect([...all.relays.flatMap(({ faults }) => faults), ...all.main.faults]).toEqual([])
    await closeAll(all)
    expect(differencesOf(path)).toEqual([])
  })

test('a budget of an account is told as one of the account, not as a change of each of its keys', async () => {
  const all = await openAll(pathOf(), 2)
  const [a] = all.relays as [TestRelay]
  try {
    const told = () => all.relays.map(({ changes }) => changes.length)
    const before = told()
    const budget = { accountId: 'acc_1', keyId: null, per: 'day', capPicos: usd('3'), setBy: 'customer' } as const
    expect((await a.ledger.operate({ kind: 'setBudget', ...budget, now: Date.now() }, ACT)).result).toBe('done')
    const knows = ({ ledger }: TestRelay): boolean => ledger.keyBalanceOf('key_1')?.windows?.[0]?.capPicos === usd('3')
    await until(() => all.relays.every(knows), 'both know the budget')
    expect(told()).toEqual(before)
  } finally {
    await closeAll(all)
  }
})

test('a key that an operator disables is refused by every relay, and a top-up is theirs at once', async () => {
  const all = await openAll(pathOf(), 2, '0.1')
  const [a, b] = all.relays as [TestRelay, TestRelay]
  expect(await spend(a, 'req_1')).toBe('settled')
  expect(await b.ledger.hold(holdOf('req_2'))).toBe('exhausted')
  const credited = await all.main.ledger.operate(
    { kind: 'credit', creditKind: 'top-up', creditId: 'c1', accountId: 'acc_1', amountPicos: usd('5'), ref: '', now: Date.now() },
    ACT,
  )
  expect(credited.result).toBe('done')
  await until(async () => (await b.ledger.hold(holdOf('req_3'))) === 'held', 'the top-up is known there')
  expect(await b.ledger.settle(settlementOf('req_3'))).toBe('settled')
  await all.main.ledger.operate({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: Date.now() }, ACT)
  for (const { changes } of all.relays) await until(() => changes.some(({ stop }) => stop === 'disabled'), 'it is known there')
  for (const { ledger } of all.relays) expect(await ledger.hold(holdOf('req_4'))).toBe('disabled')
  await closeAll(all)
})

test('an account that an operator disables is told as one, and every relay cuts and refuses all its keys that it knows', async () => {
  const all = await openAll(pathOf(), 2)
  try {
    for (const keyId of ['key_2', 'key_3']) await all.main.ledger.operate(createKey(keyId, { accountId: 'acc_1' }), ACT)
    for (const { ledger } of all.relays) for (const keyId of ['key_2', 'key_3']) await ledger.findKey(sha256(keyId))
    for (const { changes } of all.relays) changes.length = 0
    const setActive = (isActive: boolean) =>
      all.main.ledger.operate({ kind: 'setAccountActive', accountId: 'acc_1', isActive, now: Date.now() }, ACT)
    const holdsOf = ({ ledger }: TestRelay) =>
      Promise.all(
        ['key_1', 'key_2', 'key_3'].map(
          async (keyId) => await ledger.hold(holdRequest(`req_${Bun.randomUUIDv7()}`, keyId, usd('0.01'), { now: Date.now() })),
        ),
      )
    await setActive(false)
    for (const { changes } of all.relays) await until(() => changes.some(({ stop }) => stop === 'disabled'), 'it is known there')
    for (const relay of all.relays) {
      expect(relay.changes).toEqual([
        { accountId: 'acc_1', stop: null },
        { accountId: 'acc_1', stop: 'disabled' },
      ])
      expect(await holdsOf(relay)).toEqual(['disabled', 'disabled', 'disabled'])
    }
    await setActive(true)
    for (const relay of all.relays)
      await until(async () => (await holdsOf(relay)).every((answer) => answer === 'held'), 'all its keys are let in again')
  } finally {
    await closeAll(all)
  }
})

test('what a relay that has left had leased is free, and it leaves no hold', async () => {
  const all = await openAll(pathOf(), 2, '0.6')
  const [a, b] = all.relays as [TestRelay, TestRelay]
  expect(await a.ledger.hold(holdOf('req_1'))).toBe('held')
  expect(await a.ledger.hold(holdOf('req_2'))).toBe('held')
  expect(await b.ledger.hold(holdOf('req_3'))).toBe('reserved')
  await a.ledger.close()
  expect(await b.ledger.hold(holdOf('req_4'))).toBe('held')
  await b.ledger.close()
  await all.main.ledger.close()
})

test('a ledger process that is gone and comes back is told what is held, and an end that waited is charged once', async () => {
  const path = pathOf()
  const all = await openAll(path, 2, '1')
  const [a, b] = all.relays as [TestRelay, TestRelay]
  expect(await a.ledger.hold(holdOf('req_1', '0.9'))).toBe('held')
  await all.main.ledger.close()
  await until(() => !b.ledger.mayAdmit(), 'b sees that it is gone')
  expect(await b.ledger.hold(holdOf('req_2'))).toBe('unavailable')
  const settling = a.ledger.settle(settlementOf('req_1'))
  const again = await openLedgerProcess(path, { expected: [a.bootId, b.bootId] })
  expect(await settling).toBe('settled')
  await until(() => a.ledger.mayAdmit() && b.ledger.mayAdmit(), 'both may admit again')
  expect(again.recovered).toBe(0)
  expect(balanceAt(path, 'key_1')?.availablePicos).toBe(usd('0.7'))
  expect(await b.ledger.hold(holdOf('req_3'))).toBe('held')
  await closeAll({ main: again, relays: all.relays })
})

test('a connection that is cut, over and over, loses no end and charges none twice', async () => {
  const path = pathOf()
  const main = await openLedgerProcess(path)
  await main.ledger.operate(createKey('key_1', { balanceUsd: '100' }), ACT)
  const between = cutter(main.socket)
  const relay = await openTestRelay(path, {}, between.path)
  await find(relay.ledger)
  await until(() => relay.ledger.mayAdmit())
  const ends: Promise<string>[] = []
  for (let n = 0; n < 60; n++) {
    await until(async () => (await relay.ledger.hold(holdOf(`req_${n}`))) === 'held', 'it is held')
    ends.push(relay.ledger.settle(settlementOf(`req_${n}`)))
    if (n % 5 === 4) between.cut()
  }
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['settled']))
  expect(balanceAt(path, 'key_1')?.availablePicos).toBe(usd('82'))
  await relay.ledger.close()
  await main.ledger.close()
  between.close()
  expect(differencesOf(path)).toEqual([])
})

const REPEATABLE = { keyId: 'key_1', headerHash: new Uint8Array(32).fill(1), bodyHash: new Uint8Array(32).fill(2) }

test('what runs under an Idempotency-Key on one relay runs for all, until it ends or its relay does, also over an end of the ledger process', async () => {
  const path = pathOf()
  const all = await openAll(path, 2)
  const [a, b] = all.relays as [TestRelay, TestRelay]
  expect(await a.shared.claims?.claim(REPEATABLE)).toEqual({ kind: 'claimed' })
  expect(await b.shared.claims?.claim(REPEATABLE)).toEqual({ kind: 'running', isSame: true })
  expect(await b.shared.claims?.claim({ ...REPEATABLE, bodyHash: new Uint8Array(32) })).toEqual({ kind: 'running', isSame: false })
  await all.main.ledger.close()
  const again = await openLedgerProcess(path, { expected: [a.bootId, b.bootId] })
  await until(() => a.ledger.mayAdmit() && b.ledger.mayAdmit(), 'both are there again')
  expect(await b.shared.claims?.isRunning(REPEATABLE)).toBeTrue()
  a.shared.claims?.release(REPEATABLE)
  await until(async () => (await b.shared.claims?.claim(REPEATABLE))?.kind === 'claimed', 'it is free')
  await b.ledger.close()
  await until(async () => (await a.shared.claims?.isRunning(REPEATABLE)) === false, 'it went with its relay')
  await a.ledger.close()
  await again.ledger.close()
})

test('what runs on one relay is told to another one that asks, and only while both live', async () => {
  const all = await openAll(pathOf(), 2)
  const [a, b] = all.relays as [TestRelay, TestRelay]
  const heard: FollowAsk[] = []
  const states: FollowTold['state'][] = [
    { kind: 'places', places: 1 },
    { kind: 'bytes', at: 3, bytes: Buffer.from('more') },
  ]
  const held = Promise.withResolvers<FollowTold>()
  a.shared.claims?.onFollow((ask) => {
    heard.push(ask)
    const state = states.shift()
    return state === undefined ? held.promise : { requestId: 'req_1', isStream: true, state }
  })
  const follow = (owner?: string, at?: number, of = REPEATABLE) => b.shared.claims?.follow(of, { follower: 'f', owner, places: 1, at })
  expect(await follow()).toBe('gone')
  await a.shared.claims?.claim(REPEATABLE)
  expect(await follow(undefined, undefined, { ...REPEATABLE, bodyHash: new Uint8Array(32) })).toBe('gone')
  expect(heard).toEqual([])
  const first = await follow()
  if (typeof first !== 'object') throw new Error(`it is ${first}`)
  expect(first).toMatchObject({ requestId: 'req_1', isStream: true, state: { kind: 'places', places: 1 } })
  // The relay is asked also when its claim has ended.
  a.shared.claims?.release(REPEATABLE)
  await until(async () => (await b.shared.claims?.isRunning(REPEATABLE)) === false, 'the claim has ended')
  expect(await follow(first.owner, 3)).toMatchObject({
    owner: first.owner,
    state: { kind: 'bytes', bytes: new Uint8Array(Buffer.from('more')) },
  })
  expect(heard.at(-1)).toMatchObject({ follower: 'f', owner: first.owner, places: 1, at: 3, keyId: 'key_1' })
  const waiting = follow(first.owner, 7)
  await until(() => heard.length === 3, 'it is asked')
  await a.ledger.close()
  expect(await waiting).toBe('gone')
  await b.ledger.close()
  await all.main.ledger.close()
})

test('the requests of a minute, and those at once, are those of all relays together', async () => {
  const all = await openAll(pathOf(), 3)
  const ask = { keyId: 'key_1', requests: 40, places: 4, perMinute: 100, atOnce: 10 }
  const grants = await Promise.all(all.relays.map(({ shared }) => shared.limits.take(ask)))
  const granted = grants.flatMap((grant) => (grant === 'unavailable' ? [] : [grant]))
  expect(granted.map(({ requests }) => requests)).toEqual([40, 40, 20])
  expect(granted.map(({ places }) => places)).toEqual([4, 4, 2])
  await all.relays[0]?.ledger.close()
  const next = await all.relays[2]?.shared.limits.take({ ...ask, requests: 0, places: 10 })
  expect(next).toMatchObject({ places: 6, nodes: 2 })
  await closeAll(all)
})

test('the rates of a plan are those of all relays together, and what a relay ran is free when it is gone, not when the ledger process is', async () => {
  const path = pathOf()
  const all = await openAll(path, 3)
  const limits = { requestsPerMinute: 60, inputTokensPerMinute: 10_000, outputTokensPerMinute: null, concurrentRequests: 4 }
  const owner = (running: number) => ({ name: 'plan acc_1 p', limits, running })
  const take = async (relay: TestRelay | undefined, running: number, inputTokens = 10): Promise<boolean | undefined> => {
    const answer = await relay?.shared.rates.take({ owners: [owner(running)], wanted: { inputTokens }, slots: 1 })
    return answer === 'unavailable' ? undefined : answer?.isAdmitted
  }
  const [a, b, c] = all.relays
  expect(await Promise.all([take(a, 1), take(a, 2), take(b, 1), take(c, 1), take(c, 2)])).toEqual([true, true, true, true, false])
  await a?.ledger.close()
  expect([await take(b, 2), await take(c, 2), await take(b, 3), await take(c, 3)]).toEqual([true, true, false, false])
  expect(await c?.shared.rates.correct([{ owner: owner(0), amounts: { requests: 0, input: 9_950, output: 0 } }], 1)).toBe('done')
  expect(await b?.shared.rates.correct([{ owner: owner(2), amounts: NO_AMOUNTS }], 1)).toBe('done')
  expect(await take(b, 3, 100)).toBe(false)
  expect(await b?.shared.rates.correct([{ owner: owner(2), amounts: NO_AMOUNTS }], 2)).toBe('done')
  await all.main.ledger.close()
  const again = await openLedgerProcess(path, { expected: all.relays.slice(1).map(({ bootId }) => bootId) })
  await until(() => b?.ledger.mayAdmit() === true && c?.ledger.mayAdmit() === true, 'both are there again')
  // The buckets are whole again, and the two requests of the second relay still run.
  expect([await take(c, 1, 9_000), await take(c, 2), await take(c, 3)]).toEqual([true, true, false])
  await Promise.all([b?.ledger.close(), c?.ledger.close()])
  await again.ledger.close()
})

test('a disk that is full under the ledger process stops the spending of all relays; what was acknowledged is booked when there is room again', async () => {
  // Where nothing can be mounted, full-disk.test.ts stands for this one: the thread is the same.
  const folder = makeFolder()
  if (process.getuid?.() !== 0 || Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).exitCode !== 0) return
  try {
    const path = join(folder, 'ledger.db')
    const main = await openLedgerProcess(path, { retryMs: 200, spillBytes: 64 * 1024 })
    await main.ledger.operate(createKey('key_1', { balanceUsd: '1000' }), ACT)
    const relays = await Promise.all([openTestRelay(path), openTestRelay(path)])
    for (const { ledger } of relays) await find(ledger)
    await until(() => relays.every(({ ledger }) => ledger.mayAdmit()))
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'filler'), new Uint8Array(Math.max(0, bavail * bsize - 64 * 1024)))
    let settled = 0
    for (let n = 0; relays.some(({ ledger }) => ledger.isWritable()) && n < 4_000; n++) {
      const results = await Promise.all(relays.map((relay, at) => spend(relay, `req_${at}_${n}`)))
      settled += results.filter((result) => result === 'settled').length
    }
    expect(relays.map(({ ledger }) => ledger.isWritable())).toEqual([false, false])
    rmSync(join(folder, 'filler'))
    await until(() => relays.every(({ ledger }) => ledger.isWritable()), 'all may be written again')
    await until(() => balanceAt(path, 'key_1')?.availablePicos === usd('1000') - BigInt(settled) * usd('0.3'), 'all of it is booked')
    expect(await spend(relays[0], 'req_after')).toBe('settled')
    await closeAll({ main, relays })
    expect(differencesOf(path)).toEqual([])
  } finally {
    Bun.spawnSync(['umount', '-l', folder])
  }
}, 120_000)

test('a settle tells its relay what the others have spent by then, so that one client that asks in sequence sees its balance fall', async () => {
  const all = await openAll(pathOf(), 3)
  const seen: (bigint | undefined)[] = []
  for (let turn = 0; turn < 9; turn++) {
    const relay = all.relays[turn % 3] as TestRelay
    expect(await spend(relay, `req_${turn}`)).toBe('settled')
    seen.push(relay.ledger.keyBalanceOf('key_1')?.account.balancePicos)
  }
  expect(seen).toEqual(Array.from({ length: 9 }, (_, turn) => usd('10') - BigInt(turn + 1) * usd('0.3')))
  expect(all.relays.map(({ ledger }) => ledger.keyBalanceOf('key_1')?.spentPicos)).toEqual([usd('2.1'), usd('2.4'), usd('2.7')])
  await closeAll(all)
})

test('what a key has now is what all relays have spent, whichever is asked, in the windows of its budgets, too, and after a settle without a question; at once what its relay knows where the ledger process is away', async () => {
  const all = await openAll(pathOf(), 2)
  const [one, other] = all.relays as [TestRelay, TestRelay]
  const budget = { accountId: 'acc_1', keyId: null, per: 'day', capPicos: usd('3'), setBy: 'customer' } as const
  await all.main.ledger.operate({ kind: 'setBudget', ...budget, now: Date.now() }, ACT)
  const spent = (balance: ReturnType<Ledger['keyBalanceOf']>) => [balance?.spentPicos, balance?.windows?.[0]?.spentPicos]
  await until(() => all.relays.every(({ ledger }) => ledger.keyBalanceOf('key_1')?.windows !== undefined), 'both know the budget')
  for (const [at, relay] of [one, other, other].entries()) await spend(relay, `req_${at}`)
  expect(spent(other.ledger.keyBalanceOf('key_1'))).toEqual([usd('0.9'), usd('0.9')])
  expect(spent(one.ledger.keyBalanceOf('key_1'))).toEqual([usd('0.3'), usd('0.3')])
  expect(spent(await one.ledger.keyBalanceNow('key_1'))).toEqual([usd('0.9'), usd('0.9')])
  await all.main.ledger.close()
  await until(() => !one.ledger.mayAdmit(), 'the relay knows that the ledger process is away')
  const atOnce = await Promise.race([one.ledger.keyBalanceNow('key_1'), new Promise<undefined>((resolve) => void setImmediate(resolve))])
  expect(spent(atOnce)).toEqual([usd('0.9'), usd('0.9')])
  await Promise.all(all.relays.map(({ ledger }) => ledger.close()))
})
