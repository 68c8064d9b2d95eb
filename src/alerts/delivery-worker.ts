/**
 * Delivers alerts to their receivers. A delivery is claimed in the store before it is made and marked as done afterwards: where a process dies in between, the delivery
 * is made again, by the next process or another one, under the same id. Few run at once, fewer of one account, one to each receiver. Rules: pages.md "Alerts",
 * "Webhooks".
 */

import { type AlertEvent, type AlertMail, mailOf } from '../core/alert-event.ts'
import { noticeAway } from '../observe/away-notices.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { AlertStore } from './alert-store.ts'
import { type Attempted, CLAIM_MS, type DeliveryStore, type DueDelivery, type Receiver } from './delivery-store.ts'
import type { WebhookMessage } from './send-webhook.ts'

export type DeliveryWorkerParts = Readonly<{
  alerts: AlertStore
  deliveries: DeliveryStore
  sendWebhook: (message: WebhookMessage) => Promise<Attempted>
  /** Resolves with null when the mail was taken, otherwise with the reason in a word. Undefined: no mail is set up. */
  sendMail: ((to: string, mail: AlertMail) => Promise<string | null>) | undefined
  /** Sends a text to a chat; a string says why it can never be sent. Undefined: there is no bot. */
  sendChat: ((chat: string, text: string) => Promise<Attempted | string>) | undefined
  /** The chats that are told the account's alerts. */
  chatsOf: (accountId: string) => Promise<readonly string[]>
  /** Addresses of the account's members, in lower case. */
  membersOf: (accountId: string) => Promise<readonly string[]>
  alertsPageOf: (accountId: string) => string
  /** '' where the account has none, or the ledger cannot be read at this moment. */
  accountName: (accountId: string) => Promise<string>
  log: Pick<Log, 'notice' | 'alarm'>
  metrics: Pick<Metrics, 'alertDelivered'>
  now: () => number
  random: () => number
}>

const AT_ONCE_MAX = { all: 64, each: 2 } as const
const SLEEP_MS_MAX = 60_000
/** The only status that says that a receiver is gone for ever (https://www.rfc-editor.org/rfc/rfc9110#section-15.5.11). */
const GONE = 410

export class DeliveryWorker {
  readonly #parts: DeliveryWorkerParts
  readonly #underWay = new Set<DueDelivery>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #renewal: ReturnType<typeof setInterval> | undefined
  #isLooking = false
  #isAskedAgain = false
  #isClosed = false

  constructor(parts: DeliveryWorkerParts) {
    this.#parts = parts
  }

