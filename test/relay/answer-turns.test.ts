/** Of an account's large answers one is always read, the others where its share has room, and all of them in the end. Rules: requests.md "Memory of bodies". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { type BodyLease, BodyMemory } from '../../src/relay/body-memory.ts'

const MIB = 1024 * 1024
const POOL = 512 * MIB
const SHARE = 128 * MIB
const memoryOf = (poolBytes = POOL): BodyMemory =>
  new BodyMemory({ poolBytes, limits: () => LIMITS, keyBalanceOf: () => undefined, now: () => 0 })
const leaseOf = (memory: BodyMemory, account = 'a'): BodyLease => memory.lease({ id: `key_${account}`, accountId: account })

/** An answer of so many bytes as it is read: piece by piece, and no further than it may. */
function reading(lease: BodyLease, bytes: number) {
  let read = 0
  let refusal: Refusal | undefined
  const next = (): void => {
    while (read < bytes) {
      read += MIB
      const held = lease.growAnswer(read)
      if (held instanceof Refusal) {
        refusal = held
        return
      }
      if (held === undefined) continue
      held.then(next, () => undefined)
      return
    }
  }
  next()
  return { read: () => read, isWhole: () => read >= bytes, refusal: () => refusal }
}

test('seventeen answers of 30 MB of one account take its share and no more; another account has room', async () => {
  const memory = memoryOf()
  const leases = Array.from({ length: 17 }, () => leaseOf(memory))
  const answers = leases.map((lease) => reading(lease, 30 * MIB))
  expect(answers.filter(({ isWhole }) => isWhole())).toHaveLength(4)
  // Of each that waits what had come when it was told to.
  expect(memory.bytes).toBeLessThanOrEqual(SHARE + 17 * MIB)
  expect(leaseOf(memory, 'b').grow(33 * MIB)).toBeUndefined()
  expect(reading(leaseOf(memory, 'b'), 64 * MIB).isWhole()).toBe(true)
  // Its own next body is refused: what it has not read is its own.
  expect(leaseOf(memory).grow(1_000)?.name).toBe('rateLimited')
  for (let turns = 0; turns < 17; turns++) {
    const at = answers.findIndex(({ isWhole }, index) => isWhole() && leases[index] !== undefined)
    const release = leases[at]?.keepAnswer(30 * MIB)
    leases[at]?.release()
    delete leases[at]
    release?.()
    await Bun.sleep(0)
  }
  expect(answers.map(({ isWhole }) => isWhole())).toEqual(Array(17).fill(true))
})

test('those that were read and that nobody takes keep their place: no other is read beyond the share before one of them is taken', async () => {
  const memory = memoryOf()
  const leases = Array.from({ length: 17 }, () => leaseOf(memory))
  const answers = leases.map((lease) => reading(lease, 30 * MIB))
  const taken: (() => void)[] = []
  const send = async (): Promise<void> => {
    for (const [index, lease] of leases.entries())
      if (answers[index]?.isWhole() === true && taken[index] === undefined) {
        taken[index] = lease.keepAnswer(30 * MIB)
        lease.release()
      }
    await Bun.sleep(0)
  }
  for (let turns = 0; turns < 3; turns++) await send()
  expect(answers.filter(({ isWhole }) => isWhole())).toHaveLength(4)
  let given = 0
  for (let turns = 0; turns < 100; turns++) {
    // One that goes on beyond the share, and of each that waits what had come when it was told to.
    expect(memory.bytes).toBeLessThanOrEqual(SHARE + 30 * MIB + 17 * MIB)
    const next = taken.findIndex((take, index) => index >= given && take !== undefined)
    if (next !== given) break
    taken[given++]?.()
    await Bun.sleep(0)
    await send()
  }
  expect([given, memory.bytes]).toEqual([17, 0])
})

test('one that is larger than the share is read; the pool binds it all the same', () => {
  const memory = memoryOf(160 * MIB)
  expect(reading(leaseOf(memory), 64 * MIB).isWhole()).toBe(true)
  expect(reading(leaseOf(memory, 'b'), 97 * MIB).refusal()?.name).toBe('overloaded')
})

test('one that was taken has its place no more: the next one is the first', async () => {
  const memory = memoryOf()
  const [first, second] = [leaseOf(memory), leaseOf(memory)]
  expect(reading(first, 30 * MIB).isWhole()).toBe(true)
  const taken = first.keepAnswer(30 * MIB)
  first.release()
  const next = reading(second, 200 * MIB)
  expect(next.isWhole()).toBe(false)
  taken()
  await Bun.sleep(0)
  expect(next.isWhole()).toBe(true)
})

test('little answers wait for nothing, and one that is given up lets the next one go on', async () => {
  const memory = memoryOf()
  const [first, second, third] = [leaseOf(memory), leaseOf(memory), leaseOf(memory)]
  const one = reading(first, 200 * MIB)
  const two = reading(second, 30 * MIB)
  expect([one.isWhole(), two.isWhole()]).toEqual([true, false])
  expect(third.growAnswer(256 * 1024)).toBeUndefined()
  first.release()
  await Bun.sleep(0)
  expect(two.isWhole()).toBe(true)
})

test('whatever order answers are read, kept and given back in, all are read in the end and nothing stays counted', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ account: fc.constantFrom('a', 'b'), mib: fc.integer({ min: 1, max: 64 }) }), { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.nat(99)),
      async (sizes, picks) => {
        const memory = memoryOf(4 * POOL)
        const open = sizes.map(({ account, mib }) => {
          const lease = leaseOf(memory, account)
          return { lease, mib, answer: reading(lease, mib * MIB) }
        })
        while (open.length > 0) {
          const whole = open.filter(({ answer }) => answer.isWhole())
          expect(whole.length).toBeGreaterThan(0)
          const one = whole[(picks.next().value ?? 0) % whole.length]
          if (one === undefined) break
          const release = one.lease.keepAnswer(one.mib * MIB)
          one.lease.release()
          release()
          open.splice(open.indexOf(one), 1)
          await Promise.resolve()
          await Bun.sleep(0)
        }
        expect(memory.bytes).toBe(0)
      },
    ),
    { numRuns: 30 },
  )
})
