/**
 * Deliveries of events to e-mail addresses, webhooks and chats: those that are done, and for each other one the time of its next try. A node claims a delivery for a minute at
 * a time before it makes it, so that only one of several nodes makes it, and another node does if that one has died. Rules: pages.md "Alerts", "Webhooks".
 */

import type { PeopleSql, PeopleStore } from '../people/people-sql.ts'

export type DeliveryState = 'waiting' | 'delivered' | 'failed'

export type DueDelivery = Readonly<{
  number: number
  eventId: string
  accountId: string
  channel: 'email' | 'webhook' | 'telegram'
  /** An e-mail address, a webhook's id or a chat's. */
  target: string
  attempts: number
  /** JSON of the event. */
  body: string
}>

export type ListedDelivery = Omit<DueDelivery, 'body'> &
  Readonly<{
    alertId: string | null
    type: string
    state: DeliveryState
    lastStatus: number | null
    lastProblem: string | null
    /** Unix milliseconds. */
    createdAt: number
    /** Null: the delivery is not tried again. */
    nextAt: number | null
    doneAt: number | null
  }>

/** The part of a delivery that decides which other deliveries may run beside it. */
export type Receiver = Pick<DueDelivery, 'accountId' | 'target'>
export type Attempted = Readonly<{ status: number | null; problem: string | null }>

/** How long a claim lasts: longer than one try takes. A claim is renewed while it is needed. */
export const CLAIM_MS = 60_000

export class DeliveryStore {
  readonly #sql: PeopleStore
  readonly #now: () => number
  /** The name under which this node claims deliveries. */
  readonly #owner = crypto.randomUUID()

  constructor(sql: PeopleStore, now: () => number) {
    this.#sql = sql
    this.#now = now
  }

