/**
 * Alerts and webhooks of accounts, as their people set them, and what of them fired. What fires is written together with what is to be told of it, so that a
 * process that dies in between has done neither or both. Rules: pages.md "Alerts". Whoever asks has made sure that the account is theirs.
 */

import type { Database } from 'bun:sqlite'
import type { AlertEvent } from '../core/alert-event.ts'
import type { Marks } from '../core/alerts.ts'
import { type Alert, type AlertRow, alertOf, ruleColumns, type Webhook, type WebhookRow, webhookOf } from './alert-rows.ts'

/** An account's bounds. `waiting`: deliveries, `hourly`: those begun in an hour; `kept`: events, with their deliveries. */
export const ALERT_BOUNDS = { alerts: 20, webhooks: 5, emails: 10, waiting: 100, hourly: 200, kept: 500 } as const

const HOUR_MS = 3_600_000

/** To be told: `body` with the receivers of the alert. */
type Firing = Readonly<{ eventId: string; event: AlertEvent }>
export type Receivers = Readonly<{ emails: readonly string[]; webhooks: readonly string[] }>
/** Deliveries that wait now, and those for which there was no room. */
export type Fired = Readonly<{ told: number; dropped: number }>

const NOTHING: Fired = { told: 0, dropped: 0 }

export class AlertStore {
  readonly #db: Database
  readonly #now: () => number

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
  }

  alerts(accountId: string): readonly Alert[] {
    return this.#db.query<AlertRow, [string]>(`${ALERTS} WHERE account_id = ? ORDER BY created_at, id`).all(accountId).map(alertOf)
  }

  /** Undefined: the account has no such alert. */
  alert(accountId: string, id: string): Alert | undefined {
    const row = this.#db.query<AlertRow, [string, string]>(`${ALERTS} WHERE account_id = ? AND id = ?`).get(accountId, id)
    return row === null ? undefined : alertOf(row)
  }

  /** False: the account has as many as it may. */
  addAlert({ rule, ...alert }: Omit<Alert, 'version' | 'createdAt'>): boolean {
    return this.#insert('alerts', alert.accountId, ALERT_BOUNDS.alerts, {
      id: alert.id,
      account_id: alert.accountId,
      ...ruleColumns(rule),
      emails: JSON.stringify(alert.emails),
      webhooks: JSON.stringify(alert.webhooks),
      is_enabled: Number(alert.isEnabled),
      created_by: alert.createdBy,
    })
  }

  /** With another rule, or switched on again, it is armed as a new one. False: there is none. */
  changeAlert(accountId: string, id: string, to: Pick<Alert, 'rule' | 'emails' | 'webhooks' | 'isEnabled'>): boolean {
    return this.#db
      .transaction(() => {
        const before = this.alert(accountId, id)
        if (before === undefined) return false
        const { kind, threshold, key_id } = ruleColumns(to.rule)
        this.#db
          .query(
            `UPDATE alerts SET kind = $kind, threshold = $threshold, key_id = $key_id, emails = $emails, webhooks = $webhooks,
               is_enabled = $isEnabled, version = version + 1 WHERE id = $id`,
          )
          .run({
            id,
            kind,
            threshold,
            key_id,
            emails: JSON.stringify(to.emails),
            webhooks: JSON.stringify(to.webhooks),
            isEnabled: Number(to.isEnabled),
          })
        const isSame = before.isEnabled === to.isEnabled && Bun.deepEquals(before.rule, to.rule)
        if (!isSame) this.#db.query('DELETE FROM alert_marks WHERE alert_id = ?').run(id)
        return true
      })
      .immediate()
  }

  /** What it fired before is told all the same. */
  removeAlert(accountId: string, id: string): boolean {
    return this.#db.query('DELETE FROM alerts WHERE account_id = ? AND id = ?').run(accountId, id).changes > 0
  }

  webhooks(accountId: string): readonly Webhook[] {
    return this.#db.query<WebhookRow, [string]>(`${WEBHOOKS} WHERE account_id = ? ORDER BY created_at, id`).all(accountId).map(webhookOf)
  }

  webhook(accountId: string, id: string): Webhook | undefined {
    const row = this.#db.query<WebhookRow, [string, string]>(`${WEBHOOKS} WHERE account_id = ? AND id = ?`).get(accountId, id)
    return row === null ? undefined : webhookOf(row)
  }

  addWebhook(webhook: Omit<Webhook, 'createdAt'>): boolean {
    return this.#insert('webhooks', webhook.accountId, ALERT_BOUNDS.webhooks, {
      id: webhook.id,
      account_id: webhook.accountId,
      url: webhook.url,
      secret: webhook.secret,
      is_enabled: Number(webhook.isEnabled),
      created_by: webhook.createdBy,
    })
  }

  changeWebhook(accountId: string, id: string, { url, isEnabled }: Pick<Webhook, 'url' | 'isEnabled'>): boolean {
    const changed = this.#db.query('UPDATE webhooks SET url = ?, is_enabled = ? WHERE account_id = ? AND id = ?')
    return changed.run(url, Number(isEnabled), accountId, id).changes > 0
  }

  removeWebhook(accountId: string, id: string): boolean {
    return this.#db.query('DELETE FROM webhooks WHERE account_id = ? AND id = ?').run(accountId, id).changes > 0
  }

  /** Accounts with an alert that is switched on, a page at a time, in the order of their ids. */
  watchedAccounts(after: string, limit: number): readonly string[] {
    const page = 'SELECT DISTINCT account_id AS id FROM alerts WHERE account_id > ? AND is_enabled = 1 ORDER BY account_id LIMIT ?'
    return this.#db
      .query<{ id: string }, [string, number]>(page)
      .all(after, limit)
      .map(({ id }) => id)
  }

  marks(alertId: string): Marks {
    const rows = this.#db
      .query<{ subject: string; mark: string }, [string]>('SELECT subject, mark FROM alert_marks WHERE alert_id = ?')
      .all(alertId)
    return new Map(rows.map(({ subject, mark }) => [subject, mark]))
  }

  /** One commit. Nothing where the alert was changed or removed since it was read: it is judged again. */
  fire(alert: Alert, marks: Marks, firings: readonly Firing[]): Fired {
    return this.#db
      .transaction(() => {
        const is = this.alert(alert.accountId, alert.id)
        if (is === undefined || is.version !== alert.version) return NOTHING
        this.#db.query('DELETE FROM alert_marks WHERE alert_id = ?').run(alert.id)
        for (const [subject, mark] of marks)
          this.#db.query('INSERT INTO alert_marks (alert_id, subject, mark) VALUES (?, ?, ?)').run(alert.id, subject, mark)
        const fired = firings.map((firing) => this.#tell(alert.accountId, alert.id, firing, is))
        this.#forgetOldest(alert.accountId)
        return fired.reduce((sum, one) => ({ told: sum.told + one.told, dropped: sum.dropped + one.dropped }), NOTHING)
      })
      .immediate()
  }

  /** Outside any alert: somebody tries a receiver. */
  tell(accountId: string, firing: Firing, to: Receivers): Fired {
    return this.#db
      .transaction(() => {
        const fired = this.#tell(accountId, null, firing, to)
        this.#forgetOldest(accountId)
        return fired
      })
      .immediate()
  }

  #tell(accountId: string, alertId: string | null, { eventId, event }: Firing, { emails, webhooks }: Receivers): Fired {
    const now = this.#now()
    const there = new Set(this.webhooks(accountId).flatMap(({ id, isEnabled }) => (isEnabled ? [id] : [])))
    const targets = [
      ...emails.map((target) => ['email', target] as const),
      ...webhooks.filter((id) => there.has(id)).map((target) => ['webhook', target] as const),
    ]
    const room = this.#room(accountId)
    const told = targets.slice(0, room)
    // What nobody is told must not push out of the file what counts.
    if (targets.length > 0 && told.length === 0) return { told: 0, dropped: targets.length }
    this.#db
      .query('INSERT INTO alert_events (id, account_id, alert_id, body, created_at) VALUES (?, ?, ?, ?, ?)')
      .run(eventId, accountId, alertId, JSON.stringify(event), now)
    for (const [channel, target] of told)
      this.#db
        .query('INSERT INTO deliveries (event_id, account_id, channel, target, next_at) VALUES (?, ?, ?, ?, ?)')
        .run(eventId, accountId, channel, target, now)
    return { told: told.length, dropped: targets.length - told.length }
  }

  /** Whoever changes an alert makes it fire anew, as often as he likes: what leaves for others is bounded all the same. */
  #room(accountId: string): number {
    const since = this.#now() - HOUR_MS
    const counts = this.#db
      .query<{ waiting: number; hourly: number }, { account: string; since: number }>(COUNTS)
      .get({ account: accountId, since })
    return Math.max(0, Math.min(ALERT_BOUNDS.waiting - (counts?.waiting ?? 0), ALERT_BOUNDS.hourly - (counts?.hourly ?? 0)))
  }

  /** However much it fires, an account takes so much of the file. */
  #forgetOldest(accountId: string): void {
    const oldest = 'SELECT id FROM alert_events WHERE account_id = $account ORDER BY id DESC LIMIT -1 OFFSET $kept'
    this.#db.query(`DELETE FROM alert_events WHERE id IN (${oldest})`).run({ account: accountId, kept: ALERT_BOUNDS.kept })
  }

  #insert(
    table: 'alerts' | 'webhooks',
    accountId: string,
    max: number,
    columns: Readonly<Record<string, string | number | null>>,
  ): boolean {
    const all = { ...columns, created_at: this.#now() }
    const names = Object.keys(all)
    const values = names.map((name) => `$${name}`).join(', ')
    return this.#db
      .transaction(() => {
        const has = this.#db.query<{ n: number }, [string]>(`SELECT count(*) AS n FROM ${table} WHERE account_id = ?`).get(accountId)
        if ((has?.n ?? 0) >= max) return false
        this.#db.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${values})`).run(all)
        return true
      })
      .immediate()
  }
}

const ALERTS = 'SELECT * FROM alerts'
const WEBHOOKS = 'SELECT * FROM webhooks'
const COUNTS = `SELECT (SELECT count(*) FROM deliveries WHERE account_id = $account AND state = 'waiting') AS waiting,
  (SELECT count(*) FROM alert_events e JOIN deliveries d ON d.event_id = e.id WHERE e.account_id = $account AND e.created_at > $since) AS hourly`
