/** Operators see the gateway as it is: at once, every second, right after what happened, for as long as their session lasts. Rules: pages.md "Now", "Console". */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { NowDocument } from '../../../src/web/now/document.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { roomIn, startWatch } from '../../support/until.ts'

setDefaultTimeout(60_000)

let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  await roomIn(86_400_000, 60_000)
  gateway = await startTestGateway()
  operator = await signInOperator(gateway)
})
afterAll(() => gateway.stop())

/** Events of one look; `next` is undefined when the stream has ended. */
async function look(from: Operator = operator) {
  const response = await from.get('/console/api/now')
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<NowDocument | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end !== -1) {
        const event = text.slice(0, end)
        text = text.slice(end + 2)
        return JSON.parse(event.replace(/^data: /, ''))
      }
      const piece = await reader?.read().catch(() => undefined)
      if (piece === undefined || piece.done) return undefined
      text += piece.value
    }
  }
  const close = async (): Promise<void> => void (await reader?.cancel())
  open.push(close)
  return { response, next, close }
}
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close().catch(() => undefined)
})

/** The first event for which that holds. */
async function when(next: () => Promise<NowDocument | undefined>, holds: (now: NowDocument) => boolean): Promise<NowDocument> {
  for (let event = 0; event < 60; event++) {
    const now = await next()
    if (now !== undefined && holds(now)) return now
  }
  throw new Error('it did not come to pass')
}

const ASK = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }

test('the first event comes at once and the others each second, whole documents of one line', async () => {
  using watch = startWatch()
  const { response, next } = await look()
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const first = await next()
  expect(watch.ms()).toBeLessThan(900)
  expect(first).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    is_draining: false,
    is_simulated: true,
    requests: { in_flight: 0, streams: 0 },
    upstreams: [{ name: 'simulator', out: null, breaker: 'closed' }],
    ledger: { is_writable: true, is_sound: true, spill_bytes: 0, holds: 0, held_usd: '0' },
    process: { memory_bytes: expect.any(Number) },
    alarms: [{ id: 'simulator' }],
  })
  // Not each of them is on time on a busy machine.
  let lastMs = Date.parse(first?.at ?? '')
  await when(next, ({ at }) => {
    const gapMs = Date.parse(at) - lastMs
    lastMs += gapMs
    return gapMs >= 700 && gapMs < 1_500
  })
  expect(await when(next, ({ today }) => today.requests !== null)).toMatchObject({
    ledger: { wal_bytes: expect.any(Number) },
    today: { requests: 0, charged_usd: '0', waived_usd: '0', estimated_usd: '0', cache_lost_usd: '0', thinking_lost: 0 },
    process: { disk_free_bytes: expect.any(Number), disk_bytes: expect.any(Number) },
  })
})

test('what has just happened is in it: requests, refusals by name, first bytes, calls, commits, the day’s money', async () => {
  const secret = await gateway.createKey()
  const { next } = await look()
  const before = await next()
  const answer = await gateway.post('/v1/messages', secret, ASK)
  expect(answer.status).toBe(200)
  await answer.text()
  await (await gateway.post('/v1/messages', 'sk-wrong', ASK)).text()
  const streamed = await gateway.post('/v1/messages', secret, { ...ASK, stream: true })
  await streamed.text()
  await gateway.idle()
  const [cost] = gateway.receipts().map(({ costPicos }) => costPicos)
  expect(cost).toBeGreaterThan(0n)
  const after = await when(next, ({ today }) => today.requests === 2)
  expect(after.requests.ended - (before?.requests.ended ?? 0)).toBe(3)
  expect(after.requests.refusals).toEqual([{ name: 'keyInvalid', count: 1 }])
  expect(after.first_byte).toMatchObject({ p50_ms: expect.any(Number), p99_ms: expect.any(Number) })
  expect(after.first_byte.answers).toBeGreaterThan(0)
  expect(after.calls.answered).toBe(2)
  expect(after.ledger).toMatchObject({ commit_p50_ms: expect.any(Number), group_size: expect.any(Number) })
  const charged = gateway.receipts().reduce((sum, { costPicos }) => sum + costPicos, 0n)
  expect(BigInt(Math.round(Number(after.today.charged_usd) * 1e12))).toBe(charged)
})

test('a stream that runs is seen while it runs, with what it holds', async () => {
  const secret = await gateway.createKey()
  const { next } = await look()
  const running = await gateway.post('/v1/messages', secret, {
    ...ASK,
    stream: true,
    max_tokens: 500,
    messages: [{ role: 'user', content: '[sim tokens=200 speed=20]' }],
  })
  const seen = await when(next, ({ requests }) => requests.streams === 1)
  expect(seen.requests.in_flight).toBe(1)
  expect(seen.ledger.holds).toBe(1)
  expect(Number(seen.ledger.held_usd)).toBeGreaterThan(0)
  await running.body?.cancel()
  await gateway.idle()
  await when(next, ({ requests, ledger }) => requests.streams === 0 && requests.in_flight === 0 && ledger.holds === 0)
})

test('an alarm of the log stands there with its words', async () => {
  gateway.world.log.alarm('large bodies', { fault: 'the thread ended' })
  const { next } = await look()
  expect((await next())?.alarms).toContainEqual(
    expect.objectContaining({
      id: 'large bodies',
      count: 1,
      detail: 'fault: the thread ended',
      title: 'The thread for large bodies failed',
    }),
  )
})

test('a session that is ended ends its stream within a second or two, and not that of others', async () => {
  const other = await signInOperator(gateway, 'second@example.com')
  const [theirs, ours] = [await look(other), await look()]
  await theirs.next()
  await ours.next()
  const person = await gateway.people().known(other.email)
  expect(await gateway.people().sessions.end('console', person.id, other.sessionId)).toBe(true)
  // One a second.
  let events = 0
  while ((await theirs.next()) !== undefined) expect(++events).toBeLessThanOrEqual(2)
  expect(await ours.next()).toBeDefined()
})

test('who is no operator any more sees nothing more', async () => {
  const former = await signInOperator(gateway, 'former@example.com')
  const { next } = await look(former)
  await next()
  await gateway.people().db.run('DELETE FROM operators WHERE person = $id', { id: (await gateway.people().known(former.email)).id })
  for (let event = 0; event < 3; event++) if ((await next()) === undefined) break
  expect(await next()).toBeUndefined()
  expect((await former.get('/console/api/now')).status).toBe(401)
})

test('without a session of the console there is nothing, whatever cookie comes', async () => {
  for (const path of ['now', 'upstreams', 'catalog', 'catalog/reload']) {
    const anonymous = await fetch(`${gateway.operatorUrl}/console/api/${path}`)
    expect([path, anonymous.status, await anonymous.json()]).toEqual([path, 401, { error: { message: 'Sign in first' } }])
    const forged = await fetch(`${gateway.operatorUrl}/console/api/${path}`, { headers: { cookie: 'tollgate-console=x.y' } })
    expect([path, forged.status]).toEqual([path, 401])
    expect((await fetch(`${gateway.url}/console/api/${path}`, { headers: { cookie: operator.cookie } })).status).toBe(404)
  }
})

test('a drain ends the streams', async () => {
  await using own = await startTestGateway()
  const { next } = await look(await signInOperator(own))
  await next()
  const drained = own.drain()
  while ((await next()) !== undefined);
  await drained
})
