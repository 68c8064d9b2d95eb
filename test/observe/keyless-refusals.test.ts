/** Who has no key can fill neither the log nor the memory: a line a second and address, whatever is sent; nothing goes uncounted. Rules: operator.md "Log". */

import { afterAll, beforeAll, expect, jest, test } from 'bun:test'
import { makeLog } from '../../src/observe/log.ts'
import type { RequestLine } from '../../src/observe/request-line.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

type Line = Readonly<Record<string, unknown>>

const REFUSED: RequestLine = { requestId: 'req_1', route: '/v1/messages', status: 401, refusal: 'keyInvalid', durationMs: 0 }
const sumOf = (lines: readonly Line[]): number => lines.reduce((sum, { count }) => sum + Number(count), 0)

/** A log on a clock that the test moves. */
function makeTimedLog() {
  const lines: Line[] = []
  let now = 0
  jest.useFakeTimers()
  const log = makeLog({ write: (line) => lines.push(JSON.parse(line)), now: () => now })
  return {
    log,
    lines,
    refuse: (client: string, more: Partial<RequestLine> = {}) => log.request({ ...REFUSED, client, ...more }),
    pass: (ms: number) => {
      for (let left = ms; left > 0; left -= 50) {
        now += 50
        jest.advanceTimersByTime(50)
      }
    },
    stop: () => jest.useRealTimers(),
  }
}

test('an address has one line a second, told at once and then with the count of what it stands for', () => {
  const { lines, refuse, pass, stop } = makeTimedLog()
  for (let second = 0; second < 5; second++)
    for (let n = 0; n < 20; n++) {
      refuse('192.0.2.1', { requestId: `req_${second}_${n}` })
      pass(50)
    }
  refuse('192.0.2.2')
  pass(5_000)
  stop()
  const one = lines.filter(({ client }) => client === '192.0.2.1')
  expect(one[0]).toMatchObject({ client: '192.0.2.1', count: 1, request_id: 'req_0_0', status: 401, refusal: 'keyInvalid' })
  expect([one.length, sumOf(one)]).toEqual([6, 100])
  expect(lines.filter(({ client }) => client === '192.0.2.2')).toMatchObject([{ count: 1 }])
})

test('an address that comes back after a quiet second is told at once again', () => {
  const { lines, refuse, pass, stop } = makeTimedLog()
  refuse('192.0.2.1')
  pass(1_100)
  refuse('192.0.2.1')
  stop()
  expect(lines.map(({ count }) => count)).toEqual([1, 1])
})

test('a hundred thousand addresses in a second are a thousand lines and one for the rest, and each is counted', () => {
  const { log, lines, refuse, pass, stop } = makeTimedLog()
  for (let n = 0; n < 100_000; n++) refuse(`2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::/64`)
  expect(lines.length).toBe(1_001)
  pass(1_500)
  expect(lines.length).toBe(1_002)
  refuse('192.0.2.1')
  refuse('192.0.2.1')
  log.flush()
  stop()
  expect(lines.filter(({ client }) => client === 'others')).toMatchObject([{ count: 1 }, { count: 98_999 }])
  expect(sumOf(lines)).toBe(100_002)
})

test('what has a key, an alarm or no refusal has a line of its own', () => {
  const { log, lines, refuse, stop } = makeTimedLog()
  for (let n = 0; n < 5; n++) refuse('192.0.2.1', { keyId: 'key_1' })
  for (let n = 0; n < 5; n++) refuse('192.0.2.1', { status: 500, refusal: 'internal' })
  for (let n = 0; n < 5; n++) log.request({ requestId: 'req_1', route: '/v1/models', status: 200, durationMs: 0 })
  stop()
  expect(lines).toHaveLength(15)
  expect(lines.filter((line) => 'count' in line)).toEqual([])
})

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

test('a flood of requests without a key is a few lines of a listening gateway, and its metrics and counts have all of them', async () => {
  const ask = (n: number): Promise<Response> => {
    if (n % 4 === 0) return fetch(`${gateway.url}/v1/nope`)
    if (n % 4 === 1) return fetch(`${gateway.url}/v1/models`)
    if (n % 4 === 2) return fetch(`${gateway.url}/v1/dashboard/balance`)
    return gateway.post(n % 8 === 3 ? '/v1/messages' : '/v1/messages/count_tokens', 'sk-wrong', {})
  }
  const startedAtMs = performance.now()
  for (let n = 0; n < 400; n++) await (await ask(n)).text()
  const seconds = (performance.now() - startedAtMs) / 1000
  await gateway.drain()
  const lines = gateway.logLines().filter((line) => 'status' in line)
  expect(lines.length).toBeLessThanOrEqual(Math.ceil(seconds) + 2)
  expect(new Set(lines.map(({ client }) => client))).toEqual(new Set(['127.0.0.1']))
  expect(sumOf(lines)).toBe(400)
  const counted = [...(await gateway.world.metrics.render()).matchAll(/^tollgate_requests_total\{.*\} (\d+)$/gm)]
  expect(counted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(400)
})
