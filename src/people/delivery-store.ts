/** What is to be told and was told: deliveries of events to e-mail addresses and webhooks, and when each is tried next. Rules: pages.md "Alerts", "Webhooks". */

import type { Database } from 'bun:sqlite'

export type DeliveryState = 'waiting' | 'delivered' | 'failed'

export type DueDelivery = Readonly<{
  number: number
  eventId: string
  accountId: string
  channel: 'email' | 'webhook'
  /** An e-mail address or a webhook's id. */
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
    /** Null: it is not tried again. */
    nextAt: number | null
    doneAt: number | null
  }>

/** Who is being told now. */
export type Busy = Readonly<{ numbers: readonly number[]; targets: readonly string[] }>
export type Attempted = Readonly<{ status: number | null; problem: string | null }>

export class DeliveryStore {
  readonly #db: Database
  readonly #now: () => number

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#now = now
  }

  /** Oldest first, few of each account, whatever the others have waiting; what it costs depends on the number of accounts that wait. */
  due(limit: number, { numbers, targets }: Busy): readonly DueDelivery[] {
    const given = { now: this.#now(), limit, numbers: JSON.stringify(numbers), targets: JSON.stringify(targets) }
    return this.#db.query<DueDelivery, [typeof given]>(DUE).all(given)
  }

  /** When the next one is due that is not under way; undefined: none waits. */
  nextAt({ numbers, targets }: Busy): number | undefined {
    const next = `SELECT next_at AS at FROM deliveries WHERE state = 'waiting' AND ${IS_FREE} ORDER BY next_at LIMIT 1`
    const given = { numbers: JSON.stringify(numbers), targets: JSON.stringify(targets) }
    return this.#db.query<{ at: number }, [typeof given]>(next).get(given)?.at
  }

  delivered({ number }: DueDelivery, { status }: Attempted): void {
    this.#end(number, 'delivered', status, null)
  }

  /** Not tried again. */
  gaveUp({ number }: DueDelivery, { status, problem }: Attempted): void {
    this.#end(number, 'failed', status, problem)
  }

  /** All that waits for the same receiver waits at least as long. */
  failed({ number, accountId, channel, target }: DueDelivery, { status, problem }: Attempted, nextAt: number): void {
    const attempted = 'UPDATE deliveries SET attempts = attempts + 1, last_status = ?, last_problem = ?, next_at = ? WHERE number = ?'
    const others = `UPDATE deliveries SET next_at = ? WHERE account_id = ? AND state = 'waiting' AND channel = ? AND target = ? AND next_at < ?`
    this.#db
      .transaction(() => {
        this.#db.query(attempted).run(status, problem, nextAt, number)
        this.#db.query(others).run(nextAt, accountId, channel, target, nextAt)
      })
      .immediate()
  }

  /** Newest first; `before`: the number of the last one of the page before. */
  list(accountId: string, before: number | null, limit: number): readonly ListedDelivery[] {
    const given = { account: accountId, before: before ?? Number.MAX_SAFE_INTEGER, limit }
    return this.#db.query<ListedDelivery, [typeof given]>(LIST).all(given)
  }

  waiting(): number {
    return this.#db.query<{ n: number }, []>("SELECT count(*) AS n FROM deliveries WHERE state = 'waiting'").get()?.n ?? 0
  }

  /** Some of what is older than that; whether there may be more. */
  forgetBefore(time: number, limit: number): boolean {
    const old = 'DELETE FROM alert_events WHERE id IN (SELECT id FROM alert_events WHERE created_at < ? LIMIT ?)'
    return this.#db.query(old).run(time, limit).changes >= limit
  }

  #end(number: number, state: DeliveryState, status: number | null, problem: string | null): void {
    this.#db
      .query('UPDATE deliveries SET attempts = attempts + 1, state = ?, last_status = ?, last_problem = ?, done_at = ? WHERE number = ?')
      .run(state, status, problem, this.#now(), number)
  }
}

const EACH = 4
const IS_FREE = 'number NOT IN (SELECT value FROM json_each($numbers)) AND target NOT IN (SELECT value FROM json_each($targets))'

/** From account to account by the index, and a few rows of each: an account with many that wait costs no more than one with few. */
const DUE = `WITH RECURSIVE owner (id) AS (
    SELECT min(account_id) FROM deliveries WHERE state = 'waiting'
    UNION ALL
    SELECT (SELECT min(account_id) FROM deliveries WHERE state = 'waiting' AND account_id > owner.id) FROM owner WHERE owner.id IS NOT NULL
  )
  SELECT d.number, d.event_id AS eventId, d.account_id AS accountId, d.channel, d.target, d.attempts, e.body
  FROM owner JOIN deliveries d ON d.number IN (
    SELECT number FROM deliveries WHERE account_id = owner.id AND state = 'waiting' AND next_at <= $now AND ${IS_FREE} ORDER BY next_at LIMIT ${EACH}
  ) JOIN alert_events e ON e.id = d.event_id
  ORDER BY d.next_at, d.number LIMIT $limit`

const LIST = `SELECT d.number, d.event_id AS eventId, d.account_id AS accountId, d.channel, d.target, d.attempts, e.alert_id AS alertId,
    e.body ->> 'type' AS type, d.state, d.last_status AS lastStatus, d.last_problem AS lastProblem, e.created_at AS createdAt,
    CASE WHEN d.state = 'waiting' THEN d.next_at END AS nextAt, d.done_at AS doneAt
  FROM deliveries d JOIN alert_events e ON e.id = d.event_id
  WHERE d.account_id = $account AND d.number < $before ORDER BY d.number DESC LIMIT $limit`
