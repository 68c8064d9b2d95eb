/** Protects requests.md "Repeated requests" over several nodes: generated once wherever it is sent again, and given again byte for byte. */

import { expect } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { headOf } from '../../../src/answers/layout.ts'
import { SEAL_BYTES } from '../../../src/answers/sealing.ts'
import { makeSecret } from '../../../src/core/key.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { PostgresAnswers, type PostgresAnswersOptions } from '../../../src/ledger/postgres/answers.ts'
import { Session, SessionFailure } from '../../../src/ledger/postgres/session.ts'
import { type Claim, claimAnswer } from '../../../src/relay/idempotency.ts'
import { IdempotentResponses } from '../../../src/relay/idempotent-responses.ts'
import { asking, freshLedger, makeNode } from '../../support/nodes.ts'
import { PATIENT } from '../../support/patient.ts'
import { postgresTest } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const KEY = { id: 'key_1', accountId: 'acc_1' }
const HEAD = { status: 200, contentType: 'text/event-stream', requestId: 'req_1' }
const SECRET = makeSecret(() => randomBytes(64))
const RUNNING = new Refusal('repetitionRunning')

type DeskOptions = Partial<PostgresAnswersOptions> & Readonly<{ termMs?: number; secret?: string }>

/** A node and what it asks as a request comes to it. */
async function makeDesk(url: string, options: DeskOptions = {}) {
  const { node } = makeNode(url, { termMs: options.termMs ?? 30_000 })
  await node.join()
  const bugs: unknown[] = []
  const session = new Session({ url, name: 'answers', limitMs: 2_000, connections: 3 })
  const shared = new PostgresAnswers({
    session,
    identity: () => node.identity,
    onBug: (bug) => bugs.push(bug),
    patience: PATIENT,
    ...options,
  })
  const answers = new IdempotentResponses({ now: () => 0 })
  const findIdempotency = () => Promise.reject(new Error('the claim says it'))
  /** What runs, here or elsewhere, is RUNNING: nobody waits for it. */
  const ask = async (header = 'a', body = 'body', key = KEY) => {
    const found = await claimAnswer(
      { ledger: { findIdempotency }, answers, now: Date.now, shared, onBug: (bug) => bugs.push(bug) },
      key,
      { headers: new Headers({ 'idempotency-key': header, 'x-api-key': options.secret ?? SECRET }), url: 'http://x/v1/messages' },
      Buffer.from(body),
      HEAD.requestId,
    )
    if (typeof found !== 'object' || !('kind' in found) || found.kind === 'finished') return found
    if (found.kind === 'elsewhere') found.answer.drop(RUNNING)
    return RUNNING
  }
  return { node, shared, session, bugs, ask, answers }
}
type Desk = Awaited<ReturnType<typeof makeDesk>>

const isClaim = (found: unknown): found is Claim => typeof found === 'object' && found !== null && 'idempotency' in found
async function claim(desk: Desk, header = 'a', body = 'body'): Promise<Claim> {
  const found = await desk.ask(header, body)
  if (!isClaim(found)) throw new Error(`no claim: ${JSON.stringify(found)}`)
  return found
}

type Outside = ReturnType<typeof asking>
/** What a settle writes of it. */
const settled = (outside: Outside, { idempotency: { headerHash, bodyHash, expiresAt } }: Claim, keyNumber = 1) =>
  outside.ask('INSERT INTO idempotency VALUES ($1, $2, $3, $4, $5)', [keyNumber, headerHash, bodyHash, HEAD.requestId, expiresAt])
const noClaims = (outside: Outside) => async (): Promise<boolean> => (await outside.ask('SELECT 1 FROM idempotency_claims')).length === 0

async function close(outside: Outside, ...desks: readonly Desk[]): Promise<void> {
  for (const desk of desks) {
    expect(desk.bugs).toEqual([])
    await desk.node.leave()
    desk.shared.close()
  }
  await outside.close()
}

