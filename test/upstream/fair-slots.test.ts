/** Where there is not room for all, accounts take turns, and none takes all the room. Rules: pool.md "Overload". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { FairSlots } from '../../src/upstream/fair-slots.ts'

test('no more run than there are slots, each wish is decided once, and nobody waits while a slot is free for them', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), account: fc.nat(3) }),
    fc.record({ kind: fc.constant('leave' as const), which: fc.nat(50) }),
    fc.record({ kind: fc.constant('take back' as const) }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.array(step, { maxLength: 200 }), (slots, steps) => {
      const turns = new FairSlots(() => slots)
      const running: string[] = []
      const wishes = new Set<() => void>()
      let decided = 0
      let asked = 0
      for (const one of steps) {
        if (one.kind === 'ask') {
          const account = `account ${one.account}`
          if (turns.enter(account)) running.push(account)
          else {
            asked++
            const takeBack = turns.wait(account, () => {
              decided++
              running.push(account)
              wishes.delete(takeBack)
            })
            wishes.add(takeBack)
          }
        } else if (one.kind === 'leave') {
          const [gone] = running.splice(one.which % Math.max(1, running.length), 1)
          if (gone !== undefined) turns.leave(gone)
        } else {
          const [oldest] = wishes
          oldest?.()
          if (oldest !== undefined && wishes.delete(oldest)) decided++
        }
        expect(running.length).toBeLessThanOrEqual(slots)
        expect(turns.running).toBe(running.length)
        expect(decided + turns.waiting).toBe(asked)
      }
      for (const takeBack of wishes) takeBack()
      expect(turns.waiting).toBe(0)
      for (const account of running.splice(0)) turns.leave(account)
      expect(turns.running).toBe(0)
    }),
  )
})

test('one account leaves a tenth of the slots to others', () => {
  const turns = new FairSlots(() => 100)
  let greedy = 0
  while (turns.enter('greedy')) greedy++
  expect(greedy).toBe(90)
  for (let call = 0; call < 10; call++) expect(turns.enter('small')).toBe(true)
  expect(turns.enter('small')).toBe(false)
})

test('the slot that becomes free goes to the account that runs least, then to who came first', () => {
  const turns = new FairSlots(() => 4)
  for (const account of ['a', 'a', 'a', 'b']) expect(turns.enter(account)).toBe(true)
  const admitted: string[] = []
  for (const [account, name] of [
    ['a', 'a first'],
    ['b', 'b first'],
    ['b', 'b second'],
    ['c', 'c'],
  ] as const)
    turns.wait(account, () => admitted.push(name))
  turns.leave('a')
  turns.leave('a')
  turns.leave('a')
  expect(admitted).toEqual(['c', 'a first', 'b first'])
})

test('a wish that is taken back is never decided', () => {
  const turns = new FairSlots(() => 1)
  turns.enter('a')
  const admitted: string[] = []
  turns.wait('b', () => admitted.push('b'))()
  turns.leave('a')
  expect(admitted).toEqual([])
})
