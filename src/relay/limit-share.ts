/**
 * The part of a key's limits that a node has taken and not used up: lots of the minute, and places. Pure: it knows no clock. Rules: keys.md "Limits over
 * nodes".
 */

import type { LimitGrant } from '../ledger/shared-limits.ts'

export type Share = {
  readonly keyId: string
  running: number
  /** Of requests at once, with those that run. */
  places: number
  /** The most that ran at once since the last look, and between the two before it. */
  peak: number
  peakBefore: number
  /** Of the minute, the oldest first; lost where they are not used in time. */
  readonly lots: { requests: number; untilMs: number }[]
  /** Before, nothing of the minute is there; or no place. */
  emptyUntilMs: number
  fullUntilMs: number
  /** Let in since the last look, and between the two before it. */
  uses: number
  usesBefore: number
  waiting: number
  asking: Promise<void> | undefined
}

/** After that a lot is lost. */
const USED_WITHIN_MS = 1_000
/** Of what a second needs, what is taken at once: the less, the less is lost. */
const TAKEN_PART = 0.2
/** After a key's places were all taken, nothing is asked for that long. */
const FULL_MS = 50

export const emptyShare = (keyId: string): Share => ({
  keyId,
  running: 0,
  places: 0,
  peak: 0,
  peakBefore: 0,
  lots: [],
  emptyUntilMs: 0,
  fullUntilMs: 0,
  uses: 0,
  usesBefore: 0,
  waiting: 0,
  asking: undefined,
})

export function run(share: Share, slots: number): void {
  share.running += slots
  share.uses++
  share.peak = Math.max(share.peak, share.running)
}

/** What the next moments will need, by the last second. Few get none: what is not used would be lost to them. */
export const needOf = ({ uses, usesBefore }: Share): number => Math.floor(Math.max(uses, usesBefore) * TAKEN_PART)

export const requestsOf = ({ lots }: Share): number => lots.reduce((sum, { requests }) => sum + requests, 0)

/** The oldest that still counts. */
export function lotAt({ lots }: Share, now: number): Share['lots'][number] | undefined {
  for (;;) {
    const [first] = lots
    if (first === undefined || (first.requests > 0 && now < first.untilMs)) return first
    lots.shift()
  }
}

/** What was asked for at `sentMs` and is granted now. */
export function learn(
  share: Share,
  grant: LimitGrant,
  wanted: Readonly<{ requests: number; places: number; sentMs: number }>,
  now: number,
): void {
  share.places = grant.places
  if (grant.requests > 0) share.lots.push({ requests: grant.requests, untilMs: wanted.sentMs + USED_WITHIN_MS })
  if (grant.requests < wanted.requests) share.emptyUntilMs = now + grant.waitMs
  if (grant.places < wanted.places) share.fullUntilMs = now + FULL_MS
}

/** A look: what was counted since the last one is what was counted before this. */
export function turn(share: Share): void {
  share.usesBefore = share.uses
  share.uses = 0
  share.peakBefore = share.peak
  share.peak = share.running
}
