/**
 * What the database grants of a balance and of keys' limits, as plain data: the oracle of the functions in db/postgres, and the database of walks without one.
 * It says the rule once more in other words. Rules: ledger.md "Leases".
 */

import { picos } from '../../src/core/money.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../../src/ledger/lease-move.ts'

type Row = { amount: bigint; moved: number }
type Budget = { left: bigint; isActive: boolean; leases: Map<number, Row> }

/** What a walk asks of a database of leases. Accounts and keys go by number; key n belongs to the account that `accountOf` says. */
export interface LeaseDatabase {
  /** In one call. */
  move(lane: number, moves: readonly (LeaseAsk | LeaseMove)[]): readonly LeaseAnswer[]
  settle(lane: number, key: number, cost: bigint): void
  credit(account: number, amount: bigint): void
  /** The node's lease of being one is over. */
  expire(lane: number): void
  balanceOf(account: number): bigint
  /** What the limit leaves; undefined: there is none. */
  leftOf(key: number): bigint | undefined
  leasesOf(what: 'account' | 'key', number: number): readonly Readonly<{ lane: number; amount: bigint }>[]
}

/** At most so many times what a request holds is leased beside it, and at most that part of what is free, shared by all nodes. */
const SHARE_REQUESTS_MAX = 4_096n
const SHARE_PART = 4n

export class LeaseModel implements LeaseDatabase {
  readonly #accounts = new Map<number, Budget>()
  readonly #keys = new Map<number, Budget & { account: number; limit: bigint | null; spent: bigint }>()
  readonly #nodes: bigint

  /** `limits`: of keys 1, 2, …; each belongs to account 1 + (number − 1) % accounts. */
  constructor(nodes: number, balances: readonly bigint[], limits: readonly (bigint | null)[]) {
    this.#nodes = BigInt(nodes)
    balances.forEach((left, index) => {
      this.#accounts.set(index + 1, { left, isActive: true, leases: new Map() })
    })
    limits.forEach((limit, index) => {
      this.#keys.set(index + 1, {
        account: 1 + (index % balances.length),
        limit,
        spent: 0n,
        left: limit ?? 0n,
        isActive: true,
        leases: new Map(),
      })
    })
  }

  move(lane: number, moves: readonly (LeaseAsk | LeaseMove)[]): readonly LeaseAnswer[] {
    return moves.map((move) => this.#move(lane, move))
  }

  #move(lane: number, move: LeaseAsk | LeaseMove): LeaseAnswer {
    const account = this.#account(move.accountNumber)
    const key = this.#keys.get(move.keyNumber)
    const sides = [
      { budget: account, runs: move.accountRunsPicos },
      ...(key === undefined || key.limit === null ? [] : [{ budget: key, runs: move.keyRunsPicos }]),
    ]
    const isAsk = 'amountPicos' in move
    const verdict = isAsk && key !== undefined ? this.#grant(lane, move, sides, account.isActive && key.isActive) : 'released'
    if (!isAsk) for (const side of sides) release(side.budget, lane, side.runs, move.number)
    return {
      verdict,
      refusedBy: verdict === 'granted' || verdict === 'released' ? null : this.#isRefusedByAccount ? 'account' : 'key',
      account: sideOf(account, lane, isAsk && this.#isSmall),
      key: key?.limit == null ? NOTHING : sideOf(key, lane, isAsk && this.#isKeySmall),
      balancePicos: picos(account.left),
      spentPicos: picos(key?.spent ?? 0n),
    }
  }

  #isSmall = false
  #isKeySmall = false
  #isRefusedByAccount = false

  #grant(
    lane: number,
    { amountPicos: amount, number }: LeaseAsk,
    sides: readonly Readonly<{ budget: Budget; runs: bigint | null }>[],
    isActive: boolean,
  ): LeaseAnswer['verdict'] {
    const views = sides.map(({ budget, runs }) => {
      const own = budget.leases.get(lane)
      const others = sum([...budget.leases].filter(([of]) => of !== lane).map(([, row]) => row.amount))
      const ran = runs ?? 0n
      // What others do not have and what does not run here.
      const free = budget.left - others - ran
      const share = min((free - amount) / (SHARE_PART * this.#nodes), SHARE_REQUESTS_MAX * amount)
      return { budget, own, others, free, share, need: max(0n, ran + amount - (own?.amount ?? 0n)) }
    })
    this.#isSmall = (views[0]?.share ?? 0n) < amount
    this.#isKeySmall = views[1] !== undefined && views[1].share < amount
    const isLate = views.some(({ own }) => (own?.moved ?? 0) > number)
    for (const { own } of views) if (own !== undefined) own.moved = Math.max(own.moved, number)
    this.#isRefusedByAccount = false
    if (!isActive) return 'disabled'
    const [account] = views
    this.#isRefusedByAccount = account !== undefined && account.budget.left <= 0n
    if (views.some(({ budget }) => budget.left <= 0n)) return 'exhausted'
    this.#isRefusedByAccount = account !== undefined && account.free <= 0n
    if (isLate || views.some(({ free }) => free <= 0n)) return views.some(({ others }) => others > 0n) ? 'wanted' : 'reserved'
    for (const { budget, own, share, need } of views) {
      const more = need > 0n && share >= amount ? share : 0n
      budget.leases.set(lane, { amount: (own?.amount ?? 0n) + need + more, moved: number })
    }
    return 'granted'
  }

  settle(lane: number, keyNumber: number, cost: bigint): void {
    const key = this.#keys.get(keyNumber)
    if (key === undefined) throw new Error(`no key ${keyNumber}`)
    key.spent += cost
    key.left -= key.limit === null ? 0n : cost
    const account = this.#account(key.account)
    account.left -= cost
    for (const { leases } of [account, key]) {
      const row = leases.get(lane)
      if (row !== undefined) row.amount = max(0n, row.amount - cost)
    }
  }

  credit(account: number, amount: bigint): void {
    this.#account(account).left += amount
  }

  expire(lane: number): void {
    for (const { leases } of [...this.#accounts.values(), ...this.#keys.values()]) leases.delete(lane)
  }

  balanceOf(account: number): bigint {
    return this.#account(account).left
  }

  leftOf(key: number): bigint | undefined {
    const found = this.#keys.get(key)
    return found === undefined || found.limit === null ? undefined : found.left
  }

  leasesOf(what: 'account' | 'key', number: number): readonly Readonly<{ lane: number; amount: bigint }>[] {
    const leases = (what === 'account' ? this.#accounts : this.#keys).get(number)?.leases ?? new Map<number, Row>()
    return [...leases].map(([lane, { amount }]) => ({ lane, amount })).sort((a, b) => a.lane - b.lane)
  }

  #account(number: number): Budget {
    const account = this.#accounts.get(number)
    if (account === undefined) throw new Error(`no account ${number}`)
    return account
  }
}

const NOTHING = { backedPicos: picos(0n), hasMore: false, isSmall: false }

function sideOf({ leases, left }: Budget, lane: number, isSmall: boolean): LeaseAnswer['account'] {
  const own = leases.get(lane)?.amount ?? 0n
  const others = sum([...leases].filter(([of]) => of !== lane).map(([, row]) => row.amount))
  const backed = min(own, left - others)
  return { backedPicos: picos(backed), hasMore: backed < own, isSmall }
}

function release(budget: Budget, lane: number, runs: bigint | null, number: number): void {
  const row = budget.leases.get(lane)
  if (runs === null || row === undefined || row.moved > number) return
  row.amount = min(row.amount, runs)
  row.moved = number
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
