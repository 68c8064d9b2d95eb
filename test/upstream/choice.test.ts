/** A conversation stays where its cache is warm, and no more of them move than must. Rules: pool.md "Choice". */

import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { type Cached, type Candidate, inOrder } from '../../src/upstream/choice.ts'

const candidate = (name: string, more: Partial<Candidate> = {}): Candidate => ({
  name,
  priority: 0,
  weight: 1,
  inFlight: 0,
  firstEventMs: 0,
  isSlow: false,
  isEdited: false,
  ...more,
})
/** `warm`: the upstream that has it in its cache. */
const conversation = (id: number | string, warm?: string): Cached => ({
  conversation: createHash('sha256').update(`conversation ${id}`).digest(),
  warm,
})
const never = (): number => {
  throw new Error('no random number is needed')
}
const firstOf = (candidates: readonly Candidate[], id: number | string): string | undefined =>
  inOrder(candidates, conversation(id), never)[0]?.name

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 8 })

test('an upstream that leaves moves only its own conversations, and gets them back', () => {
  fc.assert(
    fc.property(names, fc.nat(), fc.integer({ min: 1, max: 9 }), (all, id, weight) => {
      const pool = all.map((name, index) => candidate(name, { weight: index === 0 ? weight : 1 }))
      const before = inOrder(pool, conversation(id), never).map(({ name }) => name)
      for (const gone of all) {
        const left = pool.filter(({ name }) => name !== gone)
        expect(inOrder(left, conversation(id), never).map(({ name }) => name)).toEqual(before.filter((name) => name !== gone))
      }
    }),
  )
})

test('conversations are shared by weight', () => {
  const pool = [candidate('north', { weight: 3 }), candidate('south'), candidate('east', { weight: 0.5 })]
  const counts = new Map<string, number>()
  for (let id = 0; id < 9_000; id++) {
    const name = firstOf(pool, id) ?? ''
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  expect(counts.get('north')).toBeWithin(5_700, 6_300)
  expect(counts.get('south')).toBeWithin(1_800, 2_200)
  expect(counts.get('east')).toBeWithin(850, 1_150)
})

test('an upstream whose weight falls loses some of its conversations and no other one moves', () => {
  const healthy = [candidate('north'), candidate('south'), candidate('east')]
  const slow = [candidate('north', { weight: 0.25 }), candidate('south'), candidate('east')]
  let lost = 0
  for (let id = 0; id < 3_000; id++) {
    const before = firstOf(healthy, id)
    const after = firstOf(slow, id)
    if (before === 'north') lost += after === 'north' ? 0 : 1
    else expect(after).toBe(before as string)
  }
  expect(lost).toBeWithin(500, 800)
})

test('a lower priority is never asked before a higher one, whatever was drawn', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }), fc.option(fc.nat()), (priorities, id) => {
      const pool = priorities.map((priority, index) => candidate(`upstream ${index}`, { priority, inFlight: index }))
      const order = inOrder(pool, id === null ? undefined : conversation(id), Math.random).map(({ priority }) => priority)
      expect(order).toEqual(priorities.toSorted((a, b) => a - b))
    }),
  )
})

test('without a cache the lesser loaded of two is asked, for its weight; of equals the one that begins sooner', () => {
  const pool = [candidate('busy', { inFlight: 10 }), candidate('idle', { inFlight: 1 })]
  expect(inOrder(pool, undefined, () => 0.5)[0]?.name).toBe('idle')
  const large = [candidate('large', { inFlight: 10, weight: 20 }), candidate('small', { inFlight: 1 })]
  expect(inOrder(large, undefined, () => 0.5)[0]?.name).toBe('large')
  const paced = [candidate('slow', { firstEventMs: 900 }), candidate('fast', { firstEventMs: 300 })]
  expect(inOrder(paced, undefined, () => 0.5)[0]?.name).toBe('fast')
})

test('load is no reason to leave a warm cache', () => {
  const idle = [candidate('north'), candidate('south')]
  for (let id = 0; id < 100; id++) {
    const own = firstOf(idle, id)
    const busy = idle.map((one) => (one.name === own ? { ...one, inFlight: 5_000, firstEventMs: 9_000 } : one))
    expect(firstOf(busy, id)).toBe(own as string)
  }
})

test('whoever has a conversation in its cache goes on with it, unless it has become slow or is of a worse priority', () => {
  const own = firstOf(
    ['a', 'b', 'c'].map((name) => candidate(name)),
    'one',
  )
  const other = ['a', 'b', 'c'].find((name) => name !== own) ?? ''
  const orderOf = (more: Partial<Candidate>): readonly string[] =>
    inOrder(
      ['a', 'b', 'c'].map((name) => candidate(name, name === other ? more : {})),
      conversation('one', other),
      never,
    ).map(({ name }) => name)
  expect(orderOf({})[0]).toBe(other)
  expect(orderOf({}).toSorted()).toEqual(['a', 'b', 'c'])
  expect(orderOf({})[1]).toBe(own)
  expect(orderOf({ isSlow: true })[0]).toBe(own)
  expect(orderOf({ priority: 1 })[0]).toBe(own)
  expect(orderOf({ priority: 1 })[2]).toBe(other)
})

test('a request with thinking goes to an upstream that gets it as it is, however the lots fall, but stays where it is warm', () => {
  const pool = [
    candidate('edited', { isEdited: true, weight: 99 }),
    candidate('plain', { inFlight: 50 }),
    candidate('last', { priority: 1 }),
  ]
  const thinks = (): boolean => true
  for (let id = 0; id < 50; id++) {
    const order = (cached: Cached | undefined) => inOrder(pool, cached, () => 0.5, thinks).map(({ name }) => name)
    expect(order(conversation(id))).toEqual(['plain', 'edited', 'last'])
    expect(order(undefined)).toEqual(['plain', 'edited', 'last'])
    expect(order(conversation(id, 'edited'))).toEqual(['edited', 'plain', 'last'])
  }
  expect(
    inOrder(
      pool,
      undefined,
      () => 0.5,
      () => false,
    )[0]?.name,
  ).toBe('edited')
  const better = [candidate('edited', { isEdited: true }), candidate('plain', { priority: 1 })]
  expect(inOrder(better, conversation(1), never, thinks)[0]?.name).toBe('edited')
})

test('whether a request has thinking is not looked for where all upstreams are alike', () => {
  for (const isEdited of [true, false])
    expect(inOrder([candidate('a', { isEdited }), candidate('b', { isEdited })], undefined, () => 0.5, never as () => never)).toHaveLength(
      2,
    )
})
