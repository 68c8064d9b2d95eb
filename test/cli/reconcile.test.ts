/** `tollgate reconcile`: the vendor's report and our books agree to the token, or the bucket and the calls that drift are named. Rules: operator.md "Reconciliation". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { makeRequests, requestId } from './lists.ts'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  makeRequests(place)
})
afterEach(() => place.remove())

/** Of hour `n` of the day: the requests came in within the thirteenth. */
function bucket(n: number, ...uses: readonly Readonly<{ input: number; output: number; model?: string | null; key?: string }>[]) {
  const hour = (hours: number) => new Date(Date.UTC(2026, 10, 21, hours)).toISOString()
  return {
    starting_at: hour(n),
    ending_at: hour(n + 1),
    results: uses.map(({ input, output, model = 'vendor-large', key = 'apikey_1' }) => ({
      uncached_input_tokens: input,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
      output_tokens: output,
      server_tool_use: { web_search_requests: 0 },
      model,
      api_key_id: key,
      workspace_id: null,
      service_tier: 'standard',
      context_window: '0-200k',
    })),
  }
}
const page = (...data: object[]) => ({ data, has_more: false, next_page: null })
/** Five receipts of 100 and n, and an attempt of 7. */
const EXACT = { input: 507, output: 15 }

async function reconcile(documents: readonly object[], ...argv: string[]) {
  const names = documents.map((_, index) => `page-${index}.json`)
  for (const [index, document] of documents.entries()) place.write(names[index] ?? '', JSON.stringify(document))
  const { code, out, err } = await place.run('reconcile', ...names, ...argv, '--json')
  return {
    code,
    err,
    found:
      code === 2 ? undefined : (JSON.parse(out) as { ok: boolean; is_complete: boolean; data: Record<string, unknown>[]; calls: object[] }),
  }
}

test('books that agree are 0: receipts, waived ones and attempts together, over several pages, keys, tiers and dated ids', async () => {
  const { code, found } = await reconcile([
    { ...page(bucket(11)), has_more: true },
    page(bucket(12, { input: 500, output: 10 }, { input: 7, output: 5 })),
  ])
  expect({ code, found }).toMatchObject({
    code: 0,
    found: { ok: true, is_complete: true, data: [{ model: 'vendor-large', drift: { input_tokens: 0, output_tokens: 0 } }], calls: [] },
  })
  expect((await reconcile([page(bucket(12, { ...EXACT, model: 'vendor-large-20260101' }))])).code).toBe(0)
  expect((await reconcile([page(bucket(12, { ...EXACT, model: null }))])).code).toBe(0)
  expect((await reconcile([page(bucket(12, EXACT, { input: 9, output: 9, key: 'apikey_2' }))], '--api-key', 'apikey_1')).code).toBe(0)
  expect((await reconcile([page(bucket(12, EXACT)), page(bucket(12, EXACT))])).code).toBe(0)
  expect((await reconcile([page(bucket(12, EXACT))], '--upstream', 'main', '--by', 'settle')).code).toBe(0)
  expect((await place.run('reconcile', 'page-0.json')).out).toBe('All 1 figures by bucket and model agree with ours.\n')
})

test('one token of drift is 1, with the bucket, what our side is made of, and its calls, the likeliest first', async () => {
  const { code, found } = await reconcile([page(bucket(12, { input: 508, output: 15 }))])
  expect(code).toBe(1)
  expect(found?.data).toMatchObject([
    {
      starting_at: '2026-11-21T12:00:00.000Z',
      model: 'vendor-large',
      is_above_tolerance: true,
      drift: { input_tokens: 1, output_tokens: 0 },
      causes: {
        charged: { calls: 4, inexact: 0, price_usd_exact: '0.00138', costed: 3, upstream_cost_usd_exact: '0.0005025' },
        waived: { calls: 1, inexact: 1, price_usd_exact: '0.000345', costed: 1, upstream_cost_usd_exact: '0.0001725' },
        attempts: { calls: 1, inexact: 1, price_usd_exact: '0.000021', costed: 1, upstream_cost_usd_exact: '0.0000105' },
      },
    },
  ])
  expect(found?.calls).toHaveLength(6)
  expect(found?.calls.slice(0, 2)).toMatchObject([
    { request_id: requestId(3), attempt: null, cause: 'waived', basis: 'partial', upstream_message_id: 'msg_3' },
    { request_id: requestId(4), attempt: 1, cause: 'attempts', upstream_message_id: 'msg_44' },
  ])
  expect((await reconcile([page(bucket(12, { input: 508, output: 15 }))], '--tolerance', '0.2')).code).toBe(0)
  expect((await reconcile([page(bucket(12, { input: 508, output: 15 }))], '--tolerance', '0.1')).code).toBe(1)
  expect((await reconcile([page(bucket(12, { input: 508, output: 15 }))], '--calls', '2')).found?.calls).toHaveLength(2)
  const { out } = await place.run('reconcile', 'page-0.json')
  expect(out).toMatch(/^2026-11-21T12:00:00\.000Z +vendor-large +\+1 +0 /m)
})

test('what only one side has drifts too; what no bucket covers does not count', async () => {
  const { code, found } = await reconcile([page(bucket(12, { input: 5, output: 5, model: 'vendor-small' }))])
  expect(code).toBe(1)
  expect(found?.data).toMatchObject([
    { model: 'vendor-large', theirs: { input_tokens: 0 }, drift: { input_tokens: -507, output_tokens: -15 } },
    { model: 'vendor-small', ours: { input_tokens: 0 }, drift: { input_tokens: 5 } },
  ])
  expect((await reconcile([page(bucket(12))], '--upstream', 'another')).code).toBe(0)
  expect((await reconcile([page(bucket(10), bucket(13))])).code).toBe(0)
  expect((await reconcile([{ ...page(bucket(12, EXACT)), has_more: true }])).found).toMatchObject({ ok: true, is_complete: false })
})

test('what is no report, or says two things, is refused', async () => {
  for (const [documents, words] of [
    [[{}], 'no list "data"'],
    [[page()], 'no bucket'],
    [[page({ starting_at: 'x', ending_at: 'y', results: [] })], 'data[0]'],
    [[page(bucket(12, { input: -1, output: 0 }))], 'data[0]'],
    [[page(bucket(12, EXACT)), page(bucket(12, { input: 1, output: 1 }))], 'stands in it twice'],
    [[page(bucket(12), { ...bucket(14), ending_at: '2026-11-22T00:00:00Z' })], 'different widths'],
  ] as const) {
    const { code, err } = await reconcile(documents)
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(words) })
  }
  expect((await place.run('reconcile', 'missing.json')).code).toBe(2)
  expect((await reconcile([page(bucket(12))], '--tolerance', '101')).code).toBe(2)
})
