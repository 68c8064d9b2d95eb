/** The ledger behind its thread: many at once, one commit for all, and a thread that dies. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { picos, ZERO } from '../../src/core/money.ts'
import { NO_USAGE, type Usage } from '../../src/core/usage.ts'
import type { KeyChange, Ledger, Progress } from '../../src/ledger/ledger.ts'
import { openReport } from '../../src/ledger/report.ts'
import type { Committed } from '../../src/ledger/thread-messages.ts'
import { addKey, balanceAt, createKey, holdRequest, makePath, NOW, openTestLedger, settlement, sha256, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

function differencesAt(path: string) {
  const report = openReport({ kind: 'sqlite', path })
  if ('problem' in report) throw new Error(report.message)
  const found = report.verify()
  report.close()
  return found
}

/** As a thread's messages come: `pass` hands one on to the gateway, as it is or changed. */
type Hear = (told: Partial<Committed>, pass: (told: unknown) => void, thread: Readonly<{ worker: Worker; isFirst: boolean }>) => void

/** Threads whose every message goes through `hear`. */
function threadsHeardBy(hear: Hear): { startThread: () => Worker; workers: readonly Worker[] } {
  const workers: Worker[] = []
  const start = (): Worker => {
    const worker = startThread()
    workers.push(worker)
    const listen = worker.addEventListener.bind(worker) as (kind: string, listener: (event: { data: unknown }) => void) => void
    const through = (kind: string, listener: (event: { data: unknown }) => void): void =>
      listen(kind, (event) => {
        if (kind !== 'message') return listener(event)
        hear(event.data as Partial<Committed>, (data) => listener({ data }), { worker, isFirst: workers.length === 1 })
      })
    worker.addEventListener = through as typeof worker.addEventListener
    return worker
  }
  return { startThread: start, workers }
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

test('what is settled in one turn of the loop, each by a task of its own, goes to the thread in one message', async () => {
  let messages = 0
  const counting = (): Worker => {
    const worker = startThread()
    const post = worker.postMessage.bind(worker)
    worker.postMessage = (message: unknown) => {
      messages++
      post(message)
    }
    return worker
  }
  const { ledger } = await openTestLedger({ startThread: counting })
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  const ids = ['a', 'b', 'c']
  for (const id of ids) await ledger.hold(holdRequest(id, 'key_a', usd('0.1')))
  const before = messages
  const settles: Promise<unknown>[] = []
  for (const id of ids) {
    await Promise.resolve()
    settles.push(ledger.settle(settlement(id, { input: 1 })))
  }
  expect(await Promise.all(settles)).toEqual(['settled', 'settled', 'settled'])
  expect(messages - before).toBe(1)
  await ledger.close()
})

test('one task that the database refuses leaves its neighbours in the same commit, and is told to the operator', async () => {
  const { ledger, faults, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  await Promise.all(['a', 'b', 'c'].map((id) => ledger.hold(holdRequest(id, 'key_a', usd('0.1')))))
  const answers = await Promise.all([
    ledger.settle(settlement('a', { input: 1 })),
    ledger.settle(settlement('b', { input: 1 }, { costPicos: ZERO })),
    ledger.settle(settlement('c', { input: 1 })),
    ledger.operate({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: 'top_1',
      accountId: 'acc_a',
      amountPicos: usd('1'),
      ref: '',
      now: NOW,
    }),
  ])
  expect(answers).toEqual(['settled', 'unavailable', 'settled', { result: 'done' }])
  const balance = { availablePicos: usd('2') - 6_000_000n, lastSyncedAt: NOW + 1_000 }
  expect(balanceAt(path, 'key_a')).toMatchObject(balance)
  expect(ledger.keyBalanceOf('key_a')).toMatchObject({
    account: { balancePicos: picos(balance.availablePicos) },
    lastSyncedAt: NOW + 1_000,
  })
  expect(faults).toEqual([expect.stringContaining('exact_price')])
  await ledger.close()
})

test('a settle that is asked for twice at once is answered twice when it is known whether it was written', async () => {
  const { ledger } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  for (const id of ['good', 'bad']) await ledger.hold(holdRequest(id, 'key_a', usd('0.1')))
  const good = settlement('good', { input: 1 })
  const bad = settlement('bad', { input: 1 }, { costPicos: ZERO })
  const answers = await Promise.all([good, good, bad, bad].map((one) => ledger.settle(one)))
  expect(answers).toEqual(['settled', 'already', 'unavailable', 'unavailable'])
  await ledger.close()
})

test('the hold of a settle that could not be written is released, uncharged', async () => {
  const { ledger, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  await ledger.hold(holdRequest('a', 'key_a', usd('5')))
  expect(await ledger.settle(settlement('a', { input: 1 }, { costPicos: ZERO }))).toBe('unavailable')
  expect(await ledger.hold(holdRequest('b', 'key_a', usd('5')))).toBe('held')
  expect(await ledger.settle(settlement('a', { input: 1 }))).toBe('already')
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('a change is told before the operator’s write resolves; a settle that uses up the limit changes nothing that runs', async () => {
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
  expect(await ledger.hold(holdRequest('a', 'key_a', usd('0.1')))).toBe('held')
  const settled = ledger.settle(settlement('a', { input: 1 }))
  await Promise.all([ledger.close(), ledger.close()])
  expect(await settled).toBe('settled')
  expect(ledger.isWritable()).toBe(false)
  expect(await ledger.hold(holdRequest('b', 'key_a', usd('0.1')))).toBe('unavailable')
  expect(await ledger.operate(createKey('key_b'))).toEqual({ result: 'unavailable' })
  expect(await ledger.findKey(sha256('x'))).toBe('unavailable')
  expect(readdirSync(dirname(path)).sort()).toEqual([basename(path), `${basename(path)}.mark`])
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
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: usd('10') - 120n * 3_000_000n })
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
  expect(await ledger.findKey(new Uint8Array(32))).toBe('unavailable')
  expect(ledger.isWritable()).toBe(false)
  expect(await ledger.hold(holdRequest('a', 'key_a', usd('0.001')))).toBe('unavailable')
  isBroken = false
  await until(() => ledger.isWritable())
  expect(await ledger.hold(holdRequest('a', 'key_a', usd('0.001')))).toBe('held')
  await ledger.close()
})

const partial = (usage: Partial<Usage>): Progress => ({ usage: { ...NO_USAGE, ...usage }, usageSource: 'partial' })

/** Holds some requests, lets them grow older than a checkpoint needs, and leaves without ending them. */
async function leaveInFlight(path: string, ids: readonly string[], work: (ledger: Ledger) => Promise<unknown> | unknown): Promise<void> {
  const { ledger } = await openTestLedger({ path, bootId: 'boot-1', checkpointAfterMs: 40 })
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  for (const id of ids) expect(await ledger.hold(holdRequest(id, 'key_a', usd('0.01')))).toBe('held')
  await work(ledger)
  await ledger.close()
}

test('what an earlier run left in flight is waived at its last checkpoint, once; what was younger leaves no row', async () => {
  const path = makePath()
  await leaveInFlight(path, ['checkpointed', 'silent', 'ended', 'voided'], async (ledger) => {
    ledger.checkpoint('checkpointed', partial({ input: 10, output: 1 }))
    await Bun.sleep(100)
    ledger.checkpoint('checkpointed', {
      ...partial({ input: 10, output: 7, serverToolUses: 1 }),
      upstream: { name: 'main', model: 'vendor-1' },
    })
    await ledger.settle(settlement('ended', { input: 1 }))
    ledger.void('voided')
    await ledger.hold(holdRequest('young', 'key_a', usd('0.1')))
    ledger.checkpoint('young', partial({ input: 10 }))
  })
  const nextDay = NOW + 86_400_000
  const second = await openTestLedger({ path, bootId: 'boot-2', now: () => nextDay })
  expect(second.recovered).toBe(2)
  // The customer pays only for the one that it saw the end of.
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: usd('1') - 3_000_000n })
  await second.ledger.close()
  const db = new Database(path, { readonly: true })
  const query = `SELECT request_id, outcome, basis, output_tokens, cost_picos, waived_picos, day, settled_at, u.name FROM receipts
    LEFT JOIN upstreams u ON u.number = upstream_number WHERE request_id <> 'ended' ORDER BY 1`
  const day = Math.floor(NOW / 86_400_000)
  const recovered = { outcome: 'recovered', cost_picos: 0, day, settled_at: nextDay }
  expect(db.query(query).all()).toEqual([
    {
      ...recovered,
      request_id: 'checkpointed',
      basis: 'partial',
      output_tokens: 7,
      waived_picos: 10 * 3_000_000 + 7 * 15_000_000 + 10_000_000_000,
      name: 'main',
    },
    { ...recovered, request_id: 'silent', basis: 'none', output_tokens: 0, waived_picos: 0, name: null },
  ])
  expect(db.query('SELECT count(*) AS n FROM marks').get()).toEqual({ n: 0 })
  db.close()
  const third = await openTestLedger({ path, bootId: 'boot-3' })
  expect(third.recovered).toBe(0)
  await third.ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('a checkpoint whose price no ledger can hold is dropped at the next start, and does not keep the others from being recovered', async () => {
  const path = makePath()
  await leaveInFlight(path, ['absurd', 'sound'], async (ledger) => {
    ledger.checkpoint('absurd', partial({ input: 1_000_000_000_000, output: 1_000_000_000_000 }))
    ledger.checkpoint('sound', partial({ input: 10 }))
    await Bun.sleep(100)
  })
  const second = await openTestLedger({ path, bootId: 'boot-2' })
  expect(second.recovered).toBe(2)
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: usd('1') })
  await second.ledger.close()
  const db = new Database(path, { readonly: true })
  expect(db.query('SELECT request_id FROM receipts').all()).toEqual([{ request_id: 'sound' }])
  expect(db.query('SELECT count(*) AS n FROM marks').get()).toEqual({ n: 0 })
  db.close()
  expect(differencesAt(path)).toEqual([])
})

test('checkpoints whose prices fit each, but not together into a day, do not keep the ledger closed', async () => {
  const path = makePath()
  await leaveInFlight(path, ['first', 'second', 'sound'], async (ledger) => {
    ledger.checkpoint('first', partial({ input: 2_000_000_000_000 }))
    ledger.checkpoint('second', partial({ input: 2_000_000_000_000 }))
    ledger.checkpoint('sound', partial({ input: 10 }))
    await Bun.sleep(100)
  })
  const second = await openTestLedger({ path, bootId: 'boot-2' })
  expect(second.recovered).toBe(3)
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: usd('1') })
  await second.ledger.close()
  const db = new Database(path, { readonly: true })
  expect(db.query('SELECT request_id FROM receipts ORDER BY 1').all()).toEqual([{ request_id: 'first' }, { request_id: 'sound' }])
  expect(db.query('SELECT count(*) AS n FROM marks').get()).toEqual({ n: 0 })
  db.close()
  expect(differencesAt(path)).toEqual([])
})

