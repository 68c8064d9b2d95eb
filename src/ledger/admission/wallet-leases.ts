/**
 * The leases behind the wallets of a shared ledger: a request is held at once when the leases of its account and key cover it; otherwise the node asks for a larger lease. Idle
 * leases are given back. Pure state, without a clock. Rules: ledger.md "Leases".
 */

import { covers, type GiveBackReason, idleOf, type Lease, noteIdle, runningOf, stayOf } from '../../core/lease.ts'
import { picos } from '../../core/money.ts'
import type { HoldRequest } from '../ledger.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove, LeaseSide } from '../task.ts'

/** `unsettledPicos`: the cost of settles that were sent and are not acknowledged. */
type LeasedAccount = {
  readonly number: number
  balancePicos: bigint
  heldPicos: bigint
  unsettledPicos: bigint
  readonly lease: Lease
}
export type LeasedKey<Account extends LeasedAccount = LeasedAccount> = {
  readonly number: number
  readonly account: Account
  limitPicos: bigint | null
  spentPicos: bigint
  heldPicos: bigint
  unsettledPicos: bigint
  readonly lease: Lease
  pins: number
}

type Asking<Key> = Readonly<{ request: HoldRequest; key: Key }>

export class WalletLeases<Key extends LeasedKey> {
  /** Asks that are not answered, by move number. */
  readonly #asking = new Map<number, Asking<Key>>()
  readonly #accounts = new Set<Key['account']>()
  /** Keys that have leases of their limits. */
  readonly #keys = new Set<Key>()
  /** Releases that are not answered, by move number. */
  readonly #releasing = new Map<number, Readonly<{ account: Key['account'] | undefined; key: Key | undefined }>>()
  #lastMove = 0
  /** The number of the last move whose rows may be gone: the answers to it and to earlier moves count as unavailable. */
  #forgotten = 0

  covers(key: Key, amountPicos: bigint): boolean {
    return covers(key.account, amountPicos) && (key.limitPicos === null || covers(key, amountPicos))
  }

  noteHeld(key: Key): void {
    noteIdle(key.account)
    noteIdle(key)
  }

  /** Sets the idle part of the request's leases aside for the request until `answered`. */
  ask(key: Key, request: HoldRequest): LeaseAsk {
    const { account } = key
    const number = ++this.#lastMove
    const ask = {
      number,
      accountNumber: account.number,
      accountRunsPicos: picos(runningOf(account)),
      keyNumber: key.number,
      keyRunsPicos: picos(runningOf(key)),
      amountPicos: request.amountPicos,
    }
    this.#asking.set(number, { request, key })
    key.pins++
    this.#setAside(key, request.amountPicos, 1)
    this.noteHeld(key)
    return ask
  }

  /** Learns the rows. Returns the request that is to be held now, if it was granted. */
  answered({ number }: LeaseAsk, answer: LeaseAnswer | 'unavailable'): Asking<Key> | undefined {
    const asking = this.#asking.get(number)
    if (asking === undefined) return undefined
    this.#asking.delete(number)
    const { key, request } = asking
    key.pins--
    this.#setAside(key, -request.amountPicos, -1)
    const known = number > this.#forgotten ? answer : 'unavailable'
    this.#learn(key.account, key, known)
    return known !== 'unavailable' && known.verdict === 'granted' ? asking : undefined
  }

  released({ number }: LeaseMove, answer: LeaseAnswer | 'unavailable'): void {
    const releasing = this.#releasing.get(number)
    if (releasing === undefined) return
    this.#releasing.delete(number)
    for (const one of [releasing.account, releasing.key]) if (one !== undefined) one.lease.isReleasing = false
    this.#learn(releasing.account, releasing.key, number > this.#forgotten ? answer : 'unavailable')
  }

  /** The move that gives back what these leases need not keep, if there is such a part; that part counts as gone from here on. */
  release(account: Key['account'] | undefined, key: Key | undefined, reason: GiveBackReason): LeaseMove | undefined {
    const accountStays = account === undefined || !this.#accounts.has(account) ? undefined : stayOf(account, reason)
    const keyStays = key === undefined || !this.#keys.has(key) ? undefined : stayOf(key, reason)
    const accountNumber = (account ?? key?.account)?.number
    if (accountNumber === undefined || (accountStays === undefined && keyStays === undefined)) return undefined
    const number = ++this.#lastMove
    this.#releasing.set(number, { account: shrink(account, accountStays), key: shrink(key, keyStays) })
    return {
      number,
      accountNumber,
      accountRunsPicos: accountStays === undefined ? null : picos(accountStays),
      keyNumber: key?.number ?? 0,
      keyRunsPicos: keyStays === undefined ? null : picos(keyStays),
    }
  }

