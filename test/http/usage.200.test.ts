/**
 * What a key is shown of its requests, days and state is what the ledger booked, to the last digit, page by page and as a file, and never another key's.
 * Rules: requests.md "Usage"; keys.md "State of a key"; ledger.md "Reads".
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { renameSync } from 'node:fs'
import { displayOf, makeSecret } from '../../src/core/key.ts'
import { type Picos, toExactUsdText, toUsd } from '../../src/core/money.ts'
import { type AnsweredGateway, startAnsweredGateway } from '../support/answered-gateway.ts'
import { frame, nativeMessage, nativeStream, type Script } from '../support/fake-upstream.ts'
import { MODEL_ID, type ReceiptRow } from '../support/gateway.ts'
import { sha256 } from '../support/ledger.ts'
import { roomIn, until } from '../support/until.ts'

type Item = Readonly<Record<string, unknown>> & Readonly<{ request_id: string; cost_usd_exact: string; settled_at: string; usage: object }>
type List = Readonly<{ object: string; data: readonly Item[]; has_more: boolean; next_cursor: string | null }>

const REQUESTS = '/v1/dashboard/usage/requests'
const USAGE = { input_tokens: 1_234, output_tokens: 7, cache_read_input_tokens: 11, cache_creation_input_tokens: 5 }
const message = (usage: object) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
})

let script: Script = nativeMessage(message(USAGE))
let stage: AnsweredGateway

beforeAll(async () => {
  stage = await startAnsweredGateway({
    script: () => script,
    models: [{ id: MODEL_ID }, { id: '=cmd|model' }],
    limits: { dashboardPerMinute: 100_000 },
  })
})
afterAll(() => stage.stop())

const ask = (secret: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${stage.gateway.url}${path}`, { headers: { authorization: `Bearer ${secret}`, ...headers } })
const read = async <Document = List>(secret: string, path: string): Promise<Document> => {
  const response = await ask(secret, path)
  expect([path, response.status]).toEqual([path, 200])
  return (await response.json()) as Document
}

/** So many requests of a key, and their ids as the client saw them, newest first. */
async function spend(secret: string, count: number, model = MODEL_ID): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const answer = await stage.gateway.post('/v1/messages', secret, {
      model,
      max_tokens: 16,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(answer.status).toBe(200)
    ids.unshift(answer.headers.get('x-request-id') ?? '')
    await Bun.sleep(2)
  }
  return ids
}

const receiptOf = (id: string): ReceiptRow => {
  const found = stage.gateway.receipts().find(({ requestId }) => requestId === id)
  if (found === undefined) throw new Error(`no receipt ${id}`)
  return found
}

