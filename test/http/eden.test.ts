/**
 * The types of `App` are those of the answers: a typed client compiles against them (the cabinet will be one) and reads what the routes really say. The
 * expectations of types are checked by `tsc`.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { treaty } from '@elysiajs/eden'
import type { App } from '../../src/http/app.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'

let gateway: TestGateway
let authorization: string

beforeAll(async () => {
  gateway = await startTestGateway()
  authorization = `Bearer ${await gateway.createKey({ balanceUsd: '25' })}`
})

afterAll(() => gateway.stop())

test('the list of models, with a query that is typed and judged', async () => {
  const api = treaty<App>(gateway.url)
  const { data, status } = await api.v1.models.get({ headers: { authorization }, query: { limit: '20' } })
  const ids: readonly string[] | undefined = data?.data.map(({ id }) => id)
  const price: number | undefined = data?.data[0]?.pricing.input
  expect([status, ids, price]).toEqual([200, [MODEL_ID], 3])
  const wrong = await api.v1.models.get({ headers: { authorization }, query: { limit: 'x' } })
  expect([wrong.status, wrong.data]).toEqual([400, null])
  // @ts-expect-error: no such field of the query
  await api.v1.models.get({ headers: { authorization }, query: { colour: 'red' } })
})

test('one model, and the balance with its nulls', async () => {
  const api = treaty<App>(gateway.url)
  const model = await api.v1.models({ id: MODEL_ID }).get({ headers: { authorization } })
  const name: string | undefined = model.data?.display_name
  expect(name).toBe('Sonnet')
  const balance = await api.v1.dashboard.balance.get({ headers: { authorization } })
  const expiresAt: string | null | undefined = balance.data?.expires_at
  const usd: number | undefined = balance.data?.balance_usd
  expect([expiresAt, usd]).toEqual([null, 25])
  // @ts-expect-error: the balance is a number
  const text: string | undefined = balance.data?.balance_usd
  expect(typeof text).toBe('number')
  // @ts-expect-error: the dashboard takes a Bearer key
  expect((await api.v1.dashboard.balance.get()).status).toBe(401)
})
