/** What relays do is shown as one: added up, the worst of what is broken, as of a second ago at most. Rules: processes.md "Once". */

import { expect, test } from 'bun:test'
import { ZERO } from '../../src/core/money.ts'
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
  ...{ processes: 0, running: 0, holds: [], upstreams: [UPSTREAM], lastAnswers: {} },
  minute: { ...MINUTE, commits: [3, 4], groups: 7, grouped: 9, spillBytes: 100 },
  alarms: [{ what: 'ledger', count: 1, firstAt: 1, lastAt: 5, detail: 'a disk' }],
  ...{ memoryBytes: 1_000, descriptors: 10 },
}

/** A relay with one request that runs. `n` tells the relays apart. */
const relay = (n: number, more: Partial<Moment> = {}): Moment => ({
  ...{ processes: 1, running: n, lastAnswers: { main: n }, memoryBytes: 100 * n, descriptors: 20 * n },
  holds: [
    {
      ...{ requestId: `req_${n}`, keyId: 'key_1', accountId: 'acc_1', modelId: 'model', format: 'messages', isStream: true },
      ...{ amountPicos: usd('0.5'), startedAt: n },
    },
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

/** Relays that answer what `said` has. */
function relaysThat(said: Map<number, Moment | 'silent'>) {
  const clock = { nowMs: 0 }
  let asked = 0
  const now = new RelaysNow({
    own: () => LEDGER_PROCESS,
    ask: () => {
      asked++
      return Promise.resolve([...said].map(([n, moment]) => ({ socket: at(n), said: moment })))
    },
    monotonicMs: () => clock.nowMs,
  })
  return { now, clock, asked: () => asked }
}

test('what relays run, hold and tell is added up, and the ledger process alone says what it commits and spills', async () => {
  const { now } = relaysThat(new Map([1, 2].map((n) => [n, relay(n)])))
  await now.look()
  const { holds, upstreams, minute, ...moment } = now.moment()
  expect(holds.map(({ requestId }) => requestId)).toEqual(['req_1', 'req_2'])
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
  const said = new Map<number, Moment | 'silent'>([1, 2].map((n) => [n, relay(n)]))
  const { now, clock, asked } = relaysThat(said)
  const held = (): readonly string[] => now.moment().holds.map(({ requestId }) => requestId)
  await Promise.all([now.look(), now.look()])
  await now.look()
  expect([asked(), held()]).toEqual([1, ['req_1', 'req_2']])
  said.set(1, 'silent')
  said.delete(2)
  expect(held()).toEqual(['req_1', 'req_2'])
  clock.nowMs = 1_000
  await now.look()
  expect([asked(), held()]).toEqual([2, ['req_1']])
  said.delete(1)
  clock.nowMs = 2_000
  await now.look()
  expect(held()).toEqual([])
})

test('a moment goes over the socket whole, and what is no moment is none', () => {
  expect(readMoment(writeMessage(relay(1)))).toEqual(relay(1))
  expect(readMoment('unknown')).toBeUndefined()
  expect(readMoment(writeMessage([]))).toBeUndefined()
})
