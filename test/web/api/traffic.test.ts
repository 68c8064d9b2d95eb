/**
 * Refusals and first bytes of Explore: what ended is there, by model, upstream and reason, and the file says the same; what the history does not keep is told with its field, to
 * customers all of it. Rules: pages.md "Explore".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { WRITER_GONE_S } from '../../../src/core/history/kept.ts'
import { DAY_MS } from '../../../src/core/utc.ts'
import { HistoryFile } from '../../../src/history/history-file.ts'
import { historyPathOf } from '../../../src/history/threaded-store.ts'
import { trafficCsv } from '../../../src/web/api/traffic-csv.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { signIn } from '../../support/signed-in.ts'
import { roomIn, until } from '../../support/until.ts'

setDefaultTimeout(60_000)

type Figures = { requests: number | null; refused: number; p50_ms: number | null; p95_ms: number | null; p99_ms: number | null }
type Shown = {
  places: string[]
  series: { ids: string[] | null; values: (number | null)[] }[]
  data: (Figures & { ids: string[] })[]
  total: Figures
  lost_after: string[]
}

let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  await roomIn(DAY_MS, 60_000)
  gateway = await startTestGateway()
  operator = await signInOperator(gateway)
  const secret = await gateway.createKey({ balanceUsd: '5' })
  const body = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
  for (let count = 0; count < 3; count++) expect((await gateway.post('/v1/messages', secret, body)).status).toBe(200)
  for (let count = 0; count < 2; count++) expect((await gateway.post('/v1/messages', 'sk-wrong', body)).status).toBe(401)
  await until(async () => (await shown('measure=refusals')).total.requests === 5)
})
afterAll(() => gateway.stop())

const shown = async (query: string): Promise<Shown> => (await operator.get(`/console/api/explore?${query}`)).json() as Promise<Shown>
const linesOf = async (query: string): Promise<string[][]> =>
  (await (await operator.get(`/console/api/explore.csv?${query}`)).text())
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))

test('refusals by model and by reason are those that ended, and days without any request are gaps', async () => {
  const byModel = await shown('measure=refusals&step=day')
  expect(byModel.data.map(({ ids, requests, refused }) => [ids, requests, refused])).toEqual([
    [['(none)'], 2, 2],
    [[MODEL_ID], 3, 0],
  ])
  expect(byModel.series.map(({ values }) => [values.length, values.slice(0, -1).every((value) => value === null), values.at(-1)])).toEqual([
    [30, true, 2],
    [30, true, 0],
  ])
  const byReason = await shown('measure=refusals&by=reason')
  expect(byReason.data.map(({ ids, requests, refused }) => [ids, requests, refused])).toEqual([[['keyInvalid'], null, 2]])
  expect(byReason.total).toMatchObject({ requests: 5, refused: 2 })
})

for (const measure of ['refusals', 'first_byte_p50', 'first_byte_p95', 'first_byte_p99'])
  for (const by of ['model', 'upstream', 'upstream,model', ...(measure === 'refusals' ? ['reason', 'reason,model'] : [])])
    test(`table, chart and file agree: ${measure} by ${by}`, async () => {
      // All requests are of one day, whose figures are those of the span.
      const query = `measure=${measure}&by=${by}&step=day`
      const { data, series, places } = await shown(query)
      const [head = [], ...lines] = await linesOf(query)
      const figures = by.includes('reason')
        ? ['refused']
        : ['requests', 'refused', 'first_byte_p50_ms', 'first_byte_p95_ms', 'first_byte_p99_ms']
      expect(head).toEqual(['from', ...by.split(','), ...figures])
      const cells = ({ requests, refused, p50_ms, p95_ms, p99_ms }: Figures) =>
        (by.includes('reason') ? [refused] : [requests, refused, p50_ms, p95_ms, p99_ms]).map((cell) => String(cell ?? ''))
      expect(lines.toSorted()).toEqual(data.map((row) => [places.at(-1) ?? '', ...row.ids, ...cells(row)]).toSorted())
      const column = head.indexOf(measure === 'refusals' ? 'refused' : `${measure}_ms`)
      expect(series.map(({ values }) => String(values.at(-1) ?? '')).toSorted()).toEqual(lines.map((line) => line[column] ?? '').toSorted())
    })

test('each figure of the file stands under its name, and what there is none of is empty', async () => {
  const row = { hour: 0, ids: ['opus', '=east'], requests: 9, refused: 1, p50_ms: 10.5, p95_ms: 20, p99_ms: null }
  const file = await new Response(
    trafficCsv([JSON.stringify([row])], { by: ['model', 'upstream'], step: 'hour' }, { onEnd: () => undefined }),
  ).text()
  expect(file).toBe(
    "from,model,upstream,requests,refused,first_byte_p50_ms,first_byte_p95_ms,first_byte_p99_ms\r\n1970-01-01T00:00Z,opus,'=east,9,1,10.5,20,\r\n",
  )
})

test('after when a process that was killed may have lost requests is told, and of those that run nothing', async () => {
  expect((await shown('measure=refusals')).lost_after).toEqual([])
  const killedAt = Math.floor(Date.now() / 1_000) - 2 * WRITER_GONE_S
  const file = new HistoryFile(historyPathOf(gateway.ledgerPath))
  try {
    file.write({ name: 'killed', beganAt: killedAt }, [], { now: killedAt * 1_000, isWhole: false })
    file.write({ name: 'stopped', beganAt: killedAt }, [], { now: killedAt * 1_000, isWhole: true })
  } finally {
    file.close()
  }
  const told = new Date(killedAt * 1_000).toISOString()
  expect((await shown('measure=refusals')).lost_after).toEqual([told])
  expect((await shown('measure=refusals&from=2026-01-01&to=2026-01-02')).lost_after).toEqual([])
})

test('a first byte is one of those that were answered', async () => {
  const { data, total } = await shown('measure=first_byte_p95')
  expect(data.map(({ ids, p95_ms }) => [ids[0], p95_ms === null])).toEqual([
    [MODEL_ID, false],
    ['(none)', true],
  ])
  expect(data[0]?.p95_ms).toBe(total.p95_ms)
})

for (const [query, field] of [
  ['measure=refusals&by=account', 'by'],
  ['measure=refusals&by=key,model', 'by'],
  ['measure=first_byte_p50&by=reason', 'by'],
  ['measure=first_byte_p95&by=tag', 'by'],
  ['measure=refusals&by=model,model', 'by'],
  ['measure=refusals&account=acc_1', 'account'],
  ['measure=first_byte_p99&key=key_1', 'key'],
  ['measure=refusals&outcome=complete', 'outcome'],
  ['measure=first_byte', 'measure'],
  ['measure=spend&by=reason', 'by'],
  ['measure=refusals&step=minute', 'step'],
  ['measure=refusals&step=hour&from=2026-01-01&to=2026-03-01', 'step'],
  ['measure=refusals&from=yesterday', 'from'],
] as const)
  test(`what the history does not keep, or is asked wrong, is told with its field: ${query}`, async () => {
    for (const path of ['explore', 'explore.csv']) {
      const answer = await operator.get(`/console/api/${path}?${query}`)
      expect([answer.status, ((await answer.json()) as { error: { field: string } }).error.field]).toEqual([400, field])
    }
  })

test('a measure that there is not is told with all that there are, to operators those of traffic too', async () => {
  const answer = await operator.get('/console/api/explore?measure=p95')
  expect(((await answer.json()) as { error: { message: string } }).error.message).toEndWith(
    'cache_hits, refusals, first_byte_p50, first_byte_p95, first_byte_p99',
  )
})

test('a customer has none of it, since the history keeps no accounts with reasons and times', async () => {
  const own = await signIn(gateway, 'rob@example.com', (await accountOf()) ?? '', 'reader')
  const { status, body } = await own.get(`/api/accounts/${await accountOf()}/explore?measure=refusals`)
  expect([status, (body['error'] as { field: string }).field]).toEqual([400, 'measure'])
})
const accountOf = async (): Promise<string | undefined> => gateway.receipts()[0]?.accountId

test('who is not signed in sees none of it', async () => {
  for (const path of ['explore', 'explore.csv'])
    expect((await fetch(`${gateway.operatorUrl}/console/api/${path}?measure=refusals`)).status).toBe(401)
})

test('a view of refusals by reason is kept, one by what is not kept is refused with its field', async () => {
  const keep = (name: string, by: string) =>
    operator.post('/console/api/views', { name, view: { measure: 'refusals', by, step: 'day', span: 'week' } })
  expect((await keep('refused', 'reason')).status).toBe(200)
  const refused = await keep('refused by key', 'key')
  expect([refused.status, ((await refused.json()) as { error: { field: string } }).error.field]).toEqual([400, 'by'])
})
