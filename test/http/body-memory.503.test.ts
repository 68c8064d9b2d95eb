/**
 * Bodies in memory at once are bounded for each account and over all of them: what one sends costs another nothing, and beyond the bounds a request is refused
 * and told to come back. Rules: requests.md "Memory of bodies".
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import type { KeyBalance } from '../../src/core/key.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { picos, ZERO } from '../../src/core/money.ts'
import { TimerWheel } from '../../src/core/timer-wheel.ts'
import type { HoldAnswer, HoldRequest, Ledger } from '../../src/ledger/ledger.ts'
import { BodyMemory, poolBytesOf } from '../../src/relay/body-memory.ts'
import { type AnsweredGateway, MESSAGE, startAnsweredGateway } from '../support/answered-gateway.ts'
import { nativeMessage, type Script } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { connectRaw } from '../support/raw-client.ts'
import { until, untilStill } from '../support/until.ts'

const MIB = 1024 * 1024

const BOUND = 512 * MIB
const FIELDS = { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
const OVERLOADED = '{"type":"error","error":{"type":"server_error","message":"Service temporarily unavailable; retry later"}}'
const RATE_LIMITED = '{"type":"error","error":{"type":"rate_limit_error","message":"Rate limit exceeded; retry later"}}'

let upstream: AnsweredGateway['upstream']
let gateway: AnsweredGateway['gateway']
let stop: AnsweredGateway['stop']
let secret: AnsweredGateway['secret']
let script: Script = nativeMessage(MESSAGE)
/** Requests whose body is read wait here before they are held. */
let gate: Promise<void> = Promise.resolve()
let waiting = 0

beforeAll(async () => {
  ;({ upstream, gateway, secret, stop } = await startAnsweredGateway({ wrapLedger: gated, script: () => script }))
})

afterAll(() => stop())

const gated = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      if (name === 'hold') return waitAndHold
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member

      async function waitAndHold(request: HoldRequest): Promise<HoldAnswer> {
        waiting++
        await gate
        waiting--
        return target.hold(request)
      }
    },
  })

function padded(length: number): Buffer {
  const bytes = Buffer.alloc(length, 0x20)
  bytes.write(JSON.stringify(FIELDS))
  return bytes
}

/** Takes all but `freeBytes` of the gateway's memory for bodies, as other clients would. */
function occupyAllBut(freeBytes: number): () => void {
  const lease = gateway.bodies.lease({ id: 'key_other', accountId: 'acc_other' })
  expect(lease.growAnswer(BOUND - freeBytes)).toBeUndefined()
  return lease.release
}

const keyBalanceWith = (balance: bigint, limitLeft: bigint | null = null): KeyBalance => ({
  limitPicos: limitLeft === null ? null : picos(limitLeft + 5n),
  spentPicos: picos(5n),
  heldPicos: ZERO,
  account: { balancePicos: picos(balance), heldPicos: picos(balance) },
})

test('who cannot pay shares one share: without balance, or with a limit that is used up; not who holds all of it, nor a key not seen yet', () => {
  const keyBalances: Record<string, KeyBalance> = {
    poor: keyBalanceWith(0n),
    spent: keyBalanceWith(9n, 0n),
    busy: keyBalanceWith(9n),
    limited: keyBalanceWith(9n, 1n),
  }
  const memory = new BodyMemory({ poolBytes: 512 * MIB, limits: () => LIMITS, keyBalanceOf: (keyId) => keyBalances[keyId], now: () => 0 })
  const grow = (id: string): string | undefined => memory.lease({ id, accountId: `acc_${id}` }).grow(100 * MIB)?.name
  expect(['busy', 'limited', 'unseen', 'poor', 'spent'].map(grow)).toEqual([undefined, undefined, undefined, undefined, 'rateLimited'])
})

