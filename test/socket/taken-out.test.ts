/** An upstream that an operator takes out ends what runs and begins nothing, and what the move costs a conversation's cache is seen. Rules: pool.md "Taking one out", "Affinity". */

import { afterAll, expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { orderThroughSockets, upstreamsThroughSockets } from '../../src/operator/ask-gateways.ts'
import { socketsOf } from '../../src/operator/socket-files.ts'
import { nativeMessage, nativeStream, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { usd } from '../support/ledger.ts'
import { startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'
import { makeTestModel } from '../support/world.ts'

const usage = { input_tokens: 10, cache_creation_input_tokens: 1_000, cache_read_input_tokens: 0, output_tokens: 3 }
const message = nativeMessage({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage })
const second = await startFakeUpstream({ answer: () => message })
const stage = await startStage({ upstreams: [second.url] })
const { gateway, play } = stage
afterAll(async () => {
  await stage.stop()
  second.stop()
})

const sockets = () => socketsOf({ kind: 'sqlite', path: gateway.ledgerPath })
const order = async (isOut: boolean) => {
  const act = { actor: 'os:x', address: 'x', reason: 'maintenance' }
  const [answer] = await orderThroughSockets(sockets(), { upstream: 'upstream-0', isOut, isNoted: false, act, now: Date.now() })
  return answer?.said
}
const metric = async (name: string): Promise<number> =>
  Number((await gateway.world.metrics.render()).split(`\n${name} `)[1]?.split('\n')[0])
const ASKED = { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] }
const CACHED = { messages: [ASKED] }

test('a stream that runs there ends whole, nothing begins there, and back in it is asked again', async () => {
  const goOn = Promise.withResolvers<void>()
  const frames = textFrames('Good morning')
  play(nativeStream(...frames.slice(0, 3), { when: goOn.promise }, ...frames.slice(3)))
  const answer = await stage.ask({ stream: true })
  expect(await metric('tollgate_upstream_in_flight{upstream="upstream-0"}')).toBe(1)
  expect(await order(true)).toEqual({ result: 'done', isNew: true, running: 1, left: 1 })
  expect(await order(true)).toMatchObject({ result: 'done', isNew: false })
  expect(await metric('tollgate_upstream_out{upstream="upstream-0"}')).toBe(1)
  expect(await metric('tollgate_upstream_waiting{upstream="upstream-0"}')).toBe(0)
  const asked = stage.upstream.requests.length
  expect((await stage.ask()).status).toBe(200)
  gateway.reload({})
  expect((await stage.ask()).status).toBe(200)
  expect(stage.upstream.requests).toHaveLength(asked)
  goOn.resolve()
  expect(await answer.text()).toContain('message_stop')
  expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', upstream: { name: 'upstream-0' } })
  const [now] = await upstreamsThroughSockets(sockets())
  const out = { by: expect.stringMatching(/^os:(?!x$)/), reason: 'maintenance' }
  expect(now?.said).toMatchObject({ node: null, reports: [{ running: 0, out }, { out: null }] })
  expect(await order(false)).toEqual({ result: 'done', isNew: true, running: 0, left: 2 })
  play(message)
  await (await stage.ask()).text()
  expect(stage.upstream.requests).toHaveLength(asked + 1)
})

test('a conversation that has to move is logged with what its cache costs again, one that stays is not', async () => {
  play(message)
  const lostOf = async (): Promise<unknown> => {
    const answer = await stage.ask({ more: CACHED })
    const id = answer.headers.get('x-request-id')
    const lineOf = () => gateway.logLines().find((line) => line['request_id'] === id)
    await until(() => lineOf() !== undefined, 'the log line')
    return lineOf()?.['cache_lost_usd']
  }
  expect([await lostOf(), await lostOf()]).toEqual([undefined, undefined])
  await order(true)
  const lost = await lostOf()
  expect(usd(String(lost))).toBe(picos(1_000n * makeTestModel().rates.cacheWrite5m))
  expect(await lostOf()).toBeUndefined()
  await order(false)
  expect(await lostOf()).toBe(lost)
  expect(await metric('tollgate_cache_lost_usd_total{model="sonnet"}')).toBeCloseTo(2 * Number(lost), 9)
  expect(await metric('tollgate_affinity_total{how="moved"}')).toBe(2)
  expect(await metric('tollgate_affinity_total{how="kept"}')).toBe(2)
  expect(await metric('tollgate_affinity_total{how="new"}')).toBe(1)
})

test('a conversation with thinking that has to move is logged, counted and shown as one that may have lost it', async () => {
  play(message)
  const thought = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
      { type: 'text', text: 'Hello' },
    ],
  }
  const more = { metadata: { user_id: 'user_1_session_1' }, messages: [ASKED, thought, ASKED] }
  const lostOf = async (): Promise<unknown> => {
    const answer = await stage.ask({ more })
    const id = answer.headers.get('x-request-id')
    const lineOf = () => gateway.logLines().find((line) => line['request_id'] === id)
    await until(() => lineOf() !== undefined, 'the log line')
    return lineOf()?.['thinking_lost']
  }
  expect([await lostOf(), await lostOf()]).toEqual([undefined, undefined])
  expect(gateway.world.metrics.minute().thinkingLost).toBe(0)
  await order(true)
  expect(await lostOf()).toBe(true)
  expect(await lostOf()).toBeUndefined()
  expect(await metric('tollgate_thinking_lost_total')).toBe(1)
  expect(gateway.world.metrics.minute().thinkingLost).toBe(1)
  await order(false)
})
