/** A call finds the upstream that can answer it, and tries no more than it may. Rules: pool.md "Failover", "Breaker", "Retry budget", "Overload". */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { TICK_MS } from '../../src/core/timer-wheel.ts'
import { CallStop } from '../../src/relay/deadline.ts'
import { editedBy } from '../../src/upstream/doors/request-edit.ts'
import type { CallLog, PoolRequest } from '../../src/upstream/pool-request.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import type { Fault, Reply, Upstream } from '../../src/upstream/upstream.ts'
import { makeTestModel } from '../support/world.ts'
import { answer, type Behaviour, BROKEN, busy, DEAD, fails, PoolStage, request, stop } from './pool-stage.ts'

let stage: PoolStage
beforeEach(() => {
  stage = new PoolStage()
})

/** Left behind by calls whose answers are still under way; the engine may find a few on its own stack. */
async function stillHeld(bodies: readonly WeakRef<Uint8Array>[]): Promise<number> {
  await Bun.sleep(1)
  Bun.gc(true)
  return bodies.filter((body) => body.deref() !== undefined).length
}

afterEach(() => expect(stage.pool.members().every(({ turns }) => turns.waiting === 0)).toBe(true))

test('the lowest priority number is asked first, and the next as long as one fails', async () => {
  const scripts = stage.members(
    { last: answer, first: DEAD, second: DEAD },
    { first: { priority: 1 }, second: { priority: 2 }, last: { priority: 3 } },
  )
  expect(await stage.call(['last', 'second', 'first'])).toMatchObject({ from: 'last' })
  expect(stage.log.began.map(({ upstream }) => upstream)).toEqual(['first', 'second', 'last'])
  expect(stage.log.failed.map(({ cause, wasSent }) => [cause, wasSent])).toEqual([
    ['refused', false],
    ['refused', false],
  ])
  expect(stage.log.answered).toBe(1)
  expect(scripts['last']?.asked).toHaveLength(1)
})

test("a client's mistake ends it, and so does the last upstream's fault", async () => {
  stage.members({ a: fails('status 400', undefined, { status: 400 }), b: answer }, { b: { priority: 1 } })
  expect(await stage.call(['a', 'b'])).toMatchObject({ cause: 'status 400' })
  stage.members({ a: BROKEN, b: fails('status 529', { kind: 'busy', retryAfterMs: undefined }, { status: 529 }) }, { b: { priority: 1 } })
  const failed = stage.call(['a', 'b'])
  await stage.pass(1_000)
  expect(await failed).toMatchObject({ cause: 'status 529' })
  expect(stage.seen.called).toEqual(['a status 400', 'a status 500', 'b status 529'])
})

test('an answer that turns out to be none is failed over, too, and a model is asked for by the id that each upstream knows', async () => {
  const scripts = stage.members({ a: answer, other: answer }, { other: { priority: 1 } })
  const refusing = stage.pool.call(request(['a', 'other']), {
    stop,
    log: stage.callLog,
    take: async (reply) =>
      reply.upstream === 'a' ? ((await fails('malformed', { kind: 'broken' })(request([]), stop)) as Fault) : { kind: 'taken' as const },
  })
  await stage.pass(1_000)
  expect(await refusing).toEqual({ kind: 'taken' })
  expect(stage.log.failed).toMatchObject([{ status: 200, cause: 'malformed', wasSent: true }])
  const sentTo = async (name: string): Promise<string> =>
    Buffer.concat(await editedBy({}, scripts[name]?.asked[0] ?? expect.unreachable()).sent).toString()
  expect(await sentTo('a')).toBe('{"model":"vendor-sonnet-1","max_tokens":1}')
  expect(await sentTo('other')).toBe('{"model":"sonnet@other","max_tokens":1}')
  expect(scripts['other']?.asked[0]?.model.upstreamModel).toBe('sonnet@other')
})

