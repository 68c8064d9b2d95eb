/**
 * Takes what is to be told to its receivers. What it is about to do stands in the file and is crossed out afterwards: a process that dies in between tells it
 * again, under the same id. Few at once, fewer of an account, one a receiver. Rules: pages.md "Alerts", "Webhooks".
 */

import { type AlertEvent, type AlertMail, mailOf } from '../core/alert-event.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { AlertStore } from '../people/alert-store.ts'
import type { Attempted, DeliveryStore, DueDelivery } from '../people/delivery-store.ts'
import { pauseMs } from './retries.ts'
import type { WebhookMessage } from './send-webhook.ts'

export type CourierParts = Readonly<{
  alerts: AlertStore
  deliveries: DeliveryStore
  sendWebhook: (message: WebhookMessage) => Promise<Attempted>
  /** Resolves with null or with why it was not taken, in a word. Undefined: no mail is set up. */
  sendMail: ((to: string, mail: AlertMail) => Promise<string | null>) | undefined
  /** Addresses of the account's members, in lower case. */
  membersOf: (accountId: string) => readonly string[]
  alertsPageOf: (accountId: string) => string
  log: Pick<Log, 'notice' | 'alarm'>
  metrics: Pick<Metrics, 'alertDelivered'>
  now: () => number
  random: () => number
}>

const AT_ONCE_MAX = { all: 64, each: 2 } as const
const SLEEP_MS_MAX = 60_000
/** Of the statuses only this one says that it is for ever (https://www.rfc-editor.org/rfc/rfc9110#section-15.5.11). */
const GONE = 410

export class Courier {
  readonly #parts: CourierParts
  readonly #underWay = new Set<DueDelivery>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(parts: CourierParts) {
    this.#parts = parts
  }

  /** Something may be due. */
  wake(): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#start()
    this.#sleep()
  }

  /** Begins nothing any more; what is under way is as if the process had died. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #start(): void {
    const free = AT_ONCE_MAX.all - this.#underWay.size
    if (free <= 0) return
    for (const due of this.#parts.deliveries.due(free, this.#busy())) {
      if (!this.#mayStart(due)) continue
      this.#underWay.add(due)
      this.#deliver(due).catch((bug: unknown) => this.#parts.log.alarm('an alert’s delivery failed by a bug', { bug: nameOf(bug) }))
    }
  }

  #mayStart({ accountId, target }: DueDelivery): boolean {
    const running = [...this.#underWay]
    return running.every((one) => one.target !== target) && running.filter((one) => one.accountId === accountId).length < AT_ONCE_MAX.each
  }

  #busy() {
    const running = [...this.#underWay]
    return { numbers: running.map(({ number }) => number), targets: running.map(({ target }) => target) }
  }

  #sleep(): void {
    // A full house is woken by whoever leaves.
    if (this.#underWay.size >= AT_ONCE_MAX.all) return
    const at = this.#parts.deliveries.nextAt(this.#busy())
    if (at === undefined) return
    const waitMs = Math.min(Math.max(at - this.#parts.now(), MIN_SLEEP_MS), SLEEP_MS_MAX)
    this.#timer = setTimeout(() => this.wake(), waitMs)
    this.#timer.unref()
  }

  async #deliver(due: DueDelivery): Promise<void> {
    try {
      const attempted = await this.#attempt(due)
      if (!this.#isClosed) this.#note(due, attempted)
    } finally {
      this.#underWay.delete(due)
      this.wake()
    }
  }

  /** A string: it will never be, and why. */
  async #attempt({ channel, eventId, accountId, target, body }: DueDelivery): Promise<Attempted | string> {
    const { alerts, membersOf, sendMail, sendWebhook, alertsPageOf } = this.#parts
    if (channel === 'webhook') {
      const webhook = alerts.webhook(accountId, target)
      if (webhook === undefined || !webhook.isEnabled) return 'webhook removed or switched off'
      return await sendWebhook({ url: webhook.url, secret: webhook.secret, id: eventId, body })
    }
    if (sendMail === undefined) return 'no mail is set up'
    if (!membersOf(accountId).includes(target)) return 'no member of the account'
    return { status: null, problem: await sendMail(target, mailOf(JSON.parse(body) as AlertEvent, alertsPageOf(accountId))) }
  }

  #note(due: DueDelivery, attempted: Attempted | string): void {
    const { deliveries, metrics, now, random } = this.#parts
    const { status, problem } = typeof attempted === 'string' ? { status: null, problem: attempted } : attempted
    if (problem === null) {
      deliveries.delivered(due, { status, problem })
      metrics.alertDelivered(due.channel, 'delivered')
      return
    }
    const isForEver = typeof attempted === 'string' || status === GONE
    const pause = isForEver ? undefined : pauseMs(due.attempts + 1, random())
    if (pause === undefined) deliveries.gaveUp(due, { status, problem })
    else deliveries.failed(due, { status, problem }, now() + pause)
    metrics.alertDelivered(due.channel, pause === undefined ? 'given up' : 'failed')
    this.#say(due, problem, pause)
  }

  #say({ eventId, accountId, channel, attempts }: DueDelivery, problem: string, pause: number | undefined): void {
    const fields = { event_id: eventId, account_id: accountId, channel, attempt: attempts + 1, problem }
    this.#parts.log.notice(pause === undefined ? 'an alert was not delivered' : 'an alert will be delivered later', fields)
  }
}

/** What is due and may not start, such as the third of an account, is looked at again when another ends, and so often at most. */
const MIN_SLEEP_MS = 250

const nameOf = (bug: unknown): string => (bug instanceof Error ? bug.name : typeof bug)
