/** Who sends many passwords waits behind himself, and is told so beyond a few. Rules: pages.md "Failed sign-ins". */

import { expect, test } from 'bun:test'
import { PasswordTurns } from '../../src/people/password-turns.ts'

/** Work that begins when its turn comes and ends when the test says so. */
function makeLine() {
  const turns = new PasswordTurns()
  const begun: string[] = []
  const refused: string[] = []
  const ends = new Map<string, () => void>()
  const take = async (address: string, name: string): Promise<string | undefined> => {
    const answer = await turns.take(address, () => {
      begun.push(name)
      const { promise, resolve } = Promise.withResolvers<string>()
      ends.set(name, () => resolve(name))
      return promise
    })
    if (answer === undefined) refused.push(name)
    return answer
  }
  /** Ends whatever runs, as often as something does. */
  const endAll = async (): Promise<void> => {
    for (let ended = 0; ended < begun.length; ended++) {
      ends.get(begun[ended] ?? '')?.()
      await Bun.sleep(0)
    }
  }
  return { begun, refused, take, endAll }
}

test('two at a time, and addresses in turns: who comes behind eight of another waits for one of them', async () => {
  const { begun, take, endAll } = makeLine()
  const answers = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2'].map((name) => take(name.charAt(0), name))
  expect(begun).toEqual(['a1', 'a2'])
  await endAll()
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2', 'a5'])
  expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2'])
})

test('four of an address wait and the next is refused without having begun, another address is not; nor do more than 256 of all', async () => {
  const { begun, refused, take, endAll } = makeLine()
  const ofOne = Array.from({ length: 7 }, (_, n) => take('a', `a${n}`))
  const others = Array.from({ length: 253 }, (_, n) => take(`b${n}`, `b${n}`))
  await Bun.sleep(0)
  expect(refused).toEqual(['a6', 'b252'])
  await endAll()
  await Promise.all([...ofOne, ...others])
  expect([begun.length, refused.length]).toEqual([6 + 252, 2])
})

test('work that fails gives its place on', async () => {
  const turns = new PasswordTurns()
  const fail = (): Promise<never> => Promise.reject(new Error('a bug'))
  const failed = await Promise.allSettled([1, 2, 3].map(() => turns.take('a', fail)))
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await turns.take('a', () => Promise.resolve('done'))).toBe('done')
})
