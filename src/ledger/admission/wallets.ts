/**
 * Admission in the one writer's memory: what requests in flight hold of the wallets of their keys, and what ended requests cost. Pure state: this class sends nothing and
 * reads no clock. Rules: money.md "Holds"; ledger.md "Wallets".
 */

import { InFlight } from '../../core/in-flight.ts'
import { shortageOf } from '../../core/key.ts'
import type { GiveBackReason } from '../../core/lease.ts'
import { ZERO } from '../../core/money.ts'
import { hourAt, NO_BUDGETS } from '../../core/windows.ts'
import type { PriceVersion } from '../columns/parts.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../lease-move.ts'
import type { Attempt, Hold, HoldAnswer, HoldRequest, Progress, Settlement } from '../ledger.ts'
import type { Calls, Debit, InFlightCheckpoint } from '../task.ts'
import { CallCosts } from './call-costs.ts'
import { begun, type HeldRequest } from './held-request.ts'
import { KeyWallets } from './key-wallets.ts'
import { acknowledge, answerOf, inFlightOf, release, type Settling, spend, take, unspend } from './money-moves.ts'
import { PriceBook } from './price-book.ts'
import type { KeyWallet } from './wallet.ts'
import type { BudgetsOfPlan } from './wallet-budgets.ts'
import { WalletLeases } from './wallet-leases.ts'
import { WriterHour } from './writer-hour.ts'

/** What is not said of a window. */
type PlainAnswer = Extract<HoldAnswer, string>

const INT64_MAX = 2n ** 63n - 1n

export class Wallets {
  readonly keys: KeyWallets
  readonly #requests = new InFlight<string, HeldRequest>()
  readonly #settling = new InFlight<string, Settling>()
  readonly #prices = new PriceBook()
  readonly #costs = new CallCosts(this.#prices)
  readonly #leases: WalletLeases<KeyWallet>
  /** On a node: the boot under which requests are admitted now. Requests that were admitted under an earlier boot are waived once that boot was fenced. */
  #boot: number | undefined
  readonly #hour: WriterHour

