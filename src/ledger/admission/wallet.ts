/** The money of an account and of a key as memory knows it: what its row said, and what came since. Rules: ledger.md "Wallets". */

import { emptyLease, type Lease } from '../../core/lease.ts'
import type { KeyState } from '../task.ts'

export type AccountWallet = {
  id: string
  number: number
  isActive: boolean
  balancePicos: bigint
  heldPicos: bigint
  /** The cost of settles that were sent and are not acknowledged; `balancePicos` is already less by it. */
  unsettledPicos: bigint
  lease: Lease
  toppedUpAt: number
  keys: number
}

export type KeyWallet = {
  id: string
  number: number
  account: AccountWallet
  isActive: boolean
  expiresAt: number | null
  limitPicos: bigint | null
  spentPicos: bigint
  heldPicos: bigint
  unsettledPicos: bigint
  lease: Lease
  lastSyncedAt: number
  pins: number
}

export const accountWallet = (state: KeyState): AccountWallet => ({
  id: state.accountId,
  number: state.accountNumber,
  isActive: state.isAccountActive,
  balancePicos: state.balancePicos,
  heldPicos: 0n,
  unsettledPicos: 0n,
  lease: emptyLease(),
  toppedUpAt: state.toppedUpAt ?? 0,
  keys: 0,
})

export const keyWallet = (state: KeyState, account: AccountWallet): KeyWallet => ({
  id: state.keyId,
  number: state.keyNumber,
  account,
  isActive: state.isActive,
  expiresAt: state.expiresAt,
  limitPicos: state.limitPicos,
  spentPicos: state.spentPicos,
  heldPicos: 0n,
  unsettledPicos: 0n,
  lease: emptyLease(),
  lastSyncedAt: state.lastSyncedAt,
  pins: 0,
})
