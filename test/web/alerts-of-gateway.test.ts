/** Where nobody has an alert, a start opens nothing of the people and loads nothing of alerts; where somebody has, it goes on by itself. Rules: pages.md "Alerts". */

import { afterEach, expect, test } from 'bun:test'
import { AlertStore } from '../../src/alerts/alert-store.ts'
import type { People } from '../../src/people/people.ts'
import { alertsOfGateway, type OpenedAlerts } from '../../src/web/alerts-of-gateway.ts'
import { usd } from '../support/ledger.ts'
import { PeopleWorld } from '../support/people.ts'
import { makeTestWorld } from '../support/world.ts'

let people: PeopleWorld | undefined
let alerts: OpenedAlerts | undefined
afterEach(() => {
  alerts?.close()
  people?.remove()
})

/** How often the people were asked for, once a start had its time. */
async function begun(ledgerPath: string, open: () => People): Promise<number> {
  let asked = 0
  const counted = (): People => {
    asked++
    return open()
  }
  const config = () => ({ ledger: { kind: 'sqlite', path: ledgerPath }, alerts: { allowPrivate: false } }) as never
  alerts = alertsOfGateway({ world: makeTestWorld().world, config, people: counted, mailer: undefined })
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
