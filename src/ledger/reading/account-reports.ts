/**
 * Questions that an account's people ask about the account, and their answers. Every question names the account. Rows of other accounts are never in an answer, nor what
 * only operators may see (upstreams, who credited and why). Rules: ledger.md "Reads", "Roll-ups".
 */

import type { BudgetWindow } from '../../core/alerts.ts'
import type { KeyRecord } from '../../core/key.ts'
import type { Picos } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import type { Per } from '../../core/windows.ts'
import type { CustomersReceipt } from '../columns/receipt.ts'
import type { BudgetSetter, CreditKind } from '../operation.ts'
import type { Page } from './page.ts'
import type { ReceiptFilter } from './receipt-filter.ts'

/** `after`: the `next` of the page before. Times are Unix milliseconds, days whole UTC days since 1970, both ends of a span of days included. */
export type AccountQuestion =
  | Readonly<{ kind: 'account'; accountId: string }>
  /** Newest first. */
  | Readonly<{ kind: 'accountKeys'; accountId: string; after?: string; limit: number }>
  | Readonly<{ kind: 'accountKey'; accountId: string; keyId: string }>
  /** Whether there are all of these keys, each of one of the accounts; `accountIds` undefined: of any. */
  | Readonly<{ kind: 'hasKeys'; accountIds: readonly string[] | undefined; keyIds: readonly string[] }>
  /** The plans that the account's keys have, each once, and that of new keys. */
  | Readonly<{ kind: 'accountPlans'; accountId: string }>
  /** What the windows of `now` (Unix milliseconds) have of budgets: of the account (`keyId` null), or of its key as well. `plans`: of its keys of each of these together, too. */
  | Readonly<{ kind: 'budgets'; accountId: string; keyId: string | null; plans: readonly string[]; now: number }>
  /** Newest first, by settle: `from` and later, before `to`. A page may hold fewer than `limit`, even none, and have a next one: it looks at 10,000 at most. */
  | (Readonly<{
      kind: 'accountReceipts'
      accountId: string
      keyIds?: readonly string[]
      from?: number
      to?: number
      after?: string
      limit: number
    }> &
      Omit<ReceiptFilter, 'upstreams'>)
  | Readonly<{ kind: 'accountReceipt'; accountId: string; requestId: string }>
  /** Newest first. */
  | Readonly<{ kind: 'accountCredits'; accountId: string; after?: string; limit: number }>
  /** The budgets of that key; without one, of the account and of its newest keys that have any. `hour`: the present one, in whole hours since 1970. */
  | Readonly<{ kind: 'budgetWindows'; accountId: string; keyId?: string; hour: number }>
  | SpendQuestion
  | SpendHoursQuestion
  | StatementQuestion

/** Asks for a part of what the roll-ups say; `wholeSpend` puts the parts together. */
export type SpendQuestion = Readonly<{
  kind: 'spend'
  accountId: string
  fromDay: number
  toDay: number
  by: 'day' | 'model' | 'key' | 'tag'
  keyId?: string
  modelId?: string
  tag?: string
  after?: string
}>

/** Asks for a part of the spend of one day by hour, from its receipts. A receipt that is written between two parts may be in the later one. */
export type SpendHoursQuestion = Readonly<{
  kind: 'spendHours'
  accountId: string
  day: number
  by: 'day' | 'model' | 'key' | 'tag'
  keyId?: string
  modelId?: string
  tag?: string
  after?: string
}>

/** Asks for the next part of a signed statement, which has the same bytes as the command's; `statementStream` asks for all parts. `ticket`: the same for all these parts. */
export type StatementQuestion = Readonly<{
  kind: 'statement'
  accountId: string
  /** Unix milliseconds: `from` and later, before `to`. */
  from?: number
  to?: number
  madeAt: number
  ticket: string
  /** The number of the part, from 0. */
  part: number
}>