test('an operator’s write that a dying thread may or may not have committed counts once for the requests that follow', async () => {
  const workers: Worker[] = []
  const { ledger, path } = await openTestLedger({
    startThread: () => {
      const worker = startThread()
      workers.push(worker)
      return worker
    },
  })
  await addKey(ledger, 'key_a', { balanceUsd: '0.02' })
  for (let round = 1; round <= 4; round++) {
    expect(await ledger.hold(holdRequest(`warm_${round}`, 'key_a', usd('0.01')))).toBe('held')
    const settled = ledger.settle(settlement(`warm_${round}`, { input: 1 }))
    const topUp = ledger.operate({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: `t${round}`,
      accountId: 'acc_a',
      amountPicos: usd('0.01'),
      ref: '',
      now: NOW,
    })
    if (round > 1) await Bun.sleep(round)
    workers.at(-1)?.terminate()
    expect([await settled, await topUp]).toEqual(['settled', { result: 'done' }])
  }
  // 0.06 USD less four times 3 microdollars: five cents fit wholly, the sixth begins on what is left, the seventh finds nothing.
  const answers = Array.from({ length: 7 }, (_, n) => ledger.hold(holdRequest(`req_${n}`, 'key_a', usd('0.01'))))
  expect(await Promise.all(answers)).toEqual([...Array.from({ length: 6 }, () => 'held' as const), 'reserved'])
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
}, 180_000)

