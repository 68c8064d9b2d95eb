/** The operator's writes as data: what the CLI sends through the operator socket, and what comes back. Rules: operator.md "Keys and accounts". */

import type { Picos } from '../core/money.ts'

/** The actor (`os:alice`, `program`), from where (`socket`, `file`, an address), and why in the operator's words. Rules: operator.md "Audit". */
export type Act = Readonly<{ actor: string; address: string; reason: string }>

/** The actor of what the program does by itself. */
export const PROGRAM: Act = { actor: 'program', address: '', reason: '' }

/** top-up adds · refund takes back what was paid back, so it is negative · correction is either. */
export type CreditKind = 'top-up' | 'refund' | 'correction'

/** `ref`: the payment's reference, trimmed; '' for none. */
export type TopUp = Readonly<{ creditId: string; amountPicos: Picos; ref: string }>

/** `isPaidOut`: a refund that has left already is taken whole, also where it is more than is there. */
export type MaybePaidOut = TopUp & Readonly<{ isPaidOut?: boolean }>

/** `codeHash`: SHA-256 of the code as it is shown. `display`: what is shown of it later. */
export type NewCode = Readonly<{ codeHash: Uint8Array; display: string }>

/** Ids, hashes and times are the caller's, so that an operation that is sent twice is the same operation. */
export type Operation =
  | Readonly<{
      kind: 'createAccount'
      accountId: string
      name: string
      /** Tops the account up in the same transaction; null: nothing. */
      topUp: TopUp | null
      now: number
    }>
  | (MaybePaidOut & Readonly<{ kind: 'credit'; creditKind: CreditKind; accountId: string; now: number }>)
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
      topUp: TopUp | null
      now: number
    }>
  | Readonly<{ kind: 'renameAccount'; accountId: string; name: string; now: number }>
  | Readonly<{ kind: 'renameKey'; keyId: string; name: string; now: number }>
  | Readonly<{ kind: 'setKeyActive'; keyId: string; isActive: boolean; now: number }>
  | Readonly<{ kind: 'setKeyLimit'; keyId: string; limitPicos: Picos | null; now: number }>
  | Readonly<{ kind: 'setKeyExpiry'; keyId: string; expiresAt: number | null; now: number }>
  /** `endsPromised`: also a secret that an earlier rotation said is valid for longer. */
  | Readonly<{
      kind: 'rotateKey'
      keyId: string
      secretHash: Uint8Array
      display: string
      oldValidUntil: number
      endsPromised?: boolean | undefined
      now: number
    }>
  /** A batch of prepaid codes, 1 to 1,000 of the same amount. */
  | Readonly<{
      kind: 'createCodes'
      batchId: string
      name: string
      amountPicos: Picos
      expiresAt: number | null
      codes: readonly NewCode[]
      now: number
    }>
  /** The codes of the batch that are not redeemed yet never are. */
  | Readonly<{ kind: 'disableCodes'; batchId: string; now: number }>
  /** Tops the account up with the code's amount, once. */
  | Readonly<{ kind: 'redeemCode'; codeHash: Uint8Array; accountId: string; creditId: string; now: number }>
  /** The line in the audit log alone: whether an upstream takes calls is in the gateway's memory. */
  | Readonly<{ kind: 'setUpstreamOut'; upstream: string; isOut: boolean; now: number }>
  /** The line alone, too: who may come in is in the people's file. `accountId` null: to the console, or to all of it for `none`. */
  | Readonly<{ kind: 'setAccess'; email: string; accountId: string | null; access: 'owner' | 'reader' | 'operator' | 'none'; now: number }>
  /** The line alone: who gave whom a link to come in by, which is in the people's file. */
  | Readonly<{ kind: 'giveLink'; email: string; link: 'password' | 'sign-in'; listener: 'cabinet' | 'console'; now: number }>

export type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

/** Nothing was done, because the same was done before under the same reference. */
export type Earlier = Readonly<{ creditId: string; accountId: string }>

/** `refused` names what is wrong in words for the operator: no such account, the name is taken, the reference was used, the balance would pass its maximum. */
export type OperationResult =
  /** `redeemedPicos`: what the code was worth, now or when the account redeemed it. */
  | Readonly<{ result: 'done'; earlier?: Earlier; redeemedPicos?: Picos }>
  | Readonly<{ result: 'refused'; problem: string }>
  | Readonly<{ result: 'unavailable' }>