test('a body is counted where its account belongs now: whoever has used up what he had, or has paid, while it came in', () => {
  let keyBalance = keyBalanceWith(1n)
  const keyBalanceOf = (keyId: string): KeyBalance => (keyId === 'key_1' ? keyBalance : keyBalanceWith(0n))
  const memory = new BodyMemory({ poolBytes: 160 * MIB, limits: () => LIMITS, keyBalanceOf, now: () => 0 })
  const body = memory.lease({ id: 'key_1', accountId: 'acc_1' })
  const fits = (id: string, mib: number): boolean => {
    const lease = memory.lease({ id, accountId: `acc_${id}` })
    const refusal = lease.grow(mib * MIB)
    lease.release()
    return refusal === undefined
  }
  expect([body.grow(30 * MIB), fits('poor', 40)]).toEqual([undefined, true])
  keyBalance = keyBalanceWith(0n)
  expect([body.grow(31 * MIB), fits('poor', 10), fits('poor', 9)]).toEqual([undefined, false, true])
  keyBalance = keyBalanceWith(1n)
  expect([body.grow(32 * MIB), fits('poor', 40)]).toEqual([undefined, true])
  body.release()
  expect([memory.bytes, fits('poor', 40)]).toEqual([0, true])
})

test('neither a share nor the pool is ever passed, whatever grows and shrinks, and what is given back is there again', () => {
  const step = fc.record({ lease: fc.nat(5), bytes: fc.nat(60) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), (steps, funded) => {
      // Two leases an account; accounts without funds have one share together.
      const accountOf = (lease: number): string => `acc_${lease % 3}`
      const shareOf = (lease: number): string => (funded[lease % 3] === true ? accountOf(lease) : '')
      const memory = new BodyMemory({
        poolBytes: 160 * MIB,
        limits: () => ({ bodyBytesPerMinute: Number.MAX_SAFE_INTEGER }),
        keyBalanceOf: (keyId) => keyBalanceWith(funded[Number(keyId.at(-1)) % 3] === true ? 1n : 0n),
        now: () => 0,
      })
      const leases = Array.from({ length: 6 }, (_, lease) => memory.lease({ id: `key_${lease}`, accountId: accountOf(lease) }))
      const held = [0, 0, 0, 0, 0, 0]
      const sum = (isCounted: (lease: number) => boolean): number =>
        held.reduce((total, mib, lease) => total + (isCounted(lease) ? mib : 0), 0)
      for (const { lease, bytes } of steps) {
        const old = held[lease] ?? 0
        held[lease] = bytes
        const isOverShare = sum((other) => shareOf(other) === shareOf(lease)) > 40
        const isOverPool = sum(() => true) > 160
        const expected = bytes <= old ? undefined : isOverShare ? 'rateLimited' : isOverPool ? 'overloaded' : undefined
        expect(leases[lease]?.grow(bytes * MIB)?.name).toBe(expected)
        if (expected !== undefined) held[lease] = old
        expect(memory.bytes).toBe(sum(() => true) * MIB)
      }
      for (const lease of leases) {
        lease.release()
        lease.release()
      }
      expect(memory.bytes).toBe(0)
    }),
  )
})

test('the pool is 512 MiB or a quarter of the memory, a share at most 128 MiB and at least one body', () => {
  expect([poolBytesOf(64 * 1024 * MIB), poolBytesOf(1024 * MIB)]).toEqual([BOUND, 256 * MIB])
  for (const [poolMib, shareMib] of [
    [512, 128],
    [400, 100],
    [64, 33],
  ] as const) {
    const memory = new BodyMemory({ poolBytes: poolMib * MIB, limits: () => LIMITS, keyBalanceOf: () => undefined, now: () => 0 })
    expect(memory.lease({ id: 'k', accountId: 'a' }).grow(shareMib * MIB)).toBeUndefined()
    expect(memory.lease({ id: 'k2', accountId: 'a' }).grow(1)).toMatchObject({ name: 'rateLimited', retryAfterSeconds: 1 })
    expect(memory.lease({ id: 'k3', accountId: 'b' }).grow(1)).toBeUndefined()
  }
})

test('a body that does not fit any more is 503 with Retry-After on every route; small ones and other routes go on', async () => {
  const release = occupyAllBut(MIB)
  for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/messages/count_tokens']) {
    const response = await gateway.post(path, secret, padded(2 * MIB))
    expect([path, response.status, await response.text()]).toEqual([path, 503, OVERLOADED])
    expect(response.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
    expect(response.headers.get('x-should-retry')).toBeNull()
  }
  expect((await gateway.post('/v1/messages', secret, padded(1_000))).status).toBe(200)
  release()
  expect((await gateway.post('/v1/messages', secret, padded(2 * MIB))).status).toBe(200)
  await gateway.idle()
  expect(gateway.bodies.bytes).toBe(0)
})

