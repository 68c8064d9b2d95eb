/**
 * A person keeps views of Explore under names: as many as the bound, each name once, for the console and each account apart, and those of an account no longer than the
 * membership. Rules: pages.md "Saved views".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { VIEWS_MAX } from '../../src/people/views.ts'
import { PeopleWorld } from '../support/people.ts'

let world: PeopleWorld
let ann: string
let bob: string
const VIEW = '{"by":"key"}'
beforeEach(async () => {
  world = new PeopleWorld()
  const { memberships } = world.people
  for (const email of ['ann@example.com', 'bob@example.com']) {
    const { id } = await world.people.known(email)
    for (const accountId of ['acc_north', 'acc_south']) await memberships.join(id, { accountId, role: 'reader' })
    if (email.startsWith('ann')) ann = id
    else bob = id
  }
})
afterEach(() => world.remove())

const placesOf = (personId: string) => [null, 'acc_north', 'acc_south'].map((accountId) => ({ personId, accountId }))
const namesIn = async (personId: string, accountId: string | null) =>
  (await world.people.views.list({ personId, accountId })).map(({ name, view }) => `${name} ${view}`)

test('each person has views of the own for the console and for each account, in the order of their names, and deletes those alone', async () => {
  const { views } = world.people
  for (const place of [...placesOf(ann), ...placesOf(bob)])
    for (const name of ['b', 'a']) await views.save(place, { name, view: `"${place.personId === ann ? 'ann' : 'bob'} ${place.accountId}"` })
  for (const accountId of [null, 'acc_north', 'acc_south'])
    expect(await namesIn(ann, accountId)).toEqual([`a "ann ${accountId}"`, `b "ann ${accountId}"`])
  const [first] = await views.list({ personId: ann, accountId: 'acc_north' })
  const id = first?.id ?? ''
  for (const place of [
    { personId: bob, accountId: 'acc_north' },
    { personId: ann, accountId: 'acc_south' },
    { personId: ann, accountId: null },
  ])
    expect(await views.remove(place, id)).toBe(false)
  expect(await views.remove({ personId: ann, accountId: 'acc_north' }, id)).toBe(true)
  expect(await views.remove({ personId: ann, accountId: 'acc_north' }, id)).toBe(false)
  expect(await namesIn(ann, 'acc_north')).toEqual(['b "ann acc_north"'])
  expect(await namesIn(bob, 'acc_north')).toHaveLength(2)
})

test('the same view under its name once more is the one that is there, and another is refused and changes nothing', async () => {
  const { views } = world.people
  const place = { personId: ann, accountId: null }
  const first = await views.save(place, { name: 'week', view: VIEW })
  expect(await views.save(place, { name: 'week', view: VIEW })).toEqual(first)
  expect(await views.save(place, { name: 'week', view: '{}' })).toBe('taken')
  expect(await namesIn(ann, null)).toEqual([`week ${VIEW}`])
})

test('views that are saved in one moment are never more than the bound, and one that is deleted makes room', async () => {
  const { views } = world.people
  const place = { personId: ann, accountId: 'acc_north' }
  const saved = await Promise.all(Array.from({ length: VIEWS_MAX + 3 }, (_, n) => views.save(place, { name: `view ${n}`, view: VIEW })))
  expect(saved.filter((one) => one === 'tooMany')).toHaveLength(3)
  const kept = await views.list(place)
  expect(kept).toHaveLength(VIEWS_MAX)
  expect(await views.save({ personId: ann, accountId: null }, { name: 'x', view: VIEW })).toMatchObject({ name: 'x' })
  await views.remove(place, kept[0]?.id ?? '')
  expect(await views.save(place, { name: 'x', view: VIEW })).toMatchObject({ name: 'x' })
})

test('who is put out of an account has no view of it, also after coming back; other views stay', async () => {
  const { views, memberships } = world.people
  for (const place of placesOf(ann)) await views.save(place, { name: 'week', view: VIEW })
  await views.save({ personId: bob, accountId: 'acc_north' }, { name: 'week', view: VIEW })
  const [removed, saved] = await Promise.all([
    memberships.remove('ann@example.com', { accountId: 'acc_north' }),
    views.save({ personId: ann, accountId: 'acc_north' }, { name: 'too late', view: VIEW }),
  ])
  expect([removed, saved === 'none' || typeof saved === 'object']).toEqual(['removed', true])
  expect(await views.save({ personId: ann, accountId: 'acc_north' }, { name: 'later', view: VIEW })).toBe('none')
  await memberships.join(ann, { accountId: 'acc_north', role: 'reader' })
  expect(await Promise.all([null, 'acc_north', 'acc_south'].map((accountId) => namesIn(ann, accountId)))).toEqual([
    [`week ${VIEW}`],
    [],
    [`week ${VIEW}`],
  ])
  expect(await namesIn(bob, 'acc_north')).toHaveLength(1)
})
