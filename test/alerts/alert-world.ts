/** Alerts over a real store, with facts, receivers and time that the test decides. A world that is left and opened again is a process that died. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Alert } from '../../src/alerts/alert-rows.ts'
import { AlertStore } from '../../src/alerts/alert-store.ts'
import { type Alerts, type AlertsOptions, startAlerts } from '../../src/alerts/alerts.ts'
import { CLAIM_MS, DeliveryStore } from '../../src/alerts/delivery-store.ts'
import { sendWebhook } from '../../src/alerts/send-webhook.ts'
import type { AlertMail } from '../../src/core/alert-event.ts'
import type { AccountFacts, AlertRule, KeyFacts } from '../../src/core/alerts.ts'
import { type Picos, parseUsd, picos } from '../../src/core/money.ts'
import { makeMetrics } from '../../src/observe/metrics.ts'
import { Chats } from '../../src/people/chats.ts'
import { Memberships } from '../../src/people/memberships.ts'
import { openPeople } from '../../src/people/open-people.ts'
import type { PeopleStore } from '../../src/people/people-sql.ts'
import { takePeoplePlace } from '../support/people-place.ts'
import { authority } from './receiver.ts'

export const usd = (text: string): Picos => parseUsd(text) ?? picos(0n)
export const BELOW_10: AlertRule = { kind: 'balance_below', thresholdPicos: usd('10') }
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export type SentMail = AlertMail & Readonly<{ to: string }>

export class AlertWorld {
  /** Unix milliseconds. */
  nowMs = Date.UTC(2026, 10, 20, 12)
  readonly balances = new Map<string, Picos>()
  readonly keys: KeyFacts[] = []
  readonly mails: SentMail[] = []
  readonly lines: Record<string, unknown>[] = []
  readonly metrics = makeMetrics()
  members: readonly string[] = ['ann@example.com', 'bob@example.com']
  mailProblem: string | null = null
  /** How often each account was looked at. */
  readonly looks = new Map<string, number>()
  readonly #folder = mkdtempSync(join(tmpdir(), 'tollgate-alerts-'))
  readonly #place = takePeoplePlace(this.#folder)
  sql = openPeople(this.#place)
  running: Alerts | undefined
  readonly #others: (() => Promise<void>)[] = []

  store = new AlertStore(this.sql, () => this.nowMs)
  deliveries = new DeliveryStore(this.sql, () => this.nowMs)

  start(options: Partial<AlertsOptions> = {}): Alerts {
    this.running = this.#start(this.sql, options)
    return this.running
  }

  /** As another node on the same store. */
  startAnother(options: Partial<AlertsOptions> = {}): Alerts {
    const sql = openPeople(this.#place)
    const alerts = this.#start(sql, options)
    this.#others.push(async () => {
      alerts.close()
      await sql.close()
    })
    return alerts
  }

  /** The deliveries as another node has them. */
  another(): DeliveryStore {
    return new DeliveryStore(this.sql, () => this.nowMs)
  }

  #start(sql: PeopleStore, options: Partial<AlertsOptions>): Alerts {
    const say = (line: object) => void this.lines.push({ ...line })
    return startAlerts({
      sql,
      factsOf: (accountId) => Promise.resolve(this.#facts(accountId)),
      sendWebhook: (message) =>
        sendWebhook(message, { allowPrivate: true, resolve: () => Promise.resolve(['127.0.0.1']), ca: authority.pem, timeoutMs: 20_000 }),
      sendMail: (to, mail) => {
        this.mails.push({ to, ...mail })
        return Promise.resolve(this.mailProblem)
      },
      sendChat: undefined,
      chatsOf: (accountId) => new Chats(sql, () => this.nowMs).toldOf(accountId),
      membersOf: () => Promise.resolve(this.members),
      accountName: () => Promise.resolve('North Star'),
      alertsPageOf: (accountId) => `https://gateway.example/cabinet/a/${accountId}/alerts`,
      log: { notice: (notice, fields) => say({ notice, ...fields }), alarm: (alarm, fields) => say({ alarm, ...fields }) },
      metrics: this.metrics,
      now: () => this.nowMs,
      random: () => 0,
      everyMs: 10,
      ...options,
    })
  }

  /** As `kill -9`: nothing is finished; the store is what it was. With other nodes beside it another minute passes until its claims end. */
  async die(): Promise<void> {
    this.running?.close()
    await this.sql.close()
    if (this.sql.dialect === 'postgres') this.nowMs += CLAIM_MS
    this.sql = openPeople(this.#place)
    this.store = new AlertStore(this.sql, () => this.nowMs)
    this.deliveries = new DeliveryStore(this.sql, () => this.nowMs)
  }

  async end(): Promise<void> {
    this.running?.close()
    for (const end of this.#others) await end()
    await this.sql.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async addAlert(accountId: string, some: Partial<Alert> = {}): Promise<string> {
    const id = some.id ?? `alert_${Bun.randomUUIDv7()}`
    const alert = { accountId, rule: BELOW_10, emails: [], webhooks: [], isEnabled: true, createdBy: 'ann@example.com', ...some, id }
    if (!(await this.store.addAlert(alert))) throw new Error('no room')
    return id
  }

  /** A chat of a member of the account. */
  async addChat(accountId: string, chat: number, tellsAlerts: boolean): Promise<void> {
    const memberships = new Memberships(this.sql, () => this.nowMs)
    const { id } = await memberships.add({ email: `chat${chat}@example.com`, name: '', isProven: true })
    await memberships.join(id, { accountId, role: 'owner' })
    const chats = new Chats(this.sql, () => this.nowMs)
    await chats.add({ chat, name: '', personId: id, accountId })
    await chats.setTellsAlerts(chat, tellsAlerts)
  }

  async addWebhook(accountId: string, url: string, id = `hook_${Bun.randomUUIDv7()}`): Promise<string> {
    if (!(await this.store.addWebhook({ id, accountId, url, secret: SECRET, isEnabled: true, createdBy: 'ann@example.com' })))
      throw new Error('no room')
    return id
  }

  query<Row>(text: string): Promise<readonly Row[]> {
    return this.sql.all<Row>(text)
  }

  #facts(accountId: string): AccountFacts | undefined {
    this.looks.set(accountId, (this.looks.get(accountId) ?? 0) + 1)
    const balancePicos = this.balances.get(accountId)
    return balancePicos === undefined ? undefined : { at: this.nowMs, balancePicos, spentTodayPicos: usd('0'), keys: this.keys }
  }
}
