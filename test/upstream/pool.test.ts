/** A call finds the upstream that can answer it, and tries no more than it may. Rules: pool.md "Failover", "Breaker", "Retry budget", "Overload". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { TICK_MS, Wheel } from '../../src/core/wheel.ts'
import { CallStop } from '../../src/relay/deadline.ts'
import type { Trouble } from '../../src/upstream/breaker.ts'
import { UpstreamPool } from '../../src/upstream/pool.ts'
import type { BegunCall, CallLog, FailedCall, PoolRequest } from '../../src/upstream/pool-request.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import type { CallEvents, Fault, Reply, Stop, Upstream, UpstreamRequest } from '../../src/upstream/upstream.ts'
import { makeTestModel } from '../support/world.ts'

/** Time that the test moves; sleeping upstreams and waiting calls see the same one. */
let nowMs = 0
let wheel: Wheel
let pool: UpstreamPool
let log: { began: BegunCall[]; failed: FailedCall[]; replied: (string | undefined)[]; answered: number; broke: (() => void) | undefined }
let seen: { called: string[]; retried: string[]; changed: string[]; placed: string[] }

beforeEach(() => {
  nowMs = 1_000_000
  wheel = new Wheel()
  log = { began: [], failed: [], replied: [], answered: 0, broke: undefined }
  seen = { called: [], retried: [], changed: [], placed: [] }
  pool = new UpstreamPool({
    wheel,
    now: () => nowMs,
    monotonicMs: () => nowMs,
    random: () => 0.5,
    events: {
      called: (upstream, result) => seen.called.push(`${upstream} ${result}`),
      retried: (how) => seen.retried.push(how),
      placed: (affinity) => seen.placed.push(affinity),
      changed: (upstream, _model, state) => seen.changed.push(`${upstream} ${state}`),
    },
  })
})

/** Left behind by calls whose answers are still under way; the engine may find a few on its own stack. */
async function stillHeld(bodies: readonly WeakRef<Uint8Array>[]): Promise<number> {
  await Bun.sleep(1)
  Bun.gc(true)
  return bodies.filter((body) => body.deref() !== undefined).length
}

/** Moves time in steps of the wheel, and lets what was woken go on. */
async function pass(ms: number): Promise<void> {
  for (const end = nowMs + ms; nowMs < end; ) {
    nowMs += TICK_MS
    wheel.turn(nowMs)
    await Bun.sleep(0)
  }
}

const callLog: CallLog = {
  began: (call) => log.began.push(call),
  moved: () => undefined,
  failed: (call) => log.failed.push(call),
  replied: (requestId) => log.replied.push(requestId),
  answered: (broke) => {
    log.answered++
    log.broke = broke
  },
}

type Behaviour = (request: UpstreamRequest, stop: Stop) => Promise<Reply | Fault> | Reply | Fault

/** An upstream that does as it is told, and gives its slot back at once unless it answers. */
function scripted(name: string, script: { behave: Behaviour; asked: UpstreamRequest[]; leave?: () => void }): Upstream {
  return {
    async call(request, stop, events: CallEvents = {}) {
      script.asked.push(request)
      const reply = await script.behave(request, stop)
      if (reply.kind === 'fault') events.onOver?.()
      else script.leave = events.onOver ?? (() => undefined)
      return { ...reply, upstream: name }
    },
  }
}

const answer: Behaviour = () => ({
  kind: 'reply',
  upstream: '',
  isEventStream: false,
  dialect: 'strict',
  body: PushedBody.of(new Uint8Array()),
})
const fails =
  (cause: string, trouble?: Trouble, more: Partial<Fault> = {}): Behaviour =>
  () => ({
    kind: 'fault',
    upstream: '',
    refusal: new Refusal('upstreamBroken'),
    cause,
    isAlarm: false,
    ...(trouble && { trouble }),
    ...more,
  })
const DEAD = fails('refused', { kind: 'dead' })
const BROKEN = fails('status 500', { kind: 'broken' }, { status: 500 })

