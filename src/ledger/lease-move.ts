/** What a process that shares the ledger asks of its leases, and what it is told, as data that crosses threads and processes. Rules: ledger.md "Leases". */

import type { Picos } from '../core/money.ts'
import type { WindowUsed } from '../core/spending.ts'
import type { Budgets } from '../core/windows.ts'

/**
 * Asks for a larger lease, or gives some of it back. `number` grows with each move of the process: a move that arrives after a newer one changes nothing. `…RunsPicos`:
 * the part of the lease that other requests hold; a release shrinks the lease to it. null: that lease stays as it is.
 */
export type LeaseMove = Readonly<{
  number: number
  /** The relay whose leases these are; absent: this process is a node, and they are its own. */
  boot?: number | undefined
  accountNumber: number
  accountRunsPicos: Picos | null
  keyNumber: number
  keyRunsPicos: Picos | null
  /** The lease of the account's keys of this plan, on which the plan's budgets hold; absent: the plan has none. */
  plan?: Readonly<{ name: string; runsPicos: Picos }>
}>

/** `amountPicos`: what the request is to hold, in addition to the requests that run. `windows`: absent where no budget by window is known to the asking process. */
export type LeaseAsk = LeaseMove & Readonly<{ amountPicos: Picos; windows?: AskedWindows }>

/**
 * What running requests hold, by the hour in which they were admitted. `hour`: the newest one that the asking process knows; null: none. Of each lease all that is held, and the
 * part of it that was admitted before that hour.
 */
export type AskedWindows = Readonly<{
  hour: number | null
  planBudgets: Budgets
  account: HeldByHour
  plan: HeldByHour
  key: HeldByHour
}>
export type HeldByHour = Readonly<{ heldPicos: Picos; earlierPicos: Picos }>

/**
 * What was admitted before the hour of what the asking process said that it holds. One whose clock is an hour behind counts as earlier all of it; one that knows no hour, or whose clock is
 * ahead, nothing.
 */
export function earlierOf(known: number | null, hour: number, held: HeldByHour | undefined): bigint {
  if (known === null || held === undefined || known > hour) return 0n
  return known === hour ? held.earlierPicos : held.heldPicos
}

/**
 * granted: the request may be held · exhausted: balance or limit is used up · reserved: what is left is leased, by running requests of this node ·
 * wanted: other nodes have leases, and were asked for the idle part · disabled: the key or its account is disabled · released: the move was no ask.
 */
type LeaseVerdict = 'granted' | 'exhausted' | 'reserved' | 'wanted' | 'disabled' | 'released'

/** One lease after the move. `backedPicos`: the part of this node's lease that the balance covers beside the leases of others. */
export type LeaseSide = Readonly<{
  backedPicos: Picos
  /** Whether the row has a larger lease than the balance covers: a granted request is not covered in full. */
  hasMore: boolean
  /** Whether so little is left that only what a request needs is leased. */
  isSmall: boolean
}>

/** The rows after the move. */
export type LeaseAnswer = Readonly<{
  verdict: LeaseVerdict
  /** What refused the ask: the account, for all of its keys, or the limit of this key. null: the ask was granted, or the move was no ask. */
  refusedBy: 'account' | 'key' | null
  account: LeaseSide
  key: LeaseSide
  balancePicos: Picos
  /** What the key has spent. */
  spentPicos: Picos
  /** Present where the move names a plan. */
  plan?: LeaseSide
  /** Present where a budget by window holds: the leases are for this hour of the ledger's clock, which said `ledgerMs`. */
  windows?: Readonly<{ hour: number; ledgerMs: number }>
  /** Present where the ask is refused because a window is used up. */
  used?: WindowUsed
}>

/** What a relay's requests hold, plus the cost of its settles that are not acknowledged: by account number, by account number and plan, and by the number of keys with a limit or a budget. */
export type RelayRuns = Readonly<{
  accounts: readonly (readonly [number, Picos])[]
  plans?: readonly (readonly [account: number, plan: string, Picos])[]
  keys: readonly (readonly [number, Picos])[]
}>
