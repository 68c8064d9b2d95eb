/** A token is fetched once for all who wait and renewed beside the running calls; a service that fails is not asked by every call, and one that answers garbage gives none. */

import { expect, test } from 'bun:test'
import { CallStop } from '../../../src/relay/deadline.ts'
import { doorOf } from '../../../src/upstream/doors/doors.ts'
import { type Lasting, Renewed } from '../../../src/upstream/doors/renewed.ts'
import { tokenFrom } from '../../../src/upstream/doors/tokens/token-service.ts'
import { socketUpstream } from '../../../src/upstream/socket-upstream.ts'
import { NO_EDITS, never, request, textOf } from '../call.ts'

/** A service whose answers come when the test says so. */
function service() {
  const asked: ((found: Lasting<string> | string) => void)[] = []
  let now = 0
  const renewed = new Renewed<string>({ fetch: () => new Promise((resolve) => asked.push(resolve)), nowMs: () => now })
  const moveTo = (ms: number): void => {
    now = ms
  }
  const answer = async (found: Lasting<string> | string): Promise<void> => {
    const pending = renewed.get()
    asked.at(-1)?.(found)
    await pending
    await Promise.resolve()
  }
  return { renewed, asked, answer, at: moveTo }
}

test('all who wait share one fetch, and from then on it is there at once', async () => {
  const { renewed, asked, answer } = service()
  const waiting = [renewed.get(), renewed.get(), renewed.get()]
  await answer({ value: 'a', lifeMs: 100_000 })
  expect(await Promise.all(waiting)).toEqual(['a', 'a', 'a'])
  expect(renewed.get()).toBe('a')
  expect(asked).toHaveLength(1)
})

test('at 80 % of its life a new one is fetched once, while the old one still serves; it serves no longer than its life less ten seconds', async () => {
  const { renewed, asked, answer, at } = service()
  const waiting = renewed.get()
  await answer({ value: 'a', lifeMs: 100_000 })
  expect(await waiting).toBeString()
  at(79_999)
  expect(renewed.get()).toBe('a')
  expect(asked).toHaveLength(1)
  at(80_000)
  expect([renewed.get(), renewed.get()]).toEqual(['a', 'a'])
  expect(asked).toHaveLength(2)
  at(90_000)
  const late = renewed.get()
  expect(late).toBeInstanceOf(Promise)
  await answer({ value: 'b', lifeMs: 100_000 })
  expect(await late).toBe('b')
})

test('a failure is told to all who wait and for a second to all who come; a token that is still good outlives it', async () => {
  const { renewed, asked, answer, at } = service()
  const first = renewed.get()
  await answer('token status 500')
  expect(await first).toBe('token status 500')
  at(999)
  expect(renewed.get()).toBe('token status 500')
  expect(asked).toHaveLength(1)
  at(1_000)
  const second = renewed.get()
  await answer({ value: 'a', lifeMs: 100_000 })
  expect(await second).toBe('a')
  at(1_000 + 80_000)
  expect(renewed.get()).toBe('a')
  await answer('token timeout')
  expect(renewed.get()).toBe('a')
})

test('one that the server refused is not used again; one that came meanwhile is', async () => {
  const { renewed, asked, answer } = service()
  const waiting = renewed.get()
  await answer({ value: 'a', lifeMs: 100_000 })
  expect(await waiting).toBeString()
  renewed.refused('older')
  expect(renewed.get()).toBe('a')
  renewed.refused('a')
  expect(renewed.get()).toBeInstanceOf(Promise)
  expect(asked).toHaveLength(2)
})

function serving(answer: (asked: Request) => Response | Promise<Response>) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}

test.each([
  ['', 'token malformed'],
  ['{"access_token":"a b","expires_in":60}', 'token malformed'],
  ['{"access_token":"a\\r\\nx: y","expires_in":60}', 'token malformed'],
  ['{"access_token":7,"expires_in":60}', 'token malformed'],
  ['{"access_token":"a"}', 'token malformed'],
  ['{"access_token":"a","expires_in":-1}', 'token malformed'],
  ['{"access_token":"a","expires_in":1e300}', 'token malformed'],
  [`{"access_token":"${'a'.repeat(20_000)}","expires_in":60}`, 'token malformed'],
  [`{"x":"${'a'.repeat(100_000)}","access_token":"a","expires_in":60}`, 'token malformed'],
])('an answer that is no token gives none: %#', async (text, cause) => {
  using server = serving(() => new Response(text))
  expect(await tokenFrom(server.url, {})).toBe(cause)
})

test('a status, a redirect and a service that is not there give none, in one word each', async () => {
  using server = serving(({ url }) => (url.endsWith('/moved') ? Response.redirect('/') : new Response('secret words', { status: 403 })))
  expect(await tokenFrom(server.url, {})).toBe('token status 403')
  expect(await tokenFrom(`${server.url}/moved`, {})).toBe('token status 302')
  expect(await tokenFrom('http://127.0.0.1:1', {})).toBe('token unreachable')
  expect(await tokenFrom(server.url.replace('http', 'ftp'), {})).toBe('token unreachable')
})

test('a service that says nothing, and one that never ends what it says, is given up', async () => {
  const endless = async function* (): AsyncGenerator<string> {
    yield '{"access_token":'
    await new Promise(() => undefined)
  }
  const answers = [() => new Promise<Response>(() => undefined), () => new Response(endless() as unknown as ReadableStream)]
  for (const answer of answers) {
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: answer })
    try {
      expect(await tokenFrom(server.url.href, {}, 50)).toBe('token timeout')
    } finally {
      await server.stop(true)
    }
  }
})

test('a token that ends early is fetched anew after the 401, and a call that waits for one ends with its client', async () => {
  let tokens = 0
  let hang = false
  using server = serving(async (asked) => {
    if (asked.url.endsWith('/token')) {
      if (hang) await new Promise(() => undefined)
      return Response.json({ access_token: `t${++tokens}`, expires_in: '3600' })
    }
    const isGood = asked.headers.get('authorization') === `Bearer t${tokens}` && tokens > 1
    return isGood
      ? Response.json({ ok: tokens })
      : Response.json({ error: { type: 'authentication_error', message: 'expired' } }, { status: 401 })
  })
  const proof = { by: 'metadata', tokenUrl: `${server.url}/token` } as const
  const door = doorOf({ kind: 'claude-google', proof }, NO_EDITS, { apiKey: undefined })
  const upstream = socketUpstream({ name: 'a', dialect: 'strict', baseUrl: server.url, door, connectTimeoutMs: 60_000 })
  expect(await upstream.call(request(), never())).toMatchObject({
    kind: 'fault',
    cause: 'status 401',
    trouble: { kind: 'account' },
    isAlarm: true,
  })
  expect(await textOf(upstream.call(request(), never()))).toBe('{"ok":2}')
  hang = true
  door.refused?.()
  const stop = new CallStop()
  const called = textOf(upstream.call(request(), stop))
  stop.stop('leaver')
  expect(await called).toBe('fault: aborted')
})
