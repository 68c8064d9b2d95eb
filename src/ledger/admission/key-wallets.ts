/**
 * The wallets of keys that are in memory. They are loaded from the rows, read again when another process may have changed the rows, changed by operators' writes, and
 * dropped when there is no more room. Rules: ledger.md "Wallets".
 */

import { isUsedUp, type KeyBalance } from '../../core/key.ts'
import { type Picos, picos, ZERO } from '../../core/money.ts'
import { type InFlight, isOfWrongClock, learnSums, NO_WINDOWS, type Spending, usedUpOf, type WindowUsed } from '../../core/spending.ts'
import type { Budgets } from '../../core/windows.ts'
import type { KeyState, KeyWindows, SettledRows } from '../key-state.ts'
import type { RelayRuns } from '../lease-move.ts'
import type { SyncedKeyBalance } from '../ledger.ts'
import type { Operation, OperationOf } from '../operation.ts'
import { runsOf } from './relay-runs.ts'
import { type AccountWallet, accountWallet, type KeyWallet, keyWallet, planWallet } from './wallet.ts'
import { type BudgetsOfPlan, balanceWithin, isSameBudgets, windowsOf, withBudget } from './wallet-budgets.ts'
import type { WalletLeases } from './wallet-leases.ts'

/** A wallet is some 300 bytes; a key that is not in memory costs one read. */
const WALLETS_MAX = 200_000
/** How many of the oldest wallets are looked at to make room for a new one. */
const LOOKS_MAX = 16

type KeyWalletsOptions = Readonly<{
  leases: WalletLeases<KeyWallet>
  budgetsOf: BudgetsOfPlan
  /** The requests of a wallet that are in no row: those whose settle is not acknowledged, or those that run as well. */
  inFlight: (of: Spending, withHolds: boolean) => readonly InFlight[]
  walletsMax?: number | undefined
}>

export class KeyWallets {
  readonly #accounts = new Map<string, AccountWallet>()
  /** Wallets by key id, in the order in which they were loaded, or last found in use when room was needed. */
  readonly #keys = new Map<string, KeyWallet>()
  /** Keys whose rows another process may have changed although no message came here. */
  readonly #stale = new Set<string>()
  readonly #options: KeyWalletsOptions
  readonly #leases: WalletLeases<KeyWallet>
  readonly #walletsMax: number

  constructor(options: KeyWalletsOptions) {
    this.#options = options
    this.#leases = options.leases
    this.#walletsMax = options.walletsMax ?? WALLETS_MAX
  }

  get = (keyId: string): KeyWallet | undefined => this.#keys.get(keyId)

