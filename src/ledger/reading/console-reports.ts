/** Questions of operators about everything, and their answers; the lists are those of the command line. Rules: operator.md "Lists"; ledger.md "Reads". */

import type { Picos } from '../../core/money.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Prices } from '../../core/pricing.ts'
import type { ReceiptRow } from '../columns/receipt.ts'
import type { ListedKey, SpendPart } from './account-reports.ts'
import type { AttemptRow } from './attempt-rows.ts'
import type { BatchRow, CodeRow } from './code-lists.ts'
import type { AuditRow, CreditRow } from './operator-lists.ts'
import type { Page } from './page.ts'
import type { RepricedPart } from './repriced-receipts.ts'

type Paging = Readonly<{ after?: string; limit: number }>
/** Unix milliseconds: `from` and later, before `to`. */
type Range = Readonly<{ from?: number; to?: number }>

/** `after`: the `next` of the page before. */
export type ConsoleQuestion =
  /** Newest first. `search`: the beginning of a name, its case not minded, in the order of names; or of an id (`acc_…`). */
  | (Readonly<{ kind: 'accounts'; search?: string }> & Paging)
  /** The same; a search of four characters, with or without `sk-…`, also finds keys whose secret ends so: at most 20, on the first page, above the others. */
  | (Readonly<{ kind: 'keys'; search?: string }> & Paging)
  /** Of a key or account by settle, else by request id. `only`: what cost more than was held, or was waived. */
  | (Readonly<{
      kind: 'allReceipts'
      accountId?: string
      keyId?: string
      modelId?: string
      outcome?: Outcome
      only?: 'over hold' | 'waived'
    }> &
      Range &
      Paging)
  | Readonly<{ kind: 'anyReceipt'; requestId: string }>
  | (Readonly<{ kind: 'attempts'; requestId?: string }> & Range & Paging)
  | (Readonly<{ kind: 'credits'; accountId?: string; ref?: string }> & Range & Paging)
  /** Batches of prepaid codes, newest first. */
  | (Readonly<{ kind: 'codeBatches' }> & Paging)
  /** By id or name. */
  | Readonly<{ kind: 'codeBatch'; batch: string }>
  | (Readonly<{ kind: 'audit'; target?: string; actor?: string; action?: string }> & Range & Paging)
  /** A part of the roll-ups of a day over all accounts, by model: put the parts together with `wholeSpend`. */
  | Readonly<{ kind: 'usageOfDay'; day: number; after?: string }>
  /** Every account with every key, oldest account first; `day`: whose spend is told. */
  | (Readonly<{ kind: 'alertFacts'; day: number }> & Paging)
  /** Receipts of the requests that came in then, newest first and `limit` at a time, priced again: put the parts together with `RepricedSums`. `prices`: by model. */
  | (Readonly<{ kind: 'repriced'; prices: ReadonlyMap<string, Prices>; accountId?: string }> & Range & Paging)

/** Undefined: `after` is no place of this list; of `anyReceipt`: nothing is known of the request. */
export type ConsoleFindings = {
  accounts: Page<ListedAccount> | undefined
  keys: Page<ListedKey> | undefined
  allReceipts: Page<ReceiptRow> | undefined
  /** `receipt`: undefined where there are upstream calls only, which no client paid for. */
  anyReceipt: Readonly<{ receipt: ReceiptRow | undefined; attempts: readonly AttemptRow[] }> | undefined
  attempts: Page<AttemptRow>
  credits: Page<CreditRow>
  codeBatches: Page<BatchRow>
  /** With its codes by their places. */
  codeBatch: Readonly<{ batch: BatchRow; codes: readonly CodeRow[] }> | undefined
  audit: Page<AuditRow>
  usageOfDay: SpendPart | undefined
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

/** An account with one of its keys; an account without keys is one row. The rows of an account follow each other, also over the end of a page. */
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
  /** On the day that was asked for; an account's is the sum over its keys. */
  spentOfDayPicos: Picos
}>
