/** The windows of an account as `accounts show` shows them. Rules: money.md "Budgets"; operator.md "Commands". */

import { budgetDocument } from '../core/budget-document.ts'
import type { WindowBalance } from '../core/spending.ts'
import { spentIn } from '../ledger/reading/window-balances.ts'
import { leftText } from './budgets.ts'
import type { CommandContext } from './command-context.ts'
import type { Stop } from './environment.ts'
import { readReport } from './read-report.ts'

/** `plan` null: a budget of all keys of the account; else of its keys of that plan together. */
type AccountWindow = WindowBalance & Readonly<{ plan: string | null }>

/** The windows of an account: of its own budgets (`plan` null), and of those that a plan has for all its keys of that plan together. */
export function windowsOfAccount(context: CommandContext, accountId: string): readonly AccountWindow[] | Stop {
  const now = context.environment.now()
  const plans = [...context.config.catalog.plans.values()].filter(({ budgets = [] }) => budgets.length > 0)
  return readReport(context, ({ accounts }) => {
    const own = accounts.accountWindows(accountId, '', now)
    if (own === undefined) return []
    const ofPlans = plans.flatMap(({ name, budgets = [] }) => {
      const sums = accounts.accountWindows(accountId, name, now)
      return spentIn(own.hour, sums?.plan ?? [], budgets, 'plan').map((window) => ({ ...window, plan: name }))
    })
    return [...spentIn(own.hour, own.account, own.accountBudgets, 'account').map((window) => ({ ...window, plan: null })), ...ofPlans]
  })
}

export const windowDocument = ({ plan, ...window }: AccountWindow) => ({ plan, ...budgetDocument(window) })

export const windowFacts = (windows: readonly AccountWindow[]): readonly (readonly [string, string])[] =>
  windows.map((window) => [`per ${window.per}${window.plan === null ? '' : `, keys of ${window.plan}`}`, leftText(window)])
