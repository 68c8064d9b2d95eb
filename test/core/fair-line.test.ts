/** Who is next: each owner in turn, however much one of them brings. Rules: requests.md "Heavy bodies"; ledger.md "Reads". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { FairLine } from '../../src/core/fair-line.ts'

test('an owner with many things delays another by one', () => {
  const line = new FairLine<string>()
  for (const item of ['a1', 'a2', 'a3']) line.add('a', item)
  line.add('b', 'b1')
  line.add('c', 'c1')
  expect(line.take()).toBe('a1')
  line.add('d', 'd1')
  expect(line.remove('c', 'c1')).toBe(true)
  expect(line.remove('c', 'c1')).toBe(false)
  expect([line.take(), line.take(), line.take(), line.take(), line.take()]).toEqual(['b1', 'a2', 'd1', 'a3', undefined])
})

test('three owners with much take turns, and none of them two before another had one', () => {
  const line = new FairLine<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'c2']) line.add(item[0] ?? '', item)
  expect(Array.from({ length: 8 }, () => line.take())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', undefined])
})

test('nothing is lost or taken twice, an owner’s own stay in order, and nobody is passed over twice while he waits', () => {
  const steps = fc.array(fc.oneof(fc.constant('take'), fc.constantFrom('a', 'b', 'c')), { maxLength: 80 })
  fc.assert(
    fc.property(steps, (done) => {
      const line = new FairLine<string>()
      const waiting: string[] = []
      const passed = new Map<string, string[]>()
      done.forEach((step, index) => {
        if (step !== 'take') {
          waiting.push(`${step}${index}`)
          line.add(step, `${step}${index}`)
          return
        }
        expect(line.length).toBe(waiting.length)
        expect(line.lengthOf('a')).toBe(waiting.filter((one) => one.startsWith('a')).length)
        const item = line.take()
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
