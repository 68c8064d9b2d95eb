/** People are found by the beginning of their e-mail, then by any part of e-mail or name, each once and few at a time; signs of patterns are letters. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { PeopleWorld } from '../support/people.ts'

let world: PeopleWorld
beforeEach(() => {
  world = new PeopleWorld()
})
afterEach(() => world.remove())

const found = async (text: string, rows = 5): Promise<readonly string[]> =>
  (await world.people.memberships.find(text, rows)).map(({ email }) => email)

test('those whose e-mail begins so come first, then those who have it anywhere, each once, no more than asked for', async () => {
  const add = (email: string, name: string) => world.people.memberships.add({ email, name, isProven: true })
  await add('ann@example.com', 'Ann North')
  await add('joan@example.com', 'Joan Annot')
  await add('anna_b@example.org', 'Anna B')
  await add('zoe@example.org', '50 % Ann')
  await add('zzz@example.org', 'Zed')
  expect(await found('ann')).toEqual(['ann@example.com', 'anna_b@example.org', 'joan@example.com', 'zoe@example.org'])
  expect(await found('ann', 3)).toEqual(['ann@example.com', 'anna_b@example.org', 'joan@example.com'])
  expect(await found('ann', 1)).toEqual(['ann@example.com'])
  expect(await found('@example.org')).toEqual(['anna_b@example.org', 'zoe@example.org', 'zzz@example.org'])
  expect(await found('north')).toEqual(['ann@example.com'])
  expect([await found('%'), await found('a_b'), await found('n_a'), await found('!')]).toEqual([
    ['zoe@example.org'],
    ['anna_b@example.org'],
    [],
    [],
  ])
})

test('a name is found in whatever case, also by letters beyond ASCII and between others', async () => {
  const add = (email: string, name: string) => world.people.memberships.add({ email, name, isProven: true })
  await add('aenne@example.com', 'ÄNNE Öztürk')
  await add('ivan@example.com', 'Иван 100 % Петров')
  await add('other@example.com', 'Anne Oztürk')
  expect([await found('änne'), await found('öztürk'), await found('e ö')]).toEqual(Array(3).fill(['aenne@example.com']))
  expect([await found('петров'), await found('100 % п'), await found('100 _ п')]).toEqual([['ivan@example.com'], ['ivan@example.com'], []])
  expect([await found('türk'), await found('türk', 1)]).toEqual([['aenne@example.com', 'other@example.com'], ['aenne@example.com']])
  expect([await found('петров', 1), await found('ß')]).toEqual([['ivan@example.com'], []])
})
