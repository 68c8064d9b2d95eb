/** Where a call goes: the best upstream that may be called, once it has a free slot. Rules: pool.md "Choice", "Breaker", "Busy", "Overload". */

import { mightThink } from './bound-thinking.ts'
import { type Cached, inOrder } from './choice.ts'
import type { Conversations } from './conversations.ts'
import { busyFault, connectionFault } from './fault.ts'
import type { Endpoint, Member, UpstreamModel } from './member.ts'
import type { PoolOptions } from './pool-options.ts'
import type { PoolRequest } from './pool-request.ts'
import type { Fault, Stop } from './upstream.ts'
import { waitForTurn } from './waiting.ts'

/** How long a request waits for a slot: shorter than a stream's status waits, so that a refusal is still sent as a status. */
const TURN_MS = 800
/** After so long without an answer, a trial no longer keeps other calls from trying the upstream. */
const TRIAL_MS = 5_000

export class Entrance {
  readonly #options: PoolOptions
  readonly #conversations: Conversations

  constructor(options: PoolOptions, conversations: Conversations) {
    this.#options = options
    this.#conversations = conversations
  }

  /** The best upstream that is left, with a slot on it; a fault where there is none. Returns at once where nothing has to be waited for. */
  enter(
    request: PoolRequest,
    all: readonly Endpoint[],
    tried: readonly Member[],
    stop: Stop,
  ): Endpoint | Fault | Promise<Endpoint | Fault> {
    if (all.length === 0) return connectionFault(request.model.upstreams[0]?.name ?? 'none', 'not configured')
    const now = this.#options.monotonicMs()
    const { accountId } = request
    const open = this.#open(accountId, all, tried, now)
    const isTrial = open.length === 0
    const order = inOrder(
      isTrial && tried.length === 0 ? all.filter((endpoint) => mayTry(endpoint, now)) : open,
      this.#cached(request, now),
      this.#options.random,
      () => mightThink(request),
    )
    for (const endpoint of order) {
      if (!endpoint.member.turns.enter(accountId)) continue
      // This is in the same step as the look at the breaker: two calls at once must not both be its probe.
      begin(endpoint.model, isTrial, stop, now)
      return endpoint
    }
    const [first] = order
    return first === undefined ? this.#noneLeft(accountId, all, now) : this.#wait(first, isTrial, request, all, tried, stop)
  }

  /** Waits for a slot on the best upstream. */
  async #wait(
    first: Endpoint,
    isTrial: boolean,
    request: PoolRequest,
    all: readonly Endpoint[],
    tried: readonly Member[],
    stop: Stop,
  ): Promise<Endpoint | Fault> {
    const { turns } = first.member
    const untilMs = this.#options.monotonicMs() + TURN_MS
    const mayRun = await waitForTurn(turns, request.accountId, this.#options.wheel, untilMs, stop)
    const now = this.#options.monotonicMs()
    if (mayRun && (first.member.isOut || (isTrial && !mayTry(first, now)))) {
      // An operator has taken the upstream out, or another call tries it, since the request began to wait.
      turns.leave(request.accountId)
      return await this.enter(request, all, tried, stop)
    }
    if (mayRun) {
      begin(first.model, isTrial, stop, now)
      return first
    }
    return stop.isStopped ? connectionFault(first.name, 'aborted') : busyFault(first.name, 'max concurrent')
  }

  #cached({ conversation, model }: PoolRequest, now: number): Cached | undefined {
    return conversation === undefined ? undefined : { conversation, warm: this.#conversations.warm(conversation, model.id, now) }
  }

  #open(accountId: string, all: readonly Endpoint[], tried: readonly Member[], now: number): readonly Endpoint[] {
    const isOpen = (endpoint: Endpoint): boolean =>
      !tried.includes(endpoint.member) && this.#outUntil(accountId, endpoint, all, now) === undefined
    return all.every(isOpen) ? all : all.filter(isOpen)
  }

  /**
   * Until when the endpoint must not be called; undefined when it may be. The only upstream of a model is called whatever is known of it, unless its address
   * is silent: there is no better one.
   */
  #outUntil(accountId: string, { member, model }: Endpoint, all: readonly Endpoint[], now: number): number | undefined {
    if (member.isOut) return Number.POSITIVE_INFINITY
    if (all.length === 1 && !model.isSilent) return undefined
    return model.breaker.outUntil(now) ?? model.busy.outUntil(accountId, now)
  }

  #noneLeft(accountId: string, all: readonly Endpoint[], now: number): Fault {
    const soonest = Math.min(...all.map((endpoint) => this.#outUntil(accountId, endpoint, all, now) ?? now))
    const only = all.length === 1 ? all[0] : undefined
    if (only?.model.isSilent === true && !only.member.isOut) return connectionFault(only.name, 'connect timeout')
    return busyFault(all[0]?.name ?? 'none', 'all out', Number.isFinite(soonest) ? (soonest - now) / 1_000 : undefined)
  }
}

/**
 * Where all upstreams are out, one call at a time tries one to which a connection is possible: one customer's requests may have put it out, and must not take a model
 * from all.
 */
const mayTry = ({ member, model: { breaker, trial } }: Endpoint, now: number): boolean =>
  !member.isOut && !breaker.isDead && (trial === undefined || now >= trial.untilMs)

function begin(model: UpstreamModel, isTrial: boolean, stop: Stop, now: number): void {
  model.breaker.begin(now)
  if (isTrial) model.trial = { by: stop, untilMs: now + TRIAL_MS }
}