test('the pool knows what the upstreams of a model cut out of bodies, each list once', () => {
  const cuts = (...droppedPaths: readonly string[]) => ({ droppedPaths })
  stage.members(
    { a: answer, b: answer, c: answer, d: answer, other: answer },
    { a: cuts('model'), b: cuts('model', 'stream'), c: cuts('model'), other: cuts('tools') },
  )
  expect(stage.pool.droppedPaths(request(['a', 'b', 'c', 'd']).model)).toEqual([['model'], ['model', 'stream']])
  expect(stage.pool.droppedPaths(request(['d']).model)).toEqual([])
})

/** Each of a model of its own: no breaker opens meanwhile. */
async function fail(times: number, name: string, more: Partial<PoolRequest> = {}): Promise<readonly string[]> {
  const results: string[] = []
  for (let index = 0; index < times; index++) {
    const id = `${name} ${stage.nowMs} ${index}`
    const model = makeTestModel({ upstreams: [name, 'b'].map((upstream) => ({ name: upstream, model: id })) })
    const called = stage.call([], { model, ...more })
    await stage.pass(TICK_MS * 4)
    const result = await called
    results.push(result.kind === 'fault' ? `${result.refusal.row.status} ${result.refusal.retryAfterSeconds}` : 'answered')
  }
  return results
}

test('the first twenty failures of an upstream in ten seconds are outside of the budget', async () => {
  stage.members({ a: BROKEN, b: answer, c: BROKEN }, { b: { priority: 1 } })
  expect(await fail(20, 'a')).toEqual(Array(20).fill('answered'))
  const more = await fail(12, 'a')
  expect(more.filter((result) => result === 'answered').length, 'a budget that nothing was taken of yet').toBeWithin(3, 8)
  expect(more).toContain('503 1')
  expect(stage.seen.retried).toContain('budget spent')
  expect(await fail(20, 'c')).toEqual(Array(20).fill('answered'))
  await stage.pass(10_000)
  expect(await fail(20, 'a')).toEqual(Array(20).fill('answered'))
})

test('what was refused before a byte was sent costs nothing of the budget', async () => {
  stage.members({ a: DEAD, b: answer }, { b: { priority: 1 } })
  expect(await fail(60, 'a')).toEqual(Array(60).fill('answered'))
  expect(stage.seen.retried).not.toContain('budget spent')
})

test('a dead upstream is not asked again before its time, then by one probe; a reload forgets nothing', async () => {
  const scripts = stage.members({ a: DEAD, b: answer }, { b: { priority: 1 } })
  for (let index = 0; index < 5; index++) expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'b' })
  expect(scripts['a']?.asked).toHaveLength(1)
  expect(stage.seen.changed).toEqual(['a open'])
  const later = stage.members({ a: answer, b: answer }, { b: { priority: 1 } })
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'b' })
  await stage.pass(1_100)
  const probe = Promise.withResolvers<Reply>()
  const waiting = later['a']
  if (waiting !== undefined) waiting.behave = () => probe.promise
  const first = stage.call(['a', 'b'])
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'b' })
  probe.resolve((await answer(request([]), stop)) as Reply)
  expect(await first).toMatchObject({ from: 'a' })
  expect(later['a']?.asked).toHaveLength(1)
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'a' })
})

test('where all are dead it is 503 until the first comes back; the only upstream of a model is called all the same', async () => {
  const scripts = stage.members({ a: DEAD, b: DEAD })
  await stage.call(['a', 'b'])
  expect(await stage.call(['a', 'b'])).toMatchObject({ cause: 'all out', refusal: { name: 'upstreamBusy', retryAfterSeconds: 1 } })
  expect([scripts['a']?.asked.length, scripts['b']?.asked.length]).toEqual([1, 1])
  stage.members({ a: busy(20_000) })
  for (let index = 0; index < 20; index++) expect(await stage.call(['a'])).toMatchObject({ cause: 'status 429' })
})

test('an address that swallowed the time to connect is not waited for again, even alone, until a probe came through', async () => {
  const scripts = stage.members({ a: fails('connect timeout', { kind: 'dead' }) })
  expect(await stage.call(['a'])).toMatchObject({ cause: 'connect timeout' })
  for (let index = 0; index < 5; index++)
    expect(await stage.call(['a'])).toMatchObject({ cause: 'connect timeout', refusal: { name: 'upstreamBroken' } })
  expect(scripts['a']?.asked).toHaveLength(1)
  const waiting = scripts['a']
  if (waiting !== undefined) waiting.behave = answer
  await stage.pass(1_100)
  expect(await stage.call(['a'])).toMatchObject({ from: 'a' })
  expect(await stage.call(['a'])).toMatchObject({ from: 'a' })
})

