/**
 * Alerts and webhooks of accounts, as their people set them, and the alerts that fired. A fired alert and its deliveries are written together, so that a process that
 * dies in between has written both or neither. The caller has checked that the account is the person's. Rules: pages.md "Alerts".
 */

import type { AlertEvent } from '../core/alert-event.ts'
import type { Marks } from '../core/alerts.ts'
import { Chats } from '../people/chats.ts'
import type { Given, PeopleSql } from '../people/people-sql.ts'
import { type Alert, type AlertRow, alertOf, ruleColumns, type Webhook, type WebhookRow, webhookOf } from './alert-rows.ts'

/** An account's bounds. `waiting`: deliveries that wait; `hourly`: deliveries that begin in an hour; `kept`: events, with their deliveries. */
export const ALERT_BOUNDS = { alerts: 20, webhooks: 5, emails: 10, waiting: 100, hourly: 200, kept: 500 } as const

const HOUR_MS = 3_600_000

/** An event for the receivers of the alert. */
type Firing = Readonly<{ eventId: string; event: AlertEvent }>
/** The judgement of an alert: its marks `before` it, and its `marks` after it. */
export type Judged = Readonly<{ before: Marks; marks: Marks; firings: readonly Firing[] }>
/** `chats`: ids of chats with the cabinet's bot. */
export type Receivers = Readonly<{ emails: readonly string[]; webhooks: readonly string[]; chats?: readonly string[] }>
/** `told`: deliveries that wait now. `dropped`: deliveries for which there was no room. */
export type Fired = Readonly<{ told: number; dropped: number }>

const NOTHING: Fired = { told: 0, dropped: 0 }

export class AlertStore {
  readonly #sql: PeopleSql
  readonly #now: () => number

  constructor(sql: PeopleSql, now: () => number) {
    this.#sql = sql
    this.#now = now
  }

  async alerts(accountId: string): Promise<readonly Alert[]> {
    const rows = await this.#sql.all<AlertRow>(`${ALERTS} WHERE account_id = $account ORDER BY created_at, id`, { account: accountId })
    return rows.map(alertOf)
  }

  /** Undefined: the account has no such alert. */
  async alert(accountId: string, id: string): Promise<Alert | undefined> {
    const row = await this.#sql.get<AlertRow>(`${ALERTS} WHERE account_id = $account AND id = $id`, { account: accountId, id })
    return row === undefined ? undefined : alertOf(row)
  }

