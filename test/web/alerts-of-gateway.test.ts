/** Where nobody has an alert, a start opens nothing of the people and loads nothing of alerts; where somebody has, it goes on by itself. Rules: pages.md "Alerts". */

import { afterEach, expect, test } from 'bun:test'
import { AlertStore } from '../../src/alerts/alert-store.ts'
import type { People } from '../../src/people/people.ts'
import { alertsOfGateway } from '../../src/web/alerts-of-gateway.ts'
import { usd } from '../support/ledger.ts'
import { PeopleWorld } from '../support/people.ts'
import { peopleOnPostgres } from '../support/people-place.ts'
import { postgresSuite, postgresTest } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { makeTestWorld } from '../support/world.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Starts on each of the ledgers, in their order, and waits until the last has asked for its people; says which have asked by then. */
async function asking(starts: readonly Readonly<{ ledgerPath: string; people: People }>[]): Promise<readonly boolean[]> {
  const asked = starts.map(() => false)
  for (const [at, { ledgerPath, people: opened }] of starts.entries()) {
    const counted = (): People => {
      asked[at] = true
      return opened
    }
    const config = () => ({ ledger: { kind: 'sqlite', path: ledgerPath }, alerts: { allowPrivate: false } }) as never
    const started = alertsOfGateway({ world: makeTestWorld().world, config, people: counted, mailer: undefined, sendChat: undefined })
    ends.push(() => started.close())
    started.begin()
  }
  await until(() => asked.at(-1) === true, 'the start with an alert')
  return asked
}

async function worldWith(alert: Readonly<{ isEnabled: boolean }>): Promise<PeopleWorld> {
  const world = new PeopleWorld()
  ends.push(() => world.remove())
  await world.add('ann@example.com')
  const store = new AlertStore(world.people.db, () => 0)
  const rule = { kind: 'balance_below', thresholdPicos: usd('1') } as const
  await store.addAlert({ rule, emails: [], webhooks: [], createdBy: '', id: 'alert_1', accountId: 'acc_north', ...alert })
  return world
}

test('without a file of people, or with one without alerts, nothing is opened', async () => {
  const [off, on] = [await worldWith({ isEnabled: false }), await worldWith({ isEnabled: true })]
  const starts = [`${off.folder}/elsewhere/ledger.db`, `${off.folder}/ledger.db`].map((ledgerPath) => ({ ledgerPath, people: off.people }))
  expect(await asking([...starts, { ledgerPath: `${on.folder}/ledger.db`, people: on.people }])).toEqual([false, false, true])
})

test('the metrics do not wait for people who do not answer: they get the last figure', async () => {
  const people = await worldWith({ isEnabled: true })
  const { world } = makeTestWorld()
  const config = () => ({ ledger: { kind: 'sqlite', path: `${people.folder}/ledger.db` }, alerts: { allowPrivate: false } }) as never
  const alerts = alertsOfGateway({ world, config, people: () => people.people, mailer: undefined, sendChat: undefined })
  ends.push(() => alerts.close())
  const figure = async () => /^tollgate_alert_deliveries_waiting (.*)$/m.exec(await world.metrics.render())?.[1]
  const { deliveries } = await alerts.open()
  const asked = { count: 0, held: Promise.resolve() }
  deliveries.waiting = async () => {
    asked.count++
    await asked.held
    return 6 + asked.count
  }
  expect(await figure()).toBe('7')
  const { promise, resolve } = Promise.withResolvers<void>()
  asked.held = promise
  expect(await Promise.all([figure(), figure()])).toEqual(['7', '7'])
  expect(asked.count).toBe(2)
  resolve()
  await until(async () => (await figure()) === '9')
})

postgresSuite('on Postgres', () => {
  peopleOnPostgres()

  postgresTest('a start goes on with what another node has left', async () => {
    const world = new PeopleWorld()
    ends.push(() => world.remove())
    const { world: gateway } = makeTestWorld()
    const config = () => ({ ledger: { kind: 'postgres' }, alerts: { allowPrivate: false } }) as never
    const store = new AlertStore(world.people.db, gateway.clock.now)
    await store.addWebhook({
      id: 'hook_1',
      accountId: 'acc_north',
      url: 'https://hook.invalid/',
      secret: '',
      isEnabled: true,
      createdBy: '',
    })
    const event = { type: 'alert.test', timestamp: '', data: { alert_id: null, account_id: 'acc_north' } } as const
    await store.tell('acc_north', { eventId: 'evt_1', event }, { emails: [], webhooks: ['hook_1'] })
    const alerts = alertsOfGateway({ world: gateway, config, people: () => world.people, mailer: undefined, sendChat: undefined })
    ends.push(() => alerts.close())
    alerts.begin()
    const attempts = async () => (await world.people.db.get<{ attempts: number }>('SELECT attempts FROM deliveries'))?.attempts
    await until(async () => (await attempts()) !== 0)
    expect(await attempts()).toBe(1)
  })
})
