/** The operator's writes as data: what the CLI sends through the operator socket, and what comes back. Rules: operator.md "Keys and accounts". */

import type { TokenScope } from '../core/api-token.ts'
import type { ImportSystem } from '../core/import/systems.ts'
import type { ForeignForm } from '../core/key.ts'
import type { Picos } from '../core/money.ts'
import type { RateLimits } from '../core/token-buckets.ts'
import { DAY_MS } from '../core/utc.ts'
import type { Budget, Per } from '../core/windows.ts'

/**
 * Who acts (`os:alice`, `token:shop`, `program`), from where (`socket`, `file`, an address), and why, in the operator's words. `by`: the token over which the operator's API
 * was asked. Rules: operator.md "Audit".
 */
export type Act = Readonly<{ actor: string; address: string; reason: string; by?: ByToken }>

/** The token is looked at again in the transaction of the write, so that none that was revoked before writes. `once`: the client's Idempotency-Key; null: it sent none. */
export type ByToken = Readonly<{ tokenId: string; once: Once | null }>

/** How long a write under an Idempotency-Key is remembered. */
export const ONCE_MS = DAY_MS

/**
 * A write that counts once until `expiresAt`, which is `ONCE_MS` after it was asked for. Hashes: SHA-256 of the Idempotency-Key, and of what was asked under it. `isBarred`: it may
 * not be done now, and only what it repeats is found. Rules: operator-api.md "Writes".
 */
export type Once = Readonly<{ headerHash: Uint8Array; requestHash: Uint8Array; expiresAt: number; isBarred?: boolean }>

/** The first write under the same Idempotency-Key. `target`: the id of what it made or changed, '' if it has none. `at`: when it was asked for, in Unix milliseconds. */
export type Repeated = Readonly<{ target: string; at: number }>

/** The actor of what the program does by itself. */
export const PROGRAM = { actor: 'program', address: '', reason: '' } as const satisfies Act
/** The actor of what a signal has the program do: the kernel does not say who sent it. */
export const SIGNAL = { actor: 'signal', address: '', reason: '' } as const satisfies Act

/** top-up: adds to the balance · refund: takes off what was paid back, so it is negative · correction: positive or negative. */
export type CreditKind = 'top-up' | 'refund' | 'correction'

/** `ref`: the payment's reference, trimmed; '' if there is none. */
export type TopUp = Readonly<{ creditId: string; amountPicos: Picos; ref: string }>

/** `isPaidOut`: the refund was already paid out, so it is taken whole, even if it is more than the balance. */
export type MaybePaidOut = TopUp & Readonly<{ isPaidOut?: boolean }>

/** `codeHash`: SHA-256 of the code as it is shown. `display`: the part of the code that is shown later. */
export type NewCode = Readonly<{ codeHash: Uint8Array; display: string }>

/** What became of a chat with the cabinet's bot. */
export const CHAT_STATES = ['linked', 'removed', 'told alerts', 'not told alerts'] as const
export type ChatState = (typeof CHAT_STATES)[number]

/** A key of another gateway. `source` names it there. `secretHashes`: under each of them it is found; one that its rotation there left valid has an end. */
export type ImportedKey = Readonly<{
  keyId: string
  source: string
  secretHashes: readonly Readonly<{ hash: Uint8Array; validUntil: number | null }>[]
  form: ForeignForm
  display: string
  name: string
  plan: string
  /** What was left of its own budget there; null: it had none. */
  limitPicos: Picos | null
  /** Its own budget there, where that was full again in each window; null: it was not. */
  budget: Budget | null
  expiresAt: number | null
  isActive: boolean
}>

/** What pays for imported keys. An account that an earlier import made is named by its id here, and gets no balance again. */
export type ImportedAccount = Readonly<{
  accountId: string
  source: string
  name: string
  /** The credit of its balance, under the reference `import:SYSTEM:SOURCE`. */
  creditId: string
  balancePicos: Picos
  /** As of a key; not set where the account was made before. */
  budget: Budget | null
  keys: readonly ImportedKey[]
}>

