/** What one customer's requests bring about takes a model from nobody else. Rules: pool.md "Busy". */

import { beforeEach, expect, test } from 'bun:test'
import { CallStop } from '../../src/relay/deadline.ts'
import type { Reply } from '../../src/upstream/upstream.ts'
import { answer, type Behaviour, BROKEN, busy, DEAD, PoolStage, type Script, stop } from './pool-stage.ts'

let stage: PoolStage
beforeEach(() => {
  stage = new PoolStage()
})

/** Refuses the accounts of `version: 'busy'`, answers all others. */
const choosy =
  (retryAfterMs?: number): Behaviour =>
  (asked, by) =>
    (String(asked.version) === 'busy' ? busy(retryAfterMs) : answer)(asked, by)

const asked = (scripts: Record<string, Script>): readonly number[] => Object.values(scripts).map(({ asked: calls }) => calls.length)

async function refused(accountId: string, names: readonly string[]): Promise<object> {
  const called = stage.call(names, { accountId, version: 'busy' })
  await stage.pass(200)
  return await called
}
const polite = (accountId: string, names: readonly string[]) => stage.call(names, { accountId })

test('a 429 puts an upstream out for the account that met it, as long as it says, and for nobody else', async () => {
  const scripts = stage.members({ a: choosy(120_000), b: answer }, { b: { priority: 1 } })
  expect(await refused('acc_worst', ['a', 'b'])).toMatchObject({ from: 'b' })
  expect(await polite('acc_worst', ['a', 'b'])).toMatchObject({ from: 'b' })
  expect(await polite('acc_other', ['a', 'b'])).toMatchObject({ from: 'a' })
  await stage.pass(119_000)
  expect(await polite('acc_worst', ['a', 'b'])).toMatchObject({ from: 'b' })
  await stage.pass(1_000)
  expect(await polite('acc_worst', ['a', 'b'])).toMatchObject({ from: 'a' })
  expect([asked(scripts), stage.seen.changed]).toEqual([[3, 3], []])
})

test('without a time it is fifteen seconds, and no more than five minutes with one', async () => {
  for (const [named, outMs] of [
    [undefined, 15_000],
    [86_400_000, 300_000],
    [7_000, 7_000],
  ] as const) {
    stage = new PoolStage()
    stage.members({ a: choosy(named), b: answer }, { b: { priority: 1 } })
    await refused('acc_1', ['a', 'b'])
    await stage.pass(outMs - 400)
    expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ from: 'b' })
    await stage.pass(400)
    expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ from: 'a' })
  }
})

test('an upstream that asks nobody to wait is out for nobody, however many accounts it refuses', async () => {
  const scripts = stage.members({ a: choosy(0), b: answer }, { b: { priority: 1 } })
  for (let account = 0; account < 4; account++) expect(await refused(`acc_${account}`, ['a', 'b'])).toMatchObject({ from: 'b' })
  const [before = 0] = asked(scripts)
  await Promise.all(['acc_0', 'acc_5', 'acc_6'].map((accountId) => polite(accountId, ['a', 'b'])))
  expect([asked(scripts)[0], stage.seen.changed]).toEqual([before + 3, []])
})

test('two accounts of one attacker take a model from nobody, whatever they do', async () => {
  stage.members({ a: choosy(120_000), b: choosy(120_000) }, { a: { maxConcurrent: 1_000 }, b: { maxConcurrent: 1_000 } })
  for (let round = 0; round < 30; round++) {
    expect(await polite('acc_neighbour', ['a', 'b'])).toMatchObject({ kind: 'taken' })
    for (const accountId of ['acc_worst', 'acc_second']) await refused(accountId, ['a', 'b'])
    const many = await Promise.all([1, 2, 3, 4, 5].map(() => polite('acc_neighbour', ['a', 'b'])))
    expect(many.map(({ kind }) => kind)).toEqual(Array(5).fill('taken'))
  }
  expect(stage.seen.changed).not.toContain('a open')
})

test('three accounts that met it within ten seconds, or all that called, take it out for everyone; one account often, or later, does not', async () => {
  const outAfter = async (accounts: readonly string[], gapMs: number, before: readonly string[] = []): Promise<boolean> => {
    stage = new PoolStage()
    stage.members({ a: choosy(60_000), b: answer }, { b: { priority: 1 } })
    for (const accountId of before) await polite(accountId, ['a', 'b'])
    for (const accountId of accounts) {
      await refused(accountId, ['a', 'b'])
      await stage.pass(gapMs)
    }
    return stage.seen.changed.includes('a open')
  }
  expect(await outAfter(['1', '2', '3'], 1_000, ['4', '5', '6'])).toBe(true)
  expect(await outAfter(['1', '2', '3'], 11_000, ['4', '5', '6'])).toBe(false)
  expect(await outAfter(['1', '2'], 1_000)).toBe(true)
  expect(await outAfter(['1', '2'], 11_000)).toBe(false)
  expect(await outAfter(['1', '2'], 1_000, ['3'])).toBe(false)
  expect(await outAfter(['1', '1', '1', '1'], 1_000)).toBe(false)
})

