/**
 * The leases that relays have of the balances, limits and budgets in a file, in the memory of the thread that writes the file. Where nodes share a database,
 * db/postgres/migrations/0006_leases.sql does the same. The rows say what is left, and a settle takes its cost off them. Rules: ledger.md "Leases"; processes.md "Admission".
 */

import { type Picos, picos } from '../../core/money.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove, LeaseSide, RelayRuns } from '../lease-move.ts'
import {
  backedOf,
  grow,
  type LeasedRow,
  type Parts,
  planName,
  type Side,
  shrink,
  sideOf,
  usedUpOf,
  type View,
  viewOf,
} from './relay-lease-sides.ts'

/** What the rows say of an account, a key, and the account's keys of the plan that the move names. `hour`, `ledgerMs`: the thread's time. */
export type LeasedRows = Readonly<{
  hour: number
  ledgerMs: number
  isActive: boolean
  balancePicos: bigint
  spentPicos: bigint
  account: LeasedRow
  plan: LeasedRow | undefined
  /** `left` undefined and no windows: the key has neither limit nor budget. */
  key: (LeasedRow & Readonly<{ isActive: boolean }>) | undefined
}>

/** How many moves come between two removals of empty leases. An empty lease can go, because a relay's moves come in their order. */
const MOVES_BETWEEN_SWEEPS = 100_000

export class RelayLeases {
  readonly #accounts = new Map<number, Parts>()
  /** The leases of plans with budgets, by account and plan. */
  readonly #plans = new Map<string, Parts>()
  /** The leases of keys with a limit or a budget. */
  readonly #keys = new Map<number, Parts>()
  readonly #relays = new Set<number>()
  #movesSinceSweep = 0

  /** Whether there are no relays. */
  get isEmpty(): boolean {
    return this.#relays.size === 0
  }

  /** Whether a relay has asked for a lease of the account's keys of this plan, which has budgets then. */
  hasPlan(accountNumber: number, plan: string): boolean {
    return this.#plans.size > 0 && this.#plans.has(planName(accountNumber, plan))
  }

  lives(boot: number): boolean {
    return this.#relays.has(boot)
  }

