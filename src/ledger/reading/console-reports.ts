/** Questions of operators about everything, and their answers; the lists are those of the command line. Rules: operator.md "Lists"; ledger.md "Reads". */

import type { Measure } from '../../core/explore.ts'
import type { Picos } from '../../core/money.ts'
import type { Prices } from '../../core/pricing.ts'
import type { ReceiptRow } from '../columns/receipt.ts'
import type { ListedKey, SpendPart } from './account-reports.ts'
import type { AttemptRow } from './attempt-rows.ts'
import type { BatchRow, CodeRow } from './code-lists.ts'
import type { ExploreQuery } from './explore-reads.ts'
import type { ExploreSlices } from './explore-slices.ts'
import type { AccountOrder, KeyOrder, Ordered, OrderedQuery } from './list-orders.ts'
import type { MarginPart, MarginQuery } from './margin-reads.ts'
import type { AuditRow, CreditRow } from './operator-lists.ts'
import type { OrderedReceiptsPart, OrderedReceiptsQuery } from './ordered-receipts.ts'
import type { Page } from './page.ts'
import type { ReceiptFilter, ReceiptsOf } from './receipt-filter.ts'
import type { RepricedPart } from './repriced-receipts.ts'

type Paging = Readonly<{ after?: string; limit: number }>
/** Unix milliseconds: `from` and later, before `to`. */
type Range = Readonly<{ from?: number; to?: number }>

/** `after`: the `next` of the page before. */
export type ConsoleQuestion =
  /** Accounts, newest first. `search`: the beginning of a name, whatever the case of its letters, which gives the order of names; or the beginning of an id (`acc_…`). */
  | (Readonly<{ kind: 'accounts'; search?: string }> & Paging)
  /** Keys, in the same way. A search of four characters, with or without `sk-…`, also finds keys whose secret ends with them: at most 20, at the top of the first page. */
  | (Readonly<{ kind: 'keys'; search?: string }> & Paging)
  /** Accounts by a figure or name, of the newest 10,000 or the first 10,000 that are found; `after`: a place in that order. */
  | (Readonly<{ kind: 'orderedAccounts' }> & OrderedQuery<AccountOrder>)
  /** Keys in the same way, of one account or all. */
  | (Readonly<{ kind: 'orderedKeys' }> & OrderedQuery<KeyOrder>)
  /** Receipts; of keys or accounts in the order of settles, otherwise by request id. `only`: receipts that cost more than was held, or that were waived. */
  | (Readonly<{ kind: 'allReceipts'; of?: ReceiptsOf; only?: 'over hold' | 'waived' }> & ReceiptFilter & Range & Paging)
  /** A part of the receipts in the order of a figure. */
  | (Readonly<{ kind: 'orderedReceipts' }> & OrderedReceiptsQuery)
  /** The names of accounts and keys by their ids; an id without a name, or of nothing, is left out. */
  | Readonly<{ kind: 'names'; accountIds: readonly string[]; keyIds: readonly string[] }>
  | Readonly<{ kind: 'anyReceipt'; requestId: string }>
  | (Readonly<{ kind: 'attempts'; requestId?: string }> & Range & Paging)
  | (Readonly<{ kind: 'credits'; accountId?: string; ref?: string }> & Range & Paging)
  /** Batches of prepaid codes, newest first. */
  | (Readonly<{ kind: 'codeBatches' }> & Paging)
  /** A batch of codes, by id or name. */
  | Readonly<{ kind: 'codeBatch'; batch: string }>
  | (Readonly<{ kind: 'audit'; target?: string; actor?: string; action?: string }> & Range & Paging)
  /** A part of the roll-ups of a day over all accounts, by model; `wholeSpend` puts the parts together. */
  | Readonly<{ kind: 'usageOfDay'; day: number; after?: string }>
  /** A part of what was charged and what it cost us; `wholeMargin` puts the parts together. */
  | (Readonly<{ kind: 'margin' }> & MarginQuery)
  /** A part of what was used by what is asked; `wholeExplored` puts the parts together, or `wholeGroups` where there is a `measure`. Of customers the asker names the account in `only`. */
  | (Readonly<{ kind: 'explore'; measure?: Measure }> & ExploreQuery)
  /** Every account with every key, oldest account first. `day`: the day whose spend is returned. */
  | (Readonly<{ kind: 'alertFacts'; day: number }> & Paging)
  /** Receipts of the requests that came in then, newest first and `limit` at a time, priced again: put the parts together with `RepricedSums`. `prices`: by model. */
  | (Readonly<{ kind: 'repriced'; prices: ReadonlyMap<string, Prices>; accountId?: string }> & Range & Paging)

/** Undefined: `after` is no place of this list; in `anyReceipt`: the request is unknown. */
export type ConsoleFindings = {
  accounts: Page<ListedAccount> | undefined
  keys: Page<ListedKey> | undefined
  orderedAccounts: Ordered<ListedAccount> | undefined
  orderedKeys: Ordered<ListedKey> | undefined
  allReceipts: Page<ReceiptRow> | undefined
  orderedReceipts: OrderedReceiptsPart | undefined
  names: Readonly<Record<string, string>>
  /** `receipt`: undefined if there are only upstream calls, which no client paid for. */
  anyReceipt: Readonly<{ receipt: ReceiptRow | undefined; attempts: readonly AttemptRow[] }> | undefined
  attempts: Page<AttemptRow>
  credits: Page<CreditRow>
  codeBatches: Page<BatchRow>
  /** The batch with its codes, in the order of their places. */
  codeBatch: Readonly<{ batch: BatchRow; codes: readonly CodeRow[] }> | undefined
  audit: Page<AuditRow>
  usageOfDay: SpendPart | undefined
  margin: MarginPart | undefined
  explore: ExploreSlices | undefined
  alertFacts: Page<AlertFact> | undefined
  repriced: RepricedPart
}

export type ListedAccount = Readonly<{
  id: string
  name: string
  isActive: boolean
  balancePicos: Picos
  creditedPicos: Picos
  spentPicos: Picos
  /** Counted up to 1,000; `hasMoreKeys`: there are more. */
  keyCount: number
  hasMoreKeys: boolean
  createdAt: number
  toppedUpAt: number | null
}>

/** An account with one of its keys; an account without keys has one row. The rows of an account are adjacent, also across pages. */
export type AlertFact = Readonly<{
  accountId: string
  accountName: string
  isAccountActive: boolean
  balancePicos: Picos
  toppedUpAt: number | null
  key: AlertKey | null
}>

export type AlertKey = Readonly<{
  id: string
  name: string
  display: string
  isActive: boolean
  expiresAt: number | null
  limitPicos: Picos | null
  spentPicos: Picos
  /** The spend on the day that was asked for; an account's spend is the sum over its keys. */
  spentOfDayPicos: Picos
}>
