/** While the store of the people does not answer, alerts say so and go on when it does: that is no bug. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { PeopleAway, type PeopleStore, sqlOver } from '../../src/people/people-sql.ts'
import { until } from '../support/until.ts'
import { AlertWorld, usd } from './alert-world.ts'

let world: AlertWorld
beforeEach(() => {
  world = new AlertWorld()
})
afterEach(() => world.end())

/** The world's store, which is away for as long as `isAway` says so of a question. */
function sometimes(isAway: (text: string) => boolean): PeopleStore {
  const { sql } = world
  const away = (): Promise<never> => Promise.reject(new PeopleAway('held'))
  const over = sqlOver(
    sql.dialect,
    (text, given) => (isAway(text) ? away() : sql.ask(text, given)),
    (subjects, work) => (isAway(`BEGIN ${subjects.join()}`) ? away() : sql.transaction(subjects, work)),
  )
  return { ...over, close: () => sql.close() }
}
const said = (name: 'alarm' | 'notice') => world.lines.flatMap((line) => (name in line ? [line[name]] : []))

test.each([
  ['the start', /^UPDATE deliveries SET/],
  ['the watch', /FROM alerts/],
  ['what fires', /^BEGIN account/],
  ['the deliveries', /^BEGIN deliveries/],
])('%s is told as away, once, and tried again', async (_, asked) => {
  await world.addAlert('acct_1', { emails: ['ann@example.com'] })
  world.balances.set('acct_1', usd('3'))
  let refused = 0
  let isAway = true
  world.start({
    sql: sometimes((text) => {
      if (!(isAway && asked.test(text.trim()))) return false
      refused++
      return true
    }),
  })
  await until(() => refused > 0)
  expect(world.mails).toEqual([])
  isAway = false
  world.running?.deliver()
  await until(() => world.mails.length === 1)
  expect(said('alarm')).toEqual([])
  expect(said('notice').filter((notice) => notice === 'the people cannot be asked')).toHaveLength(1)
})