  /** A relay that joins leases exactly what it holds: it has forgotten what it had idle. All of it counts in the windows of `hour`, since it is not known when it was admitted. */
  join(boot: number, { accounts, plans = [], keys }: RelayRuns, hour = 0): void {
    this.leave(boot)
    this.#relays.add(boot)
    const part = (amountPicos: Picos) => ({ amountPicos, moved: 0, hour, currentPicos: amountPicos })
    for (const [number, amount] of accounts) partsOf(this.#accounts, number).set(boot, part(amount))
    for (const [account, plan, amount] of plans) partsOf(this.#plans, planName(account, plan)).set(boot, part(amount))
    for (const [number, amount] of keys) partsOf(this.#keys, number).set(boot, part(amount))
  }

  leave(boot: number): void {
    this.#relays.delete(boot)
    for (const leases of this.#all()) {
      for (const [number, parts] of leases) if (parts.delete(boot) && parts.size === 0) leases.delete(number)
    }
  }

  /** To be called when a receipt was written: its cost leaves the relay's leases. `planOf`: the plan of a key. */
  noteSettled(
    boot: number,
    { accountNumber, keyNumber, costPicos }: Readonly<{ accountNumber: number; keyNumber: number; costPicos: Picos }>,
    planOf: (keyNumber: number) => string = () => '',
  ) {
    const ofPlan = this.#plans.size === 0 ? undefined : this.#plans.get(planName(accountNumber, planOf(keyNumber)))?.get(boot)
    for (const part of [this.#accounts.get(accountNumber)?.get(boot), ofPlan, this.#keys.get(keyNumber)?.get(boot)])
      if (part !== undefined) part.amountPicos = part.amountPicos > costPicos ? part.amountPicos - costPicos : 0n
  }

  /** Undefined: the process is not a relay any more. */
  move(boot: number, move: LeaseAsk | LeaseMove, rows: LeasedRows): LeaseAnswer | undefined {
    if (!this.#relays.has(boot)) return undefined
    if (++this.#movesSinceSweep >= MOVES_BETWEEN_SWEEPS) this.#sweep()
    const { accountNumber, plan, keyNumber } = move
    const asked = 'amountPicos' in move ? move : undefined
    const ofPlan = plan === undefined ? undefined : planName(accountNumber, plan.name)
    if (asked === undefined) {
      shrink(this.#accounts.get(accountNumber)?.get(boot), move.accountRunsPicos, move.number)
      if (plan !== undefined) shrink(this.#plans.get(ofPlan ?? '')?.get(boot), plan.runsPicos, move.number)
      shrink(this.#keys.get(keyNumber)?.get(boot), move.keyRunsPicos, move.number)
    }
    const { key } = rows
    const hasKeySide = key !== undefined && (key.left !== undefined || key.windows.length > 0)
    const by = { boot, hour: rows.hour, asked: asked?.windows }
    const sides: Sides = {
      account: sideOf(partsOf(this.#accounts, accountNumber), rows.account, {
        ...by,
        runs: move.accountRunsPicos,
        held: asked?.windows?.account,
      }),
      plan:
        rows.plan === undefined || plan === undefined || ofPlan === undefined
          ? undefined
          : sideOf(partsOf(this.#plans, ofPlan), rows.plan, { ...by, runs: plan.runsPicos, held: asked?.windows?.plan }),
      key: hasKeySide
        ? sideOf(partsOf(this.#keys, keyNumber), key, { ...by, runs: move.keyRunsPicos, held: asked?.windows?.key })
        : undefined,
    }
    const granted = asked === undefined ? RELEASED : this.#ask(boot, asked, rows, sides)
    const answerOf = (side: Side | undefined, isSmall = false): LeaseSide => (side === undefined ? NOTHING : backedOf(side, boot, isSmall))
    const hasWindows = [sides.account, sides.plan, sides.key].some((side) => side !== undefined && side.row.windows.length > 0)
    return {
      verdict: granted.verdict,
      refusedBy: granted.refusedBy,
      account: answerOf(sides.account, granted.small?.account),
      ...(sides.plan === undefined ? {} : { plan: answerOf(sides.plan, granted.small?.plan) }),
      key: answerOf(sides.key, granted.small?.key),
      balancePicos: picos(rows.balancePicos),
      spentPicos: picos(rows.spentPicos),
      ...(hasWindows ? { windows: { hour: rows.hour, ledgerMs: rows.ledgerMs } } : {}),
      ...(granted.used === undefined ? {} : { used: granted.used }),
    }
  }

  #ask(boot: number, { amountPicos, number }: LeaseAsk, rows: LeasedRows, sides: Sides): Granted {
    const view = (side: Side | undefined): View | undefined => side && viewOf(side, amountPicos, this.#relays.size)
    const [account, plan, key] = [viewOf(sides.account, amountPicos, this.#relays.size), view(sides.plan), view(sides.key)]
    const all = [account, plan, key].filter((one) => one !== undefined)
    const isLate = all.some(({ own }) => (own?.moved ?? 0) > number)
    const verdict = verdictOf(rows, all, isLate)
    // The number is noted also when the ask is refused: no older move may change what this answer tells.
    for (const { own } of all) if (own !== undefined) own.moved = Math.max(own.moved, number)
    if (verdict === 'granted') for (const one of all) grow(one, boot, amountPicos, number, rows.hour)
    const isOfAccount = verdict === 'exhausted' ? account.isUsedUp : verdict !== 'disabled' && account.free <= 0n
    return {
      verdict,
      refusedBy: verdict === 'granted' ? null : isOfAccount ? 'account' : 'key',
      small: { account: account.isSmall, plan: plan?.isSmall ?? false, key: key?.isSmall ?? false },
      used: verdict === 'exhausted' ? usedUpOf(all) : undefined,
    }
  }

  /** Removes empty leases: most accounts have no leases for most of the time. */
  #sweep(): void {
    this.#movesSinceSweep = 0
    for (const leases of this.#all()) {
      for (const [number, parts] of leases) {
        for (const [boot, { amountPicos }] of parts) if (amountPicos === 0n) parts.delete(boot)
        if (parts.size === 0) leases.delete(number)
      }
    }
  }

  #all(): readonly Map<unknown, Parts>[] {
    return [this.#accounts as Map<unknown, Parts>, this.#plans as Map<unknown, Parts>, this.#keys as Map<unknown, Parts>]
  }
}

type Sides = Readonly<{ account: Side; plan: Side | undefined; key: Side | undefined }>
type Granted = Pick<LeaseAnswer, 'verdict' | 'refusedBy'> &
  Readonly<{ small?: Readonly<{ account: boolean; plan: boolean; key: boolean }>; used?: LeaseAnswer['used'] | undefined }>
const RELEASED: Granted = { verdict: 'released', refusedBy: null }
const NOTHING: LeaseSide = { backedPicos: picos(0n), hasMore: false, isSmall: false }

function verdictOf({ isActive, key }: LeasedRows, views: readonly View[], isLate: boolean): LeaseAnswer['verdict'] {
  if (!isActive || key?.isActive !== true) return 'disabled'
  if (views.some(({ isUsedUp }) => isUsedUp)) return 'exhausted'
  if (!isLate && views.every(({ free }) => free > 0n)) return 'granted'
  return views.some(({ others }) => others > 0n) ? 'wanted' : 'reserved'
}

function partsOf<Of>(leases: Map<Of, Parts>, of: Of): Parts {
  const parts = leases.get(of) ?? new Map()
  leases.set(of, parts)
  return parts
}
