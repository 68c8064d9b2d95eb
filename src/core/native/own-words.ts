/** Replaces an upstream's words by ours where they are not to reach customers. Rules: faults.md "Words of an upstream". */

import { Refusal } from '../refusal.ts'

/** The contract's own sentence, in which the upstream gives nothing but two numbers. */
const OF_CONTRACT = /^prompt is too long: \d+ tokens > \d+ maximum$/

export const inOwnWords = (refusal: Refusal): Refusal =>
  refusal.name !== 'upstreamInvalidRequest' || OF_CONTRACT.test(refusal.message)
    ? refusal
    : new Refusal('upstreamInvalidRequest', refusal.errorCode === undefined ? {} : { errorCode: refusal.errorCode })
