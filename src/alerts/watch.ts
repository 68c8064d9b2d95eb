/**
 * Looks at the accounts that have alerts, one after the other, and writes down what fired. The watch waits for each answer before it asks the next question, so a pass
 * over many accounts takes longer, but puts no more load on the ledger. Rules: pages.md "Alerts".
 */

import { eventOf } from '../core/alert-event.ts'
import { type AccountFacts, type AlertRule, judge } from '../core/alerts.ts'
import { noticeAway } from '../observe/away-notices.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { Alert } from './alert-rows.ts'
import type { AlertStore } from './alert-store.ts'

/** Reads the facts of an account that the rules need; undefined: they cannot be read now, or there is no such account. */
export type AlertFacts = (accountId: string, rules: readonly AlertRule[]) => Promise<AccountFacts | undefined>

export type WatchParts = Readonly<{
  alerts: AlertStore
  factsOf: AlertFacts
  newEventId: () => string
  /** Called when there is something to deliver. */
  onFired: () => void
  /** Called when a pass over all accounts has ended. */
  onPass?: () => Promise<unknown>
  log: Pick<Log, 'alarm' | 'notice'>
  metrics: Pick<Metrics, 'alertDropped'>
  everyMs?: number
}>

const EVERY_MS = 15_000
const ACCOUNTS_A_PAGE = 100

export class Watch {
  readonly #parts: WatchParts
  #timer: ReturnType<typeof setTimeout> | undefined
  #isRunning = false
  #isAskedAgain = false
  #isClosed = false

  constructor(parts: WatchParts) {
    this.#parts = parts
  }

  /** Begins a pass now, and one every while from then on, as long as there are alerts. */
  wake(): void {
    if (this.#isRunning) this.#isAskedAgain = true
    else this.#start(() => this.#pass())
  }

  /** Starts again after the watch has stopped because no account had an alert. */
  resume(): void {
    if (this.#timer === undefined) this.wake()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #start(work: () => Promise<void>): void {
    this.#run(work).catch((bug: unknown) => {
      const { log } = this.#parts
      // A look that failed goes on with the next one.
      if (this.#isClosed) return
      if (bug instanceof PeopleAway) noticeAway(log, bug.message)
      else log.alarm('a look at the alerts failed by a bug', { bug: String(bug) })
    })
  }

  async #run(work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isRunning = true
    let goesOn = true
    try {
      await work()
      goesOn = !this.#isClosed && (await this.#parts.alerts.watchedAccounts('', 1)).length > 0
    } finally {
      this.#isRunning = false
      if (goesOn) this.#goOn()
    }
  }

  #goOn(): void {
    if (this.#isClosed) return
    const { alerts, everyMs = EVERY_MS } = this.#parts
    if (this.#isAskedAgain) {
      this.#isAskedAgain = false
      this.wake()
      return
    }
    // Only one of several nodes looks by itself. A node that is asked to look always does.
    const inTurn = async (): Promise<void> => ((await alerts.takeTurn(everyMs)) ? this.#pass() : undefined)
    this.#timer = setTimeout(() => this.#start(inTurn), everyMs)
    this.#timer.unref()
  }

  async #pass(): Promise<void> {
    let after = ''
    for (;;) {
      const page = await this.#parts.alerts.watchedAccounts(after, ACCOUNTS_A_PAGE)
      for (const accountId of page) await this.#look(accountId)
      if (page.length < ACCOUNTS_A_PAGE) break
      after = page.at(-1) ?? after
    }
    if (!this.#isClosed) await this.#parts.onPass?.()
  }

  async #look(accountId: string): Promise<void> {
    if (this.#isClosed) return
    const alerts = (await this.#parts.alerts.alerts(accountId)).filter(({ isEnabled }) => isEnabled)
    const facts = await this.#parts.factsOf(
      accountId,
      alerts.map(({ rule }) => rule),
    )
    if (facts === undefined) return
    for (const alert of alerts) if (!this.#isClosed) await this.#judge(alert, facts)
  }

  async #judge(alert: Alert, facts: AccountFacts): Promise<void> {
    const { alerts, newEventId, onFired, metrics } = this.#parts
    const before = await alerts.marks(alert.id)
    const { crossings, marks } = judge(alert.rule, facts, before)
    if (crossings.length === 0 && marks.size === before.size) return
    const told = { alertId: alert.id, accountId: alert.accountId, rule: alert.rule, facts }
    const firings = crossings.map((crossing) => ({ eventId: newEventId(), event: eventOf({ ...told, crossing }) }))
    const fired = await alerts.fire(alert, { before, marks, firings })
    if (fired.dropped > 0) metrics.alertDropped(fired.dropped)
    if (fired.told > 0) onFired()
  }
}
