/** The rows that a wallet is made of, with what was spent in the present windows, as data that crosses threads. Rules: ledger.md "Wallets"; money.md "Budgets". */

import type { Picos } from '../core/money.ts'
import type { Budgets } from '../core/windows.ts'

/** The rows that a wallet is made of. */
export type KeyState = Readonly<{
  keyId: string
  keyNumber: number
  accountId: string
  accountNumber: number
  isActive: boolean
  isAccountActive: boolean
  /** Unix milliseconds; null: never. */
  expiresAt: number | null
  limitPicos: Picos | null
  spentPicos: Picos
  balancePicos: Picos
  plan: string
  /** Absent where the caller said no time. */
  sums?: KeyWindows
  /** Unix milliseconds: of the key's last settle or limit change, and of its account's last credit. */
  lastSyncedAt: number
  toppedUpAt: number | null
}>

/** What the rows of a key and its account say once a settle is in them. `sums`: absent where no budget holds. */
export type SettledRows = Pick<KeyState, 'keyId' | 'accountId' | 'plan' | 'spentPicos' | 'balancePicos' | 'lastSyncedAt' | 'sums'>

/**
 * What was spent in the windows of that hour (whole hours since 1970), in the order hour, day, week, month: by the key, by its account's keys of its plan, by its account. And the
 * budgets of key and account; those of the plan stand in the configuration. `clockHour`, `aheadFrom`: as `WindowSums` has them.
 */
export type KeyWindows = Readonly<{
  hour: number
  clockHour: number
  aheadFrom: number | null
  key: readonly bigint[]
  plan: readonly bigint[]
  account: readonly bigint[]
  keyBudgets: Budgets
  accountBudgets: Budgets
}>