/** The first thread dies with the next commit, which it does not tell; of the second thread the wallets' rows come `later`, as where they are committed apart. */
function dyingWithoutWord(later: (passRows: () => void) => void): { startThread: () => Worker; dieAtNextCommit: () => void } {
  let isMute = false
  const { startThread } = threadsHeardBy((told, pass, { worker, isFirst }) => {
    if (isMute) {
      isMute = false
      worker.terminate()
    } else if (isFirst || told.answers === undefined) pass(told)
    else {
      const rows = told.answers.filter(({ answer }) => Array.isArray(answer))
      pass({ ...told, answers: told.answers.filter((answer) => !rows.includes(answer)) })
      if (rows.length > 0) later(() => pass({ ...told, answers: rows }))
    }
  })
  return {
    startThread,
    dieAtNextCommit: () => {
      isMute = true
    },
  }
}

test('a top-up that a dying thread committed without a word is in the balance when its operator is told that it is done', async () => {
  const { startThread, dieAtNextCommit } = dyingWithoutWord((passRows) => setTimeout(passRows, 200))
  const { ledger } = await openTestLedger({ startThread })
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  expect(await ledger.hold(holdRequest('warm', 'key_a', usd('0.5')))).toBe('held')
  dieAtNextCommit()
  const amountPicos = usd('2')
  const credit = { kind: 'credit', creditKind: 'top-up', creditId: 't1', accountId: 'acc_a', amountPicos, ref: '', now: NOW } as const
  expect(await ledger.operate(credit)).toEqual({ result: 'done' })
  expect(ledger.keyBalanceOf('key_a')?.account.balancePicos).toBe(usd('3'))
  await ledger.close()
}, 30_000)