test('a call whose client left says nothing of an address that swallows the time to connect', async () => {
  const left = new CallStop()
  const waiting = Promise.withResolvers<ReturnType<Behaviour>>()
  const scripts = stage.members({ a: async () => await waiting.promise })
  const leaver = stage.call(['a'], {}, left)
  const script = scripts['a']
  if (script !== undefined) script.behave = fails('connect timeout', { kind: 'dead' })
  expect(await stage.call(['a'])).toMatchObject({ cause: 'connect timeout' })
  left.stop('leaver')
  waiting.resolve(fails('aborted')(request([]), left))
  expect(await leaver).toMatchObject({ cause: 'aborted' })
  expect(await stage.call(['a'])).toMatchObject({ cause: 'connect timeout' })
  expect(script?.asked, 'nobody waits for it again').toHaveLength(2)
})

test('between two tries of many no more than a second passes', async () => {
  const names = Array.from({ length: 8 }, (_, at) => `u${at}`)
  const behaviours = Object.fromEntries(names.map((name) => [name, name === 'u7' ? answer : BROKEN]))
  stage.members(behaviours, Object.fromEntries(names.map((name, priority) => [name, { priority }])))
  let from: object | undefined
  stage.call(names).then((made) => (from = made), expect.unreachable)
  // Half of 50, 100, 200, 400, 800, 1,000 and 1,000 ms, each to the next turn of the wheel.
  await stage.pass(1_700)
  expect(from).toBeUndefined()
  await stage.pass(900)
  expect(from).toMatchObject({ from: 'u7' })
})

test('who left is not answered elsewhere, and blames nobody', async () => {
  const left = new CallStop()
  const scripts = stage.members(
    {
      a: () => {
        left.stop('leaver')
        return fails('aborted')(request([]), left)
      },
      b: answer,
    },
    { b: { priority: 1 } },
  )
  expect(await stage.call(['a', 'b'], {}, left)).toMatchObject({ cause: 'aborted' })
  expect(scripts['b']?.asked).toEqual([])
  expect(stage.seen.changed).toEqual([])
})

test('a request whose client has gone while the first upstream was asked is not paid for at a second one', async () => {
  let isWanted = true
  const scripts = stage.members({ a: BROKEN, b: answer }, { b: { priority: 1 } })
  const ask = async () => {
    const called = stage.call(['a', 'b'], {}, new CallStop(), { isWanted: () => isWanted })
    await stage.pass(200)
    return await called
  }
  expect(await ask()).toMatchObject({ from: 'b' })
  isWanted = false
  expect(await ask()).toMatchObject({ upstream: 'a' })
  expect(Object.values(scripts).map(({ asked }) => asked.length)).toEqual([2, 1])
})

test('an upstream that is silent until the time of its requests is over is left, too', async () => {
  stage.members(
    {
      silent: (_request, by) => {
        ;(by as CallStop).stop('deadline')
        return fails('aborted')(request([]), by)
      },
      b: answer,
    },
    { b: { priority: 1 } },
  )
  for (let index = 0; index < 10; index++) await stage.call(['silent', 'b'], {}, new CallStop())
  expect(stage.seen.changed).toEqual(['silent open'])
  expect(await stage.call(['silent', 'b'])).toMatchObject({ from: 'b' })
})

test('calls that were under way when an upstream failed take it out once, however many fail', async () => {
  stage.members({ a: answer, b: answer }, { b: { priority: 1 } })
  const broken: (() => void)[] = []
  for (let index = 0; index < 50; index++) {
    await stage.call(['a', 'b'])
    if (stage.log.broke !== undefined) broken.push(stage.log.broke)
  }
  stage.nowMs += 100
  for (const broke of broken) broke()
  expect(stage.seen.changed).toEqual(['a open'])
  await stage.pass(1_100)
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'a' })
})

