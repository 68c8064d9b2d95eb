/**
 * How a request moves the money of its key, its account, and the account's keys of its plan: held when it is admitted, released when it ends, spent when it is settled. `hour`: in
 * which it was admitted. Rules: ledger.md "Wallets"; money.md "Holds", "Budgets".
 */

import type { Shortage } from '../../core/key.ts'
import type { Picos } from '../../core/money.ts'
import { noteOfHour, type Spending, turn } from '../../core/spending.ts'
import { hourAt } from '../../core/windows.ts'
import type { Hold, HoldAnswer } from '../ledger.ts'
import type { KeyWallet } from './wallet.ts'

/** The cost of a settle that is not acknowledged. */
export type Settling = Readonly<{ key: KeyWallet; hold: Hold; costPicos: Picos }>

export function take(key: KeyWallet, amountPicos: bigint, hour: number): void {
  for (const one of [key, key.plan, key.account]) {
    turn(one, hour)
    one.heldPicos += amountPicos
    noteOfHour(one, hour, 0n, amountPicos)
  }
}

export function release(key: KeyWallet, amountPicos: bigint, hour: number): void {
  for (const one of [key, key.plan, key.account]) {
    one.heldPicos -= amountPicos
    noteOfHour(one, hour, 0n, -amountPicos)
  }
}

/** `acknowledge` must follow. */
export function spend(key: KeyWallet, costPicos: bigint, hour: number): void {
  key.account.balancePicos -= costPicos
  for (const one of [key, key.plan, key.account]) {
    one.spentPicos += costPicos
    one.unsettledPicos += costPicos
    one.lease.amountPicos -= costPicos
    noteOfHour(one, hour, costPicos, 0n)
  }
}

/** To be called when a row has the cost, and before `unspend` when none will. */
export function acknowledge(key: KeyWallet, costPicos: bigint): void {
  for (const one of [key, key.plan, key.account]) one.unsettledPicos -= costPicos
}

export function unspend(key: KeyWallet, costPicos: bigint, hour: number): void {
  key.account.balancePicos += costPicos
  for (const one of [key, key.plan, key.account]) {
    one.spentPicos -= costPicos
    noteOfHour(one, hour, -costPicos, 0n)
  }
}

/** What settles that are not acknowledged cost a wallet, of requests that were admitted in that hour or later. */
export function unsettledIn(settling: Iterable<Settling>, of: Spending, fromHour: number): bigint {
  let sum = 0n
  for (const { key, hold, costPicos } of settling) {
    if ((of === key || of === key.plan || of === key.account) && hourAt(hold.startedAt) >= fromHour) sum += costPicos
  }
  return sum
}

export function answerOf(shortage: Shortage): HoldAnswer {
  switch (shortage) {
    case 'balanceUsed':
    case 'limitUsed':
      return 'exhausted'
    case 'balanceHeld':
    case 'limitHeld':
    case 'windowHeld':
      return 'reserved'
    default:
      return shortage
  }
}
