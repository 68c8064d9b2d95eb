/**
 * TLS to an upstream: nothing of a request, and so neither its text nor our key, leaves before the certificate is valid, from an authority that is trusted, and
 * of the very host that was configured. Every doubt is a fault.
 */

import { afterAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:tls'
import { CallStop } from '../../src/relay/deadline.ts'
import { type Certificate, makeAuthority, makeSelfSigned } from '../support/certificates.ts'
import { until } from '../support/until.ts'
import { ask, request, textOf, upstreamAt } from './call.ts'

const authority = makeAuthority('the one that is trusted')
const stranger = makeAuthority('another one')
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'

type Server = Readonly<{ port: number; received(): number; stop(): void }>
const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.stop()
})

/** Answers once each `requestBytes`, or as soon as anything came. */
function serve(tls: Certificate | undefined, hostname = '127.0.0.1', requestBytes = 1): Server {
  let received = 0
  const listener = Bun.listen<{ bytes: number }>({
    hostname,
    port: 0,
    ...(tls === undefined ? {} : { tls }),
    socket: {
      open: (socket) => {
        socket.data = { bytes: 0 }
      },
      data(socket, bytes) {
        received += bytes.length
        socket.data.bytes += bytes.length
        if (socket.data.bytes < requestBytes) return
        socket.data.bytes = 0
        socket.write(ANSWER)
      },
      error: () => undefined,
    },
  })
  const server = { port: listener.port, received: () => received, stop: () => listener.stop(true) }
  servers.push(server)
  return server
}

const over = (host: string, { port }: Server, ca: string | undefined = authority.pem) =>
  upstreamAt(`https://${host}:${port}`, { connectTimeoutMs: 60_000, ...(ca === undefined ? {} : { ca }) })

describe('a certificate is', () => {
  test('right: the name, an address, one of several names', async () => {
    expect(await ask(over('localhost', serve(authority.issue(['localhost']))))).toBe('{}')
    expect(await ask(over('127.0.0.1', serve(authority.issue(['127.0.0.1']))))).toBe('{}')
    expect(await ask(over('localhost', serve(authority.issue(['other.example', 'localhost', '10.0.0.1']))))).toBe('{}')
  })

  const today = { fromDays: -1, toDays: 1 }
  const wrong: Readonly<Record<string, Readonly<{ host: string; certificate: Certificate; ca?: string }>>> = {
    'of another name': { host: 'localhost', certificate: authority.issue(['other.example']) },
    'of a name that ends in ours': { host: 'localhost', certificate: authority.issue(['notlocalhost', 'x.localhost', '*.localhost']) },
    'of a name where an address was configured': { host: '127.0.0.1', certificate: authority.issue(['localhost']) },
    'of another address': { host: '127.0.0.1', certificate: authority.issue(['127.0.0.2']) },
    'of no name at all': { host: 'localhost', certificate: authority.issue([]) },
    expired: { host: 'localhost', certificate: authority.issue(['localhost'], { ...today, fromDays: -3, toDays: -1 }) },
    'not yet valid': { host: 'localhost', certificate: authority.issue(['localhost'], { ...today, fromDays: 1 }) },
    'self-signed': { host: 'localhost', certificate: makeSelfSigned(['localhost']) },
    'of an authority that is not trusted': { host: 'localhost', certificate: stranger.issue(['localhost']) },
  }
  for (const [name, { host, certificate }] of Object.entries(wrong)) {
    test(`${name}: a fault, and not a byte of the request has left`, async () => {
      const server = serve(certificate)
      expect(await ask(over(host, server))).toBe('fault: tls')
      expect(server.received()).toBe(0)
    })
  }

  test('of an authority that only this test knows: without it, a fault', async () => {
    const server = serve(authority.issue(['localhost']))
    expect(await ask(upstreamAt(`https://localhost:${server.port}`))).toBe('fault: tls')
    expect(server.received()).toBe(0)
  })
})

test('a server that speaks no TLS is a fault, and one that says nothing is given up at the connect limit', async () => {
  const plain = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { open: (socket) => void socket.end('HTTP/1.1 400 -\r\n\r\n'), data: () => undefined },
  })
  expect(await ask(upstreamAt(`https://127.0.0.1:${plain.port}`, { ca: authority.pem }))).toBe('fault: tls')
  plain.stop(true)
  let closed = 0
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined, close: () => void closed++ } })
  const startedMs = performance.now()
  expect(await ask(upstreamAt(`https://127.0.0.1:${silent.port}`, { ca: authority.pem, connectTimeoutMs: 150 }))).toBe(
    'fault: connect timeout',
  )
  expect(performance.now() - startedMs).toBeGreaterThan(140)
  await until(() => closed === 1)
  silent.stop(true)
})

test('authorities that cannot be read are a fault each time, not a bug', async () => {
  const upstream = upstreamAt('https://127.0.0.1:1', { ca: 'no certificate' })
  for (const _ of [1, 2]) expect(await ask(upstream)).toBe('fault: connect')
})

test('a name is asked for as a name, an address is not', async () => {
  const names: unknown[] = []
  const { cert, key } = authority.issue(['localhost', '127.0.0.1'])
  const server = createServer({ cert, key }, (socket) => {
    names.push(socket.servername)
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(ANSWER))
  })
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  for (const host of ['localhost', '127.0.0.1']) expect(await ask(upstreamAt(`https://${host}:${port}`, { ca: authority.pem }))).toBe('{}')
  expect(names).toEqual(['localhost', false])
  server.close()
})

test('a body of 32 MiB arrives whole', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'abcdefg')
  const server = serve(authority.issue(['localhost']), '127.0.0.1', body.length)
  const upstream = over('localhost', server)
  expect(await ask(upstream, { body })).toBe('{}')
  expect(server.received()).toBeGreaterThan(body.length)
  expect(server.received()).toBeLessThan(body.length + 1_000)
})

test('a call that is given up during the handshake is over at once', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  const stop = new CallStop()
  const called = textOf(upstreamAt(`https://127.0.0.1:${silent.port}`).call(request(), stop))
  setTimeout(() => stop.stop('done'), 30)
  expect(await called).toBe('fault: aborted')
  silent.stop(true)
})
