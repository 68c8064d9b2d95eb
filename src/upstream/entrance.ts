/** Where a call goes: the upstream that fits it best of those that may be called, once there is a slot on it. Rules: pool.md "Choice", "Breaker", "Overload". */

import { inOrder } from './choice.ts'
import { busyFault, connectionFault } from './fault.ts'
import type { Member, Spot } from './member.ts'
import type { PoolOptions } from './pool-options.ts'
import type { PoolRequest } from './pool-request.ts'
import type { Fault, Stop } from './upstream.ts'
import { waitForTurn } from './waiting.ts'

/** How long a request waits for a slot: less than a stream's status waits, so that a refusal still is one. */
const TURN_MS = 800

export class Entrance {
  readonly #options: PoolOptions

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** The best upstream that is left, with a slot on it; a fault where there is none. At once where nothing has to be waited for. */
  enter(request: PoolRequest, all: readonly Spot[], tried: readonly Member[], stop: Stop): Spot | Fault | Promise<Spot | Fault> {
    if (all.length === 0) return connectionFault(request.model.upstreams[0]?.name ?? 'none', 'not configured')
    const now = this.#options.monotonicMs()
    const open = this.#open(all, tried, now)
    if (open.length === 0) return this.#noneLeft(all, now)
    const order = inOrder(open, request.conversation, this.#options.random)
    for (const spot of order) {
      if (!spot.member.turns.enter(request.accountId)) continue
      // In the same step as the look at the breaker: two at once must not both be its probe.
      spot.line.breaker.begin(now)
      return spot
    }
    const [first] = order
    return first === undefined ? this.#noneLeft(all, now) : this.#wait(first, request, all, tried, stop)
  }

  /** For a slot on the upstream that fits best. */
  async #wait(first: Spot, request: PoolRequest, all: readonly Spot[], tried: readonly Member[], stop: Stop): Promise<Spot | Fault> {
    const { turns } = first.member
    const untilMs = this.#options.monotonicMs() + TURN_MS
    const mayRun = await waitForTurn(turns, request.accountId, this.#options.wheel, untilMs, stop)
    if (mayRun && first.member.isOut) {
      // Taken out while the request waited for its turn.
      turns.leave(request.accountId)
      return await this.enter(request, all, tried, stop)
    }
    if (mayRun) {
      first.line.breaker.begin(this.#options.monotonicMs())
      return first
    }
    return stop.isStopped ? connectionFault(first.name, 'aborted') : busyFault(first.name, 'max concurrent')
  }

  /** Where all are out by what they answered, one is asked all the same: one customer's requests must not take a model from all. */
  #open(all: readonly Spot[], tried: readonly Member[], now: number): readonly Spot[] {
    const isOpen = (spot: Spot): boolean => !tried.includes(spot.member) && this.#outUntil(spot, all, now) === undefined
    if (all.every(isOpen)) return all
    const open = all.filter(isOpen)
    if (open.length > 0 || tried.length > 0) return open
    return all.filter(({ member, line }) => !member.isOut && line.breaker.isOutByAnswers)
  }

  /** Undefined: it may be called. The only upstream of a model is called whatever its breaker says, unless its address is silent: there is no better one. */
  #outUntil({ member, line }: Spot, all: readonly Spot[], now: number): number | undefined {
    if (member.isOut) return Number.POSITIVE_INFINITY
    return all.length === 1 && !line.isSilent ? undefined : line.breaker.outUntil(now)
  }

  #noneLeft(all: readonly Spot[], now: number): Fault {
    const soonest = Math.min(...all.map((spot) => this.#outUntil(spot, all, now) ?? now))
    const only = all.length === 1 ? all[0] : undefined
    if (only?.line.isSilent === true && !only.member.isOut) return connectionFault(only.name, 'connect timeout')
    return busyFault(all[0]?.name ?? 'none', 'all out', Number.isFinite(soonest) ? (soonest - now) / 1_000 : undefined)
  }
}
