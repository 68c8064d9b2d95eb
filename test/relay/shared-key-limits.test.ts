/** Nodes that share the limits of a key let in together what one would, at once where they can, and each its part where nobody answers. Rules: keys.md "Limits over nodes". */

import { expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { step } from '../../src/core/rate-limit.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { LimitAsk, LimitGrant, SharedLimits } from '../../src/ledger/shared-limits.ts'
import type { Slot } from '../../src/relay/key-limits.ts'
import { SharedKeyLimits } from '../../src/relay/shared-key-limits.ts'
import { until } from '../support/until.ts'

/** The database, as plain data. */
function makeWorld(perMinute: number, atOnce: number, nodes: number) {
  const clock = { now: 1_000_000 }
  const state = {
    wholeAt: undefined as number | undefined,
    places: new Map<number, number>(),
    asks: 0,
    /** Questions, also those without an answer. */
    asked: 0,
    gift: 0,
    isAway: false,
    isSilent: false,
    /** How long the next answer is on its way. */
    lateMs: 0,
    /** Each answer is on its way for longer than what it grants can be used. */
    isLate: false,
  }
  const take = (node: number, ask: LimitAsk): LimitGrant => {
    state.asks++
    let requests = 0
    for (; requests < ask.requests; requests++) {
      const { tat, isAllowed } = step(state.wholeAt, clock.now, { perMinute, burst: perMinute })
      if (!isAllowed) break
      state.wholeAt = tat
    }
    const others = [...state.places].filter(([other]) => other !== node).reduce((sum, [, places]) => sum + places, 0)
    const places = Math.max(0, Math.min(ask.places, atOnce - others))
    state.places.set(node, places)
    const { retryAfterSeconds } = step(state.wholeAt, clock.now, { perMinute, burst: perMinute })
    return { requests: requests + state.gift, places, waitMs: retryAfterSeconds * 1_000, nodes }
  }
  const answer = (node: number, ask: LimitAsk): Promise<LimitGrant | 'unavailable'> => {
    state.asked++
    if (state.isSilent) return new Promise(() => undefined)
    const said = state.isAway ? 'unavailable' : take(node, ask)
    clock.now += state.isLate ? 1_000 : state.lateMs
    state.lateMs = 0
    return Promise.resolve(said)
  }
  const limits = { ...LIMITS, requestsPerMinute: perMinute, concurrentRequests: atOnce }
  const gates = Array.from({ length: nodes }, (_, node) => {
    const shared: SharedLimits = { take: (ask) => answer(node, ask) }
    return new SharedKeyLimits({ limits: () => limits, now: () => clock.now, shared })
  })
  const gate = (node: number): SharedKeyLimits => {
    const found = gates[node % nodes]
    if (found === undefined) throw new Error(`no node ${node}`)
    return found
  }
  return { clock, state, gate, close: () => gates.map((one) => one.close()) }
}

const isIn = (answer: Slot | Refusal): answer is Slot => !(answer instanceof Refusal)

test('a minute has its requests once, whichever node they come to, and Retry-After is true', async () => {
  const world = makeWorld(30, 1_000, 3)
  const answers: (Slot | Refusal)[] = []
  for (let n = 0; n < 60; n++) answers.push(await world.gate(n).admit('key_1'))
  expect(answers.filter(isIn)).toHaveLength(30)
  const refused = answers.at(-1)
  expect(refused instanceof Refusal && [refused.name, refused.retryAfterSeconds]).toEqual(['rateLimited', 2])
  world.clock.now += 2_000
  expect(isIn(await world.gate(1).admit('key_1'))).toBe(true)
  expect(isIn(await world.gate(2).admit('key_1'))).toBe(false)
  world.close()
})

test('what a node takes and does not use within a second it does not use at all', async () => {
  const world = makeWorld(600, 1_000, 2)
  for (let n = 0; n < 50; n++) await world.gate(0).admit('key_1')
  const [taken, asked] = [world.state.wholeAt ?? 0, world.state.asks]
  expect(taken - world.clock.now).toBeGreaterThan(50 * 100)
  world.clock.now += 1_000
  world.state.isAway = true
  let withoutAsking = 0
  while (world.gate(0).admit('key_1') instanceof Promise === false) withoutAsking++
  expect(withoutAsking).toBe(0)
  expect(world.state.asks).toBe(asked)
  world.close()
})

test('over all nodes no more run at once than may, and each place that is free can be had by another node', async () => {
  const world = makeWorld(100_000, 10, 3)
  const running: Slot[] = []
  for (let n = 0; n < 40; n++) {
    const answer = await world.gate(n).admit('key_1')
    if (isIn(answer)) running.push(answer)
    world.clock.now += 60
  }
  expect(running.length).toBeGreaterThan(6)
  expect(running.length).toBeLessThanOrEqual(10)
  for (const slot of running) {
    slot.release()
    slot.release()
  }
  expect([0, 1, 2].map((node) => world.gate(node).running('key_1'))).toEqual([0, 0, 0])
  await Bun.sleep(1_100)
  const again: Slot[] = []
  for (let n = 0; n < 10; n++) {
    const answer = await world.gate(2).admit('key_1')
    if (isIn(answer)) again.push(answer)
  }
  expect(again).toHaveLength(10)
  world.close()
})

test('steady traffic does not wait: it asks for more before it runs dry', async () => {
  const world = makeWorld(60_000, 1_000, 2)
  for (let n = 0; n < 100; n++) {
    const answer = await world.gate(0).admit('key_1')
    if (isIn(answer)) answer.release()
    world.clock.now += 2
  }
  let waits = 0
  for (let n = 0; n < 300; n++) {
    const answer = world.gate(0).admit('key_1')
    if (answer instanceof Promise) waits++
    const slot = await answer
    if (isIn(slot)) slot.release()
    world.clock.now += 2
  }
  expect(waits).toBeLessThan(15)
  expect(world.state.asks).toBeLessThan(150)
  world.close()
})

test('a few requests take no more of the minute than they are', async () => {
  const world = makeWorld(60, 100, 2)
  for (let n = 0; n < 3; n++) {
    const answer = await world.gate(0).admit('key_1')
    if (isIn(answer)) answer.release()
    world.clock.now += 400
  }
  expect((world.state.wholeAt ?? 0) - world.clock.now).toBeLessThanOrEqual(3_000)
  world.close()
})

test('while nobody answers, each node lets in its part', async () => {
  const world = makeWorld(30, 6, 3)
  await world.gate(0).admit('key_1')
  world.clock.now += 2_000
  world.state.isAway = true
  const slots = []
  for (let n = 0; n < 20; n++) slots.push(await world.gate(0).admit('key_2'))
  expect(slots.filter(isIn)).toHaveLength(2)
  let counted = 0
  for (let n = 0; n < 20; n++) if ((await world.gate(0).count('key_3')) === undefined) counted++
  expect(counted).toBe(10)
  world.close()
})

test('what is granted and expires on its way is asked for again: a slow answer refuses nobody whom the limit lets in', async () => {
  const world = makeWorld(30, 1_000, 2)
  world.state.lateMs = 1_500
  expect(isIn(await world.gate(0).admit('key_1'))).toBe(true)
  expect(world.state.asks).toBe(2)
  world.close()
})

test('where each answer comes so late that what it granted has expired, a node lets in its part, as where nobody answers', async () => {
  const world = makeWorld(600, 4, 2)
  world.state.isLate = true
  const answers: (Slot | Refusal)[] = []
  for (let n = 0; n < 3; n++) answers.push(await world.gate(0).admit('key_1'))
  // Two of the four at once are its part.
  expect(answers.map(isIn)).toEqual([true, true, false])
  world.close()
})

test('who is refused for the rest of a minute asks nobody again before it is over', async () => {
  const world = makeWorld(6, 1_000, 2)
  for (let n = 0; n < 7; n++) await world.gate(0).admit('key_1')
  const { asks } = world.state
  for (let n = 0; n < 50; n++) expect(isIn(await world.gate(0).admit('key_1'))).toBe(false)
  expect(world.state.asks).toBe(asks)
  world.close()
})

test('places that a node gives back it does not use while nobody has said that they are back', async () => {
  const world = makeWorld(100_000, 100, 2)
  world.state.gift = 100
  const slots: Slot[] = []
  for (let n = 0; n < 20; n++) {
    const answer = await world.gate(0).admit('key_1')
    if (isIn(answer)) slots.push(answer)
  }
  expect(slots).toHaveLength(20)
  expect(world.gate(0).admit('key_1')).not.toBeInstanceOf(Promise)
  for (const slot of slots) slot.release()
  world.state.isSilent = true
  await Bun.sleep(1_100)
  let atOnce = 0
  while (!(world.gate(0).admit('key_1') instanceof Promise)) atOnce++
  // An eighth of the limit: what one of two nodes keeps.
  expect(atOnce).toBe(12)
  world.close()
})

test('who asks steadily for a few at once has their places between two requests, and loses none by looking', async () => {
  const world = makeWorld(60_000, 100, 2)
  let waits = 0
  for (let n = 0; n < 150; n++) {
    const answer = world.gate(0).admit('key_1')
    if (answer instanceof Promise && n > 50) waits++
    const slot = await answer
    if (isIn(slot)) slot.release()
    await Bun.sleep(15)
    world.clock.now += 15
  }
  expect(waits).toBe(0)
  world.close()
})

test('where few may run at once, a place that is free is another node’s at once', async () => {
  const world = makeWorld(100_000, 2, 2)
  for (let n = 0; n < 20; n++) {
    const both = [await world.gate(n).admit('key_1'), await world.gate(n).admit('key_1')]
    expect(both.filter(isIn)).toHaveLength(2)
    for (const slot of both) if (isIn(slot)) slot.release()
    await until(() => world.state.places.get(n % 2) === 0, 'the places are returned')
    world.clock.now += 60
  }
  world.close()
})

test('a place whose return is lost is returned when it can be, and is another node’s then', async () => {
  const world = makeWorld(100_000, 1, 2)
  try {
    const slot = await world.gate(0).admit('key_1')
    world.state.isAway = true
    const before = world.state.asked
    if (isIn(slot)) slot.release()
    await until(() => world.state.asked > before, 'the place is given back without an answer')
    world.state.isAway = false
    expect(world.state.places.get(0)).toBe(1)
    await until(() => world.state.places.get(0) === 0, 'the place is returned')
    world.clock.now += 60
    expect(isIn(await world.gate(1).admit('key_1'))).toBe(true)
  } finally {
    world.close()
  }
})

test('while nobody answers, a look asks for one of the keys whose places may still be taken', async () => {
  const world = makeWorld(100_000, 1, 2)
  try {
    const slots = await Promise.all(Array.from({ length: 20 }, (_, n) => world.gate(0).admit(`key_${n}`)))
    world.state.isAway = true
    const before = world.state.asked
    for (const slot of slots) if (isIn(slot)) slot.release()
    await until(() => world.state.asked === before + slots.length, 'each place is given back without an answer')
    const { asked } = world.state
    await until(() => world.state.asked > asked, 'a look asks')
    expect(world.state.asked).toBe(asked + 1)
  } finally {
    world.close()
  }
})
