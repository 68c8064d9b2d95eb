/** Who is next: each owner in turn, however much one of them brings. Rules: requests.md "Heavy bodies"; ledger.md "Reads". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { FairQueue } from '../../src/core/fair-queue.ts'

test('an owner with many things delays another by one', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3']) queue.add('a', item)
  queue.add('b', 'b1')
  queue.add('c', 'c1')
  expect(queue.take()).toBe('a1')
  queue.add('d', 'd1')
  expect(queue.remove('c', 'c1')).toBe(true)
  expect(queue.remove('c', 'c1')).toBe(false)
  expect([queue.take(), queue.take(), queue.take(), queue.take(), queue.take()]).toEqual(['b1', 'a2', 'd1', 'a3', undefined])
})

test('three owners with much take turns, and none of them two before another had one', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'c2']) queue.add(item[0] ?? '', item)
  expect(Array.from({ length: 8 }, () => queue.take())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', undefined])
})

test('nothing is lost or taken twice, an owner’s own stay in order, and nobody is passed over twice while he waits', () => {
  const steps = fc.array(fc.oneof(fc.constant('take'), fc.constantFrom('a', 'b', 'c')), { maxLength: 80 })
  fc.assert(
    fc.property(steps, (done) => {
      const queue = new FairQueue<string>()
      const waiting: string[] = []
      const passed = new Map<string, string[]>()
      done.forEach((step, index) => {
        if (step !== 'take') {
          waiting.push(`${step}${index}`)
          queue.add(step, `${step}${index}`)
          return
        }
        expect(queue.length).toBe(waiting.length)
        expect(queue.lengthOf('a')).toBe(waiting.filter((one) => one.startsWith('a')).length)
        const item = queue.take()
        expect(item === undefined).toBe(waiting.length === 0)
        if (item === undefined) return
        const owner = item[0] ?? ''
        expect(item).toBe(waiting.find((other) => other.startsWith(owner)) ?? '')
        waiting.splice(waiting.indexOf(item), 1)
        passed.delete(owner)
        for (const other of new Set(waiting.map((one) => one[0] ?? ''))) {
          if (other === owner) continue
          const before = passed.get(other) ?? []
          expect(before).not.toContain(owner)
          passed.set(other, [...before, owner])
        }
      })
    }),
  )
})

test('whose turn it was last is not the next one, though it has added more before another came', () => {
  const queue = new FairQueue<string>()
  queue.add('a', 'a1')
  expect(queue.take()).toBe('a1')
  queue.add('a', 'a2')
  queue.add('b', 'b1')
  expect(queue.peek()).toBe('b1')
  expect([queue.take(), queue.take(), queue.take()]).toEqual(['b1', 'a2', undefined])
})
