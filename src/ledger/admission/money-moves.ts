/**
 * How a request moves the money of its key, its account, and the account's keys of its plan: held when it is admitted, released when it ends, spent when it is settled. `hour`: in
 * which it was admitted. Rules: ledger.md "Wallets"; money.md "Holds", "Budgets".
 */

import type { Shortage } from '../../core/key.ts'
import type { Picos } from '../../core/money.ts'
import { type InFlight, noteOfHour, type Spending, turn } from '../../core/spending.ts'
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

type OfKey = Readonly<{ key: KeyWallet; hold: Hold }>

/** The requests of a wallet that are in no row: those whose settle is not acknowledged, and those that run. */
export function inFlightOf(of: Spending, settling: Iterable<Settling>, running: Iterable<OfKey>): readonly InFlight[] {
  const isOf = ({ key }: OfKey): boolean => of === key || of === key.plan || of === key.account
  const requests: InFlight[] = []
  for (const one of settling) if (isOf(one)) requests.push({ hour: hourAt(one.hold.startedAt), heldPicos: 0n, spentPicos: one.costPicos })
  for (const one of running)
    if (isOf(one)) requests.push({ hour: hourAt(one.hold.startedAt), heldPicos: one.hold.amountPicos, spentPicos: 0n })
  return requests
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