test('a full upstream is passed over; where all are full a call waits less than a second, for its turn or in vain', async () => {
  const scripts = stage.members({ a: answer, b: answer }, { a: { maxConcurrent: 1 }, b: { priority: 1, maxConcurrent: 1 } })
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'a' })
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'b' })
  const vain = stage.call(['a', 'b'])
  await stage.pass(1_100)
  expect(await vain).toMatchObject({ cause: 'max concurrent', refusal: { name: 'upstreamBusy', retryAfterSeconds: 1 } })
  const waiting = stage.call(['a', 'b'])
  await stage.pass(100)
  scripts['a']?.leave?.()
  expect(await waiting).toMatchObject({ from: 'a' })
  const leaving = new CallStop()
  const gone = stage.call(['a', 'b'], {}, leaving)
  await stage.pass(100)
  leaving.stop('leaver')
  expect(await gone).toMatchObject({ cause: 'aborted' })
})

test('an answer that breaks off counts against its upstream', async () => {
  stage.members({ a: answer, b: answer }, { b: { priority: 1 } })
  for (let index = 0; index < 5; index++) {
    await stage.call(['a', 'b'])
    stage.log.broke?.()
  }
  expect(stage.seen.changed).toEqual(['a open'])
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'b' })
})

test('a call that was sent twice, since its first connection was dead, is two calls on record', async () => {
  stage.members({ a: async (asked, by) => ({ ...(await answer(asked, by)), isSecondTry: true }) })
  expect(await stage.call(['a'])).toMatchObject({ from: 'a' })
  expect([stage.log.began.length, stage.log.answered]).toEqual([2, 1])
  expect(stage.log.failed).toMatchObject([{ upstream: 'a', status: null, cause: 'stale', wasSent: true }])
})

test('a conversation stays on its upstream while others come and go', async () => {
  stage.members({ a: answer, b: answer, c: answer })
  const conversation = new Uint8Array(32).fill(9)
  const first = await stage.call(['a', 'b', 'c'], { conversation })
  for (let index = 0; index < 10; index++) {
    await stage.call(['a', 'b', 'c'])
    expect(await stage.call(['a', 'b', 'c'], { conversation })).toEqual(first)
  }
})

const OUT = { by: 'os:alice', reason: 'maintenance', at: 1 }

test('an upstream that an operator took out gets no call, and comes back with what was known', async () => {
  const scripts = stage.members({ a: answer, b: answer }, { b: { priority: 1 } })
  stage.pool.takeOut('a', OUT)
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'b' })
  expect(await stage.call(['a'])).toMatchObject({ refusal: { name: 'upstreamBusy' } })
  expect(scripts['a']?.asked).toEqual([])
  expect(stage.pool.reports()[0]).toMatchObject({ name: 'a', out: OUT })
  stage.pool.putBack('a')
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'a' })
  expect(stage.pool.reports()[0]).toMatchObject({ out: null })
})

test('an upstream stays out over a reload, and one that was taken out of the configuration and put in again is new', () => {
  stage.members({ a: answer, b: answer })
  stage.pool.takeOut('a', OUT)
  stage.members({ a: answer, b: answer })
  expect(stage.pool.reports().map(({ out }) => out)).toEqual([OUT, null])
  stage.members({ b: answer })
  stage.members({ a: answer, b: answer })
  expect(stage.pool.reports().map(({ out }) => out)).toEqual([null, null])
})

test('what waits for a slot of an upstream that is taken out goes to another, or is told at once', async () => {
  const scripts = stage.members({ a: answer, b: answer }, { a: { maxConcurrent: 1 }, b: { maxConcurrent: 1, priority: 1 } })
  await stage.call(['a', 'b'])
  await stage.call(['a', 'b'])
  const waiting = stage.call(['a', 'b'])
  const alone = stage.call(['a'])
  await stage.pass(100)
  expect(stage.pool.reports().map(({ running, waiting: waits }) => [running, waits])).toEqual([
    [1, 2],
    [1, 0],
  ])
  stage.pool.takeOut('a', OUT)
  scripts['b']?.leave?.()
  scripts['a']?.leave?.()
  expect(await waiting).toMatchObject({ from: 'b' })
  expect(await alone).toMatchObject({ refusal: { name: 'upstreamBusy' } })
  expect([scripts['a']?.asked.length, scripts['b']?.asked.length]).toEqual([1, 2])
  expect(stage.pool.reports()[0]).toMatchObject({ running: 0, waiting: 0 })
})