  /**
   * Claims due deliveries, oldest first and few of each account, however many the others have waiting; the cost depends on the number of accounts with deliveries that
   * wait. `mayStart` is asked about each delivery, and gets those that are under way on any node.
   */
  async claim(limit: number, mayStart: (due: Receiver, running: readonly Receiver[]) => boolean): Promise<readonly DueDelivery[]> {
    if ((await this.#due(this.#sql, limit)).length === 0) return []
    return this.#sql.transaction(['deliveries'], async (sql) => {
      const running = [...(await sql.all<Receiver>(RUNNING, { now: this.#now() }))]
      const claimed: DueDelivery[] = []
      for (const due of await this.#due(sql, limit)) {
        if (!mayStart(due, running)) continue
        await sql.run(CLAIM, { number: due.number, owner: this.#owner, until: this.#now() + CLAIM_MS })
        running.push(due)
        claimed.push(due)
      }
      return claimed
    })
  }

  /** Renews this node's claims, while their deliveries are under way. */
  async renew(): Promise<void> {
    await this.#sql.run(RENEW, { owner: this.#owner, until: this.#now() + CLAIM_MS })
  }

  /** Ends all claims. To be called when this process has the store alone, so that every earlier claim is of a dead process. */
  async releaseAll(): Promise<void> {
    await this.#sql.run('UPDATE deliveries SET claimed_until = 0 WHERE claimed_until > 0')
  }

  /** When the next delivery is due that is not under way here; undefined: none waits. */
  async nextAt(): Promise<number | undefined> {
    const row = await this.#sql.get<{ at: number | null }>(NEXT, { now: this.#now(), owner: this.#owner })
    return row?.at ?? undefined
  }

  async delivered({ number }: DueDelivery, { status }: Attempted): Promise<void> {
    await this.#end(number, 'delivered', status, null)
  }

  /** Ends a delivery as failed; it is not tried again. */
  async gaveUp({ number }: DueDelivery, { status, problem }: Attempted): Promise<void> {
    await this.#end(number, 'failed', status, problem)
  }

  /** Notes a failed try. Other deliveries to the same receiver wait at least as long. */
  failed({ number, accountId, channel, target }: DueDelivery, { status, problem }: Attempted, nextAt: number): Promise<void> {
    return this.#sql.transaction(['deliveries'], async (sql) => {
      await sql.run(FAILED, { number, owner: this.#owner, status, problem, nextAt })
      await sql.run(POSTPONE, { account: accountId, channel, target, nextAt })
    })
  }

  /** Newest first; `before`: the number of the last delivery of the page before. */
  async list(accountId: string, before: number | null, limit: number): Promise<readonly ListedDelivery[]> {
    const given = { account: accountId, before: before ?? Number.MAX_SAFE_INTEGER, limit }
    const rows = await this.#sql.all<Omit<ListedDelivery, 'type'> & { body: string }>(LIST, given)
    return rows.map(({ body, ...row }) => ({ ...row, type: (JSON.parse(body) as { type: string }).type }))
  }

  async waiting(): Promise<number> {
    return (await this.#sql.get<{ n: number }>("SELECT count(*) AS n FROM deliveries WHERE state = 'waiting'"))?.n ?? 0
  }

  /** Deletes up to `limit` events that are older than `time`. True: there may be more. */
  async forgetBefore(time: number, limit: number): Promise<boolean> {
    const old = 'DELETE FROM alert_events WHERE id IN (SELECT id FROM alert_events WHERE created_at < $time LIMIT $limit)'
    return (await this.#sql.run(old, { time, limit })) >= limit
  }

  #due(sql: PeopleSql, limit: number): Promise<readonly DueDelivery[]> {
    return sql.all<DueDelivery>(DUE[this.#sql.dialect], { now: this.#now(), limit })
  }

  async #end(number: number, state: DeliveryState, status: number | null, problem: string | null): Promise<void> {
    await this.#sql.run(END, { number, owner: this.#owner, state, status, problem, now: this.#now() })
  }
}

const EACH = 4
/** Whether no delivery to the receiver of `d` runs now. */
const IS_FREE = `NOT EXISTS (
      SELECT 1 FROM deliveries o WHERE o.target = d.target AND o.state = 'waiting' AND o.claimed_until > 0 AND o.claimed_until > $now
    )`
const FEW = `FROM deliveries d WHERE d.account_id = owner.id AND d.state = 'waiting' AND d.next_at <= $now AND ${IS_FREE}
    ORDER BY d.next_at LIMIT ${EACH}`

/** Goes from account to account by the index, and reads a few rows of each: an account with many waiting deliveries costs no more than one with few. */
const dueBy = (join: string): string => `WITH RECURSIVE owner (id) AS (
    SELECT min(account_id) FROM deliveries WHERE state = 'waiting'
    UNION ALL
    SELECT (SELECT min(account_id) FROM deliveries WHERE state = 'waiting' AND account_id > owner.id) FROM owner WHERE owner.id IS NOT NULL
  )
  SELECT w.number, w.event_id AS "eventId", w.account_id AS "accountId", w.channel, w.target, w.attempts, e.body
  FROM owner ${join} JOIN alert_events e ON e.id = w.event_id
  ORDER BY w.next_at, w.number LIMIT $limit`

/** SQLite has no LATERAL, and without it Postgres would look through all deliveries for each account. */
const DUE = {
  sqlite: dueBy(`JOIN deliveries w ON w.number IN (SELECT d.number ${FEW})`),
  postgres: dueBy(`CROSS JOIN LATERAL (SELECT d.* ${FEW}) w`),
} as const

const RUNNING = `SELECT account_id AS "accountId", target FROM deliveries WHERE state = 'waiting' AND claimed_until > 0 AND claimed_until > $now`
const CLAIM = 'UPDATE deliveries SET claimed_by = $owner, claimed_until = $until WHERE number = $number'
const RENEW = `UPDATE deliveries SET claimed_until = $until WHERE claimed_by = $owner AND state = 'waiting' AND claimed_until > 0`
/** A delivery under way on another node may be due again when its claim ends. */
const NEXT = `SELECT min(at) AS at FROM (
    SELECT (SELECT d.next_at FROM deliveries d WHERE d.state = 'waiting' AND ${IS_FREE} ORDER BY d.next_at LIMIT 1) AS at
    UNION ALL
    SELECT min(claimed_until) FROM deliveries WHERE state = 'waiting' AND claimed_until > 0 AND claimed_until > $now AND claimed_by <> $owner
  ) soon`
const FAILED = `UPDATE deliveries SET attempts = attempts + 1, last_status = $status, last_problem = $problem, next_at = $nextAt, claimed_until = 0
  WHERE number = $number AND claimed_by = $owner AND state = 'waiting'`
const POSTPONE = `UPDATE deliveries SET next_at = $nextAt
  WHERE account_id = $account AND state = 'waiting' AND channel = $channel AND target = $target AND next_at < $nextAt`
/** Changes nothing where another node has taken the claim over. */
const END = `UPDATE deliveries SET attempts = attempts + 1, state = $state, last_status = $status, last_problem = $problem, done_at = $now, claimed_until = 0
  WHERE number = $number AND claimed_by = $owner AND state = 'waiting'`

const LIST = `SELECT d.number, d.event_id AS "eventId", d.account_id AS "accountId", d.channel, d.target, d.attempts, e.alert_id AS "alertId",
    e.body, d.state, d.last_status AS "lastStatus", d.last_problem AS "lastProblem", e.created_at AS "createdAt",
    CASE WHEN d.state = 'waiting' THEN d.next_at END AS "nextAt", d.done_at AS "doneAt"
  FROM deliveries d JOIN alert_events e ON e.id = d.event_id
  WHERE d.account_id = $account AND d.number < $before ORDER BY d.number DESC LIMIT $limit`