test('what operators are told comes in the order in which it was done, also where the first of them waits for the wallets', async () => {
  const rowsCame = Promise.withResolvers<() => void>()
  const { startThread, dieAtNextCommit } = dyingWithoutWord(rowsCame.resolve)
  const { ledger } = await openTestLedger({ startThread })
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  expect(await ledger.hold(holdRequest('warm', 'key_a', usd('0.5')))).toBe('held')
  const told: string[] = []
  const setActive = async (isActive: boolean): Promise<void> => {
    await ledger.operate({ kind: 'setAccountActive', accountId: 'acc_a', isActive, now: NOW })
    told.push(isActive ? 'enabled' : 'disabled')
  }
  dieAtNextCommit()
  const disabled = setActive(false)
  const passRows = await rowsCame.promise
  const enabled = setActive(true)
  // Its commit is behind that of `enabled`, which is heard by then.
  await ledger.findKey(new Uint8Array(32))
  expect(told).toEqual([])
  passRows()
  await Promise.all([disabled, enabled])
  expect(told).toEqual(['disabled', 'enabled'])
  await ledger.close()
}, 30_000)

test('settles that a dying thread committed without a word are spent once in memory, however many were on their way', async () => {
  let isMute = false
  const { startThread } = threadsHeardBy((told, pass, { worker }) => {
    if (!isMute) return pass(told)
    isMute = false
    worker.terminate()
  })
  const { ledger, path } = await openTestLedger({ checkpointAfterMs: 10, startThread })
  await addKey(ledger, 'key_a', { balanceUsd: '10' })
  const running = Array.from({ length: 1_500 }, (_, n) => `run_${n}`)
  const ending = Array.from({ length: 1_200 }, (_, n) => `end_${n}`)
  for (const id of [...running, ...ending]) expect(await ledger.hold(holdRequest(id, 'key_a', picos(1n)))).toBe('held')
  // Their checkpoints are sent again before what waits, so that it takes several commits.
  await Bun.sleep(400)
  await ledger.findKey(new Uint8Array(32))
  isMute = true
  expect(new Set(await Promise.all(ending.map((id) => ledger.settle(settlement(id, { input: 1_000 })))))).toEqual(new Set(['settled']))
  for (const id of running) ledger.void(id)
  const leftPicos = usd('10') - 1_200n * 3_000_000_000n
  expect(ledger.keyBalanceOf('key_a')?.account.balancePicos).toBe(picos(leftPicos))
  expect(balanceAt(path, 'key_a')).toMatchObject({ availablePicos: leftPicos })
  expect(await ledger.hold(holdRequest('most', 'key_a', picos(leftPicos - 1n)))).toBe('held')
  expect(await ledger.hold(holdRequest('last', 'key_a', picos(1n)))).toBe('held')
  expect(await ledger.hold(holdRequest('none', 'key_a', picos(1n)))).toBe('reserved')
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
}, 180_000)

