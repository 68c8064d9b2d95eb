/**
 * The questions that people ask of the ledger, as data, answered beside the writer without delaying it. A question names its client, so that one client's many
 * questions keep others waiting. Rules: ledger.md "Reads". Nothing here throws: a ledger that cannot be read says `unavailable`.
 */

import type { KeyRecord } from '../../core/key.ts'
import type { Picos } from '../../core/money.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Usage } from '../../core/usage.ts'
import type { StatementKey } from '../chain/statement-key.ts'
import type { ReceiptRow } from '../columns/receipt.ts'
import type { KeyWindows } from '../key-state.ts'
import type { Place } from '../place.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { AccountFindings, AccountQuestion } from './account-reports.ts'
import type { ConsoleFindings, ConsoleQuestion } from './console-reports.ts'
import type { OperatorFindings, OperatorQuestion } from './operator-reports.ts'
import type { Page } from './page.ts'

export interface Reports {
  /** `client`: whose turn it is, such as a key's id. */
  ask<K extends QuestionKind>(client: string, question: QuestionOf<K>): Promise<Findings[K] | Unread>
  /** Answers waiting questions with `unavailable` and closes the file. */
  close(): Promise<void>
}

/** tooMany: the client has enough questions waiting · overloaded: all clients together have · unavailable: the file cannot be read. */
export type Unread = 'tooMany' | 'overloaded' | 'unavailable'

export type Question =
  | ConsoleQuestion
  | OperatorQuestion
  | AccountQuestion
  /** A key with its money, as far as the file knows; with what is spent in the windows of `now` (Unix milliseconds), where it is said. */
  | Readonly<{ kind: 'key'; keyId: string; now?: number }>
  /** A page, newest first. Times are Unix milliseconds of the settle: `from` and later, before `to`. `after`: the `next` of the page before. */
  | Readonly<{
      kind: 'receipts'
      keyId: string
      from?: number
      to?: number
      modelId?: string
      outcome?: Outcome
      tag?: string
      after?: string
      limit: number
    }>
  /** A request of that key; a request of another key is unknown. */
  | Readonly<{ kind: 'receipt'; keyId: string; requestId: string }>
  /** The public half of the key that signs the ledger's statements; the key is made if there is none yet. */
  | Readonly<{ kind: 'statementKey' }>
  /** A page, newest day first. Days are whole UTC days since 1970, both ends included. `after`: the last row of the page before. */
  | Readonly<{ kind: 'daily'; keyId: string; fromDay: number; toDay: number; modelId: string | null; after?: DayPlace; limit: number }>

export type QuestionKind = Question['kind']
export type QuestionOf<K extends QuestionKind> = Extract<Question, { kind: K }>

/** The answer to each kind of question. */
export type Findings = AccountFindings &
  ConsoleFindings &
  OperatorFindings & {
    key: KeyAtRest | undefined
    /** Undefined: `after` is no cursor of this key. */
    receipts: ReceiptPage | undefined
    receipt: Receipt | undefined
    daily: DayPage
    statementKey: Pick<StatementKey, 'publicKey'>
  }

export type KeyAtRest = Omit<KeyRecord, 'display'> &
  Readonly<{
    spentPicos: Picos
    balancePicos: Picos
    lastSyncedAt: number
    toppedUpAt: number | null
    createdAt: number
    sums?: KeyWindows
  }>

export type Receipt = ReceiptRow
export type ReceiptPage = Page<ReceiptRow>

/** A model on a day. */
export type DayPlace = Readonly<{ day: number; modelId: string }>
export type DayPage = Readonly<{ days: readonly DayOfModel[]; hasMore: boolean }>

type DayOfModel = Readonly<{
  /** Whole UTC days since 1970. */
  day: number
  modelId: string
  requests: number
  usage: Usage
  costPicos: Picos
  waivedPicos: Picos
}>

/** The outcome of a question of any kind. */
export type Finding = Findings[QuestionKind] | Unread

/** To the thread that reads and does nothing else: one question to the ledger. */
export type ToReader = Readonly<{ kind: 'read'; place: Place; question: Question }> | Readonly<{ kind: 'close' }>

export type FromReader =
  | Readonly<{ kind: 'found'; finding: Finding }>
  | Readonly<{ kind: 'fault'; fault: LedgerFault }>
  | Readonly<{ kind: 'closed' }>
