/** Budgets by window on the command line: what sets one, and how `keys show` and `accounts show` show them. Rules: money.md "Budgets"; operator.md "Commands". */

import { Option } from 'commander'
import { budgetsOf } from '../core/catalog.ts'
import { availableOf } from '../core/key.ts'
import { picos } from '../core/money.ts'
import type { WindowBalance } from '../core/spending.ts'
import { PERS, type Per } from '../core/windows.ts'
import type { Operation } from '../ledger/operation.ts'
import type { KeyReport } from '../ledger/reading/account-lists.ts'
import { windowsAtRest } from '../ledger/reading/window-balances.ts'
import { type Limit, limitPicosOf } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { timeText, usdText } from './text.ts'

export const perOption = (): Option =>
  new Option('--per <WINDOW>', 'a budget for each of these, by UTC; default: the limit for life').choices(PERS)
export type PerOption = { per?: Per }

/** `keyId` null: of all keys of the account together. */
export const budgetOf = (accountId: string, keyId: string | null, per: Per, wanted: Limit, now: number): Operation => ({
  ...({ kind: 'setBudget', accountId, keyId, per, setBy: 'operator', now } as const),
  capPicos: limitPicosOf(wanted),
})

/** The key with the windows of all budgets that hold for it; what it may spend is the least of balance, limit and windows. */
export function withWindows({ config }: CommandContext, key: KeyReport): KeyReport {
  const windows = key.sums === undefined ? [] : windowsAtRest(key.sums, budgetsOf(config.catalog, key.plan))
  const availablePicos = availableOf({ balancePicos: key.availablePicos, limitPicos: null, spentPicos: picos(0n), windows })
  return { ...key, availablePicos, windows }
}

export const budgetFacts = (windows: readonly WindowBalance[]): readonly (readonly [string, string])[] =>
  windows.map((window) => [window.of === 'key' ? `per ${window.per}` : `per ${window.per}, ${window.of}`, leftText(window)])

/** The last requests of a window may cost more than was left. */
export const leftText = ({ capPicos, spentPicos, resetsAt }: WindowBalance): string =>
  spentPicos > capPicos
    ? `${usdText(picos(spentPicos - capPicos))} over ${usdText(capPicos)}; nothing left until ${timeText(resetsAt)}`
    : `${usdText(picos(capPicos - spentPicos))} of ${usdText(capPicos)} left until ${timeText(resetsAt)}`
