/**
 * The transport of our own: what it sends, which connections it uses again, and that every way in which a call can end gives its place and its connection back.
 * What clients see of it is in test/socket, which runs over either transport.
 */

import { afterAll, describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { CallStop } from '../../src/relay/deadline.ts'
import type { Fault, Reply } from '../../src/upstream/upstream.ts'
import { chunk, EVENT_STREAM, type FakeUpstream, head, nativeStream, type Script, startFakeUpstream } from '../support/fake-upstream.ts'
import { CONNECTION_BYTES_MAX } from '../support/kernel-buffers.ts'
import { until, untilStill } from '../support/until.ts'
import { ask, never, pulled, request, textOf, upstreamAt } from './call.ts'

let script: (connection: number, index: number) => Script = () => []
const server: FakeUpstream = await startFakeUpstream({ answer: ({ connection }, index) => script(connection, index) })
afterAll(() => server.stop())

const JSON_HEAD = { 'content-type': 'application/json' }
const whole = (body: string): Script => [head(200, { ...JSON_HEAD, 'content-length': String(body.length) }), { bytes: body }]
const play = (moves: Script): void => {
  script = () => moves
}

describe('what is sent', () => {
  test('the path behind that of the address, the host, our fields and the body: nothing else', async () => {
    play(whole('{}'))
    const { promise: raw, resolve } = Promise.withResolvers<string>()
    const listener = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, bytes) {
          resolve(bytes.toString())
          socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
        },
      },
    })
    expect(await ask(upstreamAt(`http://127.0.0.1:${listener.port}/base/`), { query: '?beta=true', betas: 'a,b' })).toBe('{}')
    expect((await raw).split('\r\n')).toEqual([
      'POST /base/v1/messages?beta=true HTTP/1.1',
      `host: 127.0.0.1:${listener.port}`,
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      'accept-encoding: identity',
      'user-agent: tollgate',
      'anthropic-version: 2023-06-01',
      'anthropic-beta: a,b',
      'x-api-key: upstream-secret',
      'content-length: 7',
      '',
      '{"a":1}',
    ])
    listener.stop(true)
  })

  test('a server that wants the key as Bearer gets it so and in no other header, and every request the fields of its own', async () => {
    play(whole('{}'))
    const upstream = upstreamAt(server.url, { auth: 'bearer', headers: { 'x-team': 'search', 'user-agent': 'acme' } })
    for (const betas of ['', 'a']) expect(await ask(upstream, { betas })).toBe('{}')
    for (const { headers: sent } of server.requests.slice(-2)) {
      const headers = Object.fromEntries(sent)
      expect(headers).toMatchObject({ authorization: 'Bearer upstream-secret', 'x-team': 'search', 'user-agent': 'acme' })
      expect(headers).not.toHaveProperty('x-api-key')
    }
  })

  test('each request has the head that it asks for, also one that differs from the last in one thing only', async () => {
    play(whole('{}'))
    const upstream = upstreamAt(server.url)
    const asked = [
      {},
      { betas: 'a' },
      { betas: 'b' },
      { version: '2024-01-01' },
      { query: '?beta=true' },
      { path: '/v1/messages/count_tokens' },
      {},
    ] as const
    for (const differs of asked) {
      expect(await ask(upstream, differs)).toBe('{}')
      const sent = server.requests.at(-1)
      const { path, query, version, betas } = { path: '/v1/messages', query: '', version: '2023-06-01', betas: undefined, ...differs }
      expect([sent?.path, sent?.header('anthropic-version'), sent?.header('anthropic-beta')]).toEqual([`${path}${query}`, version, betas])
    }
  })

  test('a query or a field with a line break cannot add a line, nor end the head', async () => {
    play(whole('{}'))
    const upstream = upstreamAt(server.url)
    const before = server.requests.length
    expect(await ask(upstream, { query: '?a=b\r\nx-evil: 1\r\n\r\nGET / HTTP/1.1 \u00e9\ud800' })).toBe('{}')
    expect(server.requests).toHaveLength(before + 1)
    const sent = server.requests.at(-1)
    expect(sent?.path).toBe(
      '/v1/messages?a=b%0D%0Ax-evil:%0D%0A'.replace('x-evil:', 'x-evil:%201').concat('%0D%0AGET%20/%20HTTP/1.1%20%C3%A9%EF%BF%BD'),
    )
    expect(sent?.header('x-evil')).toBeUndefined()
    for (const betas of ['a\r\nx-evil: 1', 'a\nb', 'a\0', 'h\u00e9']) expect(await ask(upstream, { betas })).toBe('fault: request')
    expect(server.requests).toHaveLength(before + 1)
  })

  test('a body of 32 MiB arrives byte by byte, to a server that reads slowly too', async () => {
    const body = Buffer.from(Array.from({ length: 32 * 1024 }, (_, index) => index % 251))
      .toString('latin1')
      .repeat(1024)
    const bytes = Buffer.from(body, 'latin1')
    const hasher = new Bun.CryptoHasher('sha256')
    let received = 0
    let headBytes = -1
    const listener = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, piece) {
          const start = headBytes === -1 ? piece.indexOf('\r\n\r\n') + 4 : 0
          headBytes = 0
          received += piece.length - start
          hasher.update(piece.subarray(start))
          socket.pause()
          setTimeout(() => socket.resume(), 1)
          if (received === bytes.length) socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{}')
        },
      },
    })
    expect(await ask(upstreamAt(`http://127.0.0.1:${listener.port}`), { body: bytes })).toBe('{}')
    expect(hasher.digest('hex')).toBe(new Bun.CryptoHasher('sha256').update(bytes).digest('hex'))
    listener.stop(true)
  })

  test('over IPv6, to an address in brackets', async () => {
    const hosts: string[] = []
    const six = Bun.serve({
      hostname: '::1',
      port: 0,
      fetch: ({ headers }) => {
        hosts.push(headers.get('host') ?? '')
        return Response.json({})
      },
    })
    expect(await ask(upstreamAt(`http://[::1]:${six.port}`))).toBe('{}')
    expect(hosts).toEqual([`[::1]:${six.port}`])
    await six.stop(true)
  })
})

