/** Which price version the cost of an upstream call is computed by. Rules: money.md "What a call costs us"; ledger.md "Attempts". */

import { promptOf } from '../../core/usage.ts'
import type { Attempt, Settlement } from '../ledger.ts'
import type { Calls, Debit, InFlightCheckpoint } from '../task.ts'
import { factsOf, type HeldRequest } from './held-request.ts'
import type { PriceBook } from './price-book.ts'

export class CallCosts {
  readonly #prices: PriceBook

  constructor(prices: PriceBook) {
    this.#prices = prices
  }

  debitOf(request: HeldRequest, settlement: Settlement): Debit {
    const { level = 0, promptTokens, upstream, usage, otherAttempts } = settlement
    return {
      ...settlement,
      ...factsOf(request),
      otherAttempts: otherAttempts && this.#attemptsOf(request, otherAttempts),
      ...this.#costOf(request, upstream?.name, promptTokens ?? promptOf(usage)),
      price: request.price + level,
      hasCheckpoint: request.hasCheckpoint,
    }
  }

  checkpointOf(request: HeldRequest): InFlightCheckpoint {
    const { otherAttempts, ...progress } = request.progress
    return {
      requestId: request.hold.requestId,
      ...factsOf(request),
      ...progress,
      ...(otherAttempts === undefined ? {} : { otherAttempts: this.#attemptsOf(request, otherAttempts) }),
      ...this.#costOf(request, progress.upstream?.name, promptOf(progress.usage)),
    }
  }

  callsOf(request: HeldRequest, attempts: readonly Attempt[]): Calls {
    const { key, price, hold } = request
    const { requestId } = hold
    return {
      requestId,
      accountNumber: key.account.number,
      keyNumber: key.number,
      price,
      attempts: this.#attemptsOf(request, attempts),
    }
  }

  #attemptsOf(request: HeldRequest, attempts: readonly Attempt[]): readonly Attempt[] {
    if (request.costs === undefined) return attempts
    return attempts.map((attempt) => ({ ...attempt, ...this.#costOf(request, attempt.upstream.name, promptOf(attempt.usage)) }))
  }

  #costOf({ costs, hold }: HeldRequest, upstream: string | undefined, promptTokens: number): Readonly<{ upstreamCost?: number }> {
    const cost = upstream === undefined ? undefined : costs?.get(upstream)
    return cost === undefined ? NO_COST : { upstreamCost: this.#prices.costAt(hold.modelId, cost, promptTokens) }
  }
}

const NO_COST = {}
