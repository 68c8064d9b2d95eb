/** Operators take upstreams out and put them back on the page by the command's own operation, as themselves; nobody else can. Rules: pages.md "Upstreams"; operator.md "Audit". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listenForLines } from '../../../src/operator/line-socket.ts'
import { socketPathFor } from '../../../src/operator/socket-files.ts'
import { errorAnswer, MESSAGE, nativeMessage, startFakeUpstream } from '../../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, UPSTREAM_API_KEY } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'

type Row = {
  name: string
  host: string
  out: { by: string; reason: string; since: string } | null
  last_failure: unknown
  last_answer: string | null
  in_flight: number
}

let gateway: TestGateway
let operator: Operator
let vendor: Awaited<ReturnType<typeof startFakeUpstream>>
beforeAll(async () => {
  vendor = await startFakeUpstream({ answer: () => errorAnswer(500, { type: 'error', error: { type: 'api_error', message: 'no' } }) })
  gateway = await startTestGateway({ upstreams: [vendor.url, 'http://127.0.0.1:9/secret-path'] })
  operator = await signInOperator(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await vendor.stop()
})

const rows = async (): Promise<readonly Row[]> => ((await (await operator.get('/console/api/upstreams')).json()) as { data: Row[] }).data
const audit = async () => {
  const page = await gateway.world.reports.ask('test', { kind: 'audit', target: 'upstream-0', limit: 10 })
  return typeof page === 'object' ? page.rows : []
}
const setOut = (name: string, isOut: boolean, reason = '') =>
  operator.post(`/console/api/upstreams/${name}/state`, { is_out: isOut, reason })

test('the list has each upstream with its host, its slots and its models, and nothing of its key or path', async () => {
  const response = await operator.get('/console/api/upstreams')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const text = await response.text()
  expect(text).not.toContain(UPSTREAM_API_KEY)
  expect(text).not.toContain('secret-path')
  expect((JSON.parse(text) as { data: unknown[] }).data).toMatchObject([
    {
      name: 'upstream-0',
      host: new URL(vendor.url).host,
      priority: 0,
      weight: 1,
      in_flight: 0,
      waiting: 0,
      max_concurrent: 10_000,
      out: null,
      last_failure: null,
      last_answer: null,
      models: [{ id: MODEL_ID, upstream_model: 'vendor-sonnet-1' }],
    },
    { name: 'upstream-1', host: '127.0.0.1:9' },
  ])
})

test('a call that failed is the upstream’s last failure', async () => {
  const secret = await gateway.createKey()
  await (await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })).text()
  const [row] = await rows()
  expect(row?.last_failure).toMatchObject({ cause: 'status 500', model: 'vendor-sonnet-1', at: expect.any(String) })
  expect(row?.last_answer).toBeNull()
})

test('an answer in one piece is an answer, and an upstream without token counts has not failed', async () => {
  const answer = ({ path }: { path: string }) =>
    path.includes('count_tokens')
      ? errorAnswer(404, { type: 'error', error: { type: 'not_found_error', message: 'no' } })
      : nativeMessage(MESSAGE)
  const upstream = await startFakeUpstream({ answer })
  const other = await startTestGateway({ upstreams: [upstream.url] })
  try {
    const [secret, body] = [await other.createKey(), { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }]
    const looker = await signInOperator(other)
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) await (await other.post(path, secret, body)).text()
    expect(((await (await looker.get('/console/api/upstreams')).json()) as { data: Row[] }).data).toMatchObject([
      { last_answer: expect.any(String), last_failure: null },
    ])
  } finally {
    await other.stop()
    upstream.stop()
  }
})

test('out and in are done once, by the person, with the reason, in the audit log', async () => {
  const taken = await setOut('upstream-0', true, '  vendor maintenance ')
  expect([taken.status, await taken.json()]).toEqual([200, { already: false, in_flight: 0, left: 1, unanswered: [] }])
  expect(gateway.world.upstreams).toBeDefined()
  expect((await rows())[0]?.out).toEqual({ by: 'person:ops@example.com', reason: 'vendor maintenance', since: expect.any(String) })
  expect(await (await setOut('upstream-0', true)).json()).toMatchObject({ already: true })
  expect(await (await setOut('upstream-0', false)).json()).toMatchObject({ already: false, left: 2 })
  expect((await rows())[0]?.out).toBeNull()
  expect(await audit()).toMatchObject([
    { action: 'setUpstreamOut', target: 'upstream-0', actor: 'person:ops@example.com', reason: '' },
    {
      action: 'setUpstreamOut',
      target: 'upstream-0',
      actor: 'person:ops@example.com',
      reason: 'vendor maintenance',
      address: expect.stringMatching(/./),
    },
  ])
})

test('another site’s page, nobody, a wrong name and a wrong body change nothing', async () => {
  const path = '/console/api/upstreams/upstream-0/state'
  const json = { 'content-type': 'application/json' }
  const before = (await audit()).length
  for (const headers of [{ ...json, origin: 'https://evil.example' }, { ...json, origin: gateway.url }, { ...json, origin: 'null' }, json])
    expect((await operator.post(path, { is_out: true }, headers)).status).toBe(403)
  const own = { ...json, origin: gateway.operatorUrl }
  expect((await fetch(`${gateway.operatorUrl}${path}`, { method: 'POST', headers: own, body: '{"is_out":true}' })).status).toBe(401)
  expect((await setOut('nothing', true)).status).toBe(404)
  const long = await setOut('upstream-0', true, 'x'.repeat(501))
  expect([long.status, await long.json()]).toEqual([400, { error: { message: 'A reason has at most 500 characters', field: 'reason' } }])
  expect((await operator.post(path, { is_out: 'yes' })).status).toBe(400)
  expect((await audit()).length).toBe(before)
  expect((await rows()).every(({ out }) => out === null)).toBe(true)
})

postgresTest(
  'on Postgres the other processes of the place are told, in the person’s name, and one that does not answer is named',
  async () => {
    await using shared = await startTestGateway({ upstreams: [vendor.url], postgres: { url: await postgres().createDatabase() } })
    const told: string[] = []
    const listen = (pid: number, answer: (line: string) => Promise<string>) =>
      listenForLines(socketPathFor({ kind: 'postgres', path: shared.ledgerPath }, pid), answer, () => undefined)
    const sibling = listen(4_000_001, (line) => {
      told.push(line)
      return Promise.resolve(
        line.startsWith('upstreams ') ? '{"node":"n/2","reports":[]}' : '{"result":"done","isNew":true,"running":3,"left":1}',
      )
    })
    const hung = listen(4_000_002, () => new Promise(() => undefined))
    const person = await signInOperator(shared)
    const answered = await person.post('/console/api/upstreams/upstream-0/state', { is_out: true, reason: 'maintenance' })
    expect(await answered.json()).toEqual({ already: false, in_flight: 3, left: 0, unanswered: [4_000_002] })
    const order = JSON.parse(told.find((line) => line.startsWith('upstream '))?.slice('upstream '.length) ?? '{}')
    expect(order).toMatchObject({ upstream: 'upstream-0', isOut: true, isNoted: true, act: { actor: 'person:ops@example.com' } })
    const page = await shared.world.reports.ask('test', { kind: 'audit', target: 'upstream-0', limit: 10 })
    expect(typeof page === 'object' ? page.rows : []).toMatchObject([{ action: 'setUpstreamOut', actor: 'person:ops@example.com' }])
    sibling.stop(true)
    hung.stop(true)
  },
)
