/** The price versions that a request's rows name, by their places in another list: those of its price and of what its calls cost us. Rules: processes.md "Relays"; ledger.md "Spill". */

import type { Attempt } from '../ledger.ts'
import type { Calls } from '../task.ts'

type Named = Readonly<{ price: number; upstreamCost?: number | undefined; otherAttempts?: readonly Attempt[] | undefined }>

export function pricedBy<Request extends Named>(request: Request, placeOf: (price: number) => number): Request {
  const { price, upstreamCost, otherAttempts } = request
  return {
    ...request,
    price: placeOf(price),
    ...(upstreamCost === undefined ? {} : { upstreamCost: placeOf(upstreamCost) }),
    ...(otherAttempts === undefined ? {} : { otherAttempts: costedBy(otherAttempts, placeOf) }),
  }
}

export const callsPricedBy = (calls: Calls, placeOf: (price: number) => number): Calls => ({
  ...calls,
  price: placeOf(calls.price),
  attempts: costedBy(calls.attempts, placeOf),
})

const costedBy = (attempts: readonly Attempt[], placeOf: (price: number) => number): readonly Attempt[] =>
  attempts.map(({ upstreamCost, ...attempt }) =>
    upstreamCost === undefined ? attempt : { ...attempt, upstreamCost: placeOf(upstreamCost) },
  )