test('of many large bodies at once as many are taken as fit, and all of them afterwards', async () => {
  const release = occupyAllBut(5 * MIB)
  const { promise, resolve: open } = Promise.withResolvers<void>()
  gate = promise
  const body = padded(MIB)
  const statuses: number[] = []
  const answers = Array.from({ length: 20 }, async () => statuses.push((await gateway.post('/v1/messages', secret, body)).status))
  await until(() => statuses.length + waiting >= 20)
  expect(waiting).toBeLessThanOrEqual(5)
  expect(new Set(statuses)).toEqual(new Set([503]))
  expect(gateway.bodies.bytes).toBe(BOUND - (5 - waiting) * MIB)
  open()
  await Promise.all(answers)
  release()
  for (let i = 0; i < 6; i++) expect((await gateway.post('/v1/messages', secret, body)).status).toBe(200)
  await gateway.idle()
  expect(gateway.bodies.bytes).toBe(0)
})

test('a body counts as long as its request runs', async () => {
  script = [{ delayMs: 300 }, ...nativeMessage(MESSAGE)]
  const calls = upstream.requests.length
  const answer = gateway.post('/v1/messages', secret, padded(MIB))
  await upstream.arrival(calls)
  expect(gateway.bodies.bytes).toBe(MIB)
  expect(await gateway.world.metrics.render()).toContain(`\ntollgate_body_bytes ${MIB}\n`)
  expect((await answer).status).toBe(200)
  script = nativeMessage(MESSAGE)
  await gateway.idle()
  expect(gateway.bodies.bytes).toBe(0)
})

test('an answer in one piece counts beside the body; one that has no room is 503, and nothing is charged', async () => {
  script = nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'x'.repeat(3 * MIB) }] })
  const release = occupyAllBut(2 * MIB)
  const before = gateway.receipts().length
  const response = await gateway.post('/v1/messages', secret, padded(1_000))
  expect([response.status, await response.text()]).toEqual([503, OVERLOADED])
  await gateway.idle()
  expect(
    gateway
      .receipts()
      .slice(before)
      .filter(({ costPicos }) => costPicos > 0n),
  ).toEqual([])
  release()
  const fitting = await gateway.post('/v1/messages', secret, padded(1_000))
  expect([fitting.status, (await fitting.bytes()).length > 3 * MIB]).toEqual([200, true])
  script = nativeMessage(MESSAGE)
  await until(() => gateway.bodies.bytes === 0)
})