  /** The moves that give back all leases, or those of one account and its keys. */
  releases(reason: GiveBackReason, accountNumber?: number): readonly LeaseMove[] {
    const moves: (LeaseMove | undefined)[] = []
    const concerns = ({ number }: LeasedAccount): boolean => accountNumber === undefined || number === accountNumber
    for (const account of this.#accounts) if (concerns(account)) moves.push(this.release(account, undefined, reason))
    for (const key of this.#keys) if (concerns(key.account)) moves.push(this.release(undefined, key, reason))
    return moves.filter((move) => move !== undefined)
  }

  /** The moves that give back what was not needed since the last sweep. */
  sweep(): readonly LeaseMove[] {
    const moves = this.releases('unused')
    for (const leases of [this.#accounts, this.#keys]) {
      for (const one of leases) {
        one.lease.leastIdlePicos = idleOf(one)
        if (hasNothing(one)) leases.delete(one as never)
      }
    }
    return moves
  }

  /** To be called when a settle of the key was indeterminate: the amounts that were learned meanwhile may be too small. */
  setIndeterminate(key: Key): void {
    if (this.#accounts.has(key.account)) key.account.lease.isIndeterminate = true
    if (this.#keys.has(key)) key.lease.isIndeterminate = true
  }

  /** To be called when the account's balance changed by another way than a settle: the idle part of its lease is asked for again. */
  forgetAccount(account: Key['account']): void {
    if (this.#accounts.has(account)) forgetIdle(account)
  }

  forgetKey(key: Key): void {
    if (this.#keys.has(key)) forgetIdle(key)
  }

  /** To be called when another thread writes: the leases may be lost with the rows, so nothing counts as idle until it is asked for again. */
  forget(): void {
    this.#forgotten = this.#lastMove
    for (const leases of [this.#accounts, this.#keys]) for (const one of leases) forgetIdle(one)
  }

  /** Whether nothing is known to be leased, and no move waits for its answer. */
  get isEmpty(): boolean {
    return this.#accounts.size === 0 && this.#keys.size === 0 && this.#asking.size === 0 && this.#releasing.size === 0
  }

  /** Whether the key has nothing to give back, and so may leave the memory; if it is the last key of its account, the account has nothing either. */
  isWithout(key: Key, isLast: boolean): boolean {
    return !this.#keys.has(key) && !(isLast && this.#accounts.has(key.account))
  }

  #setAside(key: Key, amountPicos: bigint, asks: 1 | -1): void {
    for (const { lease } of [key, key.account]) {
      lease.askedPicos += amountPicos
      lease.asks += asks
    }
  }

  /** Learns the rows, which count everything that was sent before the move, but not what is not acknowledged yet. */
  #learn(account: Key['account'] | undefined, key: Key | undefined, answer: LeaseAnswer | 'unavailable'): void {
    if (account !== undefined) this.#accounts.add(account)
    if (key !== undefined) this.#keys.add(key)
    if (answer === 'unavailable') {
      for (const one of [account, key]) if (one !== undefined) one.lease.isIndeterminate = true
      return
    }
    const isAsk = answer.verdict !== 'released'
    if (account !== undefined) {
      learnLease(account, answer.account, isAsk)
      account.balancePicos = answer.balancePicos - account.unsettledPicos
    }
    if (key !== undefined) {
      learnLease(key, answer.key, isAsk)
      key.spentPicos = answer.spentPicos + key.unsettledPicos
    }
  }
}

type Held = { readonly heldPicos: bigint; readonly unsettledPicos: bigint; readonly lease: Lease }

function learnLease({ lease, unsettledPicos }: Held, { backedPicos, hasMore, isSmall }: LeaseSide, isAsk: boolean): void {
  lease.amountPicos = backedPicos - unsettledPicos
  lease.isIndeterminate = hasMore
  if (isAsk) lease.isSmall = isSmall
}

function forgetIdle({ lease, unsettledPicos }: Held): void {
  lease.amountPicos = -unsettledPicos
  lease.isIndeterminate = true
}

function shrink<One extends Held>(one: One | undefined, amountPicos: bigint | undefined): One | undefined {
  if (one === undefined || amountPicos === undefined) return undefined
  if (amountPicos < one.lease.amountPicos) one.lease.amountPicos = amountPicos
  one.lease.isReleasing = true
  return one
}

const hasNothing = ({ lease, unsettledPicos }: Held): boolean =>
  lease.amountPicos <= 0n && lease.asks === 0 && !lease.isReleasing && !lease.isIndeterminate && unsettledPicos === 0n
