/**
 * The thread's side of relays: their tasks get the boots of their relays, their prices are places in lists of their own, and a relay that goes leaves nothing in flight. Rules:
 * processes.md "Relays", "Death".
 */

import type { NumberedDebit } from '../debit-records.ts'
import type { NumberedTask, Task, TasksMessage } from '../task.ts'
import type { FromThread, ToThread } from '../thread-messages.ts'
import type { CommitLoop } from './commit-loop.ts'
import { callsPricedBy, pricedBy } from './named-prices.ts'
import type { RelaySpills } from './relay-spills.ts'
import type { Store } from './store.ts'

type Desk = Readonly<{ store: Store; loop: CommitLoop; spills: RelaySpills; say: (message: FromThread) => void; now: () => number }>

/** How often the desk tries to waive again. The spill must be replayed first, because a request that it keeps must be settled and not waived. */
const LOOK_EVERY_MS = 100

export class RelayDesk {
  readonly #desk: Desk
  /** By relay: the places of its price versions in the thread's list of all. */
  readonly #prices = new Map<number, number[]>()
  /** The ids of the boots of living relays, by boot. */
  readonly #bootIds = new Map<number, string>()
  #defined = 0
  /** All relays that live have joined. Before that, a boot that has not joined may be that of a relay that is still to come. */
  #areKnown = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** `from`: the boot of the relay; undefined for the thread's own process. */
  add(from: number | undefined, { tasks, prices }: Pick<TasksMessage, 'tasks' | 'prices'>, debits: readonly NumberedDebit[]): void {
    const places = this.#placesOf(from)
    for (const _ of prices) places.push(this.#defined++)
    const asked: NumberedTask[] = [...tasks]
    for (const { number, debit } of debits) asked.push({ number, task: { kind: 'settle', debit } })
    const priced = (price: number): number => places[price] ?? -1
    const all = from === undefined ? asked : asked.map(({ number, task }) => ({ number, task: stamped(task, from, priced), from }))
    this.#desk.loop.add(all, prices)
  }

  obey(message: Extract<ToThread, { kind: 'relayJoins' | 'relayGoes' | 'relaysKnown' }>): void {
    // Obeyed after the group with the earlier tasks, which is committed in this turn.
    setImmediate(() => this.#obey(message))
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #obey(message: Extract<ToThread, { kind: 'relayJoins' | 'relayGoes' | 'relaysKnown' }>): void {
    const { store, loop, spills, say } = this.#desk
    const { relays } = store
    if (relays === undefined) return
    switch (message.kind) {
      case 'relayJoins': {
        const { bootId, now, runs } = message
        // What the relay has kept comes before its lease, which covers all that it does not know to be booked.
        const spill = spills.read(bootId)
        const boot = 'kind' in spill ? undefined : relays.join(bootId, now, runs)
        if ('kind' in spill || boot === undefined) {
          say({ kind: 'relayJoined', bootId })
          break
        }
        this.#prices.set(boot, [])
        this.#bootIds.set(boot, bootId)
        say({ kind: 'relayJoined', bootId, boot, ledgerId: store.id, spill })
        break
      }
      case 'relayGoes': {
        // The relay leaves only after its tasks are answered, also while a commit is tried again, and after all that it has kept is booked: what comes later is waived.
        if (!loop.isIdle || !this.#hasKeptOf(message.boot)) {
          setTimeout(() => this.#obey(message), LOOK_EVERY_MS)
          return
        }
        relays.leave(message.boot)
        this.#prices.delete(message.boot)
        this.#bootIds.delete(message.boot)
        this.#waive()
        say({ kind: 'relayGone', boot: message.boot })
        break
      }
      case 'relaysKnown':
        relays.setGranting(true)
        this.#areKnown = true
        this.#waive()
    }
  }

  /** Whether what this relay has kept is booked. What one has kept that never joined this thread is known from that of relays to come once all have joined. */
  #hasKeptOf(boot: number): boolean {
    const { spills } = this.#desk
    const own = this.#bootIds.get(boot)
    if (own !== undefined) return spills.takeAway((bootId) => bootId !== own) === undefined
    const living = new Set(this.#bootIds.values())
    return this.#areKnown && spills.takeAway((bootId) => living.has(bootId)) === undefined
  }

  #waive(): void {
    clearTimeout(this.#timer)
    if (!this.#areKnown) return
    const { store, loop, spills, say, now } = this.#desk
    const living = new Set(this.#bootIds.values())
    const isSettled = loop.isSpillEmpty && spills.takeAway((bootId) => living.has(bootId)) === undefined
    const recovered = isSettled ? store.recover(now()) : undefined
    if (typeof recovered !== 'number') this.#timer = setTimeout(() => this.#waive(), LOOK_EVERY_MS)
    else if (recovered > 0)
      say({ kind: 'fault', fault: { kind: 'node', problem: `${recovered} requests that a relay left in flight were waived: it is gone` } })
  }

  #placesOf(from: number | undefined): number[] {
    const own = from ?? OWN
    const places = this.#prices.get(own) ?? []
    this.#prices.set(own, places)
    return places
  }
}

const OWN = 0

/** The task with the relay's own boot, whatever the message says. */
function stamped(task: Task, boot: number, priced: (price: number) => number): Task {
  switch (task.kind) {
    case 'settle':
      return { ...task, debit: { ...pricedBy(task.debit, priced), boot } }
    case 'checkpoint':
      return { ...task, checkpoint: { ...pricedBy(task.checkpoint, priced), boot } }
    case 'attempts':
      return { ...task, calls: callsPricedBy(task.calls, priced) }
    case 'ask':
      return { ...task, ask: { ...task.ask, boot } }
    case 'release':
      return { ...task, release: { ...task.release, boot } }
    default:
      return task
  }
}