test('a settle that the spill kept is spent once in memory, also where the thread that replayed it dies without a word', async () => {
  // The gateway hears of the first settle that it is kept, and never that its receipt is written.
  const { startThread, workers } = threadsHeardBy((told, pass, { isFirst }) => {
    if (!isFirst || !told.settled?.length) return pass(told)
    const answers = [...told.settled].map((number) => ({ number, answer: 'spilled' as const }))
    pass({ ...told, settled: new Float64Array(), answers })
  })
  const { ledger, path } = await openTestLedger({ startThread })
  await addKey(ledger, 'key_a', { balanceUsd: '10' })
  expect(await ledger.hold(holdRequest('kept', 'key_a', usd('1')))).toBe('held')
  expect(await ledger.settle(settlement('kept', { input: 1_000 }))).toBe('settled')
  expect(ledger.holds()).toHaveLength(1)
  workers[0]?.terminate()
  // Behind the takeover, its question and the wallet that is read again.
  for (let n = 0; n < 3; n++) await ledger.findKey(new Uint8Array(32))
  expect(ledger.holds()).toEqual([])
  expect(ledger.keyBalanceOf('key_a')).toMatchObject({
    spentPicos: 3_000_000_000n,
    account: { balancePicos: usd('10') - 3_000_000_000n, heldPicos: 0n },
  })
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('while nobody knows whether a receipt is written, rows that are read then change nothing in memory', async () => {
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
  const { promise: maySay, resolve: say } = Promise.withResolvers<void>()
  // The first settle is said to be in the spill; of the second thread the rows are heard first, and late what became of that settle.
  const { startThread, workers } = threadsHeardBy((told, pass, { isFirst }) => {
    const { answers } = told
    if (answers === undefined) return pass(told)
    if (isFirst) {
      const spilled = [...(told.settled ?? [])].map((number) => ({ number, answer: 'spilled' as const }))
      return pass({ ...told, settled: new Float64Array(), answers: [...answers, ...spilled] })
    }
    const isOfDropped = ({ answer }: { answer: unknown }): boolean => typeof answer === 'string'
    pass({ ...told, answers: answers.filter((one) => !isOfDropped(one)) })
    read()
    maySay.then(() => pass({ ...told, answers: answers.filter(isOfDropped) }))
  })
  const { ledger, path } = await openTestLedger({ startThread })
  for (const key of ['key_a', 'key_b']) await addKey(ledger, key, { balanceUsd: '10' })
  expect(await ledger.hold(holdRequest('runs', 'key_b', usd('1')))).toBe('held')
  expect(await ledger.hold(holdRequest('kept', 'key_a', usd('1')))).toBe('held')
  expect(await ledger.settle(settlement('kept', { input: 1_000 }))).toBe('settled')
  // What the first thread did of another key and did not say.
  const outside = new Database(path)
  outside.run("UPDATE keys SET limit_picos = 7 WHERE id = 'key_b'")
  outside.close()
  workers[0]?.terminate()
  await isRead
  const once = { spentPicos: 3_000_000_000n, account: { balancePicos: usd('10') - 3_000_000_000n } }
  expect(ledger.holds()).toHaveLength(2)
  expect(ledger.keyBalanceOf('key_a')).toMatchObject(once)
  say()
  await Bun.sleep(0)
  for (let n = 0; n < 3; n++) await ledger.findKey(new Uint8Array(32))
  expect(ledger.holds()).toHaveLength(1)
  expect(ledger.keyBalanceOf('key_a')).toMatchObject(once)
  expect(ledger.keyBalanceOf('key_b')?.limitPicos).toBe(picos(7n))
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('a settle that a dying thread committed, and that the next one could only spill, is spent once in memory when it is replayed', async () => {
  let tell = (_: Partial<Committed>): void => undefined
  const { startThread } = threadsHeardBy((told, pass, { worker, isFirst }) => {
    if (told.answers === undefined) return pass(told)
    if (isFirst && told.settled?.length) return worker.terminate()
    const answers = told.answers.map(({ number, answer }) => ({ number, answer: answer === 'already' ? 'spilled' : answer }))
    tell = (more) => pass({ ...told, settled: new Float64Array(), answers: [], changes: [], ...more })
    pass({ ...told, answers })
  })
  const { ledger, path } = await openTestLedger({ startThread })
  await addKey(ledger, 'key_a', { balanceUsd: '10' })
  expect(await ledger.hold(holdRequest('kept', 'key_a', usd('1')))).toBe('held')
  expect(await ledger.settle(settlement('kept', { input: 1_000 }))).toBe('settled')
  await ledger.findKey(new Uint8Array(32))
  tell({ replayed: ['kept'] })
  for (let n = 0; n < 3; n++) await ledger.findKey(new Uint8Array(32))
  expect(ledger.holds()).toEqual([])
  expect(ledger.keyBalanceOf('key_a')).toMatchObject({ spentPicos: 3_000_000_000n, account: { balancePicos: usd('10') - 3_000_000_000n } })
  await ledger.close()
  expect(differencesAt(path)).toEqual([])
})

test('the log is moved into the database by another connection while the writer goes on, and closing leaves none behind', async () => {
  let threads = 0
  const { ledger, path } = await openTestLedger({
    startThread: () => {
      threads++
      return startThread()
    },
  })
  await addKey(ledger, 'key_a', { balanceUsd: '100' })
  let longest = 0
  let settles = 0
  let requests = 0
  const lane = async (): Promise<void> => {
    for (let n = 0; n < 120; n++) {
      // In order, as the gateway's ids are.
      const requestId = `req_${String(++requests).padStart(8, '0')}`
      await ledger.hold(holdRequest(requestId, 'key_a', usd('0.001')))
      if ((await ledger.settle(settlement(requestId, { input: 1 }))) === 'settled') settles++
      longest = Math.max(longest, statSync(`${path}-wal`).size)
    }
  }
  await Promise.all(Array.from({ length: 100 }, lane))
  expect([settles, threads]).toEqual([12_000, 2])
  const written = statSync(path).size
  expect(longest).toBeLessThan(40_000_000)
  await ledger.close()
  // What closing moved into the file was the lesser part, or a little more where this machine was busy with others.
  expect(written).toBeGreaterThan(statSync(path).size / 5)
  expect(readdirSync(dirname(path)).sort()).toEqual([basename(path), `${basename(path)}.mark`])
  expect(differencesAt(path)).toEqual([])
}, 180_000)

test('a writer from outside delays the commit and loses nothing, and the gateway’s own loop never waits for it', async () => {
  const { ledger, path } = await openTestLedger()
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  const other = new Database(path)
  other.run('BEGIN IMMEDIATE')
  expect(await ledger.hold(holdRequest('a', 'key_a', usd('0.1')))).toBe('held')
  let isSettled = false
  const settled = ledger.settle(settlement('a', { input: 1 })).finally(() => {
    isSettled = true
  })
  // This loop gives the file free, so one that waited for it would turn only when the wait has failed.
  for (let turn = 0; turn < 60; turn++) await Bun.sleep(5)
  expect(isSettled).toBe(false)
  other.run('ROLLBACK')
  other.close()
  expect(await settled).toBe('settled')
  await ledger.close()
})

test('an end while another thread takes over commits what was asked before it, and nothing is sent behind it', async () => {
  const workers: Worker[] = []
  let sent = 0
  const { ledger, path } = await openTestLedger({
    checkpointAfterMs: 1,
    startThread: () => {
      const worker = startThread()
      workers.push(worker)
      const post = worker.postMessage.bind(worker)
      worker.postMessage = (message: unknown) => {
        sent++
        post(message)
      }
      return worker
    },
  })
  await addKey(ledger, 'key_a', { balanceUsd: '1' })
  for (const id of ['asked', 'running']) expect(await ledger.hold(holdRequest(id, 'key_a', usd('0.1')))).toBe('held')
  await Bun.sleep(50)
  workers[0]?.terminate()
  const settled = ledger.settle(settlement('asked', { input: 1 }))
  await until(() => workers.length !== 1)
  await ledger.close()
  expect(await settled).toBe('settled')
  const before = sent
  ledger.checkpoint('running', partial({ input: 3 }))
  expect(await ledger.settle(settlement('running', { input: 1 }))).toBe('unavailable')
  await Bun.sleep(20)
  expect([workers.length, sent]).toEqual([2, before])
  const db = new Database(path, { readonly: true })
  expect(db.query('SELECT request_id FROM receipts').all()).toEqual([{ request_id: 'asked' }])
  db.close()
  expect(differencesAt(path)).toEqual([])
})
