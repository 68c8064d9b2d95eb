/**
 * Views of Explore by their endpoints: kept, listed and deleted by their person alone, readers too; what could not be asked is not kept, and is told with its field.
 * Rules: pages.md "Saved views", "Errors".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import type { Browser } from '../../support/people.ts'
import { signIn } from '../../support/signed-in.ts'

type Listed = { data: { id: string; name: string; view: Record<string, string> }[] }

let gateway: TestGateway
let operator: Operator
let rob: Browser
let ann: Browser
const NORTH = '/api/accounts/acc_north/views'
beforeAll(async () => {
  gateway = await startTestGateway()
  for (const accountId of ['acc_north', 'acc_south'])
    await gateway.operate({ kind: 'createAccount', accountId, name: '', topUp: null, now: Date.now() })
  operator = await signInOperator(gateway)
  rob = await signIn(gateway, 'rob@example.com', 'acc_north', 'reader')
  ann = await signIn(gateway, 'ann@example.com', 'acc_north', 'owner')
})
afterAll(() => gateway.stop())

const listOf = async (browser: Browser) => ((await browser.get(NORTH)).body as unknown as Listed).data

test('a reader keeps a view, whose question comes back as it was, and another member of the account has none', async () => {
  const view = { by: 'key,tag', step: 'week', measure: 'requests', model: 'a\\,b,c', from: '2026-10-01', to: '2026-10-31' }
  const { status, body } = await rob.post(NORTH, { name: ' October ', view })
  expect([status, body['name']]).toEqual([200, 'October'])
  expect(await listOf(rob)).toEqual([{ id: String(body['id']), name: 'October', view }])
  expect(await listOf(ann)).toEqual([])
  expect((await ann.send('DELETE', `${NORTH}/${body['id']}`)).status).toBe(404)
  expect((await rob.send('DELETE', `${NORTH}/${body['id']}`)).status).toBe(204)
  expect(await listOf(rob)).toEqual([])
})

test('days that count from the day of opening are kept in place of dates', async () => {
  await rob.post(NORTH, { name: 'week', view: { by: 'key', from: '2020-01-01', to: '2026-01-01', span: 'week' } })
  expect((await listOf(rob)).map(({ view }) => view)).toEqual([{ by: 'key', span: 'week' }])
  const page = await operator.post('/console/api/views', { name: 'all', view: { by: 'account,upstream', span: 'month' } })
  expect(page.status).toBe(200)
  const { data } = (await (await operator.get('/console/api/views')).json()) as Listed
  expect(data.map(({ name, view }) => ({ name, view }))).toEqual([{ name: 'all', view: { by: 'account,upstream', span: 'month' } }])
})

test('what is no question of the page, or has no name, is not kept, and the answer names the field', async () => {
  const before = await listOf(rob)
  for (const [body, status, field] of [
    [{ name: '', view: {} }, 400, 'name'],
    [{ name: 'x'.repeat(129), view: {} }, 400, 'name'],
    [{ name: 'x', view: { by: 'upstream' } }, 400, 'by'],
    [{ name: 'x', view: { account: 'acc_south' } }, 400, 'account'],
    [{ name: 'x', view: { from: '2026-02-30' } }, 400, 'from'],
    [{ name: 'x', view: { span: 'decade' } }, 400, 'view.span'],
    [{ name: 'x', view: { by: 'key', modle: 'm' } }, 400, 'view.modle'],
    [{ name: 'x', view: { model: 'm'.repeat(4_000) } }, 400, 'view'],
    [{ name: 'week', view: { by: 'model' } }, 409, 'name'],
  ] as const) {
    const answer = await rob.post(NORTH, body)
    expect([body, answer.status, (answer.body['error'] as { field: string }).field]).toEqual([body, status, field])
  }
  expect(await listOf(rob)).toEqual(before)
  expect((await rob.get('/api/accounts/acc_south/views')).status).toBe(404)
  expect((await rob.post('/api/accounts/acc_south/views', { name: 'x', view: {} })).status).toBe(404)
})
