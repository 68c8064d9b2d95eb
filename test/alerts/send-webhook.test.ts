/**
 * A delivery reaches the receiver that its name and certificate name, signed, and nobody else: over real sockets with an authority of the test's own.
 * Rules: pages.md "Webhooks".
 */

import { afterAll, describe, expect, test } from 'bun:test'
import { type SendOptions, sendWebhook } from '../../src/alerts/send-webhook.ts'
import { newWebhookSecret, signatureOf } from '../../src/alerts/webhook-signature.ts'
import { makeSelfSigned } from '../support/certificates.ts'
import { startWatch } from '../support/until.ts'
import { authority, isSigned, NAME, type Receiver, startReceiver } from './receiver.ts'

const secret = newWebhookSecret()
const running: { stop(): unknown }[] = []
afterAll(async () => {
  for (const one of running) await one.stop()
})
const start = (options: Parameters<typeof startReceiver>[0] = {}): Receiver => {
  const receiver = startReceiver(options)
  running.push(receiver)
  return receiver
}

const home = () => Promise.resolve(['127.0.0.1'])
const send = (url: string, options: Partial<SendOptions> = {}) =>
  sendWebhook(
    { url, secret, id: 'evt_1', body: '{"a":"ü"}' },
    { allowPrivate: true, resolve: home, ca: authority.pem, timeoutMs: 60_000, ...options },
  )

test('the signature is that of the specification’s example', () => {
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/javascript/src/index.test.ts
  const given = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSeconds: 1_614_265_330,
    body: '{"test": 2432232314}',
  }
  expect(signatureOf(given)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  expect(newWebhookSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(newWebhookSecret()).not.toBe(newWebhookSecret())
})

test('a message arrives signed, at the name that was given, and any 2xx is a delivery', async () => {
  const startedSeconds = Math.floor(Date.now() / 1_000)
  const receiver = start({ answer: (_, count) => new Response('x'.repeat(100), { status: [200, 201, 202, 299][count - 1] ?? 204 }) })
  for (const status of [200, 201, 202, 299, 204]) expect(await send(`${receiver.url}?a=b`)).toEqual({ status, problem: null })
  expect(receiver.received).toHaveLength(5)
  for (const one of receiver.received) {
    expect(one).toMatchObject({ id: 'evt_1', host: `${NAME}:${receiver.port}`, path: '/hook', body: '{"a":"ü"}' })
    expect(isSigned(one, secret)).toBe(true)
    expect(isSigned({ ...one, body: `${one.body} ` }, secret)).toBe(false)
    expect(isSigned(one, newWebhookSecret())).toBe(false)
    expect(Number(one.timestamp)).toBeWithin(startedSeconds, Math.floor(Date.now() / 1_000) + 1)
  }
})

test('any other status is a failure, and a redirect is followed nowhere', async () => {
  const elsewhere = start()
  const receiver = start({
    answer: (_, count) => {
      const status = [301, 302, 307, 308, 400, 410, 500, 503][count - 1] ?? 304
      return new Response(null, { status, headers: { location: elsewhere.url } })
    },
  })
  for (const status of [301, 302, 307, 308, 400, 410, 500, 503])
    expect(await send(receiver.url)).toEqual({ status, problem: `status ${status}` })
  expect(elsewhere.received).toEqual([])
})

describe('the certificate is that of the name, although the connection goes to an address', () => {
  const wrong = {
    'of another name': authority.issue(['other.example']),
    'of the address': authority.issue(['127.0.0.1']),
    'of localhost': authority.issue(['localhost']),
    'self-signed': makeSelfSigned([NAME]),
  }
  for (const [name, certificate] of Object.entries(wrong)) {
    test(`${name}: nothing is sent`, async () => {
      const receiver = start({ certificate })
      expect(await send(receiver.url)).toEqual({ status: null, problem: 'tls' })
      expect(receiver.received).toEqual([])
    })
  }

  test('an address as host needs its own certificate', async () => {
    const receiver = start({ certificate: authority.issue(['127.0.0.1']) })
    expect(await send(`https://127.0.0.1:${receiver.port}/`)).toEqual({ status: 200, problem: null })
    const named = start()
    expect(await send(`https://127.0.0.1:${named.port}/`)).toEqual({ status: null, problem: 'tls' })
  })

  test('an authority that this machine does not know is none', async () => {
    const receiver = start()
    const { ca: _, ...rest } = { ca: authority.pem, allowPrivate: true, resolve: home }
    expect(await sendWebhook({ url: receiver.url, secret, id: 'evt_1', body: '' }, rest)).toEqual({ status: null, problem: 'tls' })
    expect(receiver.received).toEqual([])
  })
})

test('a name with one address that is not public is refused before anything is connected', async () => {
  const receiver = start()
  for (const addresses of [
    ['127.0.0.1'],
    ['8.8.8.8', '127.0.0.1'],
    ['::ffff:127.0.0.1'],
    ['2606:4700::1', '::1'],
    ['0.0.0.0'],
    ['169.254.169.254'],
  ]) {
    const delivered = await send(receiver.url, { allowPrivate: false, resolve: () => Promise.resolve(addresses) })
    expect(delivered).toEqual({ status: null, problem: 'no public address' })
  }
  expect(await send(`https://127.0.0.1:${receiver.port}/`, { allowPrivate: false })).toEqual({ status: null, problem: 'address' })
  expect(receiver.received).toEqual([])
})

test('a name is resolved once: the message goes to the address that was checked, and what a second look would say leads nowhere', async () => {
  let asked = 0
  // To the check the address that may be reached, to whoever asks again another.
  const rebinding = () => Promise.resolve([asked++ === 0 ? '127.0.0.1' : '127.0.0.9'])
  const receiver = start()
  const sent = await send(receiver.url, { allowPrivate: false, resolve: rebinding, mayConnectTo: (address) => address === '127.0.0.1' })
  expect(sent).toEqual({ status: 200, problem: null })
  expect([asked, receiver.received.length]).toEqual([1, 1])
})

test('a public address that is this machine’s own is refused before anything is connected', async () => {
  const one = { netmask: '', mac: '', internal: false, cidr: null }
  const interfaces = () => ({
    lo: [{ ...one, family: 'IPv4' as const, address: '127.0.0.1' }],
    eth0: [
      { ...one, family: 'IPv4' as const, address: '8.8.8.8' },
      { ...one, family: 'IPv6' as const, address: '2606:4700:0::1', scopeid: 0 },
      { ...one, family: 'IPv6' as const, address: 'fe80::1%eth0', scopeid: 2 },
    ],
  })
  for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1']) {
    const resolve = () => Promise.resolve([address])
    const sent = await send('https://hooks.example/', { allowPrivate: false, resolve, interfaces, timeoutMs: 300 })
    expect([address, sent.problem]).toEqual([address, 'no public address'])
  }
})