postgresTest('while it runs on one node it runs for all others, and another request under the header is a 400', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  const claimed = await claim(a)
  expect(await b.ask()).toEqual(RUNNING)
  expect(await a.ask()).toEqual(RUNNING)
  expect(await b.ask('a', 'other')).toMatchObject({ name: 'invalidRequest' })
  expect(isClaim(await b.ask('another'))).toBe(true)
  claimed.answer.drop()
  await until(async () => isClaim(await b.ask()), 'it is given up')
  await close(outside, a, b)
})

postgresTest('of fifty that come at once to three nodes one is generated', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const desks = [await makeDesk(url), await makeDesk(url), await makeDesk(url)]
  const found = await Promise.all(Array.from({ length: 50 }, (_, index) => desks[index % 3]?.ask()))
  expect(found.filter(isClaim)).toHaveLength(1)
  expect(found.filter((one) => !isClaim(one))).toEqual(Array.from({ length: 49 }, () => RUNNING))
  await close(outside, ...desks)
})

postgresTest('an answer is given again by another node, byte for byte, up to eight megabytes', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  for (const [header, length] of [
    ['small', 10],
    ['large', 7 * 1024 * 1024],
  ] as const) {
    const bytes = randomBytes(length)
    const claimed = await claim(a, header)
    claimed.answer.add(bytes)
    await settled(outside, claimed)
    claimed.answer.finish(HEAD)
    // Whatever is released afterwards takes nothing back.
    claimed.answer.drop()
    await until(noClaims(outside), 'it is kept')
    const again = await b.ask(header)
    expect(again).toMatchObject({ kind: 'finished', head: HEAD })
    expect(again !== undefined && 'bytes' in again && Buffer.compare(again.bytes, bytes) === 0).toBe(true)
    expect(await b.ask(header, 'other')).toMatchObject({ name: 'invalidRequest' })
  }
  await close(outside, a, b)
})

postgresTest('who reads the table reads nothing, and a rotated secret finds nothing of the old one', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url, { secret: makeSecret(() => randomBytes(64)) })]
  const claimed = await claim(a)
  claimed.answer.add(Buffer.from('the canary of an answer'))
  await settled(outside, claimed)
  claimed.answer.finish(HEAD)
  await until(noClaims(outside), 'it is kept')
  const rows = await outside.ask<{ answer: Uint8Array }>('SELECT answer FROM idempotent_answers')
  const text = rows.map(({ answer }) => Buffer.from(answer).toString('latin1')).join('')
  expect(text.length).toBeGreaterThan('the canary of an answer'.length)
  for (const word of ['canary', HEAD.contentType, HEAD.requestId, SECRET]) expect(text).not.toContain(word)
  expect(await b.ask()).toMatchObject({ name: 'invalidRequest', message: expect.stringContaining('no longer kept') })
  await close(outside, a, b)
})

postgresTest('between its settle and its keeping an answer still runs: nobody is told that it is gone', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  const claimed = await claim(a)
  await settled(outside, claimed)
  expect(await b.ask()).toEqual(RUNNING)
  claimed.answer.finish(HEAD)
  await until(noClaims(outside), 'it is kept')
  expect(await b.ask()).toMatchObject({ kind: 'finished' })
  await close(outside, a, b)
})

postgresTest('what is not to be stored stands in no row: another node says that it is gone', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  const claimed = await claim(a)
  claimed.answer.add(randomBytes(10))
  await settled(outside, claimed)
  claimed.answer.finish(HEAD, undefined, false)
  await until(noClaims(outside), 'the claim has ended')
  expect(await b.ask()).toMatchObject({ name: 'invalidRequest' })
  expect(await a.ask()).toMatchObject({ kind: 'finished' })
  await close(outside, a, b)
})

