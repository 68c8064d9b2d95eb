/** What relays do is shown as one: added up, the worst of what is broken, as of a second ago at most. Rules: processes.md "Once". */

import { expect, test } from 'bun:test'
import { ZERO } from '../../src/core/money.ts'
import type { GatewayReply } from '../../src/operator/ask-gateways.ts'
import { heldByKey, heldIn } from '../../src/operator/held.ts'
import { writeMessage } from '../../src/operator/message-json.ts'
import type { Moment } from '../../src/operator/moment.ts'
import { readMoment } from '../../src/operator/moment-json.ts'
import { RelaysNow } from '../../src/operator/relays-now.ts'
import { usd } from '../support/ledger.ts'

const MINUTE = {
  ...{ requests: 0, lastSecond: 0, refusals: [], firstBytes: [0, 0], commits: [0, 0], groups: 0, grouped: 0 },
  ...{ calls: { answered: 0, failed: 0, retried: 0 }, cacheLostPicos: ZERO, thinkingLost: 0, streams: 0, spillBytes: 0 },
}
const UPSTREAM = { name: 'main', priority: 0, weight: 1, running: 0, waiting: 0, out: null, lastFailure: null, models: [] }
const LEDGER_PROCESS: Moment = {
  ...{ processes: 0, running: 0, held: [], upstreams: [UPSTREAM], lastAnswers: {} },
  minute: { ...MINUTE, commits: [3, 4], groups: 7, grouped: 9, spillBytes: 100 },
  alarms: [{ what: 'ledger', count: 1, firstAt: 1, lastAt: 5, detail: 'a disk' }],
  ...{ memoryBytes: 1_000, descriptors: 10 },
}

/** A relay with one request that runs. `n` tells the relays apart. */
const relay = (n: number, more: Partial<Moment> = {}): Moment => ({
  ...{ processes: 1, running: n, lastAnswers: { main: n }, memoryBytes: 100 * n, descriptors: 20 * n },
  held: [
    ['acc_1', 'key_1', n, usd('0.5')],
    ['acc_1', `key_of_relay_${n}`, 1, usd('0.25')],
  ],
  upstreams: [
    {
      ...{ ...UPSTREAM, running: n, waiting: 1, lastFailure: { cause: `cause ${n}`, model: 'model', at: n } },
      models: [
        { model: 'model', breaker: n === 1 ? 'open' : 'closed', probeInMs: n === 1 ? 50 : null, firstEventMs: 10 * n, share: 1 / n },
      ],
    },
  ],
  minute: {
    ...{
      ...MINUTE,
      requests: 10 * n,
      lastSecond: n,
      refusals: [{ name: 'busy', count: n }],
      firstBytes: [n, 1],
      streams: n,
      spillBytes: 100,
    },
    calls: { answered: n, failed: 1, retried: 2 },
  },
  alarms: [{ what: 'upstream', count: n, firstAt: n, lastAt: 10 * n, detail: `relay ${n}` }],
  ...more,
})

const at = (n: number) => ({ path: `/ledger.db.${n}.sock`, pid: n })

const replyOf = (n: number, said: Moment | 'silent' | 'too long'): GatewayReply<Moment> =>
  said === 'too long' ? { socket: at(n), said: 'silent', isTooLong: true } : { socket: at(n), said }

/** Relays that answer what `said` has. */
function relaysThat(said: Map<number, Moment | 'silent' | 'too long'>) {
  const clock = { nowMs: 0 }
  let asked = 0
  const told: (number | null)[] = []
  const now = new RelaysNow({
    own: () => LEDGER_PROCESS,
    ask: () => {
      asked++
      return Promise.resolve([...said].map(([n, moment]) => replyOf(n, moment)))
    },
    monotonicMs: () => clock.nowMs,
    onTooLong: (pid) => told.push(pid),
  })
  return { now, clock, asked: () => asked, told }
}