function members(scripts: Record<string, Behaviour>, options: Record<string, { priority?: number; maxConcurrent?: number }> = {}) {
  const made = Object.entries(scripts).map(([name, behave]) => [name, { behave, asked: [] as UpstreamRequest[] }] as const)
  pool.configure(
    made.map(([name, script]) => ({
      name,
      priority: 0,
      weight: 1,
      maxConcurrent: 100,
      ...options[name],
      upstream: scripted(name, script),
    })),
  )
  return Object.fromEntries(made) as Record<string, { behave: Behaviour; asked: UpstreamRequest[]; leave?: () => void }>
}

function request(names: readonly string[], more: Partial<PoolRequest> = {}): PoolRequest {
  const body = Buffer.from('{"model":"vendor-sonnet-1","max_tokens":1}')
  const model = makeTestModel({ upstreams: names.map((name) => ({ name, model: name === 'other' ? 'sonnet@other' : 'vendor-sonnet-1' })) })
  return { path: '/v1/messages', query: '', model, body, version: '', betas: '', accountId: 'acc_1', modelAt: '{"model":'.length, ...more }
}

const stop = new CallStop()
const call = (names: readonly string[], more: Partial<PoolRequest> = {}, by: Stop = stop) =>
  pool.call(request(names, more), {
    stop: by,
    take: (reply) => Promise.resolve({ kind: 'taken' as const, from: reply.upstream }),
    log: callLog,
  })

afterEach(() => expect(pool.members().every(({ turns }) => turns.waiting === 0)).toBe(true))

test('the lowest priority number is asked first, and the next as long as one fails', async () => {
  const scripts = members(
    { last: answer, first: DEAD, second: DEAD },
    { first: { priority: 1 }, second: { priority: 2 }, last: { priority: 3 } },
  )
  expect(await call(['last', 'second', 'first'])).toMatchObject({ from: 'last' })
  expect(log.began.map(({ upstream }) => upstream)).toEqual(['first', 'second', 'last'])
  expect(log.failed.map(({ cause, wasSent }) => [cause, wasSent])).toEqual([
    ['refused', false],
    ['refused', false],
  ])
  expect(log.answered).toBe(1)
  expect(scripts['last']?.asked).toHaveLength(1)
})

test("a client's mistake ends it, and so does the last upstream's fault", async () => {
  members({ a: fails('status 400', undefined, { status: 400 }), b: answer }, { b: { priority: 1 } })
  expect(await call(['a', 'b'])).toMatchObject({ cause: 'status 400' })
  members({ a: BROKEN, b: fails('status 529', { kind: 'busy', retryAfterMs: undefined }, { status: 529 }) }, { b: { priority: 1 } })
  const failed = call(['a', 'b'])
  await pass(1_000)
  expect(await failed).toMatchObject({ cause: 'status 529' })
  expect(seen.called).toEqual(['a status 400', 'a status 500', 'b status 529'])
})

test('an answer that turns out to be none is failed over, too, and a model is asked for by the id that each upstream knows', async () => {
  const scripts = members({ a: answer, other: answer }, { other: { priority: 1 } })
  const refusing = pool.call(request(['a', 'other']), {
    stop,
    log: callLog,
    take: async (reply) =>
      reply.upstream === 'a' ? ((await fails('malformed', { kind: 'broken' })(request([]), stop)) as Fault) : { kind: 'taken' as const },
  })
  await pass(1_000)
  expect(await refusing).toEqual({ kind: 'taken' })
  expect(log.failed).toMatchObject([{ status: 200, cause: 'malformed', wasSent: true }])
  expect(String(scripts['a']?.asked[0]?.body)).toBe('{"model":"vendor-sonnet-1","max_tokens":1}')
  expect(String(scripts['other']?.asked[0]?.body)).toBe('{"model":"sonnet@other","max_tokens":1}')
  expect(scripts['other']?.asked[0]?.model.upstreamModel).toBe('sonnet@other')
})

