/** Where upstreams have no room, or are all in trouble, nobody takes everything and no storm begins. Rules: pool.md "Overload", "Retry budget". */

import { afterAll, expect, test } from 'bun:test'
import { errorAnswer, MESSAGE, nativeMessage, nativeStream, type Script, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { startTestGateway } from '../support/gateway.ts'
import { question, startStage } from '../support/stage.ts'

const cleanUps: (() => unknown)[] = []
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }

test('one account cannot take the pool: with 200 greedy streams on 20 slots, each request of another account is answered', async () => {
  const [start = '', ...rest] = textFrames('Good morning')
  const upstream = await startFakeUpstream({ answer: () => nativeStream(start, { delayMs: 200 }, ...rest) })
  const gateway = await startTestGateway({ upstreams: [upstream.url], upstream: { maxConcurrent: 20 } })
  cleanUps.push(upstream.stop, gateway.stop)
  const [greedy, small] = [await gateway.createKey({ balanceUsd: '1000' }), await gateway.createKey()]
  const { path, body } = question({ stream: true })
  const untold: string[] = []
  const ask = async (secret: string): Promise<number> => {
    const answer = await gateway.post(path, secret, body)
    const text = await answer.text()
    // Who has no turn is told by a status that a client's library understands, not inside a stream.
    const isTold =
      answer.status === 200 ? text.includes('message_stop') : answer.status === 503 && answer.headers.get('retry-after') === '1'
    if (!isTold) untold.push(`${answer.status} ${text.slice(0, 200)}`)
    return answer.status
  }
  let isOver = false
  const refused: number[] = []
  const crowd = Array.from({ length: 200 }, async () => {
    while (!isOver) if ((await ask(greedy)) !== 200) refused.push(1)
  })
  await Bun.sleep(300)
  const statuses: number[] = []
  for (let turn = 0; turn < 10; turn++) statuses.push(await ask(small))
  isOver = true
  await Promise.all(crowd)
  expect(untold.slice(0, 3)).toEqual([])
  expect(statuses).toEqual(Array(10).fill(200))
  expect(refused.length).toBeGreaterThan(0)
  await gateway.idle()
  expect(gateway.verify()).toEqual([])
}, 180_000)

test('who has no turn is refused by a status also where the loop stood still while the wait ended', async () => {
  const upstream = await startFakeUpstream({ answer: () => nativeStream({ stall: true }) })
  const gateway = await startTestGateway({ upstreams: [upstream.url], upstream: { maxConcurrent: 1 } })
  cleanUps.push(upstream.stop, gateway.stop)
  const secret = await gateway.createKey()
  const { path, body } = question({ stream: true })
  const leave = new AbortController()
  const running = gateway.post(path, secret, body, { signal: leave.signal }).catch(() => undefined)
  await upstream.arrival(0)
  const waiting = gateway.post(path, secret, body)
  await Bun.sleep(700)
  // Past the end of the wait for a slot and past that of the status: both come in one turn.
  Bun.sleepSync(600)
  expect((await waiting).status).toBe(503)
  leave.abort()
  await running
})

test('with all upstreams in trouble no storm begins: each request is refused with Retry-After, and few calls are second tries', async () => {
  const other = await startFakeUpstream({ answer: () => errorAnswer(529, OVERLOADED) })
  // On a slow machine the refusals may come later than the status of a stream would.
  const stage = await startStage({ upstreams: [other.url], timings: { firstEventWaitMs: 60_000 } })
  cleanUps.push(other.stop, stage.stop)
  stage.play(errorAnswer(529, OVERLOADED))
  const answers: Response[] = []
  const crowd = async (): Promise<void> => {
    answers.push(...(await Promise.all(Array.from({ length: 20 }, () => stage.ask({ stream: true })))))
  }
  const calls = (): number => stage.upstream.requests.length + other.requests.length
  await crowd()
  // The first twenty failures of an upstream are outside of the budget; no request is sent thrice.
  expect(calls()).toBeLessThanOrEqual(2 * 20)
  for (let turn = 1; turn < 10; turn++) await crowd()
  for (const answer of answers) expect([answer.status, Number(answer.headers.get('retry-after')) >= 1]).toEqual([503, true])
  // By then both are known to be in trouble, and hardly anybody is sent there.
  expect(calls()).toBeLessThan(100)
  expect([stage.gateway.holds(), stage.gateway.receipts()]).toEqual([[], []])
})

test('a hundred streams that their upstream drops end as one error each, and what comes next is answered elsewhere', async () => {
  const other = await startFakeUpstream({ answer: () => nativeStream(...textFrames('from the other')) })
  const stage = await startStage({ upstreams: [other.url] })
  cleanUps.push(other.stop, stage.stop)
  const death = Promise.withResolvers<void>()
  const [start = '', block = '', delta = ''] = textFrames('Good evening')
  stage.play([...nativeStream(start, block, delta).slice(0, 4), { when: death.promise }, { reset: true }])
  const streams = await Promise.all(Array.from({ length: 100 }, () => stage.ask({ stream: true })))
  death.resolve()
  for (const stream of streams) {
    const text = await stream.text()
    expect([text.split('event: error').length - 1, text.includes('message_stop')]).toEqual([1, false])
  }
  expect(await stage.gateway.world.metrics.render()).toMatch(/^tollgate_upstream_breaker\{upstream="upstream-0".*\} 1$/m)
  // On a slow machine the time for a probe has come by now: it finds the upstream as it was.
  stage.play([{ reset: true }])
  const next = await stage.ask({ stream: true })
  expect(await next.text()).toContain('from the other')
  expect(await stage.receiptOf(next)).toMatchObject({ outcome: 'complete', upstream: { name: 'upstream-1' } })
  const faults = stage.gateway.receipts().filter(({ outcome }) => outcome === 'fault')
  expect([faults.length, faults.every(({ costPicos, waivedPicos }) => costPicos === 0n && waivedPicos > 0n)]).toEqual([100, true])
})

test('who asks again after an error inside a stream has two receipts: one waived, one charged', async () => {
  const stage = await startStage()
  cleanUps.push(stage.stop)
  const frames = textFrames('Good evening')
  stage.play([...nativeStream(...frames.slice(0, 3)).slice(0, 4), { delayMs: 50 }, { reset: true }])
  const broken = await stage.ask({ stream: true })
  expect(await broken.text()).toContain('event: error')
  stage.play(nativeStream(...frames))
  const again = await stage.ask({ stream: true })
  expect(await again.text()).toContain('message_stop')
  const [first, second] = [await stage.receiptOf(broken), await stage.receiptOf(again)]
  expect(first?.requestId).not.toBe(second?.requestId)
  expect([first?.outcome, Number(first?.costPicos), Number(first?.waivedPicos) > 0]).toEqual(['fault', 0, true])
  expect([second?.outcome, Number(second?.costPicos) > 0, Number(second?.waivedPicos)]).toEqual(['complete', true, 0])
})

test('an answer that comes just before the start limit is an answer', async () => {
  const stage = await startStage({ limits: { startTimeoutMs: 2_000 } })
  cleanUps.push(stage.stop)
  const late: Script = [{ delayMs: 1_200 }, ...nativeMessage({ ...MESSAGE })]
  stage.play(late)
  const answer = await stage.ask()
  expect([answer.status, (await stage.receiptOf(answer))?.outcome]).toEqual([200, 'complete'])
})