test('a large answer counts until its client has taken it, or has gone; its key may ask again meanwhile', async () => {
  script = nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'x'.repeat(20 * MIB) }] })
  const body = JSON.stringify(FIELDS)
  const ask = async () => {
    const client = await connectRaw(gateway.url)
    await client.send(`POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await client.until((received) => received.length > 0)
    client.pause()
    return client
  }
  const before = gateway.receipts().length
  const slow = await ask()
  const leaver = await ask()
  await gateway.idle()
  expect(gateway.receipts()).toHaveLength(before + 2)
  const counted = gateway.bodies.bytes
  slow.resume()
  const { text } = await slow.response(20_000)
  expect(JSON.parse(text).content[0].text).toHaveLength(20 * MIB)
  expect(counted).toBe(2 * text.length)
  await until(() => gateway.bodies.bytes === text.length)
  leaver.reset()
  await until(() => gateway.bodies.bytes === 0)
  slow.reset()
  script = nativeMessage(MESSAGE)
}, 180_000)

/** At its best it takes a second of a core for a bomb. */
const quickBrotli = (bytes: Buffer): Buffer => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', quickBrotli],
  ['zstd', zstdCompressSync],
] as const)('many small bodies in %s at once need no more room than they take', async (encoding, compress) => {
  const release = occupyAllBut(20 * MIB)
  const body = compress(padded(MIB))
  const headers = { 'x-api-key': secret, 'content-encoding': encoding }
  const answers = Array.from({ length: 17 }, async () => (await gateway.post('/v1/messages', secret, body, { headers })).status)
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 17 }, () => 200))
  release()
  await gateway.idle()
  expect(gateway.bodies.bytes).toBe(0)
})

test.each([
  ['gzip', gzipSync],
  ['br', quickBrotli],
  ['zstd', zstdCompressSync],
] as const)('a bomb in %s is 413 at the bound and never holds more', async (encoding, compress) => {
  const bomb = compress(Buffer.alloc(40 * MIB, 0x20))
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, gateway.bodies.bytes)), 1)
  const headers = { 'x-api-key': secret, 'content-encoding': encoding }
  const answers = Array.from({ length: 3 }, async () => (await gateway.post('/v1/messages', secret, bomb, { headers })).status)
  expect(await Promise.all(answers)).toEqual([413, 413, 413])
  clearInterval(watch)
  expect(most).toBeLessThanOrEqual(3 * LIMITS.bodyBytes)
  await gateway.idle()
  expect(gateway.bodies.bytes).toBe(0)
})

describe('in a process of 640 MiB, whose pool is 160 MiB and a share 40 MiB', () => {
  let small: TestGateway
  beforeAll(async () => {
    small = await startTestGateway({ upstreams: [upstream.url], memoryBytes: 640 * MIB })
  })
  afterAll(() => small.stop())

  /** Begins uploads that never end, and gives the answers that came all the same. They go on, little by little: one that stood still would be refused as too slow. */
  async function uploadSlowly(key: string, count: number, path = '/v1/messages'): Promise<{ answers: Promise<unknown>[]; stop(): void }> {
    const connections = await Promise.all(Array.from({ length: count }, () => connectRaw(small.url)))
    const answers = connections.map((connection) => connection.response().catch(() => undefined))
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: ${key}\r\nContent-Length: ${20 * MIB}\r\n\r\n`
    await Promise.all(connections.map((connection) => connection.send(head + ' '.repeat(10 * MIB))))
    const goOn = (): void => {
      // Who was answered meanwhile has closed its connection.
      for (const connection of connections) connection.send(' '.repeat(8 * 1024)).catch(() => undefined)
    }
    const going = setInterval(goOn, 1_000)
    const stop = (): void => {
      clearInterval(going)
      for (const connection of connections) connection.reset()
    }
    return { answers, stop }
  }

  async function settled(bytesMin: number): Promise<void> {
    await until(() => small.bodies.bytes >= bytesMin, `${bytesMin} bytes of bodies`)
    await untilStill(() => small.bodies.bytes)
  }

  test('slow uploads of a key without funds take nothing from another’s, nor from those of a third, and none where money is needed', async () => {
    const poor = await small.createKey({ balanceUsd: '0.000001' })
    const alsoPoor = await small.createKey({ balanceUsd: '0.000001' })
    const rich = await small.createKey()
    for (const key of [poor, alsoPoor]) await spendAll(key)
    const unread = await uploadSlowly(poor, 17)
    const uploads = await uploadSlowly(poor, 17, '/v1/messages/count_tokens')
    await settled(30 * MIB)
    expect(small.bodies.bytes).toBeLessThanOrEqual(40 * MIB)
    for (let i = 0; i < 4; i++) expect((await small.post('/v1/messages', rich, padded(9 * MIB))).status).toBe(200)
    const refused = await small.post('/v1/messages/count_tokens', alsoPoor, padded(15 * MIB))
    expect([refused.status, await refused.text()]).toEqual([429, RATE_LIMITED])
    expect(refused.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
    expect(refused.headers.get('x-should-retry')).toBeNull()
    uploads.stop()
    await emptied()
    unread.stop()
  })

  test('an account with funds has one share, however many keys send for it', async () => {
    const rich = await small.createKey({ id: 'key_rich' })
    const other = await small.createKey({ id: 'key_beside' })
    await small.post('/v1/messages', rich, padded(1_000))
    await small.post('/v1/messages', other, padded(1_000))
    const uploads = await uploadSlowly(rich, 5)
    await settled(30 * MIB)
    expect(small.bodies.bytes).toBeLessThanOrEqual(40 * MIB)
    expect((await small.post('/v1/messages', rich, padded(15 * MIB))).status).toBe(429)
    expect((await small.post('/v1/messages', other, padded(15 * MIB))).status).toBe(200)
    uploads.stop()
    await emptied()
  })

  /** The only thing that an account without funds may still do is be refused. */
  async function spendAll(key: string): Promise<void> {
    await small.post('/v1/messages', key, padded(1_000))
    await small.idle()
    expect((await small.post('/v1/messages', key, padded(1_000))).status).toBe(429)
  }

  async function emptied(): Promise<void> {
    await until(() => small.bodies.bytes === 0, 'the bodies to be let go')
  }
})