/** Each is undefined if there is no such account, key or request, or if `after` is no place of this list. */
export type AccountFindings = {
  account: AccountAtRest | undefined
  accountKeys: Page<ListedKey> | undefined
  accountKey: ListedKey | undefined
  hasKeys: boolean
  /** `ofNewKeys`: null for the default. */
  accountPlans: Readonly<{ ofKeys: readonly string[]; ofNewKeys: string | null }> | undefined
  budgets: BudgetsAtRest | undefined
  accountReceipts: Page<AccountReceipt> | undefined
  accountReceipt: ReceiptWithCalls | undefined
  accountCredits: Page<AccountCredit> | undefined
  budgetWindows: BudgetsFound
  spend: SpendPart | undefined
  spendHours: SpendPart | undefined
  /** Undefined also if this part does not follow the one before, or if too many statements were begun since. */
  statement: StatementPart | undefined
}

/** The account as its rows have it; holds, and settles that are under way, are only in the ledger's memory. */
export type AccountAtRest = Readonly<{
  id: string
  name: string
  isActive: boolean
  /** The plan that new keys of its customers get; null: the default. */
  plan: string | null
  /** Requests without a tag are tagged by the id of the end user that they name. */
  tagsUserIds: boolean
  balancePicos: Picos
  creditedPicos: Picos
  spentPicos: Picos
  /** Counted up to 10,000; `hasMoreKeys`: there are more. */
  keyCount: number
  hasMoreKeys: boolean
  createdAt: number
  toppedUpAt: number | null
  /** The newest settle of the counted keys. */
  lastUsedAt: number | null
  /** The newest settle, top-up or limit change of the counted keys. */
  lastSyncedAt: number
}>

/** What was spent in the windows of that hour (whole hours since 1970), each in the order of `PERS`, and each budget as it was set. `key`: nothing where none was named. */
export type BudgetsAtRest = Readonly<{
  hour: number
  key: readonly bigint[]
  account: readonly bigint[]
  /** In the order in which plans were named. */
  plans: readonly (readonly bigint[])[]
  /** `isOfKey`: otherwise of the account. */
  set: readonly Readonly<{ isOfKey: boolean; per: Per; setBy: BudgetSetter; capPicos: Picos }>[]
}>

export type ListedKey = KeyRecord &
  Readonly<{
    accountName: string
    spentPicos: Picos
    createdAt: number
    lastUsedAt: number | null
    lastSyncedAt: number
    /** The secret before the last rotation, and until when it is valid, which may be in the past. */
    previous: Readonly<{ display: string; validUntil: number }> | null
  }>

/** `isWhole`: no key of the account has a budget that is not here. */
export type BudgetsFound = Readonly<{ windows: readonly KeptWindow[]; isWhole: boolean }>
/** `keyId`: null for a budget of the account. */
export type KeptWindow = BudgetWindow & Readonly<{ keyId: string | null }>

export type AccountReceipt = CustomersReceipt

/** `calls`: the upstream calls of the request that are not the one of its receipt, in their order. */
export type ReceiptWithCalls = Readonly<{ receipt: AccountReceipt; calls: readonly OtherCall[] }>
/** `status`: null if no status came. `cause`: one word, such as `timeout`, `reset`, `overloaded`. */
export type OtherCall = Readonly<{ number: number; status: number | null; cause: string; startedAt: number; durationMs: number }>

/** `reason`: why an operator made a refund or correction on the console, whose form says that the account sees the reason; otherwise ''. */
export type AccountCredit = Readonly<{ id: string; kind: CreditKind; amountPicos: Picos; ref: string; reason: string; createdAt: number }>

/** `text`: whole lines, or none yet. */
export type StatementPart = Readonly<{ text: string; isLast: boolean }>

/** Several parts may have rows of the same day and thing. */
export type SpendPart = Readonly<{ rows: readonly SpendRow[]; next: string | null }>

/** The use of a day by one thing: a model, a key, or all (`by: 'day'`, whose id is ''). */
export type SpendRow = Readonly<{ day: number /** 0 to 23, in UTC; null: the whole day. */; hour: number | null } & SpendOf & SpendSums>
/** `name`: the name of the key; '' if the row is not of a key. */
type SpendOf = Readonly<{ id: string; name: string }>
export type SpendSums = Readonly<{
  requests: number
  /** The tokens of all requests, charged or waived. */
  usage: Usage
  costPicos: Picos
  waivedPicos: Picos
  /** The part of the cost that rests on estimated tokens. */
  estimatedPicos: Picos
  /** What the same tokens would have cost without a cache, minus what they cost; negative if cache writes cost more than cache reads saved. */
  savedPicos: Picos
}>
