/** Who sends a request again gets its answer again, whoever else sends what. Rules: requests.md "Repeated requests". */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeSecret } from '../../src/core/key.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { IdempotentUse } from '../../src/ledger/ledger.ts'
import { type Claim, claimAnswer, endClaim, runsElsewhere } from '../../src/relay/idempotency.ts'
import { IdempotentResponses } from '../../src/relay/idempotent-responses.ts'
import { RunningAnswer } from '../../src/relay/running-answer.ts'

const SECRET = makeSecret(() => randomBytes(64))
const KEY = { id: 'key_1', accountId: 'acc_1' }
const BODY = Buffer.from('{"model":"m"}')

function desk(use?: IdempotentUse | 'unavailable') {
  const answers = new IdempotentResponses({ now: () => 0 })
  const asked: string[] = []
  // It waits, so that two at once are both at this look-up.
  const findIdempotency = async (keyId: string) => {
    asked.push(keyId)
    await Bun.sleep(2)
    return use
  }
  const ask = (
    headers: Record<string, string> = { 'idempotency-key': 'a' },
    more: { body?: Uint8Array; key?: typeof KEY; path?: string; host?: string } = {},
  ) =>
    claimAnswer(
      { ledger: { findIdempotency }, answers, now: () => 1_000, onBug: () => undefined },
      more.key ?? KEY,
      requestOf(headers, more.path, more.host),
      more.body ?? BODY,
      'req_1',
    )
  return { answers, asked, ask }
}

const requestOf = (headers: Record<string, string>, path = '/v1/messages', host = 'gateway') => ({
  headers: new Headers({ 'x-api-key': SECRET, ...headers }),
  url: `http://${host}${path}`,
})
function claimOf(claimed: unknown): Claim {
  if (claimed === undefined || claimed instanceof Refusal || !Object.hasOwn(claimed as object, 'idempotency'))
    throw new Error(`no claim: ${JSON.stringify(claimed)}`)
  return claimed as Claim
}
const refusalOf = (claimed: unknown): string => (claimed instanceof Refusal ? `${claimed.row.status} ${claimed.message}` : 'accepted')

test('without the header nothing is looked up', async () => {
  const { ask, asked, answers } = desk()
  expect(await ask({})).toBeUndefined()
  expect([asked, answers.bytes]).toEqual([[], 0])
})

test('a header that is not 1 to 255 visible ASCII characters is refused by its name', async () => {
  const { ask } = desk()
  for (const header of ['', 'a b', 'é', 'x'.repeat(256)])
    expect(refusalOf(await ask({ 'idempotency-key': header })), header).toBe(
      '400 Idempotency-Key: Input should be 1 to 255 visible ASCII characters',
    )
  expect(claimOf(await ask({ 'idempotency-key': 'x'.repeat(255) })).idempotency.expiresAt).toBe(1_000 + 86_400_000)
})

test('while it runs a repetition finds the running answer, also one that comes at the same moment; then the finished one', async () => {
  const { ask } = desk()
  const [first, second] = await Promise.all([ask(), ask()])
  const claim = claimOf(first)
  expect(second).toBeInstanceOf(RunningAnswer)
  claim.answer.add(Buffer.from('answer'))
  claim.answer.finish({ status: 200, contentType: 'text/plain', requestId: 'req_1' })
  expect(await ask()).toMatchObject({ kind: 'finished', head: { requestId: 'req_1' }, bytes: new Uint8Array(Buffer.from('answer')) })
})

test('another body, route, query, version or beta under the same header is refused, running or finished', async () => {
  const { ask } = desk()
  const claim = claimOf(await ask())
  const others = () => [
    ask(undefined, { body: Buffer.from('{"model":"n"}') }),
    ask(undefined, { path: '/v1/responses' }),
    ask(undefined, { path: '/v1/messages?beta=true' }),
    ask({ 'idempotency-key': 'a', 'anthropic-version': '2023-01-01' }),
    ask({ 'idempotency-key': 'a', 'anthropic-beta': 'x' }),
    ask({ 'idempotency-key': 'a', 'x-include-cost': 'true' }),
    ask({ 'idempotency-key': 'a', 'x-max-cost-usd': '1' }),
  ]
  const refused = '400 Idempotency-Key: was used with another request; send each request under a key of its own'
  for (const other of others()) expect(refusalOf(await other)).toBe(refused)
  claim.answer.finish({ status: 200, contentType: 'text/plain', requestId: 'req_1' })
  for (const other of others()) expect(refusalOf(await other)).toBe(refused)
  expect(refusalOf(await ask({ 'idempotency-key': 'a', 'user-agent': 'other' }))).toBe('accepted')
})

