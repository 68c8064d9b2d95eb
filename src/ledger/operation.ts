/** The operator's writes as data: what the CLI sends through the operator socket, and what comes back. Rules: operator.md "Keys and accounts". */

import type { Picos } from '../core/money.ts'

/** Who acts (`os:alice`, `program`), from where (`socket`, `file`, an address), and why, in the operator's words. Rules: operator.md "Audit". */
export type Act = Readonly<{ actor: string; address: string; reason: string }>

/** The actor of what the program does by itself. */
export const PROGRAM: Act = { actor: 'program', address: '', reason: '' }

/** top-up: adds to the balance · refund: takes off what was paid back, so it is negative · correction: positive or negative. */
export type CreditKind = 'top-up' | 'refund' | 'correction'

/** `ref`: the payment's reference, trimmed; '' if there is none. */
export type TopUp = Readonly<{ creditId: string; amountPicos: Picos; ref: string }>

/** `isPaidOut`: the refund was already paid out, so it is taken whole, even if it is more than the balance. */
export type MaybePaidOut = TopUp & Readonly<{ isPaidOut?: boolean }>

/** `codeHash`: SHA-256 of the code as it is shown. `display`: the part of the code that is shown later. */
export type NewCode = Readonly<{ codeHash: Uint8Array; display: string }>

/** Ids, hashes and times come from the caller, so that an operation that is sent twice is the same operation. */
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
  /** `endsPromised`: whether to end also secrets that an earlier rotation promised for longer. */
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
  /** Disables the codes of the batch that are not redeemed yet. */
  | Readonly<{ kind: 'disableCodes'; batchId: string; now: number }>
  /** Tops up the account with the code's amount, once. */
  | Readonly<{ kind: 'redeemCode'; codeHash: Uint8Array; accountId: string; creditId: string; now: number }>
  /** Writes only the line in the audit log, because the gateway's memory says whether an upstream takes calls. */
  | Readonly<{ kind: 'setUpstreamOut'; upstream: string; isOut: boolean; now: number }>
  /** Writes only the line, because the people's file says who may sign in. `accountId` null: the access is to the console; with `none`, access to everything ends. */
  | Readonly<{ kind: 'setAccess'; email: string; accountId: string | null; access: 'owner' | 'reader' | 'operator' | 'none'; now: number }>
  /** Writes only the line that says who gave whom a link to sign in by; the link is in the people's file. */
  | Readonly<{ kind: 'giveLink'; email: string; link: 'password' | 'sign-in'; listener: 'cabinet' | 'console'; now: number }>

export type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

/** What was done before under the same reference, so that nothing was done now. */
export type Earlier = Readonly<{ creditId: string; accountId: string }>

/** `refused` names what is wrong in words for the operator: no such account, the name is taken, the reference was used, the balance would pass its maximum. */
export type OperationResult =
  /** `redeemedPicos`: the amount of the code, which the account redeemed now or before. */
  | Readonly<{ result: 'done'; earlier?: Earlier; redeemedPicos?: Picos }>
  | Readonly<{ result: 'refused'; problem: string }>
  | Readonly<{ result: 'unavailable' }>