test('second tries are bounded by the budget, and then 503 with Retry-After; what was refused before a byte was sent costs none', async () => {
  members({ a: BROKEN, b: answer }, { a: { priority: 0 }, b: { priority: 1 } })
  const results: string[] = []
  for (let index = 0; index < 8; index++) {
    const called = call(['a', 'b'])
    await pass(TICK_MS * 4)
    const result = await called
    results.push(result.kind === 'fault' ? `${result.refusal.row.status} ${result.refusal.retryAfterSeconds}` : 'answered')
  }
  expect(results.filter((result) => result === 'answered').length).toBeWithin(3, 6)
  expect(results).toContain('503 1')
  expect(seen.retried).toContain('budget spent')
  members({ a: fails('refused', { kind: 'dead' }), b: answer }, { b: { priority: 1 } })
  for (let index = 0; index < 20; index++) expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
})

test('a dead upstream is not asked again before its time, then by one probe; a reload forgets nothing', async () => {
  const scripts = members({ a: DEAD, b: answer }, { b: { priority: 1 } })
  for (let index = 0; index < 5; index++) expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
  expect(scripts['a']?.asked).toHaveLength(1)
  expect(seen.changed).toEqual(['a open'])
  const later = members({ a: answer, b: answer }, { b: { priority: 1 } })
  expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
  await pass(1_100)
  const probe = Promise.withResolvers<Reply>()
  const waiting = later['a']
  if (waiting !== undefined) waiting.behave = () => probe.promise
  const first = call(['a', 'b'])
  expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
  probe.resolve((await answer(request([]), stop)) as Reply)
  expect(await first).toMatchObject({ from: 'a' })
  expect(later['a']?.asked).toHaveLength(1)
  expect(await call(['a', 'b'])).toMatchObject({ from: 'a' })
})

test('where all are out it is 503 until the first comes back; the only upstream of a model is called all the same', async () => {
  const busy = fails('status 429', { kind: 'busy', retryAfterMs: 20_000 }, { status: 429 })
  const scripts = members({ a: busy, b: busy })
  const both = call(['a', 'b'])
  await pass(1_100)
  await both
  expect(await call(['a', 'b'])).toMatchObject({ cause: 'all out', refusal: { name: 'upstreamBusy', retryAfterSeconds: 19 } })
  expect([scripts['a']?.asked.length, scripts['b']?.asked.length]).toEqual([1, 1])
  for (let index = 0; index < 20; index++) expect(await call(['a'])).toMatchObject({ cause: 'status 429' })
})

test('an address that swallowed the time to connect is not waited for again, even alone, until a probe came through', async () => {
  const scripts = members({ a: fails('connect timeout', { kind: 'dead' }) })
  expect(await call(['a'])).toMatchObject({ cause: 'connect timeout' })
  for (let index = 0; index < 5; index++)
    expect(await call(['a'])).toMatchObject({ cause: 'connect timeout', refusal: { name: 'upstreamBroken' } })
  expect(scripts['a']?.asked).toHaveLength(1)
  const waiting = scripts['a']
  if (waiting !== undefined) waiting.behave = answer
  await pass(1_100)
  expect(await call(['a'])).toMatchObject({ from: 'a' })
  expect(await call(['a'])).toMatchObject({ from: 'a' })
})

test('who left is not answered elsewhere, and blames nobody', async () => {
  const left = new CallStop()
  const scripts = members(
    {
      a: () => {
        left.stop('leaver')
        return fails('aborted')(request([]), left)
      },
      b: answer,
    },
    { b: { priority: 1 } },
  )
  expect(await call(['a', 'b'], {}, left)).toMatchObject({ cause: 'aborted' })
  expect(scripts['b']?.asked).toEqual([])
  expect(seen.changed).toEqual([])
})

test('an upstream that is silent until the time of its requests is over is left, too', async () => {
  members(
    {
      silent: (_request, by) => {
        ;(by as CallStop).stop('deadline')
        return fails('aborted')(request([]), by)
      },
      b: answer,
    },
    { b: { priority: 1 } },
  )
  for (let index = 0; index < 10; index++) await call(['silent', 'b'], {}, new CallStop())
  expect(seen.changed).toEqual(['silent open'])
  expect(await call(['silent', 'b'])).toMatchObject({ from: 'b' })
})