test('the next address is tried where one refuses', async () => {
  const receiver = start()
  expect(await send(receiver.url, { resolve: () => Promise.resolve(['::1', '127.0.0.9', '127.0.0.1']) })).toEqual({
    status: 200,
    problem: null,
  })
})

test('names without an address, and resolvers that never answer, are failures within the time', async () => {
  expect(await send('https://hooks.example/', { resolve: () => Promise.resolve([]) })).toEqual({ status: null, problem: 'dns' })
  expect(await send('https://hooks.example/', { resolve: () => Promise.reject(new Error('no')) })).toEqual({ status: null, problem: 'dns' })
  for (const resolve of [() => Promise.resolve([]), () => Promise.reject(new Error('no')), () => Promise.resolve(['10.0.0.7'])])
    expect((await send('https://db.internal/', { resolve, allowPrivate: false })).problem).toBe('no public address')
  using watch = startWatch()
  const silent = await send('https://hooks.example/', { resolve: () => new Promise(() => undefined), timeoutMs: 100 })
  expect(silent).toEqual({ status: null, problem: 'timeout' })
  expect(watch.ms()).toBeLessThan(1_000)
  expect(await sendWebhook({ url: 'https://no-such-name.invalid/', secret, id: 'a', body: '' }, { allowPrivate: true })).toEqual({
    status: null,
    problem: 'dns',
  })
})

test('a receiver that hangs – before TLS, before the head, in the body – ends at the limit', async () => {
  const mute = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  running.push({ stop: () => mute.stop(true) })
  expect(await send(`https://${NAME}:${mute.port}/`, { timeoutMs: 100 })).toEqual({ status: null, problem: 'timeout' })
  const slow = start({ answer: () => new Promise(() => undefined) })
  expect(await send(slow.url, { timeoutMs: 150 })).toEqual({ status: null, problem: 'timeout' })
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const dripping = new ReadableStream({
    pull: async (controller) => {
      await Bun.sleep(20)
      controller.enqueue('x')
    },
    cancel: () => resolve(),
  })
  const body = start({ answer: () => new Response(dripping) })
  using watch = startWatch()
  expect(await send(body.url, { timeoutMs: 2_000 })).toEqual({ status: 200, problem: null })
  expect(watch.ms()).toBeLessThan(4_000)
  await closed
})

test('of an endless body no more is read than a little', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let sentBytes = 0
  const piece = 'x'.repeat(1_000)
  const endless = new ReadableStream({
    pull: async (controller) => {
      await Bun.sleep(1)
      sentBytes += piece.length
      controller.enqueue(piece)
    },
    cancel: () => resolve(),
  })
  const receiver = start({ answer: () => new Response(endless) })
  expect(await send(receiver.url)).toEqual({ status: 200, problem: null })
  await closed
  expect(sentBytes).toBeLessThan(2_000_000)
})

test('plain http is for private receivers only', async () => {
  const receiver = start({ certificate: null })
  expect(await send(receiver.url, { allowPrivate: false })).toEqual({ status: null, problem: 'address' })
  expect(await send(receiver.url)).toEqual({ status: 200, problem: null })
  expect(receiver.received).toHaveLength(1)
})