/** Every page, one after the other. */
async function walk(secret: string, query: string): Promise<readonly Item[]> {
  const all: Item[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: List = await read(secret, `${REQUESTS}?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expect(page.has_more).toBe(page.next_cursor !== null)
    all.push(...page.data)
    cursor = page.next_cursor
  }
  return all
}

test('a request is listed with its tokens, its times and its cost, rounded and to the last digit', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_listed' })
  const [id = ''] = await spend(secret, 1)
  const receipt = receiptOf(id)
  // 1,234 × 3 + 7 × 15 + 11 × 0.30 + 5 × 3.75 USD per million.
  expect(await read(secret, REQUESTS)).toEqual({
    object: 'list',
    data: [
      {
        object: 'usage.request',
        request_id: id,
        model: MODEL_ID,
        format: 'messages',
        stream: false,
        outcome: 'complete',
        status: 200,
        basis: 'final',
        attempts: 1,
        started_at: new Date(receipt.startedAt).toISOString(),
        settled_at: new Date(receipt.settledAt).toISOString(),
        first_byte_ms: receipt.firstByteMs,
        duration_ms: receipt.durationMs,
        usage: {
          ...USAGE,
          cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 0 },
          server_tool_uses: 0,
        },
        cost_usd: 0.003829,
        cost_usd_exact: '0.00382905',
        waived_usd: 0,
        waived_usd_exact: '0',
        price_level: null,
        tag: null,
        not_charged: null,
      },
    ],
    has_more: false,
    next_cursor: null,
  } as never)
})

test('one request shows count × rate = price for each kind, and the prices add up to the cost', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_one' })
  const [id = ''] = await spend(secret, 1)
  const detail = await read<Item & { lines: Record<string, unknown>[]; explanation: unknown }>(secret, `${REQUESTS}/${id}`)
  expect(detail.explanation).toBeNull()
  expect(detail.lines).toEqual([
    { item: 'input_tokens', count: 1_234, rate_usd_exact: '0.000003', price_usd: 0.003702, price_usd_exact: '0.003702' },
    { item: 'output_tokens', count: 7, rate_usd_exact: '0.000015', price_usd: 0.000105, price_usd_exact: '0.000105' },
    { item: 'cache_read_input_tokens', count: 11, rate_usd_exact: '0.0000003', price_usd: 0.000003, price_usd_exact: '0.0000033' },
    { item: 'ephemeral_5m_input_tokens', count: 5, rate_usd_exact: '0.00000375', price_usd: 0.000019, price_usd_exact: '0.00001875' },
  ])
  const { data } = await read(secret, REQUESTS)
  const { lines: _, explanation: __, ...same } = detail
  expect(same as object).toEqual(data[0] as object)
})

test('where nothing was charged it says why', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_free' })
  script = nativeStream(
    frame('message_start', { message: { ...message(USAGE), content: [], stop_reason: null } }),
    frame('error', { error: { type: 'api_error', message: 'broken' } }),
  )
  try {
    const answer = await stage.gateway.post('/v1/messages', secret, {
      model: MODEL_ID,
      max_tokens: 16,
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    await answer.text()
    await stage.gateway.idle()
  } finally {
    script = nativeMessage(message(USAGE))
  }
  const {
    data: [item],
  } = await read(secret, REQUESTS)
  expect(item).toMatchObject({ outcome: 'fault', not_charged: 'upstream_failed', cost_usd: 0, cost_usd_exact: '0' })
  expect(item?.['waived_usd_exact']).not.toBe('0')
  const detail = await read<{ explanation: string }>(secret, `${REQUESTS}/${item?.request_id}`)
  expect(detail.explanation).toStartWith('The provider failed')
})

test('pages are newest first, follow each other without a gap or a repetition, and stay so while requests are added', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_paged' })
  const ids = await spend(secret, 7)
  expect((await walk(secret, 'limit=3')).map(({ request_id }) => request_id)).toEqual([...ids])
  const first = await read(secret, `${REQUESTS}?limit=3`)
  await spend(secret, 2)
  const second = await read(secret, `${REQUESTS}?limit=3&cursor=${first.next_cursor}`)
  expect([...first.data, ...second.data].map(({ request_id }) => request_id)).toEqual(ids.slice(0, 6))
})

test('time, model and outcome narrow it; a date means its whole day', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_filtered' })
  const ids = await spend(secret, 3)
  const other = await spend(secret, 1, '=cmd|model')
  const all = [...other, ...ids]
  const idsOf = async (query: string): Promise<readonly string[]> => (await walk(secret, query)).map(({ request_id }) => request_id)
  const middle = receiptOf(ids[1] ?? '').settledAt
  const at = new Date(middle).toISOString()
  expect(await idsOf(`from=${at}`)).toEqual(all.slice(0, 3))
  expect(await idsOf(`to=${at}`)).toEqual(all.slice(3))
  const [hours, minutes] = [2, 30]
  const zoned = new Date(middle + (hours * 60 + minutes) * 60_000).toISOString().replace('Z', '%2B02:30')
  expect(await idsOf(`from=${zoned}`)).toEqual(all.slice(0, 3))
  const today = at.slice(0, 10)
  expect(await idsOf(`from=${today}&to=${today}`)).toEqual(all)
  expect(await idsOf('from=2020-01-01&to=2020-12-31')).toEqual([])
  expect(await idsOf(`model=${encodeURIComponent('=cmd|model')}`)).toEqual([...other])
  expect(await idsOf('model=unknown')).toEqual([])
  expect([await idsOf('outcome=complete'), await idsOf('outcome=fault')]).toEqual([all, []])
})

test('a key sees its own requests alone: another’s id is the 404 of an unknown one, another’s cursor is 400', async () => {
  const mine = await stage.gateway.createKey({ id: 'key_mine' })
  const theirs = await stage.gateway.createKey({ id: 'key_theirs' })
  const [own = ''] = await spend(mine, 1)
  const [, foreign = ''] = await spend(theirs, 2)
  expect((await read(mine, REQUESTS)).data.map(({ request_id }) => request_id)).toEqual([own])
  const answers = await Promise.all([foreign, 'req_unknown', `${own}x`].map((id) => ask(mine, `${REQUESTS}/${id}`)))
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
  expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
  const { next_cursor } = await read(theirs, `${REQUESTS}?limit=1`)
  const refused = await ask(mine, `${REQUESTS}?cursor=${next_cursor}`)
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: { message: expect.stringMatching(/^cursor: /) } }])
  const daily = await read<{ data: unknown[] }>(await stage.gateway.createKey({ id: 'key_new' }), '/v1/dashboard/usage/daily')
  expect(daily.data).toEqual([])
})

test('a rotated secret sees the same requests, the old one within its overlap too', async () => {
  const old = await stage.gateway.createKey({ id: 'key_rotated' })
  const [id = ''] = await spend(old, 1)
  const secret = makeSecret(() => randomBytes(64))
  await stage.gateway.operate({
    kind: 'rotateKey',
    keyId: 'key_rotated',
    secretHash: sha256(secret),
    display: displayOf(secret),
    oldValidUntil: Date.now() + 60_000,
    now: Date.now(),
  })
  for (const one of [old, secret]) expect((await read(one, REQUESTS)).data.map(({ request_id }) => request_id)).toEqual([id])
})

test('a day is the sum of its requests, by model, with a total', async () => {
  await roomIn(86_400_000, 60_000)
  const secret = await stage.gateway.createKey({ id: 'key_daily' })
  await spend(secret, 2)
  await spend(secret, 1, '=cmd|model')
  const cost = stage.gateway.receipts().find(({ keyId }) => keyId === 'key_daily')?.costPicos ?? 0n
  const sum = (count: bigint) => ({
    cost_usd: toUsd((cost * count) as Picos),
    cost_usd_exact: toExactUsdText((cost * count) as Picos),
    waived_usd: 0,
    waived_usd_exact: '0',
  })
  const today = new Date().toISOString().slice(0, 10)
  const daily = await read<Record<string, unknown>>(secret, `/v1/dashboard/usage/daily?from=${today}&to=${today}`)
  expect(daily).toMatchObject({ object: 'list', from: today, to: today, total: { requests: 3, ...sum(3n) } })
  expect(daily['data']).toMatchObject([
    { date: today, model: '=cmd|model', requests: 1, usage: USAGE, ...sum(1n) },
    { date: today, model: MODEL_ID, requests: 2, usage: { input_tokens: 2_468 }, ...sum(2n) },
  ])
  const one = await read<{ data: unknown[] }>(secret, `/v1/dashboard/usage/daily?model=${MODEL_ID}`)
  expect(one.data).toHaveLength(1)
})

test('days that do not fit a page are on the next ones, each once, and a page says that there are more', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_years' })
  await spend(secret, 1)
  const db = new Database(stage.gateway.ledgerPath)
  try {
    db.run(
      `WITH RECURSIVE ids (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ids WHERE n < 700) INSERT INTO models (id) SELECT 'many-' || n FROM ids`,
    )
    db.run(`INSERT INTO usage_daily SELECT u.key_number, u.day - d.value, m.number, u.price_number, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0
      FROM usage_daily u JOIN keys k ON k.number = u.key_number AND k.id = 'key_years' JOIN json_each('[0,1,2]') d JOIN models m ON m.id LIKE 'many-%'`)
  } finally {
    db.close()
  }
  type Daily = Readonly<{
    data: readonly Readonly<{ date: string; model: string }>[]
    total: { requests: number }
    has_more: boolean
    next_cursor: string | null
  }>
  const sizes: number[] = []
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Daily = await read(secret, `/v1/dashboard/usage/daily${cursor === '' ? '' : `?cursor=${cursor}`}`)
    expect([page.has_more, page.total.requests]).toEqual([page.next_cursor !== null, page.data.length])
    sizes.push(page.data.length)
    seen.push(...page.data.map(({ date, model }) => `${date} ${model}`))
    cursor = page.next_cursor
  }
  expect(sizes).toEqual([1_000, 1_000, 101])
  expect(new Set(seen).size).toBe(2_101)
  expect(seen.map((row) => row.slice(0, 10))).toEqual(
    seen
      .map((row) => row.slice(0, 10))
      .toSorted()
      .toReversed(),
  )
  const elsewhere = Buffer.from('2026-13-01 x').toString('base64url')
  for (const cursor of ['x', elsewhere, Buffer.from('2026-11-01').toString('base64url')])
    expect([cursor, (await ask(secret, `/v1/dashboard/usage/daily?cursor=${cursor}`)).status]).toEqual([cursor, 400])
})

test('as CSV it is one file of all pages, asked for by the query or the header, and no cell begins a formula', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_csv' })
  const ids = await spend(secret, 2)
  const other = await spend(secret, 1, '=cmd|model')
  const byHeader = await ask(secret, REQUESTS, { accept: 'text/csv' })
  const byQuery = await ask(secret, `${REQUESTS}?format=csv&limit=1`)
  expect(byQuery.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
  expect(byQuery.headers.get('content-disposition')).toContain('attachment')
  const text = await byQuery.text()
  expect(await byHeader.text()).toBe(text)
  const [header = '', ...lines] = text.split('\r\n')
  expect(lines.pop()).toBe('')
  expect(lines.map((line) => line.split(',')[0])).toEqual([...other, ...ids])
  const cells = lines[0]?.split(',') ?? []
  const cell = (name: string): string | undefined => cells[header.split(',').indexOf(name)]
  expect([cell('model'), cell('cost_usd'), cell('cost_usd_exact'), cell('input_tokens')]).toEqual([
    "'=cmd|model",
    '0.003829',
    '0.00382905',
    '1234',
  ])
  const asJson = await ask(secret, `${REQUESTS}?format=json`, { accept: 'text/csv' })
  expect(asJson.headers.get('content-type')).toBe('application/json')
})

test('a wrong query is 400 that names its field', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_wrong' })
  const wrong = {
    from: ['yesterday', '2026-02-30', '2026-01-01T10:00', '2026-01-01T25:00:00Z', '2026-13-01'],
    to: ['1', '2026-1-1'],
    outcome: ['completed', ''],
    limit: ['0', '1001', '-1', '1e2'],
    cursor: ['x', '!', 'AAAA', 'a'.repeat(300)],
    format: ['xml'],
  }
  for (const [field, values] of Object.entries(wrong))
    for (const value of values) {
      const response = await ask(secret, `${REQUESTS}?${field}=${encodeURIComponent(value)}`)
      const { error } = (await response.json()) as { error: { message: string } }
      expect([field, value, response.status, error.message.startsWith(`${field}: `)]).toEqual([field, value, 400, true])
    }
  for (const query of ['from=2026-02-30', 'to=x', 'from=2020-01-01'])
    expect([query, (await ask(secret, `/v1/dashboard/usage/daily?${query}`)).status]).toEqual([query, 400])
})

test('the key says what it may do, and what its next request would be refused', async () => {
  const path = '/v1/dashboard/key'
  type Key = Readonly<Record<string, unknown>>
  const rich = await stage.gateway.createKey({ id: 'key_rich', balanceUsd: '25', limitUsd: '0.01' })
  expect(await read<Key>(rich, path)).toMatchObject({
    object: 'key',
    id: 'key_rich',
    key: displayOf(rich),
    plan: 'default',
    expires_at: null,
    limit_usd: 0.01,
    limit_usd_exact: '0.01',
    spent_usd: 0,
    spent_usd_exact: '0',
    held_usd: 0,
    available_usd: 0.01,
    running_requests: 0,
    would_be_refused: null,
  })
  await spend(rich, 1)
  expect(await read<Key>(rich, path)).toMatchObject({ spent_usd_exact: '0.00382905', available_usd_exact: '0.00617095' })
  await spend(rich, 2)
  expect(await read<Key>(rich, path)).toMatchObject({
    would_be_refused: { reason: 'limit_used', status: 429, type: 'insufficient_balance', retry_after_seconds: null },
  })
  const poor = await stage.gateway.createKey({ id: 'key_poor', balanceUsd: '0.001' })
  await spend(poor, 1)
  const refused = (await read<Key>(poor, path))['would_be_refused'] as Key
  const real = await stage.gateway.post('/v1/messages', poor, {
    model: MODEL_ID,
    max_tokens: 16,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  const { error } = (await real.json()) as { error: { type: string; message: string } }
  const { type, message: words } = error
  expect(refused).toEqual({ reason: 'balance_used', status: real.status, type, message: words, retry_after_seconds: null })
})

test('the balance is answered out of memory: nobody’s question and no commit is waited for, and a settled request is in it', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_quick', balanceUsd: '1' })
  const [id = ''] = await spend(secret, 1)
  const { ledger, reports } = stage.gateway.world
  const asked = spyOn(reports, 'ask')
  const found = spyOn(ledger, 'findKey')
  try {
    const balance = await read<object>(secret, '/v1/dashboard/balance')
    expect(balance).toMatchObject({
      balance_usd: 0.996171,
      last_synced_at: new Date(receiptOf(id).settledAt).toISOString(),
    })
    expect(await read<object>(secret, '/v1/dashboard/billing/credit_grants')).toMatchObject({ total_available: 0.996171 })
    expect([asked, found].map((spy) => spy.mock.calls.length)).toEqual([0, 0])
  } finally {
    asked.mockRestore()
    found.mockRestore()
  }
})

test('while the ledger is not at its path, and while it is not sound, the key says what a request really meets', async () => {
  const alone = await startAnsweredGateway()
  try {
    const { gateway, secret } = alone
    const asked = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
    const key = async (): Promise<{ would_be_refused: unknown }> =>
      (await (await fetch(`${gateway.url}/v1/dashboard/key`, { headers: { authorization: `Bearer ${secret}` } })).json()) as never
    expect((await key()).would_be_refused).toBeNull()
    const damaged = spyOn(gateway.world.ledger, 'isSound').mockReturnValue(false)
    expect([(await gateway.post('/v1/messages', secret, asked)).status, (await key()).would_be_refused]).toEqual([200, null])
    damaged.mockRestore()
    renameSync(gateway.ledgerPath, `${gateway.ledgerPath}.away`)
    await until(() => !gateway.world.ledger.isWritable())
    const refused = await gateway.post('/v1/messages', secret, asked)
    const { error } = (await refused.json()) as { error: { type: string; message: string } }
    expect((await key()).would_be_refused).toMatchObject({ reason: 'unavailable', status: refused.status, ...error })
    renameSync(`${gateway.ledgerPath}.away`, gateway.ledgerPath)
    await until(() => gateway.world.ledger.isWritable())
    expect((await key()).would_be_refused).toBeNull()
  } finally {
    await alone.stop()
  }
})

test('what runs is held, and refuses the next where it holds everything', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_held', balanceUsd: '0.0001' })
  const { promise, resolve } = Promise.withResolvers<void>()
  script = [{ when: promise }, ...nativeMessage(message(USAGE))]
  const running = stage.gateway.post('/v1/messages', secret, {
    model: MODEL_ID,
    max_tokens: 16,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  try {
    await until(() => stage.gateway.holds().length > 0)
    const [hold] = stage.gateway.holds()
    expect(await read<object>(secret, '/v1/dashboard/key')).toMatchObject({
      running_requests: 1,
      held_usd_exact: toExactUsdText(hold?.amountPicos as Picos),
      available_usd_exact: '0.0001',
      would_be_refused: { reason: 'balance_held', status: 429, type: 'rate_limit_error', retry_after_seconds: 1 },
    })
  } finally {
    resolve()
    script = nativeMessage(message(USAGE))
    await (await running).text()
  }
})

test('nothing of it is for those without a key, and all of it counts against the address', async () => {
  const narrow = await startAnsweredGateway({ limits: { dashboardPerMinute: 3 } })
  try {
    const paths = [REQUESTS, `${REQUESTS}/req_1`, '/v1/dashboard/usage/daily', '/v1/dashboard/key']
    const get = (path: string, headers: Record<string, string>) => fetch(`${narrow.gateway.url}${path}`, { headers })
    const statuses = await Promise.all(paths.map(async (path) => (await get(path, { 'x-api-key': narrow.secret })).status))
    expect(statuses.toSorted()).toEqual([401, 401, 401, 429])
  } finally {
    await narrow.stop()
  }
})

test('a ledger that cannot be read is 503', async () => {
  const closed = await startAnsweredGateway()
  try {
    await closed.gateway.world.reports.close()
    const get = (path: string) => fetch(`${closed.gateway.url}${path}`, { headers: { authorization: `Bearer ${closed.secret}` } })
    for (const path of [
      REQUESTS,
      `${REQUESTS}?format=csv`,
      `${REQUESTS}/req_1`,
      '/v1/dashboard/usage/daily',
      '/v1/dashboard/key',
      '/v1/dashboard/statement-key',
    ])
      expect([path, (await get(path)).status]).toEqual([path, 503])
  } finally {
    await closed.stop()
  }
})
