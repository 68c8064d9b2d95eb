/** Where several gateways answer the same keys a repetition may come to another one: it waits for a whole answer. Rules: requests.md "Joined answers". */

import { afterEach, expect } from 'bun:test'
import { MESSAGE } from '../support/answered-gateway.ts'
import {
  errorAnswer,
  type FakeUpstream,
  nativeMessage,
  nativeStream,
  type Script,
  startFakeUpstream,
  textFrames,
} from '../support/fake-upstream.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { question } from '../support/stage.ts'
import { until } from '../support/until.ts'

let ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

type Two = Readonly<{ a: TestGateway; b: TestGateway; upstream: FakeUpstream; secret: string; open: () => void }>

/** The upstream answers once `open` was called. */
async function startTwo(answer: Script): Promise<Two> {
  const gate = Promise.withResolvers<void>()
  const upstream = await startFakeUpstream({ answer: () => [{ when: gate.promise }, ...answer] })
  ending.push(() => upstream.stop())
  const url = await postgres().createDatabase()
  const start = async (): Promise<TestGateway> => {
    const gateway = await startTestGateway({ upstreams: [upstream.url], postgres: { url } })
    ending.push(() => gateway.stop())
    return gateway
  }
  const a = await start()
  const b = await start()
  ending.push(() => gate.resolve())
  return { a, b, upstream, secret: await a.createKey(), open: () => gate.resolve() }
}

const ask = (gateway: TestGateway, secret: string, stream = false): Promise<Response> => {
  const { path, body } = question({ stream })
  return gateway.post(path, secret, body, {
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': 'one' },
  })
}

postgresTest('the same bytes and id come from the other one, made and charged once', async () => {
  const { a, b, upstream, secret, open } = await startTwo(nativeMessage(MESSAGE))
  const first = ask(a, secret)
  await until(() => upstream.requests.length === 1, 'the call is made')
  const waiting = Array.from({ length: 6 }, () => ask(b, secret))
  // Those that come after the answer are given it as well.
  await Bun.sleep(100)
  open()
  const answer = await first
  const bytes = await answer.text()
  for (const other of await Promise.all(waiting)) {
    expect([other.status, other.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(other.headers.get('x-request-id')).toBe(answer.headers.get('x-request-id'))
    expect([other.headers.get('x-cost-usd'), await other.text()]).toEqual(['0.000000', bytes])
    expect(other.headers.get('x-balance-usd')).not.toBeNull()
  }
  expect(upstream.requests).toHaveLength(1)
  expect((await ask(b, secret)).headers.get('idempotency-replayed')).toBe('true')
})

postgresTest('a stream there is 429, and nothing of it is left in the way of the next', async () => {
  const { a, b, upstream, secret, open } = await startTwo(nativeStream(...textFrames('Good morning')))
  const first = ask(a, secret, true)
  await until(() => upstream.requests.length === 1, 'the call is made')
  for (let again = 0; again < 2; again++) {
    const other = await ask(b, secret, true)
    expect([other.status, other.headers.get('retry-after')]).toEqual([429, '1'])
  }
  open()
  const bytes = (await (await first).text()).replace(/^: ok\n\n/, '')
  await until(async () => {
    const again = await ask(b, secret, true)
    return again.status === 200 && (await again.text()) === bytes
  }, 'the other one has it')
})

postgresTest('one that fails leaves who waited elsewhere with a word to come again, and then it is made anew', async () => {
  const { a, b, upstream, secret, open } = await startTwo(errorAnswer(500, {}))
  const first = ask(a, secret)
  await until(() => upstream.requests.length === 1, 'the call is made')
  const waiting = ask(b, secret)
  open()
  expect((await first).status).toBe(502)
  const other = await waiting
  // Where the first one had failed before, it was a request of its own.
  expect([429, 502]).toContain(other.status)
  const calls = upstream.requests.length
  expect((await ask(b, secret)).status).toBe(502)
  expect(upstream.requests.length).toBeGreaterThan(calls)
})