postgresTest('what was charged and is not kept is never generated again', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url, { bytesMax: 0 }), await makeDesk(url)]
  const claimed = await claim(a)
  await settled(outside, claimed)
  claimed.answer.finish(HEAD)
  await until(noClaims(outside), 'the claim has ended')
  const again = await b.ask()
  expect(again).toMatchObject({ name: 'invalidRequest' })
  expect(JSON.stringify(again)).toContain('req_1')
  await close(outside, a, b)
})

postgresTest('an account keeps eight megabytes: its own oldest go first, and nothing of another account', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  await outside.ask("INSERT INTO accounts (id, name, created_at) VALUES ('acc_2', '', 0)")
  await outside.ask(
    "INSERT INTO keys (id, account_number, name, plan, last_synced_at, created_at) VALUES ('key_2', 2, '', 'default', 0, 0)",
  )
  const desk = await makeDesk(url, { accountBytesMax: 1_300 })
  const keep = async (header: string, bytes: number, key = KEY) => {
    const found = await desk.ask(header, 'body', key)
    if (!isClaim(found)) throw new Error('no claim')
    found.answer.add(new Uint8Array(bytes))
    await settled(outside, found, key === KEY ? 1 : 2)
    found.answer.finish(HEAD)
    await until(noClaims(outside), 'it is kept')
    await Bun.sleep(3)
  }
  const lengths = async () =>
    (
      await outside.ask<{ n: bigint }>(
        'SELECT CAST(length(answer) AS BIGINT) AS n FROM idempotent_answers ORDER BY account_number DESC, expires_at',
      )
    ).map(({ n }) => Number(n))
  /** What sealing adds to so many bytes. */
  const sealed = (bytes: number): number =>
    bytes + SEAL_BYTES + headOf(JSON.stringify({ status: HEAD.status, contentType: HEAD.contentType }), [{ byteLength: bytes }]).byteLength
  await keep('other', 900, { id: 'key_2', accountId: 'acc_2' })
  await keep('1', 400)
  await keep('2', 500)
  expect(await lengths()).toEqual([900, 400, 500].map(sealed))
  await keep('3', 300)
  expect(await lengths()).toEqual([900, 500, 300].map(sealed))
  await keep('4', 1_300)
  expect(await lengths()).toEqual([900, 500, 300].map(sealed))
  await outside.ask('UPDATE idempotent_answers SET expires_at = 1')
  await keep('5', 10)
  expect(await lengths()).toEqual([10].map(sealed))
  await close(outside, desk)
})

postgresTest('a claim ends with its node: with its take-over, and a node that was fenced claims nothing', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  await claim(a)
  expect(await b.ask()).toEqual(RUNNING)
  await outside.ask('UPDATE nodes SET lease_until = 1 WHERE lane = $1', [a.node.identity?.lane])
  await outside.ask('SELECT fence_expired(0)')
  expect(isClaim(await b.ask())).toBe(true)
  expect(await a.ask('another')).toEqual(new Refusal('storageUnavailable'))
  await close(outside, a, b)
})

postgresTest('an end that Postgres did not hear is said again', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  const claimed = await claim(a)
  const locking = outside.ask('DO $$ BEGIN LOCK TABLE idempotency_claims IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(2.7); END $$')
  await Bun.sleep(100)
  claimed.answer.drop()
  await locking
  await until(async () => isClaim(await b.ask()), 'it is given up')
  await close(outside, a, b)
})

postgresTest('an answer whose settle is still in a spill runs on: it is not generated once more, kept or too large to be', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  for (const [header, length, found] of [
    ['kept', 10, { kind: 'finished' }],
    ['too-large', 9 * 1024 * 1024, { name: 'invalidRequest' }],
  ] as const) {
    const claimed = await claim(a, header)
    claimed.answer.add(new Uint8Array(length))
    claimed.answer.finish(HEAD)
    await Bun.sleep(1_300)
    expect(await b.ask(header)).toEqual(RUNNING)
    await settled(outside, claimed)
    await until(noClaims(outside), 'its end is said again')
    expect(await b.ask(header)).toMatchObject(found)
  }
  await close(outside, a, b)
})

