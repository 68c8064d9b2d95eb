/**
 * The leases behind the wallets of a shared ledger: a request is held at once when the leases of its account and key cover it; otherwise the node asks for a larger lease. Idle
 * leases are given back. Pure state, without a clock. Rules: ledger.md "Leases".
 */

import { type GiveBackReason, idleOf, noteIdle, runningOf, stayOf } from '../../core/lease.ts'
import { picos } from '../../core/money.ts'
import { heldEarlier, turn } from '../../core/spending.ts'
import { type Budgets, HOUR_MS, hourAt, steppedHours } from '../../core/windows.ts'
import type { AskedWindows, LeaseAnswer, LeaseAsk, LeaseMove } from '../lease-move.ts'
import type { HoldRequest } from '../ledger.ts'
import {
  coversIn,
  forgetIdle,
  hasNothing,
  type LeasedKey,
  type Leasing,
  learnGrant,
  learnLease,
  type Sides,
  shrink,
} from './leased-wallet.ts'

type Asking<Key> = Readonly<{ request: HoldRequest; key: Key }>
/** `hour`: the hour for which the request was granted; undefined: no budget by window holds. */
type Granted<Key> = Asking<Key> & Readonly<{ hour: number | undefined }>
/** The ledger's clock as the last answer said it, and this process's monotonic time then. */
type LedgerTime = Readonly<{ ledgerMs: number; atMs: number }>

export class WalletLeases<Key extends LeasedKey> {
  /** Asks that are not answered, by move number. */
  readonly #asking = new Map<number, Asking<Key>>()
  readonly #accounts = new Set<Key['account']>()
  /** Keys that have leases of their limits. */
  readonly #keys = new Set<Key>()
  /** The keys of plans with budgets, by account and plan. */
  readonly #plans = new Set<Key['plan']>()
  /** Releases that are not answered, by move number. */
  readonly #releasing = new Map<number, Sides>()
  readonly #budgetsOf: (plan: string) => Budgets
  readonly #onStep: (hours: number) => void
  #time: LedgerTime | undefined
  #lastMove = 0
  /** The number of the last move whose rows may be gone: the answers to it and to earlier moves count as unavailable. */
  #forgotten = 0

  constructor(budgetsOf: (plan: string) => Budgets, onStep: (hours: number) => void) {
    this.#budgetsOf = budgetsOf
    this.#onStep = onStep
  }

  /** The hour of the ledger's clock; undefined: it is not known yet. `nowMs`: monotonic. */
  hourAt(nowMs: number): number | undefined {
    return this.#time && hourAt(this.#time.ledgerMs + nowMs - this.#time.atMs)
  }

  /** Whether a budget by window holds for the key. */
  hasBudgets({ account, plan, budgets }: Key): boolean {
    return budgets.length + account.budgets.length + this.#budgetsOf(plan.name).length > 0
  }

  /** `hour`: that of the ledger's clock; a lease on which budgets hold covers only in the hour for which it was granted. */
  covers(key: Key, amountPicos: bigint, hour: number | undefined): boolean {
    const { account, plan, limitPicos, budgets } = key
    const isCovered = (leasing: Leasing, of: Budgets): boolean => coversIn(leasing, amountPicos, of.length === 0 ? 'any' : hour)
    if (!isCovered(account, account.budgets)) return false
    if ((limitPicos !== null || budgets.length > 0) && !isCovered(key, budgets)) return false
    const ofPlan = this.#budgetsOf(plan.name)
    return ofPlan.length === 0 || isCovered(plan, ofPlan)
  }

  noteHeld(key: Key): void {
    for (const one of [key.account, key.plan, key]) noteIdle(one)
  }

