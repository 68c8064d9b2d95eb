/** What one gateway does once, two on one Postgres do once together, also in the same moment. Rules: pages.md "People", "Links", "Members", "Signing up". */

import { afterEach, beforeEach, expect } from 'bun:test'
import type { People } from '../../../src/people/people.ts'
import { PeopleWorld } from '../../support/people.ts'
import { peopleOnPostgres } from '../../support/people-place.ts'
import { postgresSuite, postgresTest } from '../../support/postgres.ts'

const ROUNDS = 8
const NORTH = { accountId: 'acc_north', role: 'owner' } as const
const SOUTH = { accountId: 'acc_south', role: 'owner' } as const

let world: PeopleWorld
let gateways: readonly [People, People]

/** The same at once, several times on each of the two. */
const onBoth = <Result>(work: (people: People) => Promise<Result>): Promise<Result[]> =>
  Promise.all([0, 1, 0, 1].map((index) => work(gateways[index === 0 ? 0 : 1])))

postgresSuite('two gateways', () => {
  peopleOnPostgres()
  beforeEach(async () => {
    world = new PeopleWorld({ signUp: 'open' })
    gateways = [world.people, world.open()]
    // Connected, so that the first does not win by being there.
    await Promise.all([...gateways, ...gateways].map((people) => people.memberships.list()))
  })
  afterEach(async () => {
    await gateways[1].close()
    await world.remove()
  })

  postgresTest('one invitation brings one person, whichever gateway is asked', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const token = await world.people.links.invite(`ann${round}@example.com`, NORTH, 'os:test')
      const taken = await onBoth(({ links }) => links.accept(token, { signedInAs: undefined, name: '', password: 'a hash' }))
      expect(taken.map(({ result }) => result).sort()).toEqual(['gone', 'gone', 'gone', 'joined'])
    }
    expect(await world.people.memberships.list()).toHaveLength(ROUNDS)
  })

  postgresTest('two invitations of one new e-mail make one person, whose way in the second does not change', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const email = `ann${round}@example.com`
      const tokens = [await world.people.links.invite(email, NORTH, 'os:test'), await world.people.links.invite(email, SOUTH, 'os:test')]
      const taken = await Promise.all(
        tokens.map((token, index) =>
          gateways[index === 0 ? 0 : 1].links.accept(token, { signedInAs: undefined, name: '', password: `hash ${index}` }),
        ),
      )
      expect(taken.map(({ result }) => result).sort()).toEqual(['joined', 'signIn'])
      const winner = taken.findIndex(({ result }) => result === 'joined')
      const kept = 'SELECT password FROM credential JOIN person ON person.id = credential."userId" WHERE email = $email'
      expect(await world.people.db.all(kept, { email })).toEqual([{ password: `hash ${winner}` }])
    }
  })

  postgresTest('of those who sign up with one e-mail one gets an account', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const wanted = { email: `ann${round}@example.com`, name: '', password: 'a hash' }
      let accounts = 0
      const made = await onBoth((people) => people.signUp({ ...wanted, accountId: `acc_${round}_${++accounts}` }))
      const [person, ...more] = made.filter((one) => one !== undefined)
      expect([person?.email, more]).toEqual([wanted.email, []])
      expect(await world.people.memberships.wanted(person?.id ?? '')).toHaveLength(1)
    }
  })

  postgresTest('an account keeps one owner, whoever of its owners is put out or made a reader at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const accountId = `acc_${round}`
      const emails = ['ann', 'bob', 'eve', 'joe'].map((name) => `${name}${round}@example.com`)
      for (const email of emails) await world.people.memberships.join((await world.people.known(email)).id, { accountId, role: 'owner' })
      const ends = await Promise.all(
        emails.map((email, index) => {
          const { memberships } = gateways[index % 2 === 0 ? 0 : 1]
          return index < 2
            ? memberships.remove(email, { accountId, keepsOwner: true })
            : memberships.changeRole(email, { accountId, role: 'reader' })
        }),
      )
      expect(ends.filter((end) => end === 'last owner')).toHaveLength(1)
      expect((await world.people.memberships.membersOf(accountId)).filter(({ role }) => role === 'owner')).toHaveLength(1)
    }
  })

  postgresTest('a first password is set once, a sign-in link followed once, and somebody new is one person', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const people = await onBoth((gateway) => gateway.known(`ann${round}@example.com`))
      expect(new Set(people.map(({ id }) => id)).size).toBe(1)
      const id = people[0]?.id ?? ''
      let tries = 0
      const set = await onBoth(({ memberships }) => memberships.setFirstPassword(id, `hash ${++tries}`))
      expect(set.filter(Boolean)).toHaveLength(1)
      const token = await world.people.links.signIn('cabinet', id)
      expect((await onBoth(({ links }) => links.follow('cabinet', token))).filter((one) => one !== undefined)).toHaveLength(1)
    }
  })

  postgresTest('a link to a new password sets one', async () => {
    // better-auth has the real clock.
    world.now = Date.now()
    const { id } = await world.people.known('ann@example.com')
    for (let round = 0; round < ROUNDS; round++) {
      const token = await world.people.links.reset(id)
      let tries = 0
      const answers = await onBoth(async (people) => {
        const headers = { 'content-type': 'application/json', origin: people.origins('cabinet').base }
        const body = JSON.stringify({ token, newPassword: `a long password ${++tries}` })
        const url = `${people.origins('cabinet').base}/cabinet/auth/reset-password`
        return (await people.identity('cabinet')).answer(new Request(url, { method: 'POST', headers, body }))
      })
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    }
  })
})