test('calls that were under way when an upstream failed take it out once, however many fail', async () => {
  members({ a: answer, b: answer }, { b: { priority: 1 } })
  const broken: (() => void)[] = []
  for (let index = 0; index < 50; index++) {
    await call(['a', 'b'])
    if (log.broke !== undefined) broken.push(log.broke)
  }
  nowMs += 100
  for (const broke of broken) broke()
  expect(seen.changed).toEqual(['a open'])
  await pass(1_100)
  expect(await call(['a', 'b'])).toMatchObject({ from: 'a' })
})

test('a full upstream is passed over; where all are full a call waits less than a second, for its turn or in vain', async () => {
  const scripts = members({ a: answer, b: answer }, { a: { maxConcurrent: 1 }, b: { priority: 1, maxConcurrent: 1 } })
  expect(await call(['a', 'b'])).toMatchObject({ from: 'a' })
  expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
  const vain = call(['a', 'b'])
  await pass(1_100)
  expect(await vain).toMatchObject({ cause: 'max concurrent', refusal: { name: 'upstreamBusy', retryAfterSeconds: 1 } })
  const waiting = call(['a', 'b'])
  await pass(100)
  scripts['a']?.leave?.()
  expect(await waiting).toMatchObject({ from: 'a' })
  const leaving = new CallStop()
  const gone = call(['a', 'b'], {}, leaving)
  await pass(100)
  leaving.stop('leaver')
  expect(await gone).toMatchObject({ cause: 'aborted' })
})

test('an answer that breaks off counts against its upstream', async () => {
  members({ a: answer, b: answer }, { b: { priority: 1 } })
  for (let index = 0; index < 5; index++) {
    await call(['a', 'b'])
    log.broke?.()
  }
  expect(seen.changed).toEqual(['a open'])
  expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
})

test('a call that was sent twice, since its first connection was dead, is two calls on record', async () => {
  members({ a: async (asked, by) => ({ ...(await answer(asked, by)), isSecondTry: true }) })
  expect(await call(['a'])).toMatchObject({ from: 'a' })
  expect([log.began.length, log.answered]).toEqual([2, 1])
  expect(log.failed).toMatchObject([{ upstream: 'a', status: null, cause: 'stale', wasSent: true }])
})

test('a conversation stays on its upstream while others come and go', async () => {
  members({ a: answer, b: answer, c: answer })
  const conversation = new Uint8Array(32).fill(9)
  const first = await call(['a', 'b', 'c'], { conversation })
  for (let index = 0; index < 10; index++) {
    await call(['a', 'b', 'c'])
    expect(await call(['a', 'b', 'c'], { conversation })).toEqual(first)
  }
})

const OUT = { by: 'os:alice', reason: 'maintenance', at: 1 }

test('an upstream that an operator took out gets no call, and comes back with what was known', async () => {
  const scripts = members({ a: answer, b: answer }, { b: { priority: 1 } })
  pool.takeOut('a', OUT)
  expect(await call(['a', 'b'])).toMatchObject({ from: 'b' })
  expect(await call(['a'])).toMatchObject({ refusal: { name: 'upstreamBusy' } })
  expect(scripts['a']?.asked).toEqual([])
  expect(pool.reports()[0]).toMatchObject({ name: 'a', out: OUT })
  pool.putBack('a')
  expect(await call(['a', 'b'])).toMatchObject({ from: 'a' })
  expect(pool.reports()[0]).toMatchObject({ out: null })
})

test('an upstream stays out over a reload, and one that was taken out of the configuration and put in again is new', () => {
  members({ a: answer, b: answer })
  pool.takeOut('a', OUT)
  members({ a: answer, b: answer })
  expect(pool.reports().map(({ out }) => out)).toEqual([OUT, null])
  members({ b: answer })
  members({ a: answer, b: answer })
  expect(pool.reports().map(({ out }) => out)).toEqual([null, null])
})

