/** The log has one line a request, with what an operator needs and no content. Rules: operator.md "Log". */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { makeLog } from '../../src/observe/log.ts'
import type { RequestLine } from '../../src/observe/request-line.ts'
import { makeLogMemory } from '../support/log-memory.ts'

const WHOLE: RequestLine = {
  requestId: 'req_1',
  route: '/v1/messages',
  format: 'messages',
  keyId: 'key_1',
  accountId: 'acc_1',
  model: 'sonnet',
  isStream: true,
  status: 200,
  outcome: 'complete',
  usageSource: 'final',
  usage: { input: 10, output: 20, cacheRead: 3, cacheWrite5m: 4, cacheWrite1h: 5, serverToolUses: 1 },
  hasLostThinking: true,
  costPicos: picos(10_500_000n),
  waivedPicos: picos(0n),
  upstream: 'primary',
  firstByteMs: 12.6,
  durationMs: 345.2,
}

test('where several nodes write to one place each line says whose it is, and nothing of it is taken for a field', () => {
  const written: string[] = []
  const log = makeLog({ write: (line) => written.push(line), node: 'web"1/2' })
  log.request(WHOLE)
  log.notice('listening')
  log.alarm('ledger')
  expect(written.map((line) => JSON.parse(line).node)).toEqual(['web"1/2', 'web"1/2', 'web"1/2'])
})

test('a request is one line of JSON with the product’s field names, money exact', () => {
  const written: string[] = []
  makeLog({ write: (line) => written.push(line) }).request(WHOLE)
  expect(written).toHaveLength(1)
  expect(written[0]).toEndWith('}\n')
  const { time, ...line } = JSON.parse(written[0] ?? '')
  expect(new Date(time).toISOString()).toBe(time)
  expect(line).toEqual({
    level: 'info',
    request_id: 'req_1',
    route: '/v1/messages',
    format: 'messages',
    key_id: 'key_1',
    account_id: 'acc_1',
    model: 'sonnet',
    stream: true,
    status: 200,
    outcome: 'complete',
    usage_source: 'final',
    input_tokens: 10,
    output_tokens: 20,
    cache_read_tokens: 3,
    cache_write_5m_tokens: 4,
    cache_write_1h_tokens: 5,
    server_tool_uses: 1,
    cost_usd: '0.0000105',
    waived_usd: '0',
    thinking_lost: true,
    upstream: 'primary',
    first_byte_ms: 13,
    duration_ms: 345,
  })
})

test('an estimate says what it was made with, and a cost above its hold by how much', () => {
  const { log, lines } = makeLogMemory()
  log.request({ ...WHOLE, usageSource: 'estimated', bytesPerToken: 3.5, costOverHoldPicos: picos(2_500_000n) })
  expect(lines()[0]).toMatchObject({ bytes_per_token: 3.5, cost_over_hold_usd: '0.0000025' })
})

test('an upstream whose usage cannot be true is named at once, then once a minute with how often since', () => {
  let nowMs = 0
  const { log, lines } = makeLogMemory({ now: () => nowMs })
  const notices = () => lines().flatMap((line) => (line['notice'] === undefined ? [] : [[line['upstream'], line['count']]]))
  for (const atMs of [0, 1, 59_999]) {
    nowMs = atMs
    for (const disbelieved of ['north', 'south']) log.request({ ...WHOLE, disbelieved })
  }
  expect(notices()).toEqual([
    ['north', 1],
    ['south', 1],
  ])
  nowMs = 60_000
  log.request({ ...WHOLE, disbelieved: 'north' })
  log.request(WHOLE)
  expect(notices().slice(2)).toEqual([['north', 3]])
})

test('what is not known of a request is not in its line', () => {
  const { log, lines } = makeLogMemory()
  log.request({ requestId: 'req_2', route: 'unknown', keyId: 'key_1', status: 404, refusal: 'notFound', durationMs: 0 })
  expect(Object.keys(lines()[0] ?? {}).sort()).toEqual([
    'duration_ms',
    'key_id',
    'level',
    'refusal',
    'request_id',
    'route',
    'status',
    'time',
  ])
})

test('the level says who must care: an operator for an alarm, someone for a 5xx, nobody else', () => {
  const { log, lines } = makeLogMemory()
  const line = { requestId: 'req_3', route: '/v1/messages', durationMs: 1 }
  log.request({ ...line, status: 503, isAlarm: true, upstream: 'primary', cause: 'status 401' })
  log.request({ ...line, status: 502 })
  log.request({ ...line, status: 429 })
  log.alarm('a request was settled twice', { request_id: 'req_3' })
  log.notice('started', { port: 8080 })
  expect(lines().map(({ level }) => level)).toEqual(['error', 'warn', 'info', 'error', 'info'])
  expect(lines()[0]).toMatchObject({ alarm: 'upstream', cause: 'status 401' })
  expect(lines()[3]).toMatchObject({ alarm: 'a request was settled twice', request_id: 'req_3' })
  expect(lines()[4]).toMatchObject({ notice: 'started', port: 8080 })
})

test('an alarm is told to whoever counts them, and a notice is none', () => {
  const told: string[] = []
  const log = makeLog({ write: () => undefined, onAlarm: (what) => told.push(what) })
  log.alarm('bug')
  log.notice('not an alarm')
  expect(told).toEqual(['bug'])
})

test('nothing in a field can break out of its line', () => {
  const written: string[] = []
  makeLog({ write: (line) => written.push(line) }).notice('a\nb\u2028c\u001b[31m"}', { model: '\r\n{"level":"error"}' })
  expect(written.join('').split('\n')).toHaveLength(2)
  expect(written.join('')).not.toContain('\u001b')
  expect(JSON.parse(written[0] ?? '')).toMatchObject({ model: '\r\n{"level":"error"}' })
})
