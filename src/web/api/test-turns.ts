/** The turns of the test button: it sends something elsewhere, so an account may press it only a few times a minute. Rules: pages.md "Alerts". */

import type { Alerts } from '../../alerts/alerts.ts'
import { boundedMap } from '../../core/bounded-map.ts'
import { type RateRule, step } from '../../core/rate-limit.ts'
import { refuse } from './answers.ts'

const TURNS: RateRule = { perMinute: 3, burst: 5 }
const ACCOUNTS_MAX = 10_000

type Receivers = Parameters<Alerts['try']>[1]

export class TestTurns {
  readonly #now: () => number
  readonly #tats = boundedMap<number>(ACCOUNTS_MAX)

  /** `now`: milliseconds that never jump. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Answers 202 with the event's id, under which the deliveries show the result. */
  async try(alerts: Alerts, accountId: string, { emails, webhooks, chats = [] }: Receivers): Promise<Response> {
    const { tat, isAllowed, retryAfterSeconds } = step(this.#tats.get(accountId), this.#now(), TURNS)
    this.#tats.set(accountId, tat)
    if (!isAllowed) return refuse(429, 'Wait a little before the next test', { retryAfterS: retryAfterSeconds })
    const eventId = await alerts.try(accountId, { emails, webhooks, chats })
    if (eventId === undefined) return refuse(409, 'No receiver can be reached now: the receivers are disabled, or too much waits for them')
    return Response.json({ event_id: eventId }, { status: 202, headers: { 'cache-control': 'no-store' } })
  }
}