  /** Called when a delivery may be due. */
  wake(): void {
    if (this.#isLooking) this.#isAskedAgain = true
    else this.#look().catch((bug: unknown) => this.#failed(bug))
  }

  /** Begins no more deliveries. Those under way end as if the process had died. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearInterval(this.#renewal)
  }

  async #look(): Promise<void> {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#isLooking = true
    try {
      do {
        this.#isAskedAgain = false
        await this.#start()
      } while (this.#isAskedAgain && !this.#isClosed)
      await this.#sleep()
    } finally {
      this.#isLooking = false
    }
    if (this.#isAskedAgain) this.wake()
  }

  async #start(): Promise<void> {
    const free = AT_ONCE_MAX.all - this.#underWay.size
    if (free <= 0 || this.#isClosed) return
    for (const due of await this.#parts.deliveries.claim(free, mayStart)) {
      this.#underWay.add(due)
      this.#deliver(due).catch((bug: unknown) => this.#failed(bug))
    }
    this.#keepClaims()
  }

  async #sleep(): Promise<void> {
    // Where all slots are taken, the next slot that becomes free wakes the worker.
    if (this.#isClosed || this.#underWay.size >= AT_ONCE_MAX.all) return
    const at = await this.#parts.deliveries.nextAt()
    if (at !== undefined) this.#wakeIn(Math.min(Math.max(at - this.#parts.now(), MIN_SLEEP_MS), SLEEP_MS_MAX))
  }

  #wakeIn(waitMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => this.wake(), waitMs)
    this.#timer.unref()
  }

  #keepClaims(): void {
    if (this.#underWay.size === 0) {
      clearInterval(this.#renewal)
      this.#renewal = undefined
    } else if (this.#renewal === undefined && !this.#isClosed) {
      // A renewal that fails is made up for by the next one; a delivery whose claim is lost is at worst made twice.
      this.#renewal = setInterval(() => this.#parts.deliveries.renew().catch(() => undefined), CLAIM_MS / 3)
      this.#renewal.unref()
    }
  }

  #failed(bug: unknown): void {
    if (this.#isClosed) return
    if (bug instanceof PeopleAway) noticeAway(this.#parts.log, bug.message)
    else this.#parts.log.alarm('an alert’s delivery failed by a bug', { bug: nameOf(bug) })
    this.#wakeIn(FAILED_SLEEP_MS)
  }

  async #deliver(due: DueDelivery): Promise<void> {
    try {
      const attempted = await this.#attempt(due)
      if (!this.#isClosed) await this.#note(due, attempted)
    } finally {
      this.#underWay.delete(due)
      this.#keepClaims()
      this.wake()
    }
  }

  /** A string: the delivery will never succeed, for this reason. */
  async #attempt(due: DueDelivery): Promise<Attempted | string> {
    const { channel, eventId, accountId, target, body } = due
    const { alerts, membersOf, sendMail, sendWebhook } = this.#parts
    if (channel === 'telegram') return this.#tellChat(due)
    if (channel === 'webhook') {
      const webhook = await alerts.webhook(accountId, target)
      if (webhook === undefined || !webhook.isEnabled) return 'webhook removed or switched off'
      return await sendWebhook({ url: webhook.url, secret: webhook.secret, id: eventId, body })
    }
    if (sendMail === undefined) return 'no mail is set up'
    if (!(await membersOf(accountId)).includes(target)) return 'no member of the account'
    return { status: null, problem: await sendMail(target, await this.#mailOf(accountId, body)) }
  }

  async #tellChat({ accountId, target, body }: DueDelivery): Promise<Attempted | string> {
    const { sendChat, chatsOf } = this.#parts
    if (sendChat === undefined) return 'no bot is set up'
    if (!(await chatsOf(accountId)).includes(target)) return 'no chat of the account'
    const { subject, text } = await this.#mailOf(accountId, body)
    return sendChat(target, `${subject}\n\n${text}`)
  }

  async #mailOf(accountId: string, body: string): Promise<AlertMail> {
    const { alertsPageOf, accountName } = this.#parts
    return mailOf(JSON.parse(body) as AlertEvent, { page: alertsPageOf(accountId), accountName: await accountName(accountId) })
  }

  async #note(due: DueDelivery, attempted: Attempted | string): Promise<void> {
    const { deliveries, metrics, now, random } = this.#parts
    const { status, problem } = typeof attempted === 'string' ? { status: null, problem: attempted } : attempted
    if (problem === null) {
      await deliveries.delivered(due, { status, problem })
      metrics.alertDelivered(due.channel, 'delivered')
      return
    }
    const isForEver = typeof attempted === 'string' || status === GONE
    const pause = isForEver ? undefined : pauseMs(due.attempts + 1, random())
    if (pause === undefined) await deliveries.gaveUp(due, { status, problem })
    else await deliveries.failed(due, { status, problem }, now() + pause)
    metrics.alertDelivered(due.channel, pause === undefined ? 'given up' : 'failed')
    this.#say(due, problem, pause)
  }

  #say({ eventId, accountId, channel, attempts }: DueDelivery, problem: string, pause: number | undefined): void {
    const fields = { event_id: eventId, account_id: accountId, channel, attempt: attempts + 1, problem }
    this.#parts.log.notice(pause === undefined ? 'an alert was not delivered' : 'an alert will be delivered later', fields)
  }
}

const PAUSES_MS = [5_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000]
/** A pause is up to a fifth longer, so that deliveries that failed together do not come back together. */
const SPREAD = 0.2

/**
 * How long a delivery that failed waits for its next try; undefined after the last one. `attempts`: failed tries, including this one. `random`: from 0 to 1.
 */
export function pauseMs(attempts: number, random: number): number | undefined {
  const pause = PAUSES_MS[attempts - 1]
  return pause === undefined ? undefined : Math.round(pause * (1 + SPREAD * random))
}

/** The shortest time between two looks at a due delivery that may not start, such as the third of an account; the end of another delivery leads to an earlier look. */
const MIN_SLEEP_MS = 250
/** How long the worker sleeps when the store could not be asked. */
const FAILED_SLEEP_MS = 10_000

/** `running`: the deliveries that are under way on all nodes. */
const mayStart = ({ accountId, target }: Receiver, running: readonly Receiver[]): boolean =>
  running.every((one) => one.target !== target) && running.filter((one) => one.accountId === accountId).length < AT_ONCE_MAX.each

const nameOf = (bug: unknown): string => (bug instanceof Error ? bug.name : typeof bug)
