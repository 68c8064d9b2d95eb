/** The charts of the console: a request that ended is in them, with its refusals, its account's name and what operators did; a span that is typed wrong is told with its field. Rules: pages.md "History". */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { until } from '../../support/until.ts'

setDefaultTimeout(60_000)

let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  gateway = await startTestGateway()
  operator = await signInOperator(gateway)
})
afterAll(() => gateway.stop())

type Line = { name: string; requests: number[]; refusals: Record<string, number[]> }
type Shown = {
  parts: string[]
  part_s: number
  all: Line
  lines: Line[]
  accounts: { id: string; name: string; requests: number; before: number }[]
  marks: { kind: string; what: string }[]
}

const sum = (counts: readonly number[] = []): number => counts.reduce((total, count) => total + count, 0)
const shown = async (query = ''): Promise<Shown> => (await operator.get(`/console/api/history${query}`)).json() as Promise<Shown>

test('what ended is in the charts within seconds, by model and by upstream, with its account', async () => {
  const secret = await gateway.createKey({ balanceUsd: '5' })
  const body = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
  for (let count = 0; count < 3; count++) expect((await gateway.post('/v1/messages', secret, body)).status).toBe(200)
  expect((await gateway.post('/v1/messages', 'sk-wrong', body)).status).toBe(401)
  await until(async () => sum((await shown()).all.requests) === 4)
  const byModel = await shown('?span=day&by=model')
  expect(byModel.part_s).toBe(900)
  expect(byModel.parts.length).toBe(byModel.all.requests.length)
  expect(byModel.lines.map(({ name, requests }) => [name, sum(requests)])).toEqual([
    [MODEL_ID, 3],
    ['none', 1],
  ])
  expect(Object.entries(byModel.all.refusals).map(([name, counts]) => [name, sum(counts)])).toEqual([['keyInvalid', 1]])
  expect(byModel.accounts.map(({ requests, before }) => [requests, before])).toEqual([[3, 0]])
  for (const span of ['week', 'month']) expect(sum((await shown(`?span=${span}`)).all.requests)).toBe(4)
})

test('what operators did in the span stands on the chart: an upstream that was taken out, a reload by its node, and none that was refused or changed nothing', async () => {
  const now = Date.now()
  await gateway.operate({ kind: 'reload', changes: 1, node: null, now })
  await gateway.operate({ kind: 'reload', changes: 1, node: 'north', now })
  await gateway.operate({ kind: 'reload', changes: 0, node: null, now: now - 2 })
  await gateway.operate({ kind: 'reload', changes: 2, node: null, now: now - 1 })
  await gateway.operate({ kind: 'refuseReload', changes: 2, now: now - 1 })
  await gateway.operate({ kind: 'setUpstreamOut', upstream: 'upstream-0', isOut: true, now })
  const { marks } = await shown()
  expect(marks.flatMap(({ kind, what }) => (kind === 'began' ? [] : [[kind, what]])).toSorted()).toEqual([
    ['reload', ''],
    ['reload', 'north'],
    ['setUpstreamOut', 'upstream-0 out'],
  ])
})

for (const [query, field] of [
  ['?span=year', 'span'],
  ['?by=account', 'by'],
  ['?from=yesterday', 'from'],
  ['?to=2026-13-01', 'to'],
  ['?from=2026-11-02&to=2026-11-01T00:00:00Z', 'from'],
  ['?from=2020-01-01', 'from'],
] as const)
  test(`a span that is typed wrong is told with its field: ${query}`, async () => {
    const answer = await operator.get(`/console/api/history${query}`)
    expect([answer.status, ((await answer.json()) as { error: { field: string } }).error.field]).toEqual([400, field])
  })

test('who is not signed in sees no chart', async () => {
  expect((await fetch(`${gateway.operatorUrl}/console/api/history`)).status).toBe(401)
})
