/** The operator's writes as data: what the CLI sends through the operator socket, and what comes back. Rules: operator.md "Keys and accounts". */

import type { Picos } from '../core/money.ts'

/** Ids, hashes and times are the caller's, so that an operation that is sent twice is the same operation. */
export type Operation =
  | Readonly<{ kind: 'createAccount'; accountId: string; name: string; now: number }>
  | Readonly<{ kind: 'topUp'; topUpId: string; accountId: string; amountPicos: Picos; ref: string; now: number }>
  | Readonly<{ kind: 'setAccountActive'; accountId: string; isActive: boolean; now: number }>
  | Readonly<{
      kind: 'createKey'
      keyId: string
      secretHash: Uint8Array
      display: string
      name: string
      /** null: the key gets an account of its own under `ownAccountId`. */
      accountId: string | null
      ownAccountId: string
      plan: string
      limitPicos: Picos | null
      expiresAt: number | null
      /** Tops the account up in the same transaction; null: nothing. */
      topUp: Readonly<{ topUpId: string; amountPicos: Picos; ref: string }> | null
      now: number
    }>
  | Readonly<{ kind: 'setKeyActive'; keyId: string; isActive: boolean; now: number }>
  | Readonly<{ kind: 'setKeyLimit'; keyId: string; limitPicos: Picos | null; now: number }>
  | Readonly<{ kind: 'setKeyExpiry'; keyId: string; expiresAt: number | null; now: number }>
  | Readonly<{ kind: 'rotateKey'; keyId: string; secretHash: Uint8Array; display: string; oldValidUntil: number; now: number }>

/** `refused` names what is wrong in words for the operator: no such account, the name is taken, the reference was used, the balance would pass its maximum. */
export type OperationResult =
  | Readonly<{ result: 'done' }>
  | Readonly<{ result: 'refused'; problem: string }>
  | Readonly<{ result: 'unavailable' }>
