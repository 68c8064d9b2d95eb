/** The limits and rates of keys of one process, as src/relay-of-gateway.ts makes them. */

import type { Gates } from '../../src/http/key.ts'
import { CountedRates } from '../../src/ledger/counted-rates.ts'
import { KeyLimits } from '../../src/relay/key-limits.ts'
import { RateGate, ratesHere } from '../../src/relay/rate-gate.ts'
import type { World } from '../../src/world.ts'

export function gatesOf({ limits, catalog, clock }: World): Gates {
  const now = clock.monotonicMs
  const rates = new RateGate({ catalog, now, wallNow: clock.now, store: ratesHere(new CountedRates(now)) })
  return { keyLimits: new KeyLimits({ limits, now }), rates }
}
