/** What the cabinet's field in the bar finds: models that the account's keys may use and no others. Rules: pages.md "Tables"; requests.md "Models". */

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
