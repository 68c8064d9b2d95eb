/**
 * What a client without a token can cost: the ledger is asked for few of its guesses and for none twice, and of its body nothing is kept. Rules: operator-api.md "Tokens".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeToken } from '../../../src/core/api-token.ts'
import { DAY_MS } from '../../../src/core/utc.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { newToken } from '../../../src/ledger/operations/token-writes.ts'
import { Failure } from '../../../src/web/operator-api/failure.ts'
import { TokenGate } from '../../../src/web/operator-api/token-gate.ts'
import { type ApiClient, apiClient, clientOf } from '../../support/api-client.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { connectRaw } from '../../support/raw-client.ts'

let gateway: TestGateway
let shop: ApiClient
let lookUps = 0

const counting = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name === 'findToken') lookUps++
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

beforeAll(async () => {
  gateway = await startTestGateway({ wrapLedger: counting })
  shop = await apiClient(gateway)
  expect((await shop.get('/accounts')).status).toBe(200)
})
afterAll(() => gateway.stop())

/** How often the ledger is asked meanwhile. */
async function asked(work: () => Promise<void>): Promise<number> {
  const before = lookUps
  await work()
  return lookUps - before
}
const guess = (): string => makeToken(() => randomBytes(64))
const statusOf = async (token: string): Promise<number> => (await clientOf(gateway.operatorUrl, token).get('/accounts')).status

test('a token that was refused is refused from memory: one that was never made, one that was revoked, one that has ended', async () => {
  const revoked = await apiClient(gateway)
  await gateway.ledger.operate({ kind: 'revokeToken', tokenId: revoked.tokenId, now: Date.now() })
  const old = newToken({ tokenId: 'tok_old', name: 'old', scope: 'all', accountIds: [], expiresInDays: 1 }, Date.now() - DAY_MS - 1)
  expect(await gateway.ledger.operate(old.operation)).toEqual({ result: 'done' })
  for (const [token, status] of [
    [guess(), 401],
    [revoked.token, 401],
    [old.secret, 403],
  ] as const)
    expect(
      await asked(async () => {
        for (let n = 0; n < 5; n++) expect(await statusOf(token)).toBe(status)
      }),
    ).toBe(1)
})

test('a token that was live and is revoked is refused with its next request', async () => {
  const client = await apiClient(gateway)
  for (let n = 0; n < 3; n++) expect((await client.get('/accounts')).status).toBe(200)
  await gateway.ledger.operate({ kind: 'revokeToken', tokenId: client.tokenId, now: Date.now() })
  expect(await asked(async () => expect((await client.get('/accounts')).status).toBe(401))).toBe(1)
  expect(await asked(async () => expect((await client.get('/accounts')).status).toBe(401))).toBe(0)
})

test('requests that come while a token that is new here is looked up are one look-up, and no guess', async () => {
  const { token } = await apiClient(gateway)
  const answered = Promise.withResolvers<void>()
  const slow = new Proxy(gateway.ledger, {
    get(target, name) {
      if (name === 'findToken') return (hash: Uint8Array) => answered.promise.then(() => target.findToken(hash))
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const gate = new TokenGate({ ledger: slow, clock: { now: Date.now, monotonicMs: () => 0 } })
  const admit = (secret: string) => gate.admit(new Headers({ authorization: `Bearer ${secret}` }), '192.0.2.1', false)
  const reached = await asked(async () => {
    const all = Array.from({ length: 150 }, () => admit(token))
    answered.resolve()
    expect((await Promise.all(all)).filter((one) => one instanceof Failure)).toEqual([])
  })
  expect(reached).toBe(1)
  const statuses: number[] = []
  for (let n = 0; n < 120; n++) {
    const refused = await admit(guess())
    if (refused instanceof Failure) statuses.push(refused.status)
  }
  expect(statuses).toEqual(Array.from({ length: 120 }, () => 401))
})

test('a body is read behind the token: one that is too large or never comes is refused for the token, and a good token hears what is wrong with it', async () => {
  const post = (token: string, body: string, type = 'application/json') =>
    fetch(`${gateway.operatorUrl}/api/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body,
    })
  for (const token of ['', guess()]) {
    expect((await post(token, 'x'.repeat(3_000_000))).status).toBe(401)
    expect((await post(token, 'x', 'text/plain')).status).toBe(401)
  }
  expect((await post(shop.token, `"${'x'.repeat(3_000_000)}"`)).status).toBe(413)
  expect((await post(shop.token, 'x', 'text/plain')).status).toBe(415)
  using silent = await connectRaw(gateway.operatorUrl)
  const head = ['POST /api/v1/keys HTTP/1.1', 'host: x', 'content-type: application/json', 'content-length: 60000']
  await silent.send(`${head.join('\r\n')}\r\nauthorization: Bearer ${guess()}\r\n\r\n{"name": "`)
  const answer = await silent.response(20_000)
  expect([answer.status, answer.header('connection')]).toEqual([401, 'close'])
})

test('guesses of one address reach the ledger no more often than they may be made, all at once too; a token that was found goes on', async () => {
  const startedMs = performance.now()
  const reached = await asked(async () => {
    const statuses = await Promise.all(Array.from({ length: 300 }, () => statusOf(guess())))
    expect(statuses).toContain(429)
  })
  // One a second flows back.
  expect(reached).toBeLessThanOrEqual(120 + Math.ceil((performance.now() - startedMs) / 1_000))
  expect((await shop.get('/accounts')).status).toBe(200)
})