test('who is out for everyone comes back with the first answer to a call that began after the first refusal', async () => {
  const slow = Promise.withResolvers<Reply>()
  stage.members({ a: choosy(60_000), b: answer }, { b: { priority: 1 } })
  for (const accountId of ['1', '2']) await refused(accountId, ['a', 'b'])
  expect(stage.seen.changed).toEqual(['a open'])
  expect(await polite('acc_new', ['a', 'b'])).toMatchObject({ from: 'b' })
  stage = new PoolStage()
  const again = stage.members({ a: choosy(60_000), b: answer }, { b: { priority: 1 } })
  if (again['a'] !== undefined)
    again['a'].behave = (request, by) => (String(request.version) === 'slow' ? slow.promise : choosy(60_000)(request, by))
  await refused('1', ['a', 'b'])
  const waiting = stage.call(['a', 'b'], { accountId: 'acc_slow', version: 'slow' })
  await refused('2', ['a', 'b'])
  await refused('3', ['a', 'b'])
  expect(stage.seen.changed).toEqual(['a open'])
  slow.resolve((await answer(again['a']?.asked[0] as never, stop)) as Reply)
  expect(await waiting).toMatchObject({ from: 'a' })
  expect(stage.seen.changed).toEqual(['a open', 'a closed'])
})

test('an answer to a call that began before the refusal changes nothing for its account', async () => {
  const slow = Promise.withResolvers<Reply>()
  const scripts = stage.members(
    { a: (request, by) => (String(request.version) === 'slow' ? slow.promise : choosy(60_000)(request, by)), b: answer },
    { b: { priority: 1 } },
  )
  const waiting = stage.call(['a', 'b'], { version: 'slow' })
  await refused('acc_1', ['a', 'b'])
  slow.resolve((await answer(scripts['a']?.asked[0] as never, stop)) as Reply)
  expect(await waiting).toMatchObject({ from: 'a' })
  expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ from: 'b' })
})

test('where all are out for an account one call at a time tries, and the others are told at once; its answer brings the upstream back', async () => {
  const trial = Promise.withResolvers<Reply>()
  const scripts = stage.members({ a: choosy(120_000), b: choosy(120_000) }, { b: { priority: 1 } })
  await refused('acc_1', ['a', 'b'])
  for (const script of Object.values(scripts)) script.behave = () => trial.promise
  const first = polite('acc_1', ['a', 'b'])
  const second = polite('acc_1', ['a', 'b'])
  await stage.pass(100)
  expect(asked(scripts), 'one of each').toEqual([2, 2])
  expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ cause: 'all out', refusal: { name: 'upstreamBusy' } })
  trial.resolve((await answer(scripts['a']?.asked[0] as never, stop)) as Reply)
  expect([await first, await second]).toMatchObject([{ from: 'a' }, { from: 'b' }])
  const many = await Promise.all([1, 2, 3].map(() => polite('acc_1', ['a', 'b'])))
  expect(many.map(({ kind }) => kind)).toEqual(Array(3).fill('taken'))
})

test('a trial that says nothing for five seconds, or whose client left, keeps nobody else from trying', async () => {
  const scripts = stage.members({ a: choosy(120_000), b: DEAD }, { b: { priority: 1 } })
  await refused('acc_1', ['a', 'b'])
  const a = scripts['a']
  const never = Promise.withResolvers<Reply>()
  if (a !== undefined) a.behave = () => never.promise
  const silent = polite('acc_1', ['a', 'b'])
  expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ cause: 'all out' })
  await stage.pass(4_900)
  expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ cause: 'all out' })
  await stage.pass(200)
  if (a !== undefined) a.behave = choosy(120_000)
  const left = new CallStop()
  left.stop('leaver')
  await stage.call(['a', 'b'], { version: 'busy' }, left)
  expect(await polite('acc_1', ['a', 'b'])).toMatchObject({ from: 'a' })
  never.resolve((await answer(a?.asked[0] as never, stop)) as Reply)
  await silent
})

test('what a probe meets as busy closes no breaker and opens none for longer', async () => {
  const scripts = stage.members({ a: BROKEN, b: answer }, { b: { priority: 1 } })
  for (let call = 0; call < 10; call++) {
    const called = polite('acc_1', ['a', 'b'])
    await stage.pass(200)
    await called
  }
  expect(stage.seen.changed).toEqual(['a open'])
  await stage.pass(1_100)
  const a = scripts['a']
  if (a !== undefined) a.behave = choosy(60_000)
  await refused('acc_worst', ['a', 'b'])
  expect(stage.seen.changed).toEqual(['a open'])
  expect(await polite('acc_other', ['a', 'b'])).toMatchObject({ from: 'a' })
  expect(stage.seen.changed).toEqual(['a open', 'a closed'])
})
