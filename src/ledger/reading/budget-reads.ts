/** Reads what was spent in the present windows of a key or of an account, and each budget as it was set there. Rules: ledger.md "Reads"; money.md "Budgets". */

import type { Picos } from '../../core/money.ts'
import { hourAt, PERS, type Per } from '../../core/windows.ts'
import type { BudgetSetter } from '../operation.ts'
import type { Connection } from '../sql/connection.ts'
import { windowSums } from '../sql/window-sums.ts'
import type { BudgetsAtRest } from './account-reports.ts'
import type { QuestionOf } from './reports.ts'

type Place = Readonly<{ account: number; key: number }>

export class BudgetReads {
  readonly #windowSums: ReturnType<typeof windowSums>
  readonly #statements: ReturnType<typeof prepare>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#windowSums = windowSums(db)
    this.#statements = prepare(db)
  }

  budgets({ accountId, keyId, plans, now }: QuestionOf<'budgets'>): BudgetsAtRest | undefined {
    const found = keyId === null ? this.#statements.account.get({ accountId }) : this.#statements.key.get({ accountId, keyId })
    if (found === undefined || found === null) return undefined
    const of = { account: Number(found.account), key: Number(found.key) }
    const hour = hourAt(now)
    const { key, account } = this.#windowSums({ ...of, plan: '' }, hour)
    const set = this.#statements.set.all(of).map(({ isOfKey, cap, ...budget }) => ({ ...budget, isOfKey: isOfKey === 1n, capPicos: cap }))
    return {
      ...{ hour, key, account },
      plans: plans.map((plan) => this.#windowSums({ ...of, plan }, hour).plan),
      set: set.toSorted((one, other) => PERS.indexOf(one.per) - PERS.indexOf(other.per)),
    }
  }
}

type Row = Readonly<{ isOfKey: bigint; per: Per; setBy: BudgetSetter; cap: Picos }>
type Numbers = Readonly<{ account: bigint; key: bigint }>

const prepare = (db: Connection) => ({
  account: db.query<Numbers, { accountId: string }>(
    'SELECT number AS account, CAST(0 AS BIGINT) AS key FROM accounts WHERE id = $accountId',
  ),
  key: db.query<Numbers, { accountId: string; keyId: string }>(
    `SELECT accounts.number AS account, keys.number AS key FROM keys JOIN accounts ON accounts.number = keys.account_number
     WHERE keys.id = $keyId AND accounts.id = $accountId`,
  ),
  set: db.query<Row, Place>(
    `SELECT CASE WHEN key_number = 0 THEN CAST(0 AS BIGINT) ELSE CAST(1 AS BIGINT) END AS "isOfKey", per, set_by AS "setBy", cap_picos AS cap
     FROM budgets WHERE account_number = $account AND key_number IN (0, $key) ORDER BY key_number DESC, set_by DESC`,
  ),
})
