/** The alerts of a running gateway: the watch, the delivery worker and the store that both share. This file is loaded with the first alert. Rules: pages.md "Alerts". */

import { testEventOf } from '../core/alert-event.ts'
import { DAY_MS } from '../core/utc.ts'
import { noticeAway } from '../observe/away-notices.ts'
import { PeopleAway, type PeopleStore } from '../people/people-sql.ts'
import { AlertStore, type Receivers } from './alert-store.ts'
import { DeliveryStore } from './delivery-store.ts'
import { DeliveryWorker, type DeliveryWorkerParts } from './delivery-worker.ts'
import { Watch, type WatchParts } from './watch.ts'

export type AlertsOptions = Readonly<{ sql: PeopleStore; metrics: DeliveryWorkerParts['metrics'] & WatchParts['metrics'] }> &
  Omit<DeliveryWorkerParts, 'alerts' | 'deliveries' | 'metrics'> &
  Pick<WatchParts, 'factsOf' | 'everyMs'>

export type Alerts = Readonly<{
  store: AlertStore
  deliveries: DeliveryStore
  /** Called after an alert was made or changed; looks at all alerts now. */
  look(): void
  /** Called when a delivery may be due. */
  deliver(): void
  /** Called after this node may have missed an alert that another one made. */
  resume(): void
  /** Sends a trial to a receiver, without an alert. Gives the event's id; undefined where the account has no room. */
  try(accountId: string, to: Receivers): Promise<string | undefined>
  close(): void
}>

const KEPT_MS = 30 * DAY_MS
const FORGOTTEN_AT_ONCE = 200
/** How long a start waits for its next try while the store does not answer. */
const AGAIN_MS = 1_000

const newEventId = (): string => `evt_${Bun.randomUUIDv7().replaceAll('-', '')}`

/** Looks at once, and delivers what an earlier process left. */
export function startAlerts({ sql, factsOf, everyMs, ...parts }: AlertsOptions): Alerts {
  const { now, log, metrics } = parts
  const store = new AlertStore(sql, now)
  const deliveries = new DeliveryStore(sql, now)
  const worker = new DeliveryWorker({ ...parts, alerts: store, deliveries })
  const watch = new Watch({
    alerts: store,
    factsOf,
    newEventId,
    log,
    metrics,
    onFired: () => worker.wake(),
    onPass: () => deliveries.forgetBefore(now() - KEPT_MS, FORGOTTEN_AT_ONCE),
    ...(everyMs === undefined ? {} : { everyMs }),
  })
  let again: ReturnType<typeof setTimeout> | undefined
  const begin = async (): Promise<void> => {
    if (sql.dialect === 'sqlite') await deliveries.releaseAll()
    worker.wake()
    watch.wake()
  }
  let isClosed = false
  const tryBegin = (): void => {
    begin().catch((bug: unknown) => {
      if (isClosed) return
      if (!(bug instanceof PeopleAway)) {
        log.alarm('a look at the alerts failed by a bug', { bug: String(bug) })
        return
      }
      noticeAway(log, bug.message)
      again = setTimeout(tryBegin, AGAIN_MS)
      again.unref()
    })
  }
  tryBegin()
  return {
    store,
    deliveries,
    look: () => watch.wake(),
    deliver: () => worker.wake(),
    resume() {
      watch.resume()
      worker.wake()
    },
    async try(accountId, to) {
      const eventId = newEventId()
      const { told } = await store.tell(accountId, { eventId, event: testEventOf(accountId, now()) }, to)
      worker.wake()
      return told === 0 ? undefined : eventId
    },
    close() {
      isClosed = true
      clearTimeout(again)
      watch.close()
      worker.close()
    },
  }
}