  /** False: the account has as many alerts as it may. */
  addAlert({ rule, ...alert }: Omit<Alert, 'version' | 'createdAt'>): Promise<boolean> {
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

  /** An alert with another rule, or one that is switched on again, is armed like a new one. False: the account has no such alert. */
  changeAlert(accountId: string, id: string, to: Pick<Alert, 'rule' | 'emails' | 'webhooks' | 'isEnabled'>): Promise<boolean> {
    return this.#of(accountId, async (store, sql) => {
      const before = await store.alert(accountId, id)
      if (before === undefined) return false
      await sql.run(CHANGE_ALERT, {
        id,
        ...ruleColumns(to.rule),
        emails: JSON.stringify(to.emails),
        webhooks: JSON.stringify(to.webhooks),
        isEnabled: Number(to.isEnabled),
      })
      const isSame = before.isEnabled === to.isEnabled && Bun.deepEquals(before.rule, to.rule)
      if (!isSame) await sql.run(FORGET_MARKS, { id })
      return true
    })
  }

  /** Events that the alert fired before are still delivered. */
  removeAlert(accountId: string, id: string): Promise<boolean> {
    return this.#of(accountId, async (_store, sql) => {
      return (await sql.run('DELETE FROM alerts WHERE account_id = $account AND id = $id', { account: accountId, id })) > 0
    })
  }

  async webhooks(accountId: string): Promise<readonly Webhook[]> {
    const rows = await this.#sql.all<WebhookRow>(`${WEBHOOKS} WHERE account_id = $account ORDER BY created_at, id`, { account: accountId })
    return rows.map(webhookOf)
  }

  async webhook(accountId: string, id: string): Promise<Webhook | undefined> {
    const row = await this.#sql.get<WebhookRow>(`${WEBHOOKS} WHERE account_id = $account AND id = $id`, { account: accountId, id })
    return row === undefined ? undefined : webhookOf(row)
  }

  addWebhook(webhook: Omit<Webhook, 'createdAt'>): Promise<boolean> {
    return this.#insert('webhooks', webhook.accountId, ALERT_BOUNDS.webhooks, {
      id: webhook.id,
      account_id: webhook.accountId,
      url: webhook.url,
      secret: webhook.secret,
      is_enabled: Number(webhook.isEnabled),
      created_by: webhook.createdBy,
    })
  }

  async changeWebhook(accountId: string, id: string, { url, isEnabled }: Pick<Webhook, 'url' | 'isEnabled'>): Promise<boolean> {
    const change = 'UPDATE webhooks SET url = $url, is_enabled = $isEnabled WHERE account_id = $account AND id = $id'
    return (await this.#sql.run(change, { url, isEnabled: Number(isEnabled), account: accountId, id })) > 0
  }

  async removeWebhook(accountId: string, id: string): Promise<boolean> {
    return (await this.#sql.run('DELETE FROM webhooks WHERE account_id = $account AND id = $id', { account: accountId, id })) > 0
  }

  /** Accounts with an alert that is switched on, a page at a time, in the order of their ids. */
  async watchedAccounts(after: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#sql.all<{ id: string }>(WATCHED, { after, limit })
    return rows.map(({ id }) => id)
  }

  /** Whether this node is to look by itself now; if so, no other node does for `forMs`. */
  async takeTurn(forMs: number): Promise<boolean> {
    return this.#sql.dialect === 'sqlite' || (await this.#sql.run(TAKE_TURN, { forMs })) > 0
  }

  async marks(alertId: string): Promise<Marks> {
    const rows = await this.#sql.all<{ subject: string; mark: string }>(MARKS, { id: alertId })
    return new Map(rows.map(({ subject, mark }) => [subject, mark]))
  }

  /** Writes what an alert fired, in one commit. Writes nothing where the alert was changed, removed or judged by another node since it was read: it is judged again. */
  fire(alert: Alert, { before, marks, firings }: Judged): Promise<Fired> {
    return this.#of(alert.accountId, async (store, sql) => {
      const is = await store.alert(alert.accountId, alert.id)
      if (is === undefined || is.version !== alert.version || !Bun.deepEquals(await store.marks(alert.id), before)) return NOTHING
      await sql.run(FORGET_MARKS, { id: alert.id })
      for (const [subject, mark] of marks) await sql.run(MARK, { id: alert.id, subject, mark })
      const to = { ...is, chats: await new Chats(sql, this.#now).toldOf(alert.accountId) }
      let fired = NOTHING
      for (const firing of firings) {
        const { told, dropped } = await store.#tell(alert.accountId, alert.id, firing, to)
        fired = { told: fired.told + told, dropped: fired.dropped + dropped }
      }
      await store.#forgetOldest(alert.accountId)
      return fired
    })
  }

  /** Writes an event without an alert: a person tries a receiver. */
  tell(accountId: string, firing: Firing, to: Receivers): Promise<Fired> {
    return this.#of(accountId, async (store) => {
      const fired = await store.#tell(accountId, null, firing, to)
      await store.#forgetOldest(accountId)
      return fired
    })
  }

  /** Runs `work` in a transaction that excludes all others that change or fire alerts of the account. */
  #of<Result>(accountId: string, work: (store: AlertStore, sql: PeopleSql) => Promise<Result>): Promise<Result> {
    return this.#sql.transaction([`account ${accountId}`], (sql) => work(new AlertStore(sql, this.#now), sql))
  }

  async #tell(
    accountId: string,
    alertId: string | null,
    { eventId, event }: Firing,
    { emails, webhooks, chats = [] }: Receivers,
  ): Promise<Fired> {
    const now = this.#now()
    const there = new Set((await this.webhooks(accountId)).flatMap(({ id, isEnabled }) => (isEnabled ? [id] : [])))
    const targets = [
      ...emails.map((target) => ['email', target] as const),
      ...webhooks.filter((id) => there.has(id)).map((target) => ['webhook', target] as const),
      ...chats.map((target) => ['telegram', target] as const),
    ]
    const room = await this.#room(accountId)
    const told = targets.slice(0, room)
    // An event without a receiver must not push others out of the store.
    if (targets.length > 0 && told.length === 0) return { told: 0, dropped: targets.length }
    await this.#sql.run(ADD_EVENT, { id: eventId, account: accountId, alertId, body: JSON.stringify(event), now })
    for (const [channel, target] of told) await this.#sql.run(ADD_DELIVERY, { id: eventId, account: accountId, channel, target, now })
    return { told: told.length, dropped: targets.length - told.length }
  }

  /** How many deliveries may be added now. A change of an alert arms it again, as often as its person likes, so the number of deliveries is bounded here. */
  async #room(accountId: string): Promise<number> {
    const counts = await this.#sql.get<{ waiting: number; hourly: number }>(COUNTS, { account: accountId, since: this.#now() - HOUR_MS })
    return Math.max(0, Math.min(ALERT_BOUNDS.waiting - (counts?.waiting ?? 0), ALERT_BOUNDS.hourly - (counts?.hourly ?? 0)))
  }

  /** Bounds the account's part of the store, however much fires. */
  async #forgetOldest(accountId: string): Promise<void> {
    await this.#sql.run(FORGET_OLDEST, { account: accountId, kept: ALERT_BOUNDS.kept })
  }

  #insert(table: 'alerts' | 'webhooks', accountId: string, max: number, columns: Given): Promise<boolean> {
    const all: Given = { ...columns, created_at: this.#now() }
    const names = Object.keys(all)
    const values = names.map((name) => `$${name}`).join(', ')
    return this.#of(accountId, async (_store, sql) => {
      const has = await sql.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE account_id = $account`, { account: accountId })
      if ((has?.n ?? 0) >= max) return false
      await sql.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${values})`, all)
      return true
    })
  }
}