postgresTest('the late end of a claim that was not answered leaves the next one alone', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  let isAway = true
  const session = {
    ask: (...asked: Parameters<Session['ask']>) => (isAway ? Promise.reject(new SessionFailure('', 'no answer')) : a.session.ask(...asked)),
    close: () => undefined,
  } as PostgresAnswersOptions['session']
  const shared = new PostgresAnswers({ session, identity: () => a.node.identity, onBug: (bug) => a.bugs.push(bug), patience: PATIENT })
  const hashes = { keyId: KEY.id, headerHash: Buffer.alloc(32, 1), bodyHash: Buffer.alloc(32, 2) }
  expect(await shared.claim({ ...hashes })).toEqual({ kind: 'unavailable' })
  isAway = false
  const next = { ...hashes }
  expect(await shared.claim(next)).toEqual({ kind: 'claimed' })
  await Bun.sleep(1_300)
  expect(await b.shared.claim({ ...hashes })).toEqual({ kind: 'running', isSame: true })
  shared.release(next)
  await until(noClaims(outside), 'it is given up')
  shared.close()
  await close(outside, a, b)
})

postgresTest('whether a claim stands is seen without a change: until it is given up, or its node is gone', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  const hashes = { keyId: KEY.id, headerHash: Buffer.alloc(32, 1), bodyHash: Buffer.alloc(32, 2) }
  expect(await b.shared.isRunning(hashes)).toBe(false)
  await a.shared.claim(hashes)
  expect(await b.shared.isRunning({ ...hashes })).toBe(true)
  expect(await b.shared.isRunning({ ...hashes, headerHash: Buffer.alloc(32, 9) })).toBe(false)
  a.shared.release(hashes)
  await until(noClaims(outside), 'it is given up')
  expect(await b.shared.isRunning(hashes)).toBe(false)
  await a.shared.claim(hashes)
  await outside.ask('UPDATE nodes SET lease_until = 0 WHERE lane = $1', [a.node.identity?.lane])
  expect(await b.shared.isRunning(hashes)).toBe(false)
  b.session.close()
  const deaf = new PostgresAnswers({
    session: { ask: () => Promise.reject(new SessionFailure('', 'no answer')), close: () => undefined } as never,
    identity: () => b.node.identity,
    onBug: (bug) => b.bugs.push(bug),
    patience: PATIENT,
  })
  expect(await deaf.isRunning(hashes)).toBe(true)
  await close(outside, a, b)
})

postgresTest('a claim whose end a failover undid ends again; one that runs, or whose settle is not written, stays', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const [a, b] = [await makeDesk(url), await makeDesk(url)]
  const [ended, kept, spilled] = [await claim(a, 'ended'), await claim(a, 'kept'), await claim(a, 'spilled')]
  await claim(a, 'runs')
  const before = await outside.ask<Record<string, unknown>>('SELECT * FROM idempotency_claims ORDER BY claim')
  ended.answer.drop()
  await settled(outside, kept)
  kept.answer.finish(HEAD)
  spilled.answer.finish(HEAD)
  await until(async () => (await outside.ask('SELECT 1 FROM idempotency_claims')).length === 2, 'two are left')
  // As a standby has them that lacks the ends.
  for (const { key_number, header_hash, body_hash, lane, boot_number, claim: number, expires_at } of before.slice(0, 2))
    await outside.ask('INSERT INTO idempotency_claims VALUES ($1, $2, $3, $4, $5, $6, $7)', [
      ...[key_number, header_hash, body_hash, lane, boot_number, number, expires_at],
    ])
  expect(await b.ask('ended')).toEqual(RUNNING)
  a.shared.endGhosts()
  await until(async () => isClaim(await b.ask('ended')), 'it is free again')
  expect(await b.ask('runs')).toEqual(RUNNING)
  expect(await b.ask('spilled')).toEqual(RUNNING)
  await settled(outside, spilled)
  await close(outside, a, b)
})