test('a report says how each model of an upstream does', async () => {
  stage.members({ a: DEAD, b: answer }, { b: { priority: 1 } })
  await stage.call(['a', 'b'])
  const [a, b] = stage.pool.reports()
  expect(a?.models).toMatchObject([{ model: 'vendor-sonnet-1', breaker: 'open', firstEventMs: 0, share: 1 }])
  expect(a?.models[0]?.probeInMs).toBeGreaterThan(0)
  expect(a?.lastFailure).toMatchObject({ cause: 'refused', model: 'vendor-sonnet-1' })
  expect(b?.lastFailure).toBeNull()
  expect(b?.models).toMatchObject([{ breaker: 'closed', probeInMs: null }])
})

test('a conversation that another upstream answered within five minutes has moved; later, without a cache or under another model it has not', async () => {
  stage.members({ a: answer, b: answer })
  const conversation = new Uint8Array(32).fill(9)
  const moved: boolean[] = []
  const ask = async (name: string, more: Partial<PoolRequest> = {}): Promise<void> => {
    const moves: string[] = []
    const moving = { ...stage.callLog, moved: () => void moves.push(name) }
    await stage.pool.call(request([name], more), { stop, take: () => Promise.resolve({ kind: 'taken' as const }), log: moving })
    moved.push(moves.length === 1)
  }
  await ask('a', { conversation })
  await ask('a', { conversation })
  await ask('b', { conversation })
  await ask('a')
  await ask('a', { conversation: new Uint8Array(32) })
  stage.nowMs += 5 * 60_000 - 1
  await ask('a', { conversation })
  stage.nowMs += 5 * 60_000
  await ask('b', { conversation })
  await ask('a', { conversation, model: makeTestModel({ id: 'other', upstreams: [{ name: 'a', model: 'x' }] }) })
  expect(moved).toEqual([false, false, true, false, false, true, false, false])
  expect(stage.seen.placed).toEqual(['new', 'kept', 'moved', 'new', 'moved', 'new', 'new'])
})

test("one customer's requests that fail everywhere take the model from nobody else", async () => {
  const poisoned: Behaviour = (asked, by) => (String(asked.version) === 'poison' ? BROKEN(asked, by) : answer(asked, by))
  const scripts = stage.members({ a: poisoned, b: poisoned }, { b: { priority: 1 } })
  const poison = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const failed = stage.call(['a', 'b'], { version: 'poison', accountId: 'acc_worst' })
      await stage.pass(TICK_MS * 12)
      await failed
    }
  }
  await poison(40)
  expect(stage.seen.changed).toEqual(expect.arrayContaining(['a open', 'b open']))
  const asked = (): number => Object.values(scripts).reduce((sum, script) => sum + script.asked.length, 0)
  const before = asked()
  await poison(5)
  expect(asked() - before).toBeLessThanOrEqual(10)
  for (let index = 0; index < 3; index++) {
    expect(await stage.call(['a', 'b'], { accountId: 'acc_other' })).toMatchObject({ kind: 'taken' })
    await poison(1)
  }
})

test('where all are out by what they answered one is asked, once; the dead are not', async () => {
  const scripts = stage.members({ a: BROKEN, b: BROKEN, dead: DEAD }, { b: { priority: 1 }, dead: { priority: 2 } })
  for (let index = 0; index < 60; index++) {
    const failed = stage.call(['a', 'b', 'dead'])
    await stage.pass(TICK_MS * 12)
    await failed
  }
  const before = Object.values(scripts).map(({ asked }) => asked.length)
  const failed = stage.call(['a', 'b', 'dead'])
  await stage.pass(500)
  expect(await failed).toMatchObject({ refusal: { name: 'upstreamBusy' } })
  const more = Object.values(scripts).map(({ asked }, index) => asked.length - (before[index] ?? 0))
  expect(more.reduce((sum, calls) => sum + calls, 0)).toBe(1)
})

