/** The alerts of a running gateway: who looks, who tells, and what both share. Loaded where somebody has one. Rules: pages.md "Alerts". */

import type { Database } from 'bun:sqlite'
import { testEventOf } from '../core/alert-event.ts'
import { DAY_MS } from '../core/utc.ts'
import { AlertStore, type Receivers } from '../people/alert-store.ts'
import { DeliveryStore } from '../people/delivery-store.ts'
import { Courier, type CourierParts } from './courier.ts'
import { Watch, type WatchParts } from './watch.ts'

export type AlertsOptions = Readonly<{ db: Database; metrics: CourierParts['metrics'] & WatchParts['metrics'] }> &
  Omit<CourierParts, 'alerts' | 'deliveries' | 'metrics'> &
  Pick<WatchParts, 'factsOf' | 'everyMs'>

export type Alerts = Readonly<{
  store: AlertStore
  deliveries: DeliveryStore
  /** After an alert was made or changed: it is looked at now. */
  look(): void
  /** After something may be due. */
  deliver(): void
  /** Outside any alert, to whoever is to be tried: the event's id, or undefined where the account has no room. */
  try(accountId: string, to: Receivers): string | undefined
  close(): void
}>

const KEPT_MS = 30 * DAY_MS
const FORGOTTEN_AT_ONCE = 200

const newEventId = (): string => `evt_${Bun.randomUUIDv7().replaceAll('-', '')}`

/** Looks at once, and tells what a process before this one had left. */
export function startAlerts({ db, factsOf, everyMs, ...parts }: AlertsOptions): Alerts {
  const { now, log, metrics } = parts
  const store = new AlertStore(db, now)
  const deliveries = new DeliveryStore(db, now)
  const courier = new Courier({ ...parts, alerts: store, deliveries })
  const watch = new Watch({
    alerts: store,
    factsOf,
    newEventId,
    log,
    metrics,
    onFired: () => courier.wake(),
    onPass: () => void deliveries.forgetBefore(now() - KEPT_MS, FORGOTTEN_AT_ONCE),
    ...(everyMs === undefined ? {} : { everyMs }),
  })
  courier.wake()
  watch.wake()
  return {
    store,
    deliveries,
    look: () => watch.wake(),
    deliver: () => courier.wake(),
    try(accountId, to) {
      const eventId = newEventId()
      const { told } = store.tell(accountId, { eventId, event: testEventOf(accountId, now()) }, to)
      courier.wake()
      return told === 0 ? undefined : eventId
    },
    close() {
      watch.close()
      courier.close()
    },
  }
}