test('what relays run, hold and tell is added up, and the ledger process alone says what it commits and spills', async () => {
  const { now } = relaysThat(new Map([1, 2].map((n) => [n, relay(n)])))
  await now.look()
  const { held, upstreams, minute, ...moment } = now.moment()
  expect(held).toEqual([
    ['acc_1', 'key_1', 3, usd('1')],
    ['acc_1', 'key_of_relay_1', 1, usd('0.25')],
    ['acc_1', 'key_of_relay_2', 1, usd('0.25')],
  ])
  expect(upstreams).toEqual([
    {
      ...{ ...UPSTREAM, running: 3, waiting: 2, lastFailure: { cause: 'cause 2', model: 'model', at: 2 } },
      models: [{ model: 'model', breaker: 'open', probeInMs: 50, firstEventMs: 20, share: 0.5 }],
    },
  ])
  expect(minute).toEqual({
    ...{ ...MINUTE, requests: 30, lastSecond: 3, refusals: [{ name: 'busy', count: 3 }], firstBytes: [3, 2], streams: 3 },
    ...{ commits: [3, 4], groups: 7, grouped: 9, spillBytes: 100, calls: { answered: 3, failed: 2, retried: 4 } },
  })
  expect(moment).toEqual({
    ...{ processes: 2, running: 3, lastAnswers: { main: 2 }, memoryBytes: 1_300, descriptors: 40 },
    alarms: [
      { what: 'upstream', count: 3, firstAt: 1, lastAt: 20, detail: 'relay 2' },
      { what: 'ledger', count: 1, firstAt: 1, lastAt: 5, detail: 'a disk' },
    ],
  })
})

test('relays are asked at most once a second, one that is silent keeps what it held, and one that is gone holds nothing', async () => {
  const said = new Map<number, Moment | 'silent' | 'too long'>([1, 2].map((n) => [n, relay(n)]))
  const { now, clock, asked } = relaysThat(said)
  const held = (): number => heldIn(now.moment().held).count
  await Promise.all([now.look(), now.look()])
  await now.look()
  expect([asked(), held()]).toEqual([1, 5])
  said.set(1, 'silent')
  said.delete(2)
  expect(held()).toBe(5)
  clock.nowMs = 1_000
  await now.look()
  expect([asked(), held()]).toEqual([2, 2])
  said.delete(1)
  clock.nowMs = 2_000
  await now.look()
  expect(held()).toBe(0)
})

test('a relay whose answer is too long is told of once, until it is read again', async () => {
  const said = new Map<number, Moment | 'silent' | 'too long'>([
    [1, relay(1)],
    [2, 'too long'],
  ])
  const { now, clock, told } = relaysThat(said)
  const look = async (): Promise<void> => {
    clock.nowMs += 1_000
    await now.look()
  }
  await look()
  await look()
  expect(told).toEqual([2])
  said.set(2, relay(2))
  await look()
  said.set(2, 'too long')
  await look()
  expect(told).toEqual([2, 2])
})

test('a relay says how much it holds by key, however many holds that are, in an answer that can be read', () => {
  const holds = Array.from({ length: 100_000 }, (_, n) => ({
    ...{
      requestId: `req_${n}`,
      keyId: `key_${n % 100}`,
      accountId: 'acc_1',
      modelId: 'model',
      format: 'messages' as const,
      isStream: true,
    },
    ...{ amountPicos: usd('0.01'), startedAt: n },
  }))
  const said = relay(1, { held: heldByKey(holds) })
  expect(heldIn(said.held)).toEqual({ count: 100_000, amountPicos: usd('1000') })
  expect(writeMessage(said).length).toBeLessThan(20_000)
  expect(readMoment(writeMessage(said))).toEqual(said)
})

test('a moment goes over the socket whole, and what is no moment is none', () => {
  expect(readMoment(writeMessage(relay(1)))).toEqual(relay(1))
  expect(readMoment('unknown')).toBeUndefined()
  expect(readMoment(writeMessage([]))).toBeUndefined()
})