/** A customer's budget holds beside the operator's, and is never above it. */
export type BudgetSetter = 'operator' | 'customer'

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
  /** Whether the ids of end users that requests bring are their tags. */
  | Readonly<{ kind: 'setAccountTags'; accountId: string; tagsUserIds: boolean; now: number }>
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
  /** `rates` null: the key has none of its own. */
  | Readonly<{ kind: 'setKeyRates'; keyId: string; rates: RateLimits | null; now: number }>
  | Readonly<{ kind: 'setKeyExpiry'; keyId: string; expiresAt: number | null; now: number }>
  /** Sets or removes (null) a cap on what the key, or all keys of the account together (null), may spend in each window. */
  | Readonly<{
      kind: 'setBudget'
      accountId: string
      keyId: string | null
      per: Per
      capPicos: Picos | null
      setBy: BudgetSetter
      now: number
    }>
  /** The plan that new keys of the account's customers get; null: the default. */
  | Readonly<{ kind: 'setAccountPlan'; accountId: string; plan: string | null; now: number }>
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
  /** Keys of another gateway with their accounts; those that are here already stay as they are. */
  | Readonly<{ kind: 'importKeys'; system: ImportSystem; accounts: readonly ImportedAccount[]; now: number }>
  /** Writes only the line in the audit log, because the gateway's memory says whether an upstream takes calls. */
  | Readonly<{ kind: 'setUpstreamOut'; upstream: string; isOut: boolean; now: number }>
  /** Writes only the line, because the people's file says who may sign in. `accountId` null: the access is to the console; with `none`, access to everything ends. */
  | Readonly<{ kind: 'setAccess'; email: string; accountId: string | null; access: 'owner' | 'reader' | 'operator' | 'none'; now: number }>
  /** Writes only the line, because the process reads its configuration anew. `changes`: how many settings become others. `node`: whose file it is, where each has its own. */
  | Readonly<{ kind: 'reload'; changes: number; node: string | null; now: number }>
  /** Writes the line that nothing came of the reload of this time, and leaves its Idempotency-Key free. */
  | Readonly<{ kind: 'refuseReload'; changes: number; now: number }>
  /** Writes only the line that says who gave whom a link to sign in by; the link is in the people's file. */
  | Readonly<{ kind: 'giveLink'; email: string; link: 'password' | 'sign-in'; listener: 'cabinet' | 'console'; now: number }>
  /** A token of the operator's API. `accountIds`: the accounts to which it is bound; empty: it sees all. */
  | Readonly<{
      kind: 'createToken'
      tokenId: string
      tokenHash: Uint8Array
      display: string
      name: string
      scope: TokenScope
      accountIds: readonly string[]
      expiresAt: number
      now: number
    }>
  | Readonly<{ kind: 'revokeToken'; tokenId: string; now: number }>
  /** Notes when a token was used last. No operator does it, so it has no line. */
  | Readonly<{ kind: 'noteTokenUse'; tokenId: string; now: number }>
  /** Writes only the line, because the people's file has the chats of the cabinet's bot. `chat`: its id, as a text. */
  | Readonly<{ kind: 'setChat'; email: string; accountId: string; chat: string; state: ChatState; now: number }>

export type OperationOf<K extends Operation['kind']> = Extract<Operation, { kind: K }>

/** What was done before under the same reference, so that nothing was done now. */
export type Earlier = Readonly<{ creditId: string; accountId: string }>

/** `refused` names what is wrong in words for the operator: no such account, the name is taken, the reference was used, the balance would pass its maximum. */
export type OperationResult =
  /**
   * `redeemedPicos`: the amount of the code, which the account redeemed now or before. `repeats`: an earlier write was done under the same Idempotency-Key, so that nothing
   * was done now.
   */
  | Readonly<{ result: 'done'; earlier?: Earlier; redeemedPicos?: Picos; repeats?: Repeated }>
  /** `what`: the refusal is not about the operation, but about the token or the Idempotency-Key. */
  | Readonly<{ result: 'refused'; problem: string; what?: 'token' | 'Idempotency-Key' }>
  | Readonly<{ result: 'unavailable' }>
