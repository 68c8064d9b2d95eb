/**
 * A bug behind a request is told to the operator by its name and its places, and none of its words: they may quote what a customer sent.
 * Rules: requests.md "What never leaks"; platform.md "Rejections".
 */

import { expect, test } from 'bun:test'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { describeBug } from '../../src/observe/bug.ts'
import { operateThroughSocket } from '../../src/operator/ask-gateways.ts'
import type { RelayParts } from '../../src/relay/admitted.ts'
import { remember } from '../../src/relay/remembering.ts'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { ACT, openTestLedger } from '../support/ledger.ts'
import { until } from '../support/until.ts'
import { makeTestWorld } from '../support/world.ts'

const HERE = /^test\/relay\/bug-alarms\.test\.ts:\d+:\d+/
const fail = (): never => {
  throw new RangeError('canary\n    at canary (/src/canary.ts:1:1)')
}

const withBugIn =
  (method: keyof Ledger) =>
  (ledger: Ledger): Ledger =>
    new Proxy(ledger, { get: (target, name) => (name === method ? fail : Reflect.get(target, name).bind(target)) })

/** From its sources, of which an alarm names the place. */
const startThread = (): Worker => new Worker(new URL('../../src/ledger/thread.ts', import.meta.url))

test('a request that fails by a bug is a 500 whose alarm says where', async () => {
  await using gateway = await startTestGateway({ wrapLedger: withBugIn('hold') })
  const secret = await gateway.createKey()
  const answer = await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
  expect(answer.status).toBe(500)
  const alarms = gateway.logLines().filter(({ alarm }) => alarm !== undefined)
  expect(alarms).toMatchObject([
    {
      alarm: 'a request failed by a bug',
      error: 'RangeError',
      at: expect.stringMatching(HERE),
      request_id: answer.headers.get('request-id'),
    },
  ])
  expect(JSON.stringify(gateway.logLines())).not.toContain('canary')
})

test('an operator’s command that meets a bug in the gateway is told so, and the alarm says where', async () => {
  await using gateway = await startTestGateway({ wrapLedger: withBugIn('operate') })
  const operation = { kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: 1 } as const
  expect(await operateThroughSocket(gateway.ledgerPath, operation, ACT)).toEqual({ result: 'unavailable' })
  expect(gateway.logLines()).toContainEqual(
    expect.objectContaining({ alarm: 'an operation failed by a bug', error: 'RangeError', at: expect.stringMatching(HERE) }),
  )
  expect(JSON.stringify(gateway.logLines())).not.toContain('canary')
})

test('an answer that cannot be remembered is an alarm that says where', () => {
  const { world, logLines } = makeTestWorld()
  remember({ world } as RelayParts, { key: { id: 'key_1', accountId: 'acc_1' }, sealing: undefined }, fail)
  expect(logLines()).toMatchObject([{ alarm: 'an answer could not be remembered', error: 'RangeError', at: expect.stringMatching(HERE) }])
  expect(JSON.stringify(logLines())).not.toContain('canary')
})

test('a bug in a ledger’s write is an alarm that says where, and its neighbours are written', async () => {
  await using gateway = await startTestGateway({ startThread })
  const odd = { kind: 'createKey', topUp: 'canary' } as unknown as Parameters<typeof gateway.ledger.operate>[0]
  const [answer] = await Promise.all([gateway.ledger.operate(odd), gateway.createKey()])
  expect(answer).toEqual({ result: 'unavailable' })
  const [alarm] = gateway.logLines().filter((line) => line['alarm'] !== undefined)
  expect(alarm).toMatchObject({
    alarm: 'ledger',
    fault: 'operate: it failed by a bug',
    error: 'TypeError',
    at: expect.stringMatching(/^src\/ledger\//),
  })
  expect(JSON.stringify(gateway.logLines())).not.toContain('canary')
})

test('a ledger thread that dies of a bug says where before another takes its place', async () => {
  const workers: Worker[] = []
  const told: { problem: string; bug?: unknown }[] = []
  const { ledger } = await openTestLedger({
    onFault: (fault) => told.push(fault),
    startThread: () => {
      const worker = startThread()
      workers.push(worker)
      return worker
    },
  })
  workers[0]?.postMessage({ kind: 'tasks', tasks: { canary: 'canary' } })
  await until(() => told.length >= 2)
  const [died, again] = told
  expect([died?.problem, again?.problem]).toEqual(['ledger thread: it failed by a bug', 'ledger thread: it ended; starting another'])
  expect(describeBug(died?.bug)).toMatchObject({
    error: 'TypeError',
    at: expect.stringMatching(/^src\/ledger\/debit-records\.ts:\d+:\d+ < src\/ledger\/thread\.ts:\d/),
  })
  expect(await ledger.findKey(new Uint8Array(32))).toBeUndefined()
  await ledger.close()
})