test('what waits for a slot of an upstream that is taken out goes to another, or is told at once', async () => {
  const scripts = members({ a: answer, b: answer }, { a: { maxConcurrent: 1 }, b: { maxConcurrent: 1, priority: 1 } })
  await call(['a', 'b'])
  await call(['a', 'b'])
  const waiting = call(['a', 'b'])
  const alone = call(['a'])
  await pass(100)
  expect(pool.reports().map(({ running, waiting: waits }) => [running, waits])).toEqual([
    [1, 2],
    [1, 0],
  ])
  pool.takeOut('a', OUT)
  scripts['b']?.leave?.()
  scripts['a']?.leave?.()
  expect(await waiting).toMatchObject({ from: 'b' })
  expect(await alone).toMatchObject({ refusal: { name: 'upstreamBusy' } })
  expect([scripts['a']?.asked.length, scripts['b']?.asked.length]).toEqual([1, 2])
  expect(pool.reports()[0]).toMatchObject({ running: 0, waiting: 0 })
})

test('a report says how each model of an upstream does', async () => {
  members({ a: DEAD, b: answer }, { b: { priority: 1 } })
  await call(['a', 'b'])
  const [a, b] = pool.reports()
  expect(a?.models).toMatchObject([{ model: 'vendor-sonnet-1', breaker: 'open', firstEventMs: 0, share: 1 }])
  expect(a?.models[0]?.probeInMs).toBeGreaterThan(0)
  expect(a?.lastFailure).toMatchObject({ cause: 'refused', model: 'vendor-sonnet-1' })
  expect(b?.lastFailure).toBeNull()
  expect(b?.models).toMatchObject([{ breaker: 'closed', probeInMs: null }])
})

test('a conversation that another upstream answered within five minutes has moved; later, without a cache or under another model it has not', async () => {
  members({ a: answer, b: answer })
  const conversation = new Uint8Array(32).fill(9)
  const moved: boolean[] = []
  const ask = async (name: string, more: Partial<PoolRequest> = {}): Promise<void> => {
    const moves: string[] = []
    const moving = { ...callLog, moved: () => void moves.push(name) }
    await pool.call(request([name], more), { stop, take: () => Promise.resolve({ kind: 'taken' as const }), log: moving })
    moved.push(moves.length === 1)
  }
  await ask('a', { conversation })
  await ask('a', { conversation })
  await ask('b', { conversation })
  await ask('a')
  await ask('a', { conversation: new Uint8Array(32) })
  nowMs += 5 * 60_000 - 1
  await ask('a', { conversation })
  nowMs += 5 * 60_000
  await ask('b', { conversation })
  await ask('a', { conversation, model: makeTestModel({ id: 'other', upstreams: [{ name: 'a', model: 'x' }] }) })
  expect(moved).toEqual([false, false, true, false, false, true, false, false])
  expect(seen.placed).toEqual(['new', 'kept', 'moved', 'new', 'moved', 'new', 'new'])
})

test("one customer's requests that fail everywhere take the model from nobody else", async () => {
  const poisoned: Behaviour = (asked, by) => (String(asked.version) === 'poison' ? BROKEN(asked, by) : answer(asked, by))
  const scripts = members({ a: poisoned, b: poisoned }, { b: { priority: 1 } })
  const poison = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const failed = call(['a', 'b'], { version: 'poison', accountId: 'acc_worst' })
      await pass(TICK_MS * 12)
      await failed
    }
  }
  await poison(40)
  expect(seen.changed).toEqual(expect.arrayContaining(['a open', 'b open']))
  const asked = (): number => Object.values(scripts).reduce((sum, script) => sum + script.asked.length, 0)
  const before = asked()
  await poison(5)
  expect(asked() - before).toBeLessThanOrEqual(10)
  for (let index = 0; index < 3; index++) {
    expect(await call(['a', 'b'], { accountId: 'acc_other' })).toMatchObject({ kind: 'taken' })
    await poison(1)
  }
})

test('where all are out by what they answered one is asked, once; the dead and those that named a time are not', async () => {
  const scripts = members({ a: BROKEN, b: BROKEN, dead: DEAD }, { b: { priority: 1 }, dead: { priority: 2 } })
  for (let index = 0; index < 60; index++) {
    const failed = call(['a', 'b', 'dead'])
    await pass(TICK_MS * 12)
    await failed
  }
  const before = Object.values(scripts).map(({ asked }) => asked.length)
  const failed = call(['a', 'b', 'dead'])
  await pass(500)
  expect(await failed).toMatchObject({ refusal: { name: 'upstreamBusy' } })
  const more = Object.values(scripts).map(({ asked }, index) => asked.length - (before[index] ?? 0))
  expect(more.reduce((sum, calls) => sum + calls, 0)).toBe(1)
})