describe('connections', () => {
  test('one after another over the same, many at once over many, and these are used again', async () => {
    play(whole('{}'))
    const upstream = upstreamAt(server.url)
    const before = server.connectionsOpened()
    for (let call = 0; call < 5; call++) expect(await ask(upstream)).toBe('{}')
    expect(server.connectionsOpened() - before).toBe(1)
    play([{ delayMs: 20 }, ...whole('{}')])
    for (const _ of [1, 2]) await Promise.all(Array.from({ length: 400 }, () => ask(upstream)))
    expect(server.connectionsOpened() - before).toBe(400)
  })

  test('behind a crowd some of them are kept, and the others are closed in order', async () => {
    play([{ delayMs: 20 }, ...whole('{}')])
    const upstream = upstreamAt(server.url)
    const [opened, closed] = [server.connectionsOpened(), server.connectionsClosed()]
    await Promise.all(Array.from({ length: 520 }, () => ask(upstream)))
    await until(() => server.connectionsClosed() === closed + 20)
    await Promise.all(Array.from({ length: 510 }, () => ask(upstream)))
    expect(server.connectionsOpened() - opened).toBe(530)
    await until(() => server.connectionsClosed() === closed + 30)
  })

  test('not after bytes that nobody asked for, in an answer or after it, nor where the answer says so', async () => {
    const upstream = upstreamAt(server.url)
    const evil = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\n\r\n"evil"'
    for (const moves of [
      [{ bytes: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}${evil}` }],
      [...whole('{}'), { delayMs: 20 }, { bytes: evil }],
      [head(200, { ...JSON_HEAD, 'content-length': '2', connection: 'close' }), { bytes: '{}' }],
      [head(200, JSON_HEAD), { bytes: '{}' }, { end: true }],
    ] as const) {
      play(moves)
      const closed = server.connectionsClosed()
      expect(await ask(upstream)).toBe('{}')
      await until(() => server.connectionsClosed() === closed + 1)
      play(whole('"ours"'))
      expect(await ask(upstream)).toBe('"ours"')
    }
  })

  test('one that rests too long is closed, and the next call opens another', async () => {
    play(whole('{}'))
    const upstream = upstreamAt(server.url, { restSeconds: 1 })
    const [opened, closed] = [server.connectionsOpened(), server.connectionsClosed()]
    expect(await ask(upstream)).toBe('{}')
    await until(() => server.connectionsClosed() === closed + 1)
    expect(await ask(upstream)).toBe('{}')
    expect(server.connectionsOpened() - opened).toBe(2)
  }, 60_000)

  test('one that rests does not keep the process', async () => {
    play(whole('{}'))
    const code = `import { ask, upstreamAt } from '${import.meta.dir}/call.ts'; console.log(await ask(upstreamAt('${server.url}')))`
    const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe', stderr: 'inherit' })
    expect(await new Response(child.stdout).text()).toBe('{}\n')
    expect(await child.exited).toBe(0)
  })

  test('an upstream that answers before it has read the request is heard, and its connection is not used again', async () => {
    const sockets: Socket[] = []
    const early = (answer: string) =>
      Bun.listen({
        hostname: '127.0.0.1',
        port: 0,
        socket: {
          open(socket) {
            sockets.push(socket)
          },
          data(socket) {
            socket.pause()
            socket.write(answer)
          },
        },
      })
    const body = Buffer.alloc(32 * 1024 * 1024)
    for (const [answer, said] of [
      ['HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n', 'fault: status 413'],
      ['HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}', '{}'],
    ] as const) {
      const listener = early(answer)
      const upstream = upstreamAt(`http://127.0.0.1:${listener.port}`)
      const before = sockets.length
      for (const _ of [1, 2]) expect(await ask(upstream, { body })).toBe(said)
      expect(sockets.length - before).toBe(2)
      listener.stop(true)
    }
  })
})

describe('a connection that turns out to be dead', () => {
  /** Uses a connection once, then plays `then` on it; fresh ones answer. */
  async function afterOne(then: Script): Promise<{ text: string; isSecondTry: boolean | undefined; arrivals: number }> {
    const upstream = upstreamAt(server.url)
    play(whole('{}'))
    expect(await ask(upstream)).toBe('{}')
    const used = server.connectionsOpened()
    const before = server.requests.length
    script = (connection) => (connection < used ? then : whole('"fresh"'))
    const reply: Reply | Fault = await upstream.call(request(), never())
    return { isSecondTry: reply.isSecondTry, text: await textOf(reply), arrivals: server.requests.length - before }
  }

  test('is tried once more on a fresh one, and the reply says so', async () => {
    for (const then of [[{ reset: true }], [{ end: true }], [{ delayMs: 100 }, { reset: true }]] as const)
      expect(await afterOne(then)).toEqual({ text: '"fresh"', isSecondTry: true, arrivals: 2 })
  })

  test('is not where a byte of an answer had come, or where the call was at work for longer', async () => {
    const failed = { text: 'fault: reset', isSecondTry: undefined, arrivals: 1 }
    expect(await afterOne([{ bytes: 'H' }, { delayMs: 20 }, { reset: true }])).toEqual(failed)
    expect(await afterOne([{ bytes: 'HTTP/1.1 100 Continue\r\n\r\n' }, { delayMs: 20 }, { reset: true }])).toEqual(failed)
    expect(await afterOne([{ delayMs: 1_050 }, { reset: true }])).toEqual(failed)
  })

  test('is never where it was fresh', async () => {
    const before = server.requests.length
    play([{ reset: true }])
    const upstream = upstreamAt(server.url)
    const reply = await upstream.call(request(), never())
    expect(reply).toMatchObject({ kind: 'fault', cause: 'reset' })
    expect(reply.isSecondTry).toBeUndefined()
    expect(server.requests).toHaveLength(before + 1)
  })

  test('a second connection that breaks as well is a fault that says that it was sent twice', async () => {
    const upstream = upstreamAt(server.url)
    play(whole('{}'))
    await ask(upstream)
    const before = server.requests.length
    play([{ reset: true }])
    expect(await upstream.call(request(), never())).toMatchObject({ kind: 'fault', cause: 'reset', isSecondTry: true })
    expect(server.requests).toHaveLength(before + 2)
  })
})

describe('a call says once that it is over', () => {
  const ends: Readonly<Record<string, Readonly<{ moves: Script; url?: string; said: string }>>> = {
    'a whole answer': { moves: whole('{}'), said: '{}' },
    'a stream': { moves: nativeStream('data: x\n\n'), said: 'data: x\n\n' },
    'an empty answer': { moves: [head(200, { ...JSON_HEAD, 'content-length': '0' })], said: '' },
    'an error with a text': { moves: [head(500, { 'content-length': '2' }), { bytes: '{}' }], said: 'fault: status 500' },
    'an error whose text never ends': { moves: [head(500, { 'content-length': '9' }), { stall: true }], said: 'fault: status 500' },
    'another type': {
      moves: [head(200, { 'content-type': 'text/html', 'content-length': '9' }), { stall: true }],
      said: 'fault: content-type',
    },
    'no HTTP': { moves: [{ bytes: 'hello\r\n\r\n' }], said: 'fault: malformed' },
    'a reset': { moves: [{ reset: true }], said: 'fault: reset' },
    'a cut body': { moves: [head(200, { ...JSON_HEAD, 'content-length': '9' }), { bytes: '{' }, { end: true }], said: 'broken' },
    'malformed chunks': {
      moves: [head(200, { ...JSON_HEAD, 'transfer-encoding': 'chunked' }), chunk('{'), { bytes: 'x\r\n' }],
      said: 'broken',
    },
    'no server': { moves: [], url: 'http://127.0.0.1:1', said: 'fault: refused' },
    'no name': { moves: [], url: 'http://nobody.invalid', said: 'fault: dns' },
  }
  for (const [name, { moves, url, said }] of Object.entries(ends)) {
    test(name, async () => {
      const upstream = upstreamAt(url ?? server.url)
      play(moves)
      let overs = 0
      for (const calls of [1, 2, 3]) {
        expect(await textOf(upstream.call(request(), never(), { onOver: () => overs++ }))).toBe(said)
        expect(overs).toBe(calls)
      }
    })
  }

  test('one that is given up before, at or behind the head, and one whose body is let go', async () => {
    const upstream = upstreamAt(server.url)
    const streaming = [head(200, { ...EVENT_STREAM, 'transfer-encoding': 'chunked' }), chunk('data: x\n\n'), { stall: true }] as const
    for (const how of ['at once', 'before', 'behind', 'cancelled'] as const) {
      play(how === 'before' ? [{ stall: true }] : streaming)
      const [opened, closed] = [server.connectionsOpened(), server.connectionsClosed()]
      const stop = new CallStop()
      if (how === 'at once') stop.stop('done')
      if (how === 'before') setTimeout(() => stop.stop('done'), 30)
      let overs = 0
      const reply = await upstream.call(request(), stop, { onOver: () => overs++ })
      if (how === 'cancelled' && reply.kind === 'reply') reply.body.cancel()
      else if (how === 'behind' && reply.kind === 'reply') {
        const reader = pulled(reply.body).getReader()
        expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('data: x\n\n')
        stop.stop('done')
        expect(await reader.read().catch(() => 'broken')).toBe('broken')
      } else expect(reply).toMatchObject({ kind: 'fault', cause: 'aborted' })
      await until(() => server.connectionsClosed() - closed === server.connectionsOpened() - opened)
      expect(overs, how).toBe(1)
    }
  })
})

test('a reader that stands still pauses the upstream, and then gets every byte', async () => {
  const piece = Buffer.alloc(1024 * 1024, 'abcdefghijklmnop')
  const count = 16 + Math.ceil((2 * CONNECTION_BYTES_MAX) / piece.length)
  const size = count * piece.length
  play([head(200, { ...EVENT_STREAM, 'content-length': String(size) }), ...Array.from({ length: count }, () => ({ bytes: piece }))])
  const reply = await upstreamAt(server.url).call(request(), never())
  if (reply.kind === 'fault') throw new Error(reply.cause)
  const asked = server.requests.at(-1)
  expect(await untilStill(() => asked?.sentBytes ?? 0)).toBeLessThan(size / 2)
  const hasher = new Bun.CryptoHasher('sha256')
  let received = 0
  for await (const bytes of pulled(reply.body)) {
    hasher.update(bytes)
    received += bytes.length
  }
  const expected = new Bun.CryptoHasher('sha256')
  for (let n = 0; n < count; n++) expected.update(piece)
  expect([received, hasher.digest('hex')]).toEqual([size, expected.digest('hex')])
})
