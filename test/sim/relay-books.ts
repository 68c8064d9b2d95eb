/**
 * The books of a simulated world of relays: each request, where it runs and how far it is, and what must hold of all of them and of the receipts at every moment. Rules: processes.md "Admission";
 * money.md "Budgets".
 */

import { type Picos, picos } from '../../src/core/money.ts'
import { type Budget, hourAt, windowAt } from '../../src/core/windows.ts'
import { usd } from '../support/ledger.ts'
import { must } from './books.ts'
import type { RelayProcess } from './relay-process.ts'

/** `budgets`: of its plan. */
export type KeyInBooks = Readonly<{ id: string; balanceUsd: string; budgets: readonly Budget[] }>

export type Entry = {
  readonly id: string
  readonly key: string
  readonly relay: RelayProcess
  /** refused: its client had an error instead of the end; it may be charged. */
  state: 'asked' | 'held' | 'sent' | 'acknowledged' | 'refused' | 'gone'
  cost: Picos
  sentAtMs: number
  /** In which it was admitted. */
  hour: number
}

/** Of each request. */
export const HOLD = usd('0.5')

/** What each request cost that has a receipt. */
export type Receipts = ReadonlyMap<string, bigint>

export class RelayBooks {
  readonly entries: Entry[] = []
  readonly #keys: readonly KeyInBooks[]
  /** By key; those of an account are of its only key. */
  readonly #budgets = new Map<string, readonly Budget[]>()

  constructor(keys: readonly KeyInBooks[]) {
    this.#keys = keys
    for (const { id, budgets } of keys) this.#budgets.set(id, budgets)
  }

  setBudget(key: string, budget: Budget): void {
    this.#budgets.set(key, [...(this.#budgets.get(key) ?? []), budget])
  }

  add(key: string, relay: RelayProcess): Entry {
    const entry: Entry = { id: `req_${this.entries.length}`, key, relay, state: 'asked', cost: picos(0n), sentAtMs: 0, hour: 0 }
    this.entries.push(entry)
    return entry
  }

  held(): readonly Entry[] {
    return this.entries.filter(({ state, relay }) => state === 'held' && relay.isAlive)
  }

  /** Those whose end is not answered. */
  sent(): readonly Entry[] {
    return this.entries.filter(({ state, relay }) => state === 'sent' && relay.isAlive)
  }

  answered(entry: Entry, answer: string): void {
    const { relay, id } = entry
    entry.state = answer === 'held' && relay.isAlive ? 'held' : 'gone'
    entry.hour = hourAt(relay.ledger.holds().find(({ requestId }) => requestId === id)?.startedAt ?? 0)
  }

  /** All that the relay runs ends as if it had not been there. */
  drop(relay: RelayProcess): void {
    for (const entry of this.entries) if (entry.relay === relay && entry.state !== 'acknowledged') entry.state = 'gone'
  }

  /** `mayBeSpilled`: ends may be in a spill that is not in the ledger yet. */
  check(receipts: Receipts, mayBeSpilled: boolean): void {
    for (const { id } of this.#keys) this.#checkWindows(id, receipts)
    for (const key of this.#keys) this.#checkBalance(key, receipts)
    for (const { id, state, cost, relay } of this.entries) {
      const booked = receipts.get(id)
      // A relay that may admit cannot have been cut off.
      if (state === 'held' && relay.isAlive && relay.ledger.mayAdmit())
        must('what runs at a relay that lives is not waived', booked === undefined, () => `${id} at ${relay.pid}`)
      if (state === 'acknowledged' && !(mayBeSpilled && booked === undefined))
        must('what was acknowledged is booked', booked === cost, () => `${id}: ${booked}, not ${cost}`)
      else must('nothing else is charged', booked === undefined || booked === 0n || booked === cost, () => `${id}: ${booked} of ${cost}`)
    }
  }

  #checkBalance({ id: key, balanceUsd }: KeyInBooks, receipts: Receipts): void {
    const credited = usd(balanceUsd)
    const own = this.entries.filter((entry) => entry.key === key)
    const booked = own.reduce((sum, { id }) => sum + (receipts.get(id) ?? 0n), 0n)
    const pending = own.filter((entry) => !receipts.has(entry.id) && (entry.state === 'acknowledged' || isOpen(entry)))
    const most = booked + pending.reduce((sum, { state, cost }) => sum + (state === 'held' ? HOLD : cost), 0n)
    must(
      'no more is promised than there is and one request',
      most <= credited + HOLD,
      () =>
        `${key}: ${most} of ${credited}, ${booked} booked; ${pending.map(({ id, state, cost, relay }) => `${id} ${state} ${cost} by ${relay.pid}`).join(', ')}`,
    )
  }

  /** What was admitted in a window, all relays together, ends one request above each budget at most. */
  #checkWindows(key: string, receipts: Receipts): void {
    const own = this.entries.filter((entry) => entry.key === key && entry.hour > 0)
    for (const { per, capPicos } of this.#budgets.get(key) ?? []) {
      for (const [start, within] of Map.groupBy(own, ({ hour }) => windowAt(per, hour).start)) {
        const most = within.reduce((sum, entry) => sum + mostOf(entry, receipts), 0n)
        must(
          'a window ends one request above its cap at most',
          most < capPicos + HOLD,
          () => `${key}: ${most} of ${capPicos} a ${per} from ${start}`,
        )
      }
    }
  }
}

/** Whether the request may still end and cost something. */
const isOpen = ({ state, relay }: Entry): boolean => relay.isAlive && (state === 'held' || state === 'sent')

function mostOf(entry: Entry, receipts: Receipts): bigint {
  const { id, state, cost } = entry
  const booked = receipts.get(id)
  if (booked !== undefined) return booked
  if (state === 'acknowledged') return cost
  return isOpen(entry) ? (state === 'held' ? HOLD : cost) : 0n
}