test('whose requests always fail leaves second tries for the others', async () => {
  const flaky: Behaviour = (asked, by) => (String(asked.version) === 'good' ? answer(asked, by) : BROKEN(asked, by))
  members({ a: BROKEN, b: flaky }, { b: { priority: 1 } })
  const worst = Array.from({ length: 6 }, () => call(['a', 'b'], { accountId: 'acc_worst' }))
  await Bun.sleep(0)
  expect(seen.retried).toContain('budget spent')
  const good = call(['a', 'b'], { accountId: 'acc_other', version: 'good' })
  await pass(TICK_MS * 20)
  expect(await good).toMatchObject({ from: 'b' })
  await Promise.all(worst)
})

test('token counts, which are free, put no upstream out and bring none back', async () => {
  const path = '/v1/messages/count_tokens' as const
  members({ a: (asked, by) => (asked.path === path ? BROKEN(asked, by) : answer(asked, by)) })
  for (let index = 0; index < 30; index++) {
    await call(['a'], { path })
    await call(['a'], { path, accountId: `acc_${index}` })
  }
  expect(seen.changed).toEqual([])
  const busy = fails('status 429', { kind: 'busy', retryAfterMs: 20_000 }, { status: 429 })
  members({ a: (asked, by) => (asked.path === path ? busy(asked, by) : answer(asked, by)), b: answer }, { b: { priority: 1 } })
  await call(['a'], { path })
  expect(await call(['a', 'b'])).toMatchObject({ from: 'a' })
})

test('a token count that is answered closes no breaker: that an upstream counts is no proof that it answers', async () => {
  const { a } = members({ a: DEAD })
  await call(['a'])
  expect(seen.changed).toEqual(['a open'])
  if (a !== undefined) a.behave = answer
  for (let count = 0; count < 3; count++) {
    nowMs += 30_000
    expect(await call(['a'], { path: '/v1/messages/count_tokens' })).toMatchObject({ from: 'a' })
  }
  expect(seen.changed).not.toContain('a closed')
  expect(await call(['a'])).toMatchObject({ from: 'a' })
  expect(seen.changed.at(-1)).toBe('a closed')
})

test('an answer in one piece says nothing of how fast an upstream begins', async () => {
  const stream: Behaviour = (asked, by) => ({ ...(answer(asked, by) as Reply), isEventStream: true })
  const scripts = members({ a: stream }, { a: { maxConcurrent: 1_000 } })
  const [a] = pool.members()
  for (let index = 0; index < 300; index++) await call(['a'])
  const script = scripts['a']
  if (script !== undefined)
    script.behave = (asked, by) => {
      nowMs += 60_000
      return answer(asked, by)
    }
  for (let index = 0; index < 10; index++) await call(['a'])
  expect(a?.line('vendor-sonnet-1').pace.share()).toBe(1)
})

test('a call whose answer is under way does not hold what it sent: a stream lives long', async () => {
  const held: unknown[] = []
  const upstream: Upstream = {
    call(_request, _stop, events) {
      held.push(events)
      return Promise.resolve({
        kind: 'reply',
        upstream: 'a',
        isEventStream: false,
        dialect: 'strict',
        body: PushedBody.of(new Uint8Array()),
      })
    },
  }
  pool.configure([{ name: 'a', priority: 0, weight: 1, maxConcurrent: 100, upstream }])
  const answeredLog: CallLog = { ...callLog, answered: (broke) => held.push(broke) }
  const bodies: WeakRef<Uint8Array>[] = []
  for (let n = 0; n < 50; n++) {
    const asked = request(['a'], { body: Buffer.alloc(4096) })
    bodies.push(new WeakRef(asked.body))
    await pool.call(asked, { stop, take: () => Promise.resolve({ kind: 'taken' as const }), log: answeredLog })
  }
  expect(held).toHaveLength(100)
  expect(await stillHeld(bodies)).toBeLessThan(10)
})
