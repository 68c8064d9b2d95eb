/** Every metric has its value after the event that it counts, under names and labels that nobody can invent. Rules: operator.md "Metrics". */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { makeMetrics } from '../../src/observe/metrics.ts'
import type { RequestLine } from '../../src/observe/request-line.ts'

const LINE: RequestLine = {
  requestId: 'req_1',
  route: '/v1/messages',
  format: 'messages',
  keyId: 'key_secretive',
  accountId: 'acc_1',
  model: 'sonnet',
  isStream: true,
  status: 200,
  outcome: 'complete',
  usageSource: 'final',
  usage: { input: 10, output: 20, cacheRead: 3, cacheWrite5m: 0, cacheWrite1h: 5, serverToolUses: 0 },
  costPicos: picos(1_500_000_000_000n),
  waivedPicos: picos(0n),
  upstream: 'primary',
  firstByteMs: 200,
  durationMs: 3_000,
}

async function samples(text: Promise<string>): Promise<Map<string, number>> {
  const lines = (await text).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

test('requestEnded() counts the request, its tokens, its cost and its times once', async () => {
  const metrics = makeMetrics()
  metrics.requestEnded(LINE)
  const seen = await samples(metrics.render())
  expect(
    seen.get(
      'tollgate_requests_total{route="/v1/messages",format="messages",model="sonnet",status="200",refusal="none",outcome="complete"}',
    ),
  ).toBe(1)
  for (const [name, count] of Object.entries({ input: 10, output: 20, cache_read: 3, cache_write_1h: 5 }))
    expect(seen.get(`tollgate_tokens_total{format="messages",model="sonnet",class="${name}"}`)).toBe(count)
  expect(seen.get('tollgate_cost_usd_total{format="messages",model="sonnet"}')).toBe(1.5)
  expect(seen.get('tollgate_first_byte_seconds_bucket{le="0.25",format="messages",stream="true"}')).toBe(1)
  expect(seen.get('tollgate_first_byte_seconds_bucket{le="0.1",format="messages",stream="true"}')).toBe(0)
  expect(seen.get('tollgate_request_duration_seconds_sum{route="/v1/messages",stream="true"}')).toBe(3)
})

test('a name out of the configuration cannot break out of its label, and a value beyond all bounds is in the last bucket', async () => {
  const metrics = makeMetrics()
  metrics.requestEnded({ ...LINE, model: 'a"b\\c\nd', durationMs: 600_001 })
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_cost_usd_total{format="messages",model="a\\"b\\\\c\\nd"}')).toBe(1.5)
  const bucket = (le: string) => seen.get(`tollgate_request_duration_seconds_bucket{le="${le}",route="/v1/messages",stream="true"}`)
  expect([bucket('600'), bucket('+Inf')]).toEqual([0, 1])
})

test('a receipt above its hold is counted, one within it is not', async () => {
  const metrics = makeMetrics()
  metrics.requestEnded(LINE)
  metrics.requestEnded({ ...LINE, costOverHoldPicos: picos(1n) })
  expect((await samples(metrics.render())).get('tollgate_cost_over_hold_total{format="messages",model="sonnet"}')).toBe(1)
})

test('estimates, faults and alarms have counters of their own', async () => {
  const metrics = makeMetrics()
  metrics.requestEnded({
    ...LINE,
    usageSource: 'estimated',
    outcome: 'fault',
    cause: 'status 529',
    costPicos: picos(0n),
    waivedPicos: picos(7_000_000_000_000n),
  })
  metrics.requestEnded({
    requestId: 'req_2',
    route: '/v1/messages',
    status: 503,
    refusal: 'upstreamAccount',
    cause: 'status 401',
    isAlarm: true,
    upstream: 'primary',
    durationMs: 1,
  })
  metrics.requestEnded({ ...LINE, disbelieved: 'primary' })
  metrics.alarm('bug')
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_estimated_total{format="messages",model="sonnet"}')).toBe(1)
  expect(seen.get('tollgate_implausible_usage_total{upstream="primary"}')).toBe(1)
  expect(seen.get('tollgate_waived_usd_total{format="messages",model="sonnet"}')).toBe(7)
  expect(seen.get('tollgate_upstream_faults_total{upstream="primary",cause="status 529"}')).toBe(1)
  expect(seen.get('tollgate_upstream_faults_total{upstream="primary",cause="status 401"}')).toBe(1)
  expect(seen.get('tollgate_alarms_total{what="upstream"}')).toBe(1)
  expect(seen.get('tollgate_alarms_total{what="bug"}')).toBe(1)
})

test('no key, account or request id is a label, and an upstream cannot invent more than a bounded number of causes', async () => {
  const metrics = makeMetrics()
  for (let i = 0; i < 500; i++) {
    metrics.requestEnded({ ...LINE, requestId: `req_${i}`, keyId: `key_${i}`, cause: `status ${100 + i}` })
  }
  for (let i = 0; i < 500; i++) metrics.requestEnded({ ...LINE, cause: `odd ${i}` })
  const text = await metrics.render()
  expect(text).not.toMatch(/key_|acc_|req_/)
  expect([...text.matchAll(/^tollgate_upstream_faults_total\{/gm)].length).toBeLessThanOrEqual(40 + 15 + 5 + 1)
  for (const cause of ['status 4xx', 'status 529', 'odd 39']) expect(text).toContain(`cause="${cause}"`)
  expect(text).toContain('cause="other"')
})

test('streams in flight go up and down by format, and a gauge is read when it is asked for', async () => {
  const metrics = makeMetrics()
  let isWritable = true
  metrics.gauge('tollgate_ledger_writable', 'Whether the ledger can commit.', () => Number(isWritable))
  metrics.streamStarted('chat')
  metrics.streamStarted('chat')
  metrics.streamStarted('messages')
  metrics.streamEnded('chat')
  const before = await samples(metrics.render())
  expect(before.get('tollgate_streams_in_flight{format="chat"}')).toBe(1)
  expect(before.get('tollgate_streams_in_flight{format="messages"}')).toBe(1)
  expect(before.get('tollgate_ledger_writable')).toBe(1)
  isWritable = false
  expect((await samples(metrics.render())).get('tollgate_ledger_writable')).toBe(0)
})

test('conversations are counted by whether they stayed, and what a cold cache cost is summed', async () => {
  const metrics = makeMetrics()
  metrics.pool.placed('kept')
  metrics.pool.placed('moved')
  metrics.requestEnded({ ...LINE, cacheLostPicos: picos(250_000_000_000n) })
  metrics.requestEnded(LINE)
  metrics.gauges('tollgate_upstream_in_flight', 'Calls that run.', ['upstream'], () => [
    [['north'], 3],
    [['south'], 0],
  ])
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_affinity_total{how="kept"}')).toBe(1)
  expect(seen.get('tollgate_affinity_total{how="moved"}')).toBe(1)
  expect(seen.get('tollgate_cache_lost_usd_total{model="sonnet"}')).toBe(0.25)
  expect(seen.get('tollgate_upstream_in_flight{upstream="north"}')).toBe(3)
  expect(seen.get('tollgate_upstream_in_flight{upstream="south"}')).toBe(0)
})

test('a commit is counted with its time, a group without writes is not, and the spill is what was told last', async () => {
  const metrics = makeMetrics()
  metrics.storageTold({ commitMs: 3, spillBytes: 4_096 })
  metrics.storageTold({ spillBytes: 512 })
  const seen = await samples(metrics.render())
  const bucket = (le: string) => seen.get(`tollgate_ledger_commit_seconds_bucket{le="${le}"}`)
  expect([bucket('0.002'), bucket('0.005'), bucket('+Inf')]).toEqual([0, 1, 1])
  expect(seen.get('tollgate_ledger_commit_seconds_sum')).toBe(0.003)
  expect(seen.get('tollgate_spill_bytes')).toBe(512)
})

test('the process tells its memory, processor time, start and event loop lag as plain numbers', async () => {
  const seen = await samples(makeMetrics().render())
  expect(seen.get('process_resident_memory_bytes')).toBeGreaterThan(1e6)
  expect(seen.get('process_start_time_seconds')).toBeGreaterThan(1.7e9)
  for (const name of ['process_cpu_seconds_total', 'process_heap_bytes', 'process_event_loop_lag_seconds'])
    expect(seen.get(name)).toBeGreaterThanOrEqual(0)
})

test('two worlds in one process do not share a registry', async () => {
  const one = makeMetrics()
  const other = makeMetrics()
  one.alarm('bug')
  expect(await other.render()).not.toContain('what="bug"')
})

test('labels that read alike when they are joined are series of their own, and the same labels are one', async () => {
  const metrics = makeMetrics()
  metrics.pool.called('a', 'bc')
  metrics.pool.called('ab', 'c')
  metrics.pool.called('a', 'bc')
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_upstream_attempts_total{upstream="a",result="bc"}')).toBe(2)
  expect(seen.get('tollgate_upstream_attempts_total{upstream="ab",result="c"}')).toBe(1)
})

test('answers that are not kept for a restart are counted', async () => {
  const metrics = makeMetrics()
  metrics.answersLost(2)
  expect((await samples(metrics.render())).get('tollgate_answers_lost_total')).toBe(2)
})

test('what the bot got is counted by what came of it', async () => {
  const metrics = makeMetrics()
  for (const result of ['answered', 'answered', 'dropped', 'given up'] as const) metrics.botUpdate(result)
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_bot_updates_total{result="answered"}')).toBe(2)
  expect(seen.get('tollgate_bot_updates_total{result="dropped"}')).toBe(1)
  expect(seen.get('tollgate_bot_updates_total{result="given up"}')).toBe(1)
})

test('alerts are counted by how they went out, and those that had no room', async () => {
  const metrics = makeMetrics()
  metrics.alertDelivered('webhook', 'delivered')
  metrics.alertDelivered('email', 'failed')
  metrics.alertDropped(3)
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_alert_deliveries_total{channel="webhook",result="delivered"}')).toBe(1)
  expect(seen.get('tollgate_alert_deliveries_total{channel="email",result="failed"}')).toBe(1)
  expect(seen.get('tollgate_alerts_dropped_total')).toBe(3)
})

test('answers by another model, and those that an upstream counted otherwise, are counted by upstream', async () => {
  const metrics = makeMetrics()
  metrics.pool.otherModel('primary')
  metrics.pool.countDiffers('primary', 'output')
  const seen = await samples(metrics.render())
  expect(seen.get('tollgate_upstream_other_model_total{upstream="primary"}')).toBe(1)
  expect(seen.get('tollgate_upstream_count_differences_total{upstream="primary",counter="output"}')).toBe(1)
})

test('conversations whose thinking may be lost are counted', async () => {
  const metrics = makeMetrics()
  metrics.pool.thinkingLost()
  metrics.pool.thinkingLost()
  expect(await metrics.render()).toContain('\ntollgate_thinking_lost_total 2')
})