  /** `boot`: the boot under which requests are held; undefined for the only writer. `onStep`: called with the hours by which the clock of the windows stepped, where they are many. */
  constructor(walletsMax?: number, boot?: number, budgetsOf: BudgetsOfPlan = () => NO_BUDGETS, onStep: (hours: number) => void = () => {}) {
    this.#leases = new WalletLeases(budgetsOf, onStep)
    this.keys = new KeyWallets({
      leases: this.#leases,
      budgetsOf,
      walletsMax,
      inFlight: (of, withHolds) => inFlightOf(of, this.#settling.values(), withHolds ? this.#requests.values() : []),
    })
    this.#hour = new WriterHour(this.keys, onStep)
    this.#boot = boot
  }

  /** Later holds belong to another boot; the leases of the boot before are lost. */
  becomeBoot(boot: number): void {
    this.#boot = boot
    this.forgetLeases()
  }

  /** Marks all keys: their rows are read again before their next request, since other nodes may have changed them. Returns the keys with requests in flight, to be read at once. */
  setAllIndeterminate(): readonly string[] {
    this.keys.setAllIndeterminate()
    return this.runningKeys()
  }

  runningKeys(): readonly string[] {
    return [...new Set([...this.#requests.values()].map(({ key }) => key.id))]
  }

  /** The price versions, which requests name by their place in this list. */
  get prices(): readonly PriceVersion[] {
    return this.#prices.versions
  }

  /** The hour whose windows count at a moment of this process's clock, which is `now`; `nowMs`: monotonic. */
  hourAt(now: number, nowMs: number): number {
    return this.#leases.hourAt(nowMs) ?? this.#hour.at(hourAt(now))
  }

  /** Holds as the only writer. `unknown`: the key must be loaded first. `nowMs`: monotonic. */
  hold(request: HoldRequest, nowMs: number): HoldAnswer | 'unknown' {
    this.#hour.turn(hourAt(request.now), nowMs)
    const key = this.#keyFor(request)
    // Also the windows of a key that may not be used are shown, so they are those of the clock as well.
    if (key !== 'held' && this.keys.isStale(request.keyId)) return 'unknown'
    if (typeof key === 'string') return key
    const hour = this.#hour.of(key)
    if (hour === undefined) return 'unknown'
    const reason = shortageOf(this.keys.balanceOf(key, hour))
    if (reason !== undefined) return answerOf(reason)
    this.#admit(key, request, nowMs, hour)
    return 'held'
  }

  /** Holds as one of several nodes, if its leases cover the request. */
  holdCovered(request: HoldRequest, nowMs: number): PlainAnswer | 'unknown' | 'uncovered' {
    const key = this.#keyFor(request)
    if (typeof key === 'string') return key
    if (this.keys.isStale(key.id)) return 'unknown'
    const hour = this.#leases.hasBudgets(key) ? this.#leases.hourAt(nowMs) : undefined
    if (!this.#leases.covers(key, request.amountPicos, hour)) return 'uncovered'
    this.#admit(key, request, nowMs, hour ?? hourAt(request.now))
    return 'held'
  }

  /** Holds like `holdCovered`. If the leases do not cover the request, returns the ask to send; `answered` must follow. */
  holdLeased(request: HoldRequest, nowMs: number): PlainAnswer | 'unknown' | LeaseAsk {
    const answer = this.holdCovered(request, nowMs)
    const key = this.keys.get(request.keyId)
    return answer === 'uncovered' ? (key === undefined ? 'unknown' : this.#leases.ask(key, request, nowMs)) : answer
  }

  /** Learns the answer to an ask. If the request was granted, it is held from now on, unless its key may no longer be used. */
  answered(ask: LeaseAsk, answer: LeaseAnswer | 'unavailable', nowMs: number): void {
    const granted = this.#leases.answered(ask, answer, nowMs)
    if (granted === undefined || this.#keyFor(granted.request) !== granted.key) return
    this.#admit(granted.key, granted.request, nowMs, granted.hour ?? hourAt(granted.request.now))
  }

  released(release: LeaseMove, answer: LeaseAnswer | 'unavailable'): void {
    this.#leases.released(release, answer)
  }

  /** The moves that give back leases now, of all accounts or of one. */
  releases(reason: GiveBackReason, accountNumber?: number): readonly LeaseMove[] {
    return this.#leases.releases(reason, accountNumber)
  }

  /** The moves that give back the leases that were not needed since the last call. */
  sweepLeases(): readonly LeaseMove[] {
    return this.#leases.sweep()
  }

  /** To be called when another thread writes, because the leases may be lost with the rows. */
  forgetLeases(): void {
    this.#leases.forget()
  }

  get isWithoutLeases(): boolean {
    return this.#leases.isEmpty
  }

  /** The move that gives back, after a request of the key has ended, what may not lie idle. */
  releaseOf = (keyId: string): LeaseMove | undefined => this.#leases.releaseOf(this.keys.get(keyId))

  /** The key that may be used, or why it may not. */
  #keyFor({ requestId, keyId, amountPicos, now }: HoldRequest): KeyWallet | PlainAnswer | 'unknown' {
    if (this.#requests.has(requestId)) return 'held'
    if (this.#settling.has(requestId)) return 'unavailable'
    if (amountPicos < ZERO || amountPicos > INT64_MAX) return 'unavailable'
    const key = this.keys.get(keyId)
    if (key === undefined) return 'unknown'
    if (!key.isActive || !key.account.isActive) return 'disabled'
    return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : key
  }

  #admit(key: KeyWallet, request: HoldRequest, nowMs: number, hour: number): void {
    const price = this.#prices.indexOf(request.modelId, request)
    this.#requests.set(request.requestId, begun(key, request, { price, hour, heldAtMs: nowMs, boot: this.#boot }))
    take(key, request.amountPicos, hour)
    key.pins++
    this.#leases.noteHeld(key)
  }

  /** Moves the money from held to spent; `settled` or `putBack` must follow. Undefined: nothing is held under this id. */
  settle(settlement: Settlement): Debit | undefined {
    const request = this.#release(settlement.requestId)
    if (request === undefined) return undefined
    const { key, hold } = request
    const { costPicos } = settlement
    spend(key, costPicos, hourAt(hold.startedAt))
    key.lastSyncedAt = Math.max(key.lastSyncedAt, settlement.now)
    this.#settling.set(settlement.requestId, { key, hold, costPicos })
    return this.#costs.debitOf(request, settlement)
  }

  /** To be called when the receipt is on disk. */
  settled(requestId: string): void {
    const settling = this.#settling.take(requestId)
    if (settling === undefined) return
    const { key, costPicos } = settling
    key.pins--
    acknowledge(key, costPicos)
  }

  /** To be called when no receipt was written and none will be. */
  putBack(requestId: string): void {
    const settling = this.#settling.get(requestId)
    if (settling === undefined) return
    const { key, hold, costPicos } = settling
    this.settled(requestId)
    unspend(key, costPicos, hourAt(hold.startedAt))
    this.#leases.setIndeterminate(key)
  }

  isSettling = (requestId: string): boolean => this.#settling.has(requestId)

  /** The key of a settle that is not known to be on disk. */
  settlingKeyOf = (requestId: string): string | undefined => this.#settling.get(requestId)?.key.id

  /** Undefined: nothing is held under this id. `hasCheckpoint`: its checkpoint must be removed. `calls`: its upstream calls, as they are recorded. */
  void(
    requestId: string,
    attempts: readonly Attempt[] = [],
  ): Readonly<{ keyId: string; hasCheckpoint: boolean; calls: Calls }> | undefined {
    const request = this.#release(requestId)
    if (request === undefined) return undefined
    request.key.pins--
    return { keyId: request.key.id, hasCheckpoint: request.hasCheckpoint, calls: this.#costs.callsOf(request, attempts) }
  }

  /** Notes the progress. Returns the checkpoint to write, once the request is old enough to have one. */
  checkpoint(requestId: string, progress: Progress): InFlightCheckpoint | undefined {
    const request = this.#requests.get(requestId)
    if (request === undefined) return undefined
    request.progress = progress
    return request.hasCheckpoint ? this.#costs.checkpointOf(request) : undefined
  }

  /** The first checkpoints of requests that were held at `heldUntilMs` or before. */
  due(heldUntilMs: number): readonly InFlightCheckpoint[] {
    const checkpoints: InFlightCheckpoint[] = []
    for (const request of this.#requests.values()) {
      if (request.heldAtMs > heldUntilMs) break
      if (request.hasCheckpoint) continue
      request.hasCheckpoint = true
      checkpoints.push(this.#costs.checkpointOf(request))
    }
    return checkpoints
  }

  /** All checkpoints again, because the storage may have lost the last ones. */
  checkpoints(): readonly InFlightCheckpoint[] {
    return [...this.#requests.values()].filter(({ hasCheckpoint }) => hasCheckpoint).map((request) => this.#costs.checkpointOf(request))
  }

  get isIdle(): boolean {
    return this.#requests.size === 0
  }

  holds(): readonly Hold[] {
    return [...this.#settling.values(), ...this.#requests.values()].map(({ hold }) => hold)
  }

  /** Removes a request, and takes what it held out of the wallets. The key stays pinned in memory. */
  #release(requestId: string): HeldRequest | undefined {
    const request = this.#requests.take(requestId)
    if (request === undefined) return undefined
    const { key, hold } = request
    release(key, hold.amountPicos, hourAt(hold.startedAt))
    return request
  }
}
