/** Sums of a group's receipts by account, key, day and hour of admission: each sum is written once. Rules: ledger.md "Group commit", "Roll-ups"; money.md "Budgets". */

import { NO_USAGE, type Usage } from '../../core/usage.ts'
import { hourAt } from '../../core/windows.ts'
import type { Debit } from '../task.ts'

export type DaySums = {
  readonly key: number
  readonly day: number
  readonly price: number
  requests: number
  cost: bigint
  waived: bigint
  estimated: bigint
} & { -readonly [Counter in keyof Usage]: number }

/** `hour`: in which the requests were admitted, in whole hours since 1970. */
export type HourSums = Readonly<{ key: number; hour: number }> & { cost: bigint }

export type KeySums = { cost: bigint; at: number }

export class GroupSums {
  readonly accounts = new Map<number, bigint>()
  readonly keys = new Map<number, KeySums>()
  /** Sums by key, price and day. A group rarely has more than one for a key. The same key, price and day may stand here twice. */
  readonly days: DaySums[] = []
  /** Sums by key and hour, of what cost something. The same key and hour may stand here twice. */
  readonly hours: HourSums[] = []

  add(debit: Debit, price: number, day: number): void {
    const { accountNumber, keyNumber, costPicos } = debit
    this.accounts.set(accountNumber, (this.accounts.get(accountNumber) ?? 0n) + costPicos)
    this.#addToKey(keyNumber, costPicos, debit.now)
    addTo(this.#dayOf(keyNumber, day, price), debit)
    if (costPicos > 0n) this.#addToHour(keyNumber, hourAt(debit.startedAt), costPicos)
  }

  clear(): void {
    this.accounts.clear()
    this.keys.clear()
    this.days.length = 0
    this.hours.length = 0
  }

  #addToKey(key: number, cost: bigint, at: number): void {
    const sums = this.keys.get(key)
    if (sums === undefined) this.keys.set(key, { cost, at })
    else {
      sums.cost += cost
      if (at > sums.at) sums.at = at
    }
  }

  #addToHour(key: number, hour: number, cost: bigint): void {
    for (let index = this.hours.length - 1; index >= 0; index--) {
      const sums = this.hours[index]
      if (sums?.key === key && sums.hour === hour) {
        sums.cost += cost
        return
      }
      if (this.hours.length - index >= LOOKS_BACK_MAX) break
    }
    this.hours.push({ key, hour, cost })
  }

  #dayOf(key: number, day: number, price: number): DaySums {
    // The search begins at the end, because neighbouring receipts most often share key, price and day.
    for (let index = this.days.length - 1; index >= 0; index--) {
      const sums = this.days[index]
      if (sums?.key === key && sums.day === day && sums.price === price) return sums
      if (this.days.length - index >= LOOKS_BACK_MAX) break
    }
    const sums: DaySums = { key, day, price, requests: 0, ...NO_SUMS }
    this.days.push(sums)
    return sums
  }
}

function addTo(sums: DaySums, { usage, usageSource, costPicos, waivedPicos }: Debit): void {
  sums.requests++
  sums.input += usage.input
  sums.output += usage.output
  sums.cacheRead += usage.cacheRead
  sums.cacheWrite5m += usage.cacheWrite5m
  sums.cacheWrite1h += usage.cacheWrite1h
  sums.serverToolUses += usage.serverToolUses
  sums.cost += costPicos
  sums.waived += waivedPicos
  if (usageSource === 'estimated') sums.estimated += costPicos
}

/** How far back an entry is searched; a key whose last entry is further back gets a second one. */
const LOOKS_BACK_MAX = 64
const NO_SUMS = { ...NO_USAGE, cost: 0n, waived: 0n, estimated: 0n }
