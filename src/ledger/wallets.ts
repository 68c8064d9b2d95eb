/**
 * The money of the keys in use, in the one writer's memory: balance, limit, spend, and what is held for requests in flight. Pure state: it sends nothing and
 * knows no clock. Rules: money.md "Holds"; ledger.md "Wallets".
 */

import { isUsedUp, shortageOf } from '../core/key.ts'
import { emptyLease, type GiveBackReason, type Lease } from '../core/lease.ts'
import { type Picos, picos, ZERO } from '../core/money.ts'
import { NO_USAGE } from '../core/usage.ts'
import type { Hold, HoldAnswer, HoldRequest, Progress, Settlement, SyncedPurse } from './ledger.ts'
import type { Operation } from './operation.ts'
import { PriceBook } from './price-book.ts'
import type { Calls, Debit, KeyState, LeaseAnswer, LeaseAsk, LeaseMove, Mark, PriceVersion } from './task.ts'
import { WalletLeases } from './wallet-leases.ts'

type AccountWallet = {
  id: string
  number: number
  isActive: boolean
  balancePicos: bigint
  heldPicos: bigint
  /** Sent and not acknowledged; in the balance already. */
  unsettledPicos: bigint
  lease: Lease
  toppedUpAt: number
  keys: number
}

type KeyWallet = {
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

type Request = {
  readonly key: KeyWallet
  readonly hold: Hold
  readonly price: number
  readonly heldAtMs: number
  readonly boot: number | undefined
  progress: Progress
  /** A mark of it was sent, so its end must take the row away. */
  isMarked: boolean
}

type Settling = Readonly<{ key: KeyWallet; hold: Hold; costPicos: Picos }>

/** A wallet is some 300 bytes; a key that is not in memory costs one read. */
const WALLETS_MAX = 200_000
/** How many of the oldest wallets are looked at to make room for a new one. */
const LOOKS_MAX = 16
const INT64_MAX = 2n ** 63n - 1n
const NO_PROGRESS: Progress = { usage: NO_USAGE, usageSource: 'none' }

export class Wallets {
  readonly #accounts = new Map<string, AccountWallet>()
  /** In the order in which they were loaded, or last found in use when room was needed. */
  readonly #keys = new Map<string, KeyWallet>()
  readonly #requests = new Map<string, Request>()
  readonly #settling = new Map<string, Settling>()
  readonly #prices = new PriceBook()
  readonly #leases = new WalletLeases<KeyWallet>()
  readonly #walletsMax: number
  /** Of a node: the boot as which it admits now. What it admitted as an earlier one is waived once that was fenced. */
  #boot: number | undefined
  /** Keys whose rows others may have changed without a word here. */
  readonly #stale = new Set<string>()

  /** `boot`: under which requests are held; undefined for the only writer. */
  constructor(walletsMax = WALLETS_MAX, boot?: number) {
    this.#walletsMax = walletsMax
    this.#boot = boot
  }

  /** What is held from now on is held under another boot: the leases of the one before are others'. */
  becomeBoot(boot: number): void {
    this.#boot = boot
    this.forgetLeases()
  }

  /** What others may have changed is read again before the next request of each key. Those that run now: for who reads them at once. */
  doubtAll(): readonly string[] {
    for (const keyId of this.#keys.keys()) this.#stale.add(keyId)
    return this.runningKeys()
  }

  runningKeys(): readonly string[] {
    return [...new Set([...this.#requests.values()].map(({ key }) => key.id))]
  }

  /** The keys that are in memory of an account; one is enough to read what the account has. */
  keyOfAccount(accountId: string): string | undefined {
    if (!this.#accounts.has(accountId)) return undefined
    for (const key of this.#keys.values()) if (key.account.id === accountId) return key.id
    return undefined
  }

  /** The price versions that requests name by their place in this list. It only grows. */
  get prices(): readonly PriceVersion[] {
    return this.#prices.versions
  }

  /** As the only writer. `unknown`: the key must be loaded first. `nowMs`: monotonic. */
  hold(request: HoldRequest, nowMs: number): HoldAnswer | 'unknown' {
    const key = this.#keyFor(request)
    if (typeof key === 'string') return key
    const reason = shortageOf(key)
    if (reason !== undefined) return SHORTAGES[reason]
    this.#admit(key, request, nowMs)
    return 'held'
  }

  /** Undefined: the key must be loaded first. */
  accountNumberOf(keyId: string): number | undefined {
    return this.#stale.has(keyId) ? undefined : this.#keys.get(keyId)?.account.number
  }

  /** As one of several nodes, out of its leases, where they cover the request. */
  holdCovered(request: HoldRequest, nowMs: number): HoldAnswer | 'unknown' | 'uncovered' {
    const key = this.#keyFor(request)
    if (typeof key === 'string') return key
    if (this.#stale.has(key.id)) return 'unknown'
    if (!this.#leases.covers(key, request.amountPicos)) return 'uncovered'
    this.#admit(key, request, nowMs)
    return 'held'
  }

  /** The same; where they do not cover the request, what to ask. `answered` must follow. */
  holdLeased(request: HoldRequest, nowMs: number): HoldAnswer | 'unknown' | LeaseAsk {
    const answer = this.holdCovered(request, nowMs)
    const key = this.#keys.get(request.keyId)
    return answer === 'uncovered' ? (key === undefined ? 'unknown' : this.#leases.ask(key, request)) : answer
  }

  /** Where it was granted the request is held from now on, unless its key may not be used any more. */
  answered(ask: LeaseAsk, answer: LeaseAnswer | 'unavailable', nowMs: number): void {
    const granted = this.#leases.answered(ask, answer)
    if (granted !== undefined && this.#keyFor(granted.request) === granted.key) this.#admit(granted.key, granted.request, nowMs)
  }

  released(release: LeaseMove, answer: LeaseAnswer | 'unavailable'): void {
    this.#leases.released(release, answer)
  }

  /** What goes back now, of all accounts or of one. */
  releases(reason: GiveBackReason, accountNumber?: number): readonly LeaseMove[] {
    return this.#leases.releases(reason, accountNumber)
  }

  /** What was not needed since the last time. */
  sweepLeases(): readonly LeaseMove[] {
    return this.#leases.sweep()
  }

  /** Another thread writes now. */
  forgetLeases(): void {
    this.#leases.forget()
  }

  get isWithoutLeases(): boolean {
    return this.#leases.isEmpty
  }

  /** A request of the key has ended: what may not lie idle goes back. */
  releaseOf(keyId: string): LeaseMove | undefined {
    const key = this.#keys.get(keyId)
    return key && this.#leases.release(key.account, key, 'ended')
  }

  /** The key that may be used, or why it may not. */
  #keyFor({ requestId, keyId, amountPicos, now }: HoldRequest): KeyWallet | HoldAnswer | 'unknown' {
    if (this.#requests.has(requestId)) return 'held'
    if (this.#settling.has(requestId)) return 'unavailable'
    if (amountPicos < ZERO || amountPicos > INT64_MAX) return 'unavailable'
    const key = this.#keys.get(keyId)
    if (key === undefined) return 'unknown'
    if (!key.isActive || !key.account.isActive) return 'disabled'
    return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : key
  }

  #admit(key: KeyWallet, request: HoldRequest, nowMs: number): void {
    const { requestId, keyId, modelId, format, isStream, amountPicos } = request
    const hold = { requestId, keyId, accountId: key.account.id, modelId, format, isStream, amountPicos, startedAt: request.now }
    const price = this.#prices.indexOf(modelId, request.rates)
    this.#requests.set(requestId, { key, hold, price, heldAtMs: nowMs, boot: this.#boot, progress: NO_PROGRESS, isMarked: false })
    key.heldPicos += amountPicos
    key.account.heldPicos += amountPicos
    key.pins++
    this.#leases.noteHeld(key)
  }

  /** Moves the money from held to spent; `settled` or `putBack` must follow. Undefined: nothing is held under this id. */
  settle(settlement: Settlement): Debit | undefined {
    const request = this.#release(settlement.requestId)
    if (request === undefined) return undefined
    const { key, hold, isMarked } = request
    const { costPicos } = settlement
    key.spentPicos += costPicos
    key.account.balancePicos -= costPicos
    for (const one of [key, key.account]) {
      one.unsettledPicos += costPicos
      one.lease.amountPicos -= costPicos
    }
    key.lastSyncedAt = Math.max(key.lastSyncedAt, settlement.now)
    this.#settling.set(settlement.requestId, { key, hold, costPicos })
    return { ...settlement, ...factsOf(request), isMarked }
  }

  /** The receipt is on disk. */
  settled(requestId: string): void {
    const settling = this.#settling.get(requestId)
    if (settling === undefined) return
    this.#settling.delete(requestId)
    const { key, costPicos } = settling
    key.pins--
    key.unsettledPicos -= costPicos
    key.account.unsettledPicos -= costPicos
  }

  /** No receipt was written, and none will be. */
  putBack(requestId: string): void {
    const settling = this.#settling.get(requestId)
    if (settling === undefined) return
    const { key, costPicos } = settling
    this.settled(requestId)
    key.spentPicos -= costPicos
    key.account.balancePicos += costPicos
    this.#leases.doubt(key)
  }

  isSettling(requestId: string): boolean {
    return this.#settling.has(requestId)
  }

  /** The key of a settle that is not known to be on disk. */
  settlingKeyOf(requestId: string): string | undefined {
    return this.#settling.get(requestId)?.key.id
  }

  /** Undefined: nothing is held under this id. `isMarked`: its mark must be removed. `calls`: whose request it was, should upstream calls of it be recorded. */
  void(requestId: string): Readonly<{ keyId: string; isMarked: boolean; calls: Omit<Calls, 'attempts'> }> | undefined {
    const request = this.#release(requestId)
    if (request === undefined) return undefined
    request.key.pins--
    const { key, price, isMarked } = request
    return { keyId: key.id, isMarked, calls: { requestId, accountNumber: key.account.number, keyNumber: key.number, price } }
  }

  /** The row to write, once the request is old enough to leave one. */
  mark(requestId: string, progress: Progress): Mark | undefined {
    const request = this.#requests.get(requestId)
    if (request === undefined) return undefined
    request.progress = progress
    return request.isMarked ? markOf(request) : undefined
  }

  /** First marks of the requests that were held at `heldUntilMs` or before. */
  due(heldUntilMs: number): readonly Mark[] {
    const marks: Mark[] = []
    for (const request of this.#requests.values()) {
      if (request.heldAtMs > heldUntilMs) break
      if (request.isMarked) continue
      request.isMarked = true
      marks.push(markOf(request))
    }
    return marks
  }

  /** All marks again, for a storage that may have lost the last ones. */
  marks(): readonly Mark[] {
    return [...this.#requests.values()].filter(({ isMarked }) => isMarked).map(markOf)
  }

  get isIdle(): boolean {
    return this.#requests.size === 0
  }

  holds(): readonly Hold[] {
    return [...this.#settling.values(), ...this.#requests.values()].map(({ hold }) => hold)
  }

  /** Undefined: the key is not in memory, so nothing of it is held. */
  purseOf(keyId: string): SyncedPurse | undefined {
    const key = this.#keys.get(keyId)
    if (key === undefined) return undefined
    const { account, limitPicos, spentPicos, heldPicos, lastSyncedAt } = key
    return {
      limitPicos: limitPicos === null ? null : picos(limitPicos),
      spentPicos: picos(spentPicos),
      heldPicos: picos(heldPicos),
      account: { balancePicos: picos(account.balancePicos), heldPicos: picos(account.heldPicos) },
      lastSyncedAt: Math.max(lastSyncedAt, account.toppedUpAt),
    }
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId)
  }

  /** Nothing is left, whatever is held. False where the key is not in memory. */
  isUsedUp(keyId: string): boolean {
    const key = this.#keys.get(keyId)
    return key !== undefined && isUsedUp({ ...key, balancePicos: key.account.balancePicos })
  }

  /** What a row of the ledger says of a key that is not in memory. */
  load(state: KeyState): void {
    this.#stale.delete(state.keyId)
    if (this.#keys.has(state.keyId)) return
    this.#makeRoom()
    const account = this.#accounts.get(state.accountId) ?? accountOf(state)
    account.keys++
    this.#accounts.set(account.id, account)
    const { keyId: id, keyNumber: number, isActive, expiresAt, limitPicos, spentPicos, lastSyncedAt } = state
    const nothing = { heldPicos: 0n, unsettledPicos: 0n, lease: emptyLease(), pins: 0 }
    this.#keys.set(id, { id, number, account, isActive, expiresAt, limitPicos, spentPicos, lastSyncedAt, ...nothing })
  }

  keyIds(): readonly string[] {
    return [...this.#keys.keys()]
  }

  /**
   * After a writer died and another took over: what was sent to the first may have been committed or not. Rows that were read behind all that the second one has
   * acknowledged; what is not acknowledged yet is not in them.
   */
  resync(states: readonly KeyState[]): void {
    for (const state of states) {
      this.#stale.delete(state.keyId)
      // The key may have had to leave the memory since it was asked for; what its account has is shared by others that are still there.
      const account = this.#accounts.get(state.accountId)
      if (account !== undefined) {
        const isCredited = account.toppedUpAt !== (state.toppedUpAt ?? 0)
        account.toppedUpAt = state.toppedUpAt ?? 0
        account.isActive = state.isAccountActive
        account.balancePicos = state.balancePicos - account.unsettledPicos
        if (isCredited || account.lease.amountPicos > account.balancePicos) this.#leases.forgetAccount(account)
      }
      const key = this.#keys.get(state.keyId)
      if (key === undefined) continue
      Object.assign(key, { isActive: state.isActive, expiresAt: state.expiresAt })
      this.#limit(key, state.limitPicos)
      key.lastSyncedAt = Math.max(key.lastSyncedAt, state.lastSyncedAt)
      key.spentPicos = state.spentPicos + key.unsettledPicos
      this.#leases.doubt(key)
    }
  }

  /** An operator's write that is on disk. `isNew` is false where it had been done before; `redeemed` is what a code was worth, which only its row says. */
  apply(operation: Operation, isNew: boolean, redeemed = ZERO): void {
    switch (operation.kind) {
      case 'credit':
        if (isNew) this.#credit(operation.accountId, operation.amountPicos, operation.now)
        break
      case 'redeemCode':
        if (isNew) this.#credit(operation.accountId, redeemed, operation.now)
        break
      case 'createKey':
        if (isNew && operation.topUp !== null)
          this.#credit(operation.accountId ?? operation.ownAccountId, operation.topUp.amountPicos, operation.now)
        break
      case 'setAccountActive':
        set(this.#accounts.get(operation.accountId), { isActive: operation.isActive })
        break
      case 'setKeyActive':
        set(this.#keys.get(operation.keyId), { isActive: operation.isActive })
        break
      case 'setKeyLimit':
        this.#limit(this.#keys.get(operation.keyId), operation.limitPicos)
        if (isNew) this.#sync(operation.keyId, operation.now)
        break
      case 'setKeyExpiry':
        set(this.#keys.get(operation.keyId), { expiresAt: operation.expiresAt })
        break
      case 'createAccount':
      case 'renameAccount':
      case 'renameKey':
      case 'rotateKey':
      case 'setUpstreamOut':
      case 'setAccess':
      case 'giveLink':
      case 'createCodes':
      case 'disableCodes':
    }
  }

  #credit(accountId: string, amount: Picos, now: number): void {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return
    account.balancePicos += amount
    account.toppedUpAt = Math.max(account.toppedUpAt, now)
    if (amount < ZERO) this.#leases.forgetAccount(account)
  }

  #limit(key: KeyWallet | undefined, limitPicos: Picos | null): void {
    if (key === undefined || key.limitPicos === limitPicos) return
    key.limitPicos = limitPicos
    this.#leases.forgetKey(key)
  }

  #sync(keyId: string, now: number): void {
    const key = this.#keys.get(keyId)
    if (key !== undefined) key.lastSyncedAt = Math.max(key.lastSyncedAt, now)
  }

  /** Takes a request and what it held out of the wallet; its pin stays. */
  #release(requestId: string): Request | undefined {
    const request = this.#requests.get(requestId)
    if (request === undefined) return undefined
    this.#requests.delete(requestId)
    const { key, hold } = request
    key.heldPicos -= hold.amountPicos
    key.account.heldPicos -= hold.amountPicos
    return request
  }

  #makeRoom(): void {
    let looks = 0
    for (const key of this.#keys.values()) {
      if (this.#keys.size < this.#walletsMax || ++looks > LOOKS_MAX) return
      this.#keys.delete(key.id)
      if (key.pins > 0 || !this.#leases.isWithout(key, key.account.keys === 1)) this.#keys.set(key.id, key)
      else if (--key.account.keys === 0) this.#accounts.delete(key.account.id)
    }
  }
}

const SHORTAGES = { balanceUsed: 'exhausted', limitUsed: 'exhausted', balanceHeld: 'reserved', limitHeld: 'reserved' } as const

const accountOf = (state: KeyState): AccountWallet => ({
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

const factsOf = ({ key, hold, price, boot }: Request) => ({
  ...(boot === undefined ? {} : { boot }),
  accountNumber: key.account.number,
  keyNumber: key.number,
  price,
  format: hold.format,
  isStream: hold.isStream,
  holdPicos: picos(hold.amountPicos),
  startedAt: hold.startedAt,
})

const markOf = (request: Request): Mark => ({ requestId: request.hold.requestId, ...factsOf(request), ...request.progress })

function set<T extends object>(wallet: T | undefined, values: Partial<T>): void {
  if (wallet !== undefined) Object.assign(wallet, values)
}
