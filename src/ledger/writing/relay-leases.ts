/**
 * The leases that relays have of the balances and limits in a file, in the memory of the thread that writes the file. Where nodes share a database,
 * db/postgres/migrations/0002_leases.sql does the same. The rows say what is left, and a settle takes its cost off both. Rules: ledger.md "Leases"; processes.md "Admission".
 */

import { type Picos, picos } from '../../core/money.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove, LeaseSide, RelayRuns } from '../task.ts'

/** What the rows say of an account and a key; `limitPicos` null: the key has no limit. */
export type LeasedRows = Readonly<{
  balancePicos: bigint
  isActive: boolean
  key: Readonly<{ limitPicos: bigint | null; spentPicos: bigint; isActive: boolean }> | undefined
}>

/** A relay's lease. `moved`: the number of the last move that changed it. */
type Part = { amountPicos: bigint; moved: number }
/** Leases by the boot of the relay. */
type Parts = Map<number, Part>

/** One side of a move, the account or the key: what is left of the balance or of the limit, and the leases that relays have of it. */
type Side = Readonly<{ own: Part | undefined; others: bigint; left: bigint; runs: bigint; parts: Parts }>
type View = Side & Readonly<{ free: bigint; share: bigint; isSmall: boolean }>

/** Beside what a request holds, at most `SHARE_REQUESTS_MAX` times as much is leased, and at most one part in `SHARE_PART` of what is free, divided by the number of relays. */
const SHARE_REQUESTS_MAX = 4_096n
const SHARE_PART = 4n
/** How many moves come between two removals of empty leases. An empty lease can go, because a relay's moves come in their order. */
const MOVES_BETWEEN_SWEEPS = 100_000

export class RelayLeases {
  readonly #accounts = new Map<number, Parts>()
  /** The leases of keys with a limit. */
  readonly #keys = new Map<number, Parts>()
  readonly #relays = new Set<number>()
  #movesSinceSweep = 0

  /** Whether there are no relays. */
  get isEmpty(): boolean {
    return this.#relays.size === 0
  }

  lives(boot: number): boolean {
    return this.#relays.has(boot)
  }