test('an account sends so many bytes of bodies in a minute; more is 429 until some of it has passed, and another is not touched', async () => {
  await using limited = await startTestGateway({ upstreams: [upstream.url], limits: { bodyBytesPerMinute: 3 * MIB } })
  const [one, other] = [await limited.createKey(), await limited.createKey()]
  for (const key of [one, other]) {
    expect((await limited.post('/v1/messages', key, padded(MIB))).status).toBe(200)
    expect(
      (await limited.post('/v1/messages', key, gzipSync(padded(MIB)), { headers: { 'x-api-key': key, 'content-encoding': 'gzip' } }))
        .status,
    ).toBe(200)
    const refused = await limited.post('/v1/messages/count_tokens', key, padded(2 * MIB))
    expect([refused.status, await refused.text()]).toEqual([429, RATE_LIMITED])
    expect(refused.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
  }
})

describe('where there is no room for a body', () => {
  const wheelOf = () => {
    const wheel = new TimerWheel()
    const time = { clock: { now: () => now, monotonicMs: () => now }, wheel }
    let now = 0
    return {
      time,
      pass: (ms: number) => {
        now += ms
        wheel.turn(now)
      },
    }
  }
  const unknown = { keyBalanceOf: () => undefined, now: () => 0, limits: () => LIMITS }
  const turn = (): Promise<void> => Bun.sleep(0)
  const fail = (bug: unknown): never => {
    throw bug
  }

  test('it waits for a second at most, and goes on as soon as its memory is free', async () => {
    const bodies = new BodyMemory({ poolBytes: 100 * MIB, ...unknown })
    const { time, pass } = wheelOf()
    const taken = bodies.lease({ id: 'key_1', accountId: 'acc_1' })
    expect(taken.growAnswer(95 * MIB)).toBeUndefined()
    const lease = bodies.lease({ id: 'key_2', accountId: 'acc_2' })
    expect(lease.room(4 * MIB, time)).toBeUndefined()
    let woken = 0
    const wait = (): void => void lease.room(10 * MIB, time)?.then(() => woken++, fail)
    wait()
    pass(900)
    await turn()
    expect(woken).toBe(0)
    pass(200)
    await turn()
    expect(woken).toBe(1)
    wait()
    taken.release()
    await turn()
    expect(woken).toBe(2)
  })

  test('accounts have turns, no more go on than there is room for, and what is over its own share waits for nothing', async () => {
    const bodies = new BodyMemory({ poolBytes: 100 * MIB, ...unknown })
    const { time } = wheelOf()
    const taken = bodies.lease({ id: 'key_0', accountId: 'acc_0' })
    expect(taken.growAnswer(100 * MIB)).toBeUndefined()
    const order: string[] = []
    const wait = (accountId: string): void => {
      bodies
        .lease({ id: `key_${accountId}`, accountId })
        .room(30 * MIB, time)
        ?.then(() => order.push(accountId), fail)
    }
    for (const account of ['a', 'a', 'a', 'b', 'c']) wait(account)
    expect(bodies.lease({ id: 'key_d', accountId: 'd' }).room(34 * MIB, time)).toBeUndefined()
    taken.release()
    await turn()
    expect(order).toEqual(['a', 'b', 'c'])
  })

  test('a thousand wait, and the next one is told at once', () => {
    const bodies = new BodyMemory({ poolBytes: 100 * MIB, ...unknown })
    const { time } = wheelOf()
    expect(bodies.lease({ id: 'key_0', accountId: 'acc_0' }).growAnswer(100 * MIB)).toBeUndefined()
    const waits = (n: number): boolean => bodies.lease({ id: `key_${n}`, accountId: `acc_${n}` }).room(MIB, time) !== undefined
    for (let n = 1; n <= 1_000; n++) expect([n, waits(n)]).toEqual([n, true])
    expect(waits(1_001)).toBe(false)
  })

  test('a request that finds no room is answered when it comes', async () => {
    const release = occupyAllBut(1_000)
    setTimeout(release, 200)
    const answer = await gateway.post('/v1/messages', secret, padded(100_000))
    expect(answer.status).toBe(200)
  })
})