  /** Undefined: the key must be loaded first. */
  accountNumberOf = (keyId: string): number | undefined => (this.#stale.has(keyId) ? undefined : this.#keys.get(keyId)?.account.number)

  /** A key of the account that is in memory: reading one key is enough to learn what the account has. */
  keyOfAccount(accountId: string): string | undefined {
    if (!this.#accounts.has(accountId)) return undefined
    for (const key of this.#keys.values()) if (key.account.id === accountId) return key.id
    return undefined
  }

  /** Marks all keys, so that the rows of each are read again before its next request. */
  setAllIndeterminate(): void {
    for (const keyId of this.#keys.keys()) this.#stale.add(keyId)
  }

  isStale = (keyId: string): boolean => this.#stale.has(keyId)

  /** What the key may still spend in the windows of the hour, which are begun where they are later ones. */
  balanceOf = (key: KeyWallet, hour: number): KeyBalance<bigint> => balanceWithin(key, this.#options.budgetsOf(key.plan.name), hour)

  /** Undefined: the key is not in memory, so nothing of it is held. `hour`: absent: that of its last request. */
  keyBalanceOf(keyId: string, hour = 0): SyncedKeyBalance | undefined {
    const key = this.#keys.get(keyId)
    if (key === undefined) return undefined
    const { account, limitPicos, spentPicos, heldPicos, lastSyncedAt } = key
    const windows = windowsOf(key, this.#options.budgetsOf(key.plan.name), hour)
    return {
      ...(windows === NO_WINDOWS ? {} : { windows }),
      limitPicos: limitPicos === null ? null : picos(limitPicos),
      spentPicos: picos(spentPicos),
      heldPicos: picos(heldPicos),
      account: { balancePicos: picos(account.balancePicos), heldPicos: picos(account.heldPicos) },
      lastSyncedAt: Math.max(lastSyncedAt, account.toppedUpAt),
    }
  }

  has = (keyId: string): boolean => this.#keys.has(keyId)

  /** Whether nothing is left to spend, even if nothing were held, and of which window. False when the key is not in memory. */
  isUsedUp(keyId: string, hour: number): boolean | WindowUsed {
    const key = this.#keys.get(keyId)
    if (key === undefined) return false
    return isUsedUp(key, key.account) || (usedUpOf(windowsOf(key, this.#options.budgetsOf(key.plan.name), hour)) ?? false)
  }

  /** Makes the wallet of a key that is not in memory, from what the ledger's rows say. */
  load(state: KeyState): void {
    this.#stale.delete(state.keyId)
    if (this.#keys.has(state.keyId)) return
    this.#makeRoom()
    const account = this.#accounts.get(state.accountId) ?? accountWallet(state)
    account.keys++
    this.#accounts.set(account.id, account)
    const plan = planWallet(state, account)
    const { sums } = state
    if (sums !== undefined && isOfWrongClock(account, sums)) this.#learnSums(account, sums, sums.account)
    if (sums !== undefined && isOfWrongClock(plan, sums)) this.#learnSums(plan, sums, sums.plan)
    this.#keys.set(state.keyId, keyWallet(state, account, plan))
  }

  /** What running requests hold, plus what ended requests cost whose settle is not acknowledged. */
  runs = (): RelayRuns => runsOf(this.#accounts.values(), this.#keys.values())

  ids = (): readonly string[] => [...this.#keys.keys()]

  /**
   * Sets the wallets to what the rows say. When a writer has died, what was sent to it may or may not have been committed. `states` were read after everything that its
   * successor has acknowledged; they do not count what is not acknowledged yet.
   */
  resync(states: readonly KeyState[]): void {
    for (const state of states) {
      this.#stale.delete(state.keyId)
      // The key may have left the memory since its state was asked for, while other keys of its account, which share the account's wallet, are still there.
      const account = this.#accounts.get(state.accountId)
      const { sums } = state
      this.learnSettled([state])
      if (account !== undefined) {
        const isCredited = account.toppedUpAt !== (state.toppedUpAt ?? 0)
        account.toppedUpAt = state.toppedUpAt ?? 0
        account.isActive = state.isAccountActive
        if (isCredited || account.lease.amountPicos > account.balancePicos) this.#leases.forgetAccount(account)
        if (sums !== undefined) this.#setBudgets(account, sums.accountBudgets)
      }
      const key = this.#keys.get(state.keyId)
      if (key === undefined) continue
      Object.assign(key, { isActive: state.isActive, expiresAt: state.expiresAt })
      this.#limit(key, state.limitPicos)
      if (sums !== undefined) this.#setBudgets(key, sums.keyBudgets)
      this.#leases.setIndeterminate(key)
    }
  }

  /** Learns what was spent, as the rows say it, also of what other processes have spent. Leases stay as they are. */
  learnSettled(settled: readonly SettledRows[]): void {
    for (const { keyId, accountId, plan, balancePicos, spentPicos, lastSyncedAt, sums } of settled) {
      const account = this.#accounts.get(accountId)
      const key = this.#keys.get(keyId)
      if (account !== undefined) account.balancePicos = balancePicos - account.unsettledPicos
      if (key !== undefined) key.spentPicos = spentPicos + key.unsettledPicos
      if (key !== undefined) key.lastSyncedAt = Math.max(key.lastSyncedAt, lastSyncedAt)
      if (sums === undefined) continue
      this.#learnSums(account, sums, sums.account)
      this.#learnSums(account?.plans.get(plan), sums, sums.plan)
      this.#learnSums(key, sums, sums.key)
    }
  }

  /** Learns an operator's write that is on disk. `isNew` is false when the write had been done before; `redeemed` is the amount of a code, and `inForce` the budget that holds after one was set, which only the rows say. */
  apply(operation: Operation, isNew: boolean, redeemed = ZERO, inForce: Picos | null = null): void {
    if (operation.kind === 'setBudget') this.#learnBudget(operation, inForce)
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
      case 'setKeyRates':
      case 'createAccount':
      case 'setAccountTags':
      case 'setBudget':
      case 'setAccountPlan':
      case 'renameAccount':
      case 'renameKey':
      case 'rotateKey':
      case 'setUpstreamOut':
      case 'setAccess':
      case 'giveLink':
      case 'setChat':
      case 'reload':
      case 'refuseReload':
      case 'createCodes':
      case 'importKeys':
      case 'disableCodes':
      case 'createToken':
      case 'revokeToken':
      case 'noteTokenUse':
    }
  }

  #learnSums(spending: Spending | undefined, { hour, clockHour, aheadFrom }: KeyWindows, spentPicos: readonly bigint[]): void {
    if (spending === undefined) return
    learnSums(spending, { hour, clockHour, aheadFrom, spentPicos }, (withHolds) => this.#options.inFlight(spending, withHolds))
  }

  #setBudgets(wallet: KeyWallet | AccountWallet, budgets: Budgets): void {
    if (isSameBudgets(wallet.budgets, budgets)) return
    wallet.budgets = budgets
    if ('limitPicos' in wallet) this.#leases.forgetKey(wallet)
    else this.#leases.forgetAccount(wallet)
  }

  #learnBudget({ accountId, keyId, per }: OperationOf<'setBudget'>, inForce: Picos | null): void {
    const wallet = keyId === null ? this.#accounts.get(accountId) : this.#keys.get(keyId)
    if (wallet !== undefined) this.#setBudgets(wallet, withBudget(wallet.budgets, per, inForce))
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

function set<T extends object>(wallet: T | undefined, values: Partial<T>): void {
  if (wallet !== undefined) Object.assign(wallet, values)
}
