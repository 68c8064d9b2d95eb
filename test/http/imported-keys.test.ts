/**
 * Keys of other gateways over HTTP: where they may stand, which texts lead to them, and that whoever guesses at them learns and costs nothing. Rules: keys.md "Imported keys",
 * "Credentials", "Client addresses".
 */

import { afterEach, expect, test } from 'bun:test'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { MESSAGE } from '../support/answered-gateway.ts'
import { nativeMessage, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts'
import { importedAccount, importedKey, importKeys } from '../support/imports.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { until } from '../support/until.ts'

let ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

const reads = { findKey: 0, foreignHeads: 0 }
const counting = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      if (name === 'findKey' || name === 'foreignHeads') reads[name]++
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

async function start(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const upstream = await startFakeUpstream({ answer: () => nativeMessage(MESSAGE) })
  ending.push(() => upstream.stop())
  const gateway = await startTestGateway({ upstreams: [upstream.url], limits: { dashboardPerMinute: 100_000 }, ...options })
  ending.push(() => gateway.stop())
  return gateway
}

const BODY = JSON.stringify({ model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] })
const ask = async (gateway: TestGateway, headers: Record<string, string>): Promise<number> => {
  const answer = await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body: BODY })
  await answer.text()
  return answer.status
}
const byKey = (gateway: TestGateway, secret: string): Promise<number> => ask(gateway, { 'x-api-key': secret })

const EXACT = 'sk-Q2_h-a9Zk1x-JvQmTt7w3A'
/** A key of LiteLLM that never had `sk-`. */
const PLAIN = 'PlainKeyThatWasChosenByItsOwner'
const BARE = 'Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7jKl0nOp3rSt6v'

const both = importKeys([
  importedAccount('user:1', [importedKey(EXACT, 'exact'), importedKey(PLAIN, 'exact')]),
  importedAccount('user:2', [importedKey(BARE, 'channel')]),
])

test('an imported key answers by the headers of our own keys, on the model routes and on the dashboard', async () => {
  const gateway = await start()
  await gateway.operate(both)
  for (const secret of [EXACT, PLAIN, BARE, `sk-${BARE}`, `sk-${BARE}-12`, `${BARE}-auto-x`]) {
    for (const headers of [{ 'x-api-key': secret }, { authorization: `Bearer ${secret}` }, { authorization: `bearer ${secret}` }])
      expect([secret, headers, await ask(gateway, headers)]).toEqual([secret, headers, 200])
    expect(await ask(gateway, { 'x-api-key': secret, authorization: `Bearer ${secret}` })).toBe(401)
    expect((await fetch(`${gateway.url}/v1/messages?key=${secret}`, { method: 'POST', body: BODY })).status).toBe(401)
    const balance = await fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${secret}` } })
    expect([secret, balance.status]).toEqual([secret, 200])
  }
  await gateway.idle()
  expect(new Set(gateway.receipts().map(({ keyId }) => keyId)).size).toBe(3)
  expect(gateway.verify()).toEqual([])
})

test('a channel is cut off behind keys that have channels, and behind no others; what is left must be the whole key', async () => {
  const gateway = await start()
  await gateway.operate(both)
  const wrong = [
    `${EXACT}-12`,
    `${PLAIN}-12`,
    `sk-${PLAIN}`,
    EXACT.slice(3),
    `sk-${EXACT}`,
    EXACT.split('-').slice(0, 2).join('-'),
    `${BARE.slice(0, -1)}-12`,
    `sk-sk-${BARE}`,
  ]
  for (const secret of [...wrong, `-${BARE}`, `sk--${BARE}`, `x-${BARE}`, BARE.toLowerCase(), `${BARE}x`])
    expect([secret, await byKey(gateway, secret)]).toEqual([secret, 401])
})

test('no foreign form is a key where none was imported: nothing is counted, and no key is looked for', async () => {
  const gateway = await start({ wrapLedger: counting })
  Object.assign(reads, { findKey: 0, foreignHeads: 0 })
  for (let n = 0; n < 150; n++) expect(await byKey(gateway, n % 2 === 0 ? EXACT : `sk-${BARE}-${n}`)).toBe(401)
  expect(reads).toEqual({ findKey: 0, foreignHeads: 1 })
})

test('unknown foreign keys cost no read once it is known which there are, and count against their address as ours do', async () => {
  const gateway = await start({ wrapLedger: counting })
  await gateway.operate(both)
  Object.assign(reads, { findKey: 0, foreignHeads: 0 })
  const statuses: number[] = []
  for (let n = 0; n < 200; n++) statuses.push(await byKey(gateway, `sk-guess-of-a-key-${n}`))
  expect(reads).toEqual({ findKey: 0, foreignHeads: 1 })
  expect(new Set(statuses)).toEqual(new Set([401, 429]))
  expect(statuses.slice(0, 100).every((status) => status === 401)).toBeTrue()
  for (let n = 0; n < 5; n++) expect([await byKey(gateway, EXACT), await byKey(gateway, `sk-${BARE}-${n}`)]).toEqual([200, 200])
  expect(reads).toEqual({ findKey: 2, foreignHeads: 1 })
})

test('an import reaches a running gateway at once, and a disabled, ended or rotated imported key ends as ours do', async () => {
  const gateway = await start()
  expect(await byKey(gateway, EXACT)).toBe(401)
  await gateway.operate(both)
  expect(await byKey(gateway, EXACT)).toBe(200)
  const [keyId, other] = [importedKey(EXACT, 'exact').keyId, importedKey(BARE, 'channel').keyId]
  await gateway.operate({ kind: 'setKeyActive', keyId, isActive: false, now: Date.now() })
  expect(await byKey(gateway, EXACT)).toBe(401)
  await gateway.operate({ kind: 'setKeyActive', keyId, isActive: true, now: Date.now() })
  expect(await byKey(gateway, EXACT)).toBe(200)
  expect(await byKey(gateway, `sk-${BARE}-3`)).toBe(200)
  const now = Date.now()
  await gateway.operate({
    kind: 'rotateKey',
    keyId: other,
    secretHash: new Uint8Array(32).fill(7),
    display: 'sk-…new1',
    oldValidUntil: now - 1,
    now,
  })
  for (const secret of [BARE, `sk-${BARE}`, `sk-${BARE}-3`]) expect([secret, await byKey(gateway, secret)]).toEqual([secret, 401])
})

postgresTest('what one node imports, the others answer', async () => {
  const url = await postgres().createDatabase()
  const [a, b] = [await start({ postgres: { url } }), await start({ postgres: { url } })]
  expect([await byKey(b, EXACT), await byKey(b, `sk-${BARE}-1`)]).toEqual([401, 401])
  await a.operate(both)
  expect([await byKey(a, EXACT), await byKey(a, `sk-${BARE}-1`)]).toEqual([200, 200])
  await until(async () => (await byKey(b, EXACT)) === 200, 'the other node has heard of it')
  expect(await byKey(b, `sk-${BARE}-1`)).toBe(200)
})
