/**
 * Reads the budgets of an account and of its keys with what their windows have of them, for alerts: only what has a budget is looked at, and a bounded number of it.
 * Rules: money.md "Budgets"; ledger.md "Reads".
 */

import { picos } from '../../core/money.ts'
import { HOUR_MS, PERS, type Per, windowAt } from '../../core/windows.ts'
import type { Connection } from '../sql/connection.ts'
import type { BudgetsFound, KeptWindow } from './account-reports.ts'
import type { QuestionOf } from './reports.ts'

/** The most budgets of keys in one answer: those of the newest keys. */
const BUDGETS_MAX = 200

type Row = Readonly<{ id: string | null; per: Per; cap: bigint; spent: bigint }>
type Given = (string | number)[]

/** The parameters from ?2 on: start and end of each window. */
const START = `CASE b.per ${PERS.map((per, index) => `WHEN '${per}' THEN CAST(?${2 + 2 * index} AS BIGINT)`).join(' ')} END`
const END = `CASE b.per ${PERS.map((per, index) => `WHEN '${per}' THEN CAST(?${3 + 2 * index} AS BIGINT)`).join(' ')} END`

/** The least of the operator's and the customer's cap holds. The limit stands inside, so that no more windows are summed than are told. */
const caps = (which: string): string => `(SELECT account_number, key_number, per, min(cap_picos) AS cap FROM budgets
  WHERE account_number = (SELECT number FROM accounts WHERE id = ?1) AND ${which}
  GROUP BY account_number, key_number, per ORDER BY key_number DESC LIMIT ${BUDGETS_MAX + 1})`
const spent = (from: string): string =>
  `CAST(coalesce((SELECT sum(h.spent_picos) FROM ${from} AND h.hour >= ${START} AND h.hour < ${END}), 0) AS BIGINT) AS spent`

const ofKeys = (
  which: string,
): string => `SELECT k.id AS id, b.per AS per, b.cap AS cap, ${spent('key_hours h WHERE h.key_number = b.key_number')}
  FROM ${caps(which)} b JOIN keys k ON k.number = b.key_number ORDER BY b.key_number DESC, b.per`
const OF_ACCOUNT = `SELECT NULL AS id, b.per AS per, b.cap AS cap, ${spent('account_hours h WHERE h.account_number = b.account_number')}
  FROM ${caps('key_number = 0')} b ORDER BY b.per`

export class BudgetWindows {
  readonly #ofAccount
  readonly #ofKeys
  readonly #ofKey

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#ofAccount = db.prepare<Row, Given>(OF_ACCOUNT)
    this.#ofKeys = db.prepare<Row, Given>(ofKeys('key_number > 0'))
    this.#ofKey = db.prepare<Row, Given>(ofKeys('key_number = (SELECT number FROM keys WHERE id = ?10)'))
  }

  found({ accountId, keyId, hour }: QuestionOf<'budgetWindows'>): BudgetsFound {
    const windows = PERS.map((per) => windowAt(per, hour))
    const given = [accountId, ...windows.flatMap(({ start, end }) => [start, end])]
    const told = ({ id, per, cap, spent }: Row): KeptWindow => ({
      keyId: id,
      per,
      capPicos: picos(cap),
      spentPicos: picos(spent),
      resetsAt: windowAt(per, hour).end * HOUR_MS,
    })
    if (keyId !== undefined) return { windows: this.#ofKey.all(...given, keyId).map(told), isWhole: true }
    const rows = this.#ofKeys.all(...given)
    const isWhole = rows.length <= BUDGETS_MAX
    // Of the key at the edge there may be more budgets than are here.
    const whole = isWhole ? rows : rows.filter(({ id }) => id !== rows.at(-1)?.id)
    return { windows: [...this.#ofAccount.all(...given), ...whole].map(told), isWhole }
  }
}