test('what makes a request the same one is hashed as it always was, where it has no header of later', async () => {
  const { idempotency } = claimOf(await desk().ask())
  const sha256 = (text: string | Uint8Array) => new Bun.CryptoHasher('sha256').update(text).digest('hex')
  expect(Buffer.from(idempotency.bodyHash).toString('hex')).toBe(sha256(`/v1/messages\n\n\n\n${BODY.toString('hex')}`))
})

test('other keys and other headers are other requests; what was dropped is free again', async () => {
  const { ask } = desk()
  claimOf(await ask()).answer.drop()
  claimOf(await ask())
  claimOf(await ask({ 'idempotency-key': 'b' }))
  claimOf(await ask(undefined, { key: { id: 'key_2', accountId: 'acc_1' } }))
})

test('what is on disk without its answer is refused for good, and leaves the header free of a claim', async () => {
  const bodyHash = claimOf(await desk().ask()).idempotency.bodyHash
  const { ask, answers } = desk({ requestId: 'req_7', bodyHash, expiresAt: 9e15 })
  const refused = await ask()
  expect(refusalOf(refused)).toBe('400 Idempotency-Key was used by request req_7, whose answer is no longer kept')
  expect(refused instanceof Refusal && refused.row.isRetryable).toBe(false)
  expect(refusalOf(await ask(undefined, { body: Buffer.from('{}') }))).toStartWith('400 Idempotency-Key: was used with another request')
  expect(answers.bytes).toBe(0)
})

test('a ledger that cannot be read refuses, rather than charge twice', async () => {
  const { ask, answers } = desk('unavailable')
  expect(refusalOf(await ask())).toStartWith('503 ')
  expect(answers.bytes).toBe(0)
})

test('the host of a request is no part of it, whatever a client writes there, nor what of its query goes nowhere', async () => {
  const { ask } = desk()
  const { idempotency } = claimOf(await ask(undefined, { host: 'a]b' }))
  for (const [name, more] of [
    ['elsewhere', { host: 'elsewhere' }],
    ['query', { path: '/v1/messages?trace=1' }],
  ] as const) {
    const again = claimOf(await desk().ask(undefined, more))
    expect(Buffer.from(again.idempotency.bodyHash).toString('hex'), name).toBe(Buffer.from(idempotency.bodyHash).toString('hex'))
  }
  const beta = claimOf(await desk().ask(undefined, { path: '/v1/messages?trace=1&beta=true' }))
  expect(Buffer.compare(beta.idempotency.bodyHash, idempotency.bodyHash)).not.toBe(0)
})

test('other relays are asked whether a request runs only where nothing stands for it here, and only with a header that can name one', async () => {
  const { answers, ask } = desk()
  let questions = 0
  const isRunning = () => {
    questions++
    return Promise.resolve(true)
  }
  const claims = { ...{ claim: bug, follow: bug, release: bug, onFollow: bug }, isRunning }
  const isElsewhere = (header: string) => runsElsewhere({ answers, claims }, KEY, requestOf({ 'idempotency-key': header }))
  expect([await isElsewhere('a'), questions]).toEqual([true, 1])
  await ask()
  expect([await isElsewhere('a'), await isElsewhere('not ascii: é'), questions]).toEqual([false, false, 1])
  expect(await runsElsewhere({ answers, claims: undefined }, KEY, requestOf({ 'idempotency-key': 'b' }))).toBe(false)
})

const bug = (): never => {
  throw new Error('it is not called')
}

test('where other nodes answer, too, a claim stands whose request may have been charged, and others end with their requests', async () => {
  const answers = new IdempotentResponses({ now: () => 0 })
  let released = 0
  const shared = {
    claim: async () => ({ kind: 'claimed' }) as const,
    isRunning: async () => false,
    keep: () => undefined,
    release: () => void released++,
  }
  const parts = { ledger: { findIdempotency: async () => undefined }, answers, shared, now: () => 1_000, onBug: () => undefined }
  const ask = (header: string) => claimAnswer(parts, KEY, requestOf({ 'idempotency-key': header }), BODY, 'req_1')
  const ended = { outcome: 'complete', head: { status: 200, contentType: 'application/json', requestId: 'req_1' }, isStored: true } as const
  const doubtful = claimOf(await ask('a'))
  endClaim(doubtful, { ...ended, kept: 'unavailable' })
  expect([released, answers.bytes]).toEqual([0, 0])
  claimOf(await ask('b')).answer.drop()
  expect(released).toBe(1)
})
