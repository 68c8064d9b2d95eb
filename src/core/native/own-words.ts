/** Replaces an upstream's error text by ours, for upstreams whose error texts must not reach customers. Rules: faults.md "Words of an upstream". */

import { Refusal } from '../refusal.ts'

/** The contract's own sentence, in which only the two numbers are the upstream's. */
const OF_CONTRACT = /^prompt is too long: \d+ tokens > \d+ maximum$/

export const inOwnWords = (refusal: Refusal): Refusal =>
  refusal.name !== 'upstreamInvalidRequest' || OF_CONTRACT.test(refusal.message)
    ? refusal
    : new Refusal('upstreamInvalidRequest', refusal.errorCode === undefined ? {} : { errorCode: refusal.errorCode })