test('whose requests always fail leaves second tries for the others', async () => {
  const flaky: Behaviour = (asked, by) => (String(asked.version) === 'good' ? answer(asked, by) : BROKEN(asked, by))
  stage.members({ a: BROKEN, b: flaky }, { b: { priority: 1 } })
  await fail(26, 'a', { accountId: 'acc_worst' })
  expect(stage.seen.retried).toContain('budget spent')
  expect(await fail(1, 'a', { accountId: 'acc_other', version: 'good' })).toEqual(['answered'])
})

test('token counts, which are free, put no upstream out and bring none back', async () => {
  const path = '/v1/messages/count_tokens' as const
  stage.members({ a: (asked, by) => (asked.path === path ? BROKEN(asked, by) : answer(asked, by)) })
  for (let index = 0; index < 30; index++) {
    await stage.call(['a'], { path })
    await stage.call(['a'], { path, accountId: `acc_${index}` })
  }
  expect(stage.seen.changed).toEqual([])
  stage.members(
    { a: (asked, by) => (asked.path === path ? busy(20_000)(asked, by) : answer(asked, by)), b: answer },
    { b: { priority: 1 } },
  )
  await stage.call(['a'], { path })
  expect(await stage.call(['a', 'b'])).toMatchObject({ from: 'a' })
})

test('a token count that is answered closes no breaker: that an upstream counts is no proof that it answers', async () => {
  const { a } = stage.members({ a: DEAD })
  await stage.call(['a'])
  expect(stage.seen.changed).toEqual(['a open'])
  if (a !== undefined) a.behave = answer
  for (let count = 0; count < 3; count++) {
    stage.nowMs += 30_000
    expect(await stage.call(['a'], { path: '/v1/messages/count_tokens' })).toMatchObject({ from: 'a' })
  }
  expect(stage.seen.changed).not.toContain('a closed')
  expect(await stage.call(['a'])).toMatchObject({ from: 'a' })
  expect(stage.seen.changed.at(-1)).toBe('a closed')
})

test('an answer in one piece says nothing of how fast an upstream begins', async () => {
  const stream: Behaviour = (asked, by) => ({ ...(answer(asked, by) as Reply), isEventStream: true })
  const scripts = stage.members({ a: stream }, { a: { maxConcurrent: 1_000 } })
  const [a] = stage.pool.members()
  for (let index = 0; index < 300; index++) await stage.call(['a'])
  const script = scripts['a']
  if (script !== undefined)
    script.behave = (asked, by) => {
      stage.nowMs += 60_000
      return answer(asked, by)
    }
  for (let index = 0; index < 10; index++) await stage.call(['a'])
  expect(a?.model('vendor-sonnet-1').pace.share()).toBe(1)
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
  stage.pool.configure([{ name: 'a', priority: 0, weight: 1, maxConcurrent: 100, upstream }])
  const answeredLog: CallLog = { ...stage.callLog, answered: (broke) => held.push(broke) }
  const bodies: WeakRef<Uint8Array>[] = []
  for (let n = 0; n < 50; n++) {
    const asked = request(['a'], { body: Buffer.alloc(4096) })
    bodies.push(new WeakRef(asked.body))
    await stage.pool.call(asked, { stop, take: () => Promise.resolve({ kind: 'taken' as const }), log: answeredLog })
  }
  expect(held).toHaveLength(100)
  expect(await stillHeld(bodies)).toBeLessThan(10)
})