  /** A relay that joins leases exactly what it holds: it has forgotten what it had idle. */
  join(boot: number, { accounts, keys }: RelayRuns): void {
    this.leave(boot)
    this.#relays.add(boot)
    for (const [number, amountPicos] of accounts) partsOf(this.#accounts, number).set(boot, { amountPicos, moved: 0 })
    for (const [number, amountPicos] of keys) partsOf(this.#keys, number).set(boot, { amountPicos, moved: 0 })
  }

  leave(boot: number): void {
    this.#relays.delete(boot)
    for (const leases of [this.#accounts, this.#keys]) {
      for (const [number, parts] of leases) if (parts.delete(boot) && parts.size === 0) leases.delete(number)
    }
  }

  /** To be called when a receipt was written: its cost leaves the relay's leases. */
  noteSettled(
    boot: number,
    { accountNumber, keyNumber, costPicos }: Readonly<{ accountNumber: number; keyNumber: number; costPicos: Picos }>,
  ) {
    for (const part of [this.#accounts.get(accountNumber)?.get(boot), this.#keys.get(keyNumber)?.get(boot)])
      if (part !== undefined) part.amountPicos = greater(part.amountPicos - costPicos, 0n)
  }

  /** Undefined: the process is not a relay any more. */
  move(boot: number, move: LeaseAsk | LeaseMove, rows: LeasedRows): LeaseAnswer | undefined {
    if (!this.#relays.has(boot)) return undefined
    if (++this.#movesSinceSweep >= MOVES_BETWEEN_SWEEPS) this.#sweep()
    const isAsk = 'amountPicos' in move
    if (!isAsk) {
      shrink(this.#accounts.get(move.accountNumber)?.get(boot), move.accountRunsPicos, move.number)
      shrink(this.#keys.get(move.keyNumber)?.get(boot), move.keyRunsPicos, move.number)
    }
    const { limitPicos = null, spentPicos = 0n } = rows.key ?? {}
    const account = sideOf(this.#accounts, move.accountNumber, boot, rows.balancePicos, move.accountRunsPicos)
    const key = limitPicos === null ? undefined : sideOf(this.#keys, move.keyNumber, boot, limitPicos - spentPicos, move.keyRunsPicos)
    const granted = isAsk ? this.#ask(boot, move, rows, account, key) : RELEASED
    return {
      verdict: granted.verdict,
      refusedBy: granted.refusedBy,
      account: backedOf(this.#accounts.get(move.accountNumber)?.get(boot), account, granted.isAccountSmall),
      key: key === undefined ? NOTHING : backedOf(this.#keys.get(move.keyNumber)?.get(boot), key, granted.isKeySmall),
      balancePicos: picos(rows.balancePicos),
      spentPicos: picos(spentPicos),
    }
  }

  #ask(boot: number, { amountPicos, number }: LeaseAsk, rows: LeasedRows, accountSide: Side, keySide: Side | undefined): Granted {
    const account = this.#viewOf(accountSide, amountPicos)
    const key = keySide && this.#viewOf(keySide, amountPicos)
    const sides = key === undefined ? [account] : [account, key]
    const isLate = sides.some(({ own }) => (own?.moved ?? 0) > number)
    const verdict = verdictOf(rows, sides, isLate)
    // The number is noted also when the ask is refused: no older move may change what this answer tells.
    for (const { own } of sides) if (own !== undefined) own.moved = Math.max(own.moved, number)
    if (verdict === 'granted') for (const side of sides) grow(side, boot, amountPicos, number)
    const isOfAccount = verdict === 'exhausted' ? account.left <= 0n : verdict !== 'disabled' && account.free <= 0n
    return {
      verdict,
      refusedBy: verdict === 'granted' ? null : isOfAccount ? 'account' : 'key',
      isAccountSmall: account.isSmall,
      isKeySmall: key?.isSmall ?? false,
    }
  }

  /** Removes empty leases: most accounts have no leases for most of the time. */
  #sweep(): void {
    this.#movesSinceSweep = 0
    for (const leases of [this.#accounts, this.#keys]) {
      for (const [number, parts] of leases) {
        for (const [boot, { amountPicos }] of parts) if (amountPicos === 0n) parts.delete(boot)
        if (parts.size === 0) leases.delete(number)
      }
    }
  }

  #viewOf(side: Side, amountPicos: bigint): View {
    const free = side.left - side.others - side.runs
    const relays = BigInt(Math.max(1, this.#relays.size))
    const share = smaller((free - amountPicos) / (SHARE_PART * relays), SHARE_REQUESTS_MAX * amountPicos)
    return { ...side, free, share, isSmall: share < amountPicos }
  }
}

type Granted = Pick<LeaseAnswer, 'verdict' | 'refusedBy'> & Readonly<{ isAccountSmall: boolean; isKeySmall: boolean }>
const RELEASED: Granted = { verdict: 'released', refusedBy: null, isAccountSmall: false, isKeySmall: false }
const NOTHING: LeaseSide = { backedPicos: picos(0n), hasMore: false, isSmall: false }

function verdictOf({ isActive, key }: LeasedRows, sides: readonly View[], isLate: boolean): LeaseAnswer['verdict'] {
  if (!isActive || key?.isActive !== true) return 'disabled'
  if (sides.some(({ left }) => left <= 0n)) return 'exhausted'
  if (!isLate && sides.every(({ free }) => free > 0n)) return 'granted'
  return sides.some(({ others }) => others > 0n) ? 'wanted' : 'reserved'
}

function sideOf(leases: Map<number, Parts>, number: number, boot: number, left: bigint, runs: bigint | null): Side {
  const parts = partsOf(leases, number)
  let others = 0n
  for (const [of, { amountPicos }] of parts) if (of !== boot) others += amountPicos
  return { own: parts.get(boot), others, left, runs: runs ?? 0n, parts }
}

function grow({ own, parts, runs, share }: View, boot: number, amountPicos: bigint, number: number): void {
  const before = own?.amountPicos ?? 0n
  const need = runs + amountPicos - before
  const more = need <= 0n ? 0n : need + (share >= amountPicos ? share : 0n)
  parts.set(boot, { amountPicos: before + more, moved: number })
}

function shrink(own: Part | undefined, runs: bigint | null, number: number): void {
  if (own === undefined || runs === null || own.moved > number) return
  own.amountPicos = smaller(own.amountPicos, runs)
  own.moved = number
}

function backedOf(own: Part | undefined, { left, others }: Side, isSmall: boolean): LeaseSide {
  const amount = own?.amountPicos ?? 0n
  const backed = smaller(amount, left - others)
  return { backedPicos: picos(backed), hasMore: backed < amount, isSmall }
}

function partsOf(leases: Map<number, Parts>, number: number): Parts {
  const parts = leases.get(number) ?? new Map<number, Part>()
  leases.set(number, parts)
  return parts
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
