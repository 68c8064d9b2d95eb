/**
 * Lines to paste name a model that the account may use: the one that it spends most on, else the cheapest of its plan; members alone get them. Rules: pages.md "Keys of an
 * account".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { picos } from '../../../src/core/money.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import type { Browser } from '../../support/people.ts'
import { signIn } from '../../support/signed-in.ts'
import { makeTestModel } from '../../support/world.ts'

const { rates } = makeTestModel()
const priced = (id: string, times: bigint, createdSeconds: number) => ({
  ...{ id, createdSeconds },
  rates: { ...rates, input: picos(rates.input * times), output: picos(rates.output * times) },
})

let gateway: TestGateway
let secret: string
let ann: Browser
let eve: Browser
beforeAll(async () => {
  // The newest is the dearest, and the cheapest is in no account's plan but that of the other.
  gateway = await startTestGateway({
    models: [priced('dear', 9n, 3), priced('middling', 4n, 2), priced('cheap', 2n, 1), priced('elsewhere', 1n, 0)],
  })
  const before = gateway.world.catalog()
  const plans = new Map([
    ['default', { name: 'default', models: ['dear', 'middling', 'cheap'] }],
    ['other', { name: 'other', models: ['elsewhere', 'dear'] }],
  ])
  gateway.reload({ catalog: { ...before, plans } })
  secret = await gateway.createKey({ id: 'key_north', balanceUsd: '5' })
  await gateway.createKey({ id: 'key_south', balanceUsd: '5' })
  ann = await signIn(gateway, 'ann@example.com', 'acc_north', 'owner')
  eve = await signIn(gateway, 'eve@example.com', 'acc_south', 'reader')
})
afterAll(() => gateway.stop())

const modelIn = async (browser: Browser, accountId: string): Promise<string | undefined> => {
  const { status, body } = await browser.get(`/api/accounts/${accountId}/client-lines`)
  expect(status).toBe(200)
  const [curl] = body['data'] as readonly { client: string; blocks: readonly { code: string }[] }[]
  return /"model": ?"([^"]+)"/.exec(curl?.blocks[0]?.code ?? '')?.[1]
}

test('an account that has spent nothing sees the cheapest model of its plan, then the one that it spends most on while its plan has it', async () => {
  expect(await modelIn(ann, 'acc_north')).toBe('cheap')
  const ask = (model: string) => gateway.post('/v1/messages', secret, { model, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })
  expect((await ask('middling')).status).toBe(200)
  await gateway.idle()
  expect(await modelIn(ann, 'acc_north')).toBe('middling')
  await gateway.operate({ kind: 'setAccountPlan', accountId: 'acc_north', plan: 'other', now: Date.now() })
  expect(await modelIn(ann, 'acc_north')).toBe('elsewhere')
  await gateway.operate({ kind: 'setAccountPlan', accountId: 'acc_north', plan: null, now: Date.now() })
})

test('who is no member of the account gets nothing, and a reader of an own one does', async () => {
  expect((await eve.get('/api/accounts/acc_north/client-lines')).status).toBe(404)
  expect(await modelIn(eve, 'acc_south')).toBe('cheap')
})