describe('a conversation whose signed thinking another upstream refuses', () => {
  const conversation = new Uint8Array(32).fill(9)
  const thinking = Buffer.from('{"model":"vendor-sonnet-1","messages":[{"type":"thinking","signature":"x"}]}')
  const refused = fails('status 400', undefined, { refusal: new Refusal('upstreamInvalidRequest'), status: 400 })
  const ORDER = { a: { priority: 0 }, b: { priority: 1 }, c: { priority: 2 } }

  /** Second tries wait a little. */
  async function inTime<T>(called: Promise<T>): Promise<T> {
    await stage.pass(2_000)
    return called
  }

  /** `a` answers the first turn and is broken in the second, in which `b` refuses. */
  async function secondTurn(names: readonly string[], more: Partial<PoolRequest>) {
    const scripts = stage.members({ a: answer, b: refused, c: answer }, ORDER)
    await stage.call(names, { conversation, ...more })
    if (scripts['a'] !== undefined) scripts['a'].behave = BROKEN
    return inTime(stage.call(names, { conversation, ...more }))
  }

  test('goes on to the next, and no breaker hears of it', async () => {
    expect(await secondTurn(['a', 'b', 'c'], { body: thinking })).toMatchObject({ kind: 'taken', from: 'c' })
    expect(stage.seen.changed).toEqual([])
    expect(stage.thinkingLost).toBe(1)
  })

  test('gets the 400 of the last one', async () => {
    expect(await secondTurn(['a', 'b'], { body: thinking })).toMatchObject({ kind: 'fault', cause: 'status 400', status: 400 })
  })

  test('gets the 400 where the one that is left takes no calls', async () => {
    const scripts = stage.members({ a: answer, b: refused, c: answer }, ORDER)
    stage.pool.takeOut('c', { by: 'me', reason: 'test', at: 0 })
    await stage.call(['a', 'b', 'c'], { conversation, body: thinking })
    if (scripts['a'] !== undefined) scripts['a'].behave = BROKEN
    expect(await inTime(stage.call(['a', 'b', 'c'], { conversation, body: thinking }))).toMatchObject({
      kind: 'fault',
      cause: 'status 400',
    })
  })

  test('without thinking, or of no upstream before, a 400 is the client’s', async () => {
    expect(await secondTurn(['a', 'b', 'c'], {})).toMatchObject({ kind: 'fault', cause: 'status 400' })
    stage = new PoolStage()
    stage.members({ b: refused, c: answer }, ORDER)
    expect(await stage.call(['b', 'c'], { conversation, body: thinking })).toMatchObject({ kind: 'fault', cause: 'status 400' })
    expect(stage.thinkingLost).toBe(0)
  })

  test('from the upstream that answered it before, a 400 is the client’s', async () => {
    const scripts = stage.members({ a: answer, b: answer }, ORDER)
    await stage.call(['a', 'b'], { conversation, body: thinking })
    if (scripts['a'] !== undefined) scripts['a'].behave = refused
    expect(await inTime(stage.call(['a', 'b'], { conversation, body: thinking }))).toMatchObject({ kind: 'fault', cause: 'status 400' })
    expect(scripts['b']?.asked).toEqual([])
  })
})

test.each([
  ['asks for thinking', '"thinking":{"type":"adaptive"}', true],
  [
    'holds thinking',
    '"thinking": {"type": "disabled"},"messages":[{"role":"assistant","content":[{"type":"thinking","signature":"x"}]}]',
    true,
  ],
  ['holds thinking that may not be read', '"messages":[{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}]', true],
  ['turns thinking off', '"thinking" : {"type" : "disabled"}', false],
  ['speaks of thinking', String.raw`"system":"say \"thinking\""`, false],
])('among upstreams of one priority a request that %s finds its own', async (_, members, isFirst) => {
  stage.members({ edited: answer, plain: answer }, { edited: { isEdited: true, weight: 1_000 }, plain: { weight: 0.001 } })
  const body = Buffer.from(`{"model":"vendor-sonnet-1",${members}}`)
  const from = isFirst ? 'plain' : 'edited'
  for (let turn = 0; turn < 2; turn++)
    expect(await stage.call(['edited', 'plain'], { body, conversation: new Uint8Array(32).fill(3) })).toMatchObject({ from })
  stage = new PoolStage()
  // A slot that is taken is no reason to wait.
  stage.members({ edited: answer, plain: answer }, { edited: { isEdited: true }, plain: { maxConcurrent: 0 } })
  expect(await stage.call(['edited', 'plain'], { body })).toMatchObject({ from: 'edited' })
})
