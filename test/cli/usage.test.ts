/** `tollgate usage`: what was spent, a row a day, key and model, as the receipts have it. Rules: operator.md "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { startThread } from '../support/threads.ts'
import { NOW, Workplace } from './run.ts'

let place: Workplace
beforeEach(async () => {
  place = new Workplace()
  await place.json('keys', 'create', '--name', 'app', '--balance', '25')
})
afterEach(() => place.remove())

test('usage is an empty list before the first request', async () => {
  expect(await place.json('usage')).toMatchObject({ data: [], has_more: false, total: { requests: 0, cost_usd_exact: '0' } })
  expect(await place.json('usage', '--key', 'app', '--account', 'app', '--from', '2026-11-01')).toMatchObject({ data: [] })
  expect(await place.run('usage')).toMatchObject({ code: 0, out: 'Nothing was used yet.\n' })
  expect(await place.run('usage', '--key', 'x')).toMatchObject({ code: 2 })
  for (const day of ['2026-02-31', '2026-13-01', '2026-1-1', '2026-11-01T00:00:00Z', 'today'])
    expect(await place.run('usage', '--from', day)).toMatchObject({ code: 2, err: expect.stringContaining('Expected a day, such as') })
})

test('usage has a row a day, key and model, and its costs are the receipts', async () => {
  const { id } = await place.json<{ id: string }>('keys', 'show', 'app')
  const opened = await openLedger({ path: place.ledgerPath, create: false, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  const rates = { input: picos(3_000_000n), output: picos(15_000_000n), cacheRead: picos(300_000n), cacheWrite5m: picos(3_750_000n) }
  const usage = { input: 1000, output: 200, cacheRead: 30, cacheWrite5m: 4, cacheWrite1h: 5, serverToolUses: 0 }
  const allRates = { ...rates, cacheWrite1h: picos(6_000_000n), serverToolUse: picos(0n) }
  const hold = {
    keyId: id,
    modelId: 'claude-sonnet-5-5',
    format: 'chat',
    isStream: true,
    rates: allRates,
    levels: [],
    amountPicos: picos(1_000_000_000_000n),
    costs: new Map([['north', { prices: { rates: allRates, levels: [] }, factorMillionths: 500_000 }]]),
  } as const
  for (const requestId of ['req_1', 'req_2']) {
    expect(await opened.ledger.hold({ ...hold, requestId, now: NOW, ...(requestId === 'req_1' ? { tag: 'team:a' } : {}) })).toBe('held')
    const cost = { costPicos: costOf(usage, allRates), waivedPicos: picos(0n) }
    const settlement = {
      requestId,
      outcome: 'complete',
      usageSource: 'final',
      usage,
      ...cost,
      status: 200,
      firstByteMs: 1,
      durationMs: 2,
      now: NOW,
      upstream: { name: 'north', model: 'm' },
    } as const
    expect(await opened.ledger.settle(settlement)).toBe('settled')
  }
  await opened.ledger.close()
  const [row, ...rest] = (await place.json<{ data: Record<string, unknown>[] }>('usage', '--key', 'app')).data
  expect(rest).toEqual([])
  expect(row).toMatchObject({
    day: '2026-11-21',
    key_id: id,
    key_name: 'app',
    model: 'claude-sonnet-5-5',
    requests: 2,
    input_tokens: 2000,
    output_tokens: 400,
    cache_read_input_tokens: 60,
    cache_creation_input_tokens: 18,
    cost_usd: 0.012108,
    waived_usd: 0,
  })
  const { out } = await place.run('usage')
  expect(out).toMatch(/^DAY +KEY +MODEL +REQUESTS +INPUT +OUTPUT +CACHE READ +CACHE WRITE +COST +WAIVED$/m)
  expect(out).toMatch(/^2026-11-21 +app +claude-sonnet-5-5 +2 +2000 +400 +60 +18 +\$0\.012108 +\$0\.000000$/m)
  expect(out).toMatch(/^total +2 .*\$0\.012108 +\$0\.000000$/m)
  expect(await place.json('keys', 'show', 'app')).toMatchObject({ balance_usd: 24.987892, spent_usd: 0.012108 })
  expect(await place.json('verify')).toEqual({ ok: true, data: [] })

  type Sums = { data: Record<string, unknown>[]; total: object }
  const tags = await place.json<Sums>('usage', '--by', 'tag', '--account', 'app')
  expect(tags.data).toMatchObject([
    { tag: null, is_shared: false, requests: 1, input_tokens: 1000, cost_usd: 0.006054 },
    { tag: 'team:a', is_shared: false, requests: 1, input_tokens: 1000, cost_usd: 0.006054 },
  ])
  expect((await place.run('usage', '--by', 'tag')).out).toMatch(/^\(none\) +1 +1000/m)
  const sums = { requests: 2, charged_usd_exact: '0.012108', upstream_cost_usd_exact: '0.006054', margin_usd_exact: '0.006054' }
  for (const [by, id] of [
    ['day', '2026-11-21'],
    ['account', expect.stringMatching(/^acc_/)],
    ['model', 'claude-sonnet-5-5'],
    ['upstream', 'north'],
  ] as const)
    expect(await place.json<Sums>('usage', '--margin', '--by', by)).toMatchObject({ data: [{ id, ...sums }], total: sums })
  expect(await place.json('usage', '--margin')).toHaveProperty('without_cost')
  expect((await place.run('usage', '--margin')).out).toMatch(/^2026-11-21 +2 +0 +\$0\.012108 +\$0\.006054 .*\$0\.006054$/m)
  expect((await place.run('usage', '--margin', '--to', '2026-11-20')).out).toContain('No call has a known cost')
  const explored = await place.json<Sums>('usage', '--by', 'model,upstream', '--step', 'month', '--key', 'app', '--only', 'format=chat')
  const cost = { requests: 2, input_tokens: 2000, cost_usd_exact: '0.012108', upstream_cost_usd_exact: '0.006054', costed_requests: 2 }
  expect(explored).toMatchObject({
    data: [{ from: '2026-11-01', model: { id: 'claude-sonnet-5-5' }, upstream: { id: 'north' }, ...cost }],
    total: cost,
  })
  // What a tag is called does not depend on the other options.
  const tagged = await place.json<Sums>('usage', '--by', 'tag', '--account', 'app', '--step', 'day')
  expect(tagged.data.map(({ tag, is_shared, requests }) => ({ tag, is_shared, requests }))).toEqual(
    tags.data.map(({ tag, is_shared, requests }) => ({ tag, is_shared, requests })),
  )
  expect(await place.json<Sums>('usage', '--by', 'model', '--only', 'key=app')).toEqual(
    await place.json<Sums>('usage', '--by', 'model', '--key', 'app'),
  )
  expect((await place.run('usage', '--by', 'key,tag')).out).toMatch(/^app +\(none\) +1 .*\$0\.006054/m)
  expect((await place.run('usage', '--by', 'key', '--only', 'format=messages')).out).toContain('Nothing was used yet.')
  for (const wrong of [
    ['--by', 'price'],
    ['--by', 'key,key'],
    ['--by', 'day'],
    ['--step', 'day'],
    ['--only', 'key=x'],
    ['--by', 'model', '--key', 'app', '--only', 'key=app'],
    ['--by', 'model', '--account', 'app', '--only', 'account=app'],
    ['--by', 'model', '--only', 'key=unknown'],
  ])
    expect([wrong, (await place.run('usage', ...wrong)).code]).toEqual([wrong, 2])
  expect(await place.run('usage', '--by', 'key', '--only', 'price=1')).toMatchObject({ code: 2, err: expect.stringContaining('WHAT=ID') })
  expect(await place.run('usage', '--margin', '--step', 'day')).toMatchObject({ code: 2 })
  expect(await place.run('usage', '--margin', '--by', 'tag')).toMatchObject({ code: 2 })
})