  /** Sets the idle part of the request's leases aside for the request until `answered`. */
  ask(key: Key, request: HoldRequest, nowMs: number): LeaseAsk {
    const { account, plan } = key
    const number = ++this.#lastMove
    const ofPlan = this.#budgetsOf(plan.name)
    const ask = {
      number,
      accountNumber: account.number,
      accountRunsPicos: picos(runningOf(account)),
      keyNumber: key.number,
      keyRunsPicos: picos(runningOf(key)),
      amountPicos: request.amountPicos,
      ...(ofPlan.length === 0 ? {} : { plan: { name: plan.name, runsPicos: picos(runningOf(plan)) } }),
      ...(this.hasBudgets(key) ? { windows: this.#askedWindows(key, ofPlan, nowMs) } : {}),
    }
    this.#asking.set(number, { request, key })
    key.pins++
    this.#setAside(key, request.amountPicos, 1)
    this.noteHeld(key)
    return ask
  }

  /** What was admitted before the hour is told for the newest hour of all three: the ledger may have granted a later one than its clock says. */
  #askedWindows(key: Key, planBudgets: Budgets, nowMs: number): AskedWindows {
    const { account, plan } = key
    const clock = this.hourAt(nowMs)
    const hour = clock === undefined ? undefined : Math.max(clock, key.spans.hour, plan.spans.hour, account.spans.hour)
    const heldOf = (one: Leasing) => {
      if (hour !== undefined) turn(one, hour)
      return { heldPicos: picos(one.heldPicos), earlierPicos: picos(heldEarlier(one)) }
    }
    return { hour: hour ?? null, planBudgets, account: heldOf(account), plan: heldOf(plan), key: heldOf(key) }
  }

  /** `atMs`: monotonic. */
  learnTime(ledgerMs: number, atMs: number): void {
    const was = this.#time
    this.#time = { ledgerMs, atMs }
    const stepped = was === undefined ? 0 : steppedHours(Math.round((ledgerMs - was.ledgerMs) / HOUR_MS), atMs - was.atMs)
    if (stepped !== 0) this.#onStep(stepped)
  }

  /** Learns the rows. Returns the request that is to be held now, if it was granted. */
  answered({ number, windows }: LeaseAsk, answer: LeaseAnswer | 'unavailable', nowMs: number): Granted<Key> | undefined {
    const asking = this.#asking.get(number)
    if (asking === undefined) return undefined
    this.#asking.delete(number)
    const { key, request } = asking
    key.pins--
    this.#setAside(key, -request.amountPicos, -1)
    const known = number > this.#forgotten ? answer : 'unavailable'
    if (known !== 'unavailable' && known.windows !== undefined) this.learnTime(known.windows.ledgerMs, nowMs)
    this.#learn({ account: key.account, plan: key.plan, key }, known)
    // What is leased already stays of the hour for which it was granted when an ask is refused.
    if (known === 'unavailable' || known.verdict !== 'granted') return undefined
    learnGrant(key, known.windows?.hour, windows)
    return { ...asking, hour: known.windows?.hour }
  }

  released({ number }: LeaseMove, answer: LeaseAnswer | 'unavailable'): void {
    const releasing = this.#releasing.get(number)
    if (releasing === undefined) return
    this.#releasing.delete(number)
    for (const one of [releasing.account, releasing.plan, releasing.key]) if (one !== undefined) one.lease.isReleasing = false
    this.#learn(releasing, number > this.#forgotten ? answer : 'unavailable')
  }

  /** The move that gives back what the leases of the key, its account and its plan need not keep after a request has ended; that part counts as gone from here on. */
  releaseOf(key: Key | undefined): LeaseMove | undefined {
    return key && this.#release({ account: key.account, plan: key.plan, key }, key.account.number, 'ended')
  }

  #release(sides: Sides, accountNumber: number, reason: GiveBackReason): LeaseMove | undefined {
    const stays = (leases: ReadonlySet<unknown>, one: Leasing | undefined): bigint | undefined =>
      one === undefined || !leases.has(one) ? undefined : stayOf(one, reason)
    const [account, plan, key] = [stays(this.#accounts, sides.account), stays(this.#plans, sides.plan), stays(this.#keys, sides.key)]
    if (account === undefined && plan === undefined && key === undefined) return undefined
    const number = ++this.#lastMove
    this.#releasing.set(number, { account: shrink(sides.account, account), plan: shrink(sides.plan, plan), key: shrink(sides.key, key) })
    return {
      number,
      accountNumber,
      accountRunsPicos: account === undefined ? null : picos(account),
      keyNumber: sides.key?.number ?? 0,
      keyRunsPicos: key === undefined ? null : picos(key),
      ...(sides.plan === undefined || plan === undefined ? {} : { plan: { name: sides.plan.name, runsPicos: picos(plan) } }),
    }
  }

  /** The moves that give back all leases, or those of one account, its plans and its keys. */
  releases(reason: GiveBackReason, accountNumber?: number): readonly LeaseMove[] {
    const moves: (LeaseMove | undefined)[] = []
    const concerns = (number: number): boolean => accountNumber === undefined || number === accountNumber
    for (const account of this.#accounts) if (concerns(account.number)) moves.push(this.#release({ account }, account.number, reason))
    for (const plan of this.#plans) if (concerns(plan.accountNumber)) moves.push(this.#release({ plan }, plan.accountNumber, reason))
    for (const key of this.#keys) if (concerns(key.account.number)) moves.push(this.#release({ key }, key.account.number, reason))
    return moves.filter((move) => move !== undefined)
  }

  /** The moves that give back what was not needed since the last sweep. */
  sweep(): readonly LeaseMove[] {
    const moves = this.releases('unused')
    for (const leases of this.#all()) {
      for (const one of leases) {
        one.lease.leastIdlePicos = idleOf(one)
        if (hasNothing(one)) leases.delete(one)
      }
    }
    return moves
  }

  /** To be called when a settle of the key was indeterminate: the amounts that were learned meanwhile may be too small. */
  setIndeterminate(key: Key): void {
    if (this.#accounts.has(key.account)) key.account.lease.isIndeterminate = true
    if (this.#plans.has(key.plan)) key.plan.lease.isIndeterminate = true
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
    for (const leases of this.#all()) for (const one of leases) forgetIdle(one)
  }

  /** Whether nothing is known to be leased, and no move waits for its answer. */
  get isEmpty(): boolean {
    return this.#all().every((leases) => leases.size === 0) && this.#asking.size === 0 && this.#releasing.size === 0
  }

  /** Whether the key has nothing to give back, and so may leave the memory; if it is the last key of its account, the account has nothing either. */
  isWithout(key: Key, isLast: boolean): boolean {
    return (
      !this.#keys.has(key) &&
      !(isLast && (this.#accounts.has(key.account) || [...key.account.plans.values()].some((plan) => this.#plans.has(plan as Key['plan']))))
    )
  }

  #all(): readonly Set<Leasing>[] {
    return [this.#accounts, this.#plans, this.#keys] as readonly Set<unknown>[] as readonly Set<Leasing>[]
  }

  #setAside(key: Key, amountPicos: bigint, asks: 1 | -1): void {
    for (const { lease } of [key, key.plan, key.account]) {
      lease.askedPicos += amountPicos
      lease.asks += asks
    }
  }

  /** Learns the rows, which count everything that was sent before the move, but not what is not acknowledged yet. */
  #learn({ account, plan, key }: Sides, answer: LeaseAnswer | 'unavailable'): void {
    if (account !== undefined) this.#accounts.add(account)
    if (plan !== undefined && (answer === 'unavailable' || answer.plan !== undefined)) this.#plans.add(plan as Key['plan'])
    if (key !== undefined) this.#keys.add(key as Key)
    if (answer === 'unavailable') {
      for (const one of [account, plan, key]) if (one !== undefined) one.lease.isIndeterminate = true
      return
    }
    const isAsk = answer.verdict !== 'released'
    if (plan !== undefined && answer.plan !== undefined) learnLease(plan, answer.plan, isAsk)
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
