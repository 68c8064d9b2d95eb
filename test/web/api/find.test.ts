/** What the cabinet's field in the bar finds, and its lists to choose from: keys of the account and models that they may use, and no others. Rules: pages.md "Tables"; requests.md "Models". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { createKey } from '../../support/ledger.ts'
import { signIn } from '../../support/signed-in.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

test('a model of other plans is not found, until a key of the account has such a plan', async () => {
  await gateway.operate({ kind: 'createAccount', accountId: 'acc_small', name: 'Small', topUp: null, now: Date.now() })
  await gateway.operate({ kind: 'setAccountPlan', accountId: 'acc_small', plan: 'small', now: Date.now() })
  const ann = await signIn(gateway, 'ann@example.com', 'acc_small', 'reader')
  const found = async () => (await ann.get(`/api/accounts/acc_small/find?q=${MODEL_ID.slice(0, 4)}`)).body['data']
  expect(await found()).toEqual([])
  await gateway.operate(createKey('key_small', { accountId: 'acc_small' }))
  expect(await found()).toMatchObject([{ kind: 'model', id: MODEL_ID }])
})

test('the lists of an account have its own keys by their names; of another account’s key nothing but the id that was asked', async () => {
  const bob = await signIn(gateway, 'bob@example.com', 'acc_bob', 'reader')
  await gateway.operate({ ...createKey('key_bob', { balanceUsd: '1' }), name: 'laptop' })
  await gateway.operate({ ...createKey('key_eve', { balanceUsd: '1' }), name: 'lab of Eve' })
  const chosen = async (query: string) => (await bob.get(`/api/accounts/acc_bob/choices?${query}`)).body['data']
  expect(await chosen('of=key&q=LA')).toEqual([{ value: 'key_bob', text: 'laptop', detail: 'sk-…test' }])
  expect(await chosen('of=key&q=')).toMatchObject([{ value: 'key_bob' }])
  expect(await chosen('of=key&q=lab')).toEqual([])
  expect(await chosen('of=key&ids=key_eve,key_bob')).toEqual([
    { value: 'key_eve', text: 'key_eve', detail: '' },
    { value: 'key_bob', text: 'laptop', detail: 'sk-…test' },
  ])
  expect(await chosen(`of=model&q=${MODEL_ID.toUpperCase()}`)).toEqual([{ value: MODEL_ID, text: MODEL_ID, detail: '' }])
  expect((await bob.get('/api/accounts/acc_bob/choices?of=upstream')).status).toBe(400)
  expect((await bob.get('/api/accounts/acc_small/choices?of=key')).status).toBe(404)
})
