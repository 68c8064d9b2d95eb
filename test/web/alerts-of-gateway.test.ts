/** Where nobody has an alert, a start opens nothing of the people and loads nothing of alerts; where somebody has, it goes on by itself. Rules: pages.md "Alerts". */

import { afterEach, expect, test } from 'bun:test'
import { AlertStore } from '../../src/alerts/alert-store.ts'
import type { People } from '../../src/people/people.ts'
import { alertsOfGateway, type OpenedAlerts } from '../../src/web/alerts-of-gateway.ts'
import { usd } from '../support/ledger.ts'
import { PeopleWorld } from '../support/people.ts'
import { peopleOnPostgres } from '../support/people-place.ts'
import { postgresSuite, postgresTest } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { makeTestWorld } from '../support/world.ts'

let people: PeopleWorld | undefined
let alerts: OpenedAlerts | undefined
afterEach(async () => {
  alerts?.close()
  await people?.remove()
  people = undefined
})

/** How often the people were asked for, once a start had its time. */
async function begun(ledgerPath: string, open: () => People): Promise<number> {
  let asked = 0
  const counted = (): People => {
    asked++
    return open()
  }
  const config = () => ({ ledger: { kind: 'sqlite', path: ledgerPath }, alerts: { allowPrivate: false } }) as never
  alerts = alertsOfGateway({ world: makeTestWorld().world, config, people: counted, mailer: undefined, sendChat: undefined })
  alerts.begin()
  await Bun.sleep(100)
  return asked
}

test('without a file of people, or with one without alerts, nothing is opened', async () => {
  const world = new PeopleWorld()
  people = world
  expect(await begun(`${world.folder}/elsewhere/ledger.db`, () => world.people)).toBe(0)
  await world.add('ann@example.com')
  const store = new AlertStore(world.people.db, () => 0)
  const alert = { rule: { kind: 'balance_below', thresholdPicos: usd('1') }, emails: [], webhooks: [], createdBy: '' } as const
  await store.addAlert({ ...alert, id: 'alert_off', accountId: 'acc_north', isEnabled: false })
  expect(await begun(`${world.folder}/ledger.db`, () => world.people)).toBe(0)
  await store.addAlert({ ...alert, id: 'alert_on', accountId: 'acc_north', isEnabled: true })
  expect(await begun(`${world.folder}/ledger.db`, () => world.people)).toBe(1)
})

postgresSuite('on Postgres', () => {
  peopleOnPostgres()

  postgresTest('a start goes on with what another node has left', async () => {
    const world = new PeopleWorld()
    people = world
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
    alerts = alertsOfGateway({ world: gateway, config, people: () => world.people, mailer: undefined, sendChat: undefined })
    alerts.begin()
    const attempts = async () => (await world.people.db.get<{ attempts: number }>('SELECT attempts FROM deliveries'))?.attempts
    await until(async () => (await attempts()) !== 0)
    expect(await attempts()).toBe(1)
  })
})
