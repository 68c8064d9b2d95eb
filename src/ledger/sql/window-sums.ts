/**
 * Reads what was spent in the windows of an hour, and the budgets that hold: one statement for a key, its account and its account's keys of the same plan. Before it the newest hour of the
 * account is looked for: a clock that is a little behind its rows opens no earlier window. Rules: money.md "Budgets".
 */

import { picos } from '../../core/money.ts'
import { type Budget, HOURS_BEHIND_MAX, PERS, presentHour, type Window, windowsAt } from '../../core/windows.ts'
import type { KeyWindows } from '../key-state.ts'
import type { Connection } from './connection.ts'

type Of = Readonly<{ key: number; account: number; plan: string }>
type Ahead = Readonly<{ newest: bigint | null; aheadFrom: bigint | null }>
type Row = Readonly<{ what: 'key' | 'account' | 'plan' | 'keyBudget' | 'accountBudget' }> &
  Readonly<Record<(typeof PERS)[number], bigint | null>>

/** The parameters from ?4 on: start and end of each window, then those of all of them together. */
const SUMS = PERS.map(
  (per, index) =>
    `CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= ?${4 + 2 * index} AND hour < ?${5 + 2 * index}), 0) AS BIGINT) AS "${per}"`,
).join(', ')
const IN_REACH = 'hour >= ?12 AND hour < ?13'
const CAPS = PERS.map((per) => `CAST(min(cap_picos) FILTER (WHERE per = '${per}') AS BIGINT) AS "${per}"`).join(', ')

/** An account's hours are those of all of its keys. There are none ahead of a clock that is right. */
const AHEAD = `SELECT max(hour) FILTER (WHERE hour <= ?3) AS newest, min(hour) FILTER (WHERE hour > ?3) AS "aheadFrom"
  FROM account_hours WHERE account_number = ?1 AND hour > ?2`
const READ = `SELECT 'key' AS what, ${SUMS} FROM key_hours WHERE key_number = ?1 AND ${IN_REACH}
  UNION ALL SELECT 'account', ${SUMS} FROM account_hours WHERE account_number = ?2 AND ${IN_REACH}
  UNION ALL SELECT 'plan', ${SUMS} FROM account_hours WHERE account_number = ?2 AND plan = ?3 AND ${IN_REACH}
  UNION ALL SELECT 'keyBudget', ${CAPS} FROM budgets WHERE account_number = ?2 AND key_number = ?1
  UNION ALL SELECT 'accountBudget', ${CAPS} FROM budgets WHERE account_number = ?2 AND key_number = 0`

/** Returns the reading function; `clockHour`: whole hours since 1970; `newest`: the newest hour of the process that asks. */
export function windowSums(db: Connection): (of: Of, clockHour: number, newest?: number) => KeyWindows {
  const ahead = db.prepare<Ahead, number[]>(AHEAD)
  const read = db.prepare<Row, (string | number)[]>(READ)
  return ({ key, account, plan }, clockHour, newest = 0) => {
    const later = ahead.get(account, clockHour, clockHour + HOURS_BEHIND_MAX)
    const aheadFrom = later?.aheadFrom ?? null
    const hour = presentHour(Math.max(newest, Number(later?.newest ?? 0n)), clockHour)
    const windows = windowsAt(hour)
    const rows = new Map(read.all(key, account, plan, ...boundsOf(windows)).map((row) => [row.what, row]))
    const sumsOf = (what: Row['what']): readonly bigint[] => PERS.map((per) => rows.get(what)?.[per] ?? 0n)
    const budgetsOf = (what: Row['what']): readonly Budget[] =>
      PERS.flatMap((per) => {
        const cap = rows.get(what)?.[per] ?? null
        return cap === null ? [] : [{ per, capPicos: picos(cap) }]
      })
    return {
      hour,
      clockHour,
      aheadFrom: aheadFrom === null ? null : Number(aheadFrom),
      key: sumsOf('key'),
      plan: sumsOf('plan'),
      account: sumsOf('account'),
      keyBudgets: budgetsOf('keyBudget'),
      accountBudgets: budgetsOf('accountBudget'),
    }
  }
}

const boundsOf = (windows: readonly Window[]): readonly number[] => [
  ...windows.flatMap(({ start, end }) => [start, end]),
  Math.min(...windows.map(({ start }) => start)),
  Math.max(...windows.map(({ end }) => end)),
]