const ALERTS = 'SELECT * FROM alerts'
const WEBHOOKS = 'SELECT * FROM webhooks'
const CHANGE_ALERT = `UPDATE alerts SET kind = $kind, threshold = $threshold, key_id = $key_id, emails = $emails, webhooks = $webhooks,
    is_enabled = $isEnabled, version = version + 1 WHERE id = $id`
const WATCHED = 'SELECT DISTINCT account_id AS id FROM alerts WHERE account_id > $after AND is_enabled = 1 ORDER BY account_id LIMIT $limit'
const MARKS = 'SELECT subject, mark FROM alert_marks WHERE alert_id = $id ORDER BY subject'
const MARK = 'INSERT INTO alert_marks (alert_id, subject, mark) VALUES ($id, $subject, $mark)'
const FORGET_MARKS = 'DELETE FROM alert_marks WHERE alert_id = $id'
const ADD_EVENT = 'INSERT INTO alert_events (id, account_id, alert_id, body, created_at) VALUES ($id, $account, $alertId, $body, $now)'
const ADD_DELIVERY = `INSERT INTO deliveries (event_id, account_id, channel, target, next_at) VALUES ($id, $account, $channel, $target, $now)`
const COUNTS = `SELECT (SELECT count(*) FROM deliveries WHERE account_id = $account AND state = 'waiting') AS waiting,
  (SELECT count(*) FROM alert_events e JOIN deliveries d ON d.event_id = e.id WHERE e.account_id = $account AND e.created_at > $since) AS hourly`
const FORGET_OLDEST = `DELETE FROM alert_events WHERE account_id = $account AND id < (
    SELECT min(id) FROM (SELECT id FROM alert_events WHERE account_id = $account ORDER BY id DESC LIMIT $kept) newest
  )`
/** Takes the turn by the database's clock, since those of the nodes may differ. */
const TAKE_TURN = `INSERT INTO turns (name, until) VALUES ('watch', CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + $forMs)
  ON CONFLICT (name) DO UPDATE SET until = excluded.until WHERE turns.until <= CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`
