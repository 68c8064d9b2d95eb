/**
 * The part of a key's limits that a node has taken and not used up: lots of the minute, and places. Pure: it knows no clock. Rules: keys.md "Limits over
 * nodes".
 */

import type { LimitGrant } from '../ledger/shared-limits.ts'

export type Share = {
  readonly keyId: string
  running: number
  /** Places for concurrent requests, used ones included. */
  places: number
  /** The last answer was lost, so more may be taken for this node than `places`. */
  isIndeterminate: boolean
  /** The most concurrent requests since the last look, and between the two looks before. */
  peak: number
  peakBefore: number
  /** Lots of the minute, oldest first; a lot that is not used in time expires. */
  readonly lots: { requests: number; untilMs: number }[]
  /** Until this time no request of the minute, or no place, is available. */
  emptyUntilMs: number
  fullUntilMs: number
  /** Requests admitted since the last look, and between the two looks before. */
  uses: number
  usesBefore: number
  waiting: number
  asking: Promise<void> | undefined
}

/** A lot expires after this time. */
export const USED_WITHIN_MS = 1_000
/** The part of a second's need that is taken at once: a smaller part loses less to expiry. */
const TAKEN_PART = 0.2
/** After all places of a key were taken, none is asked for this long. */
const FULL_MS = 50

export const emptyShare = (keyId: string): Share => ({
  keyId,
  running: 0,
  places: 0,
  isIndeterminate: false,
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

/** The need of the next moments, estimated from the last second. A rarely used key takes none in advance, since unused lots expire. */
export const needOf = ({ uses, usesBefore }: Share): number => Math.floor(Math.max(uses, usesBefore) * TAKEN_PART)

export const requestsOf = ({ lots }: Share): number => lots.reduce((sum, { requests }) => sum + requests, 0)

/** The oldest lot that has not expired. */
export function lotAt({ lots }: Share, now: number): Share['lots'][number] | undefined {
  for (;;) {
    const [first] = lots
    if (first === undefined || (first.requests > 0 && now < first.untilMs)) return first
    lots.shift()
  }
}

/** Adds what was asked for at `sentMs` and is granted now. */
export function learn(
  share: Share,
  grant: LimitGrant,
  wanted: Readonly<{ requests: number; places: number; sentMs: number }>,
  now: number,
): void {
  share.places = grant.places
  share.isIndeterminate = false
  if (grant.requests > 0) share.lots.push({ requests: grant.requests, untilMs: wanted.sentMs + USED_WITHIN_MS })
  if (grant.requests < wanted.requests) share.emptyUntilMs = now + grant.waitMs
  if (grant.places < wanted.places) share.fullUntilMs = now + FULL_MS
}

/** A look: the current counts become those of the period before. */
export function turn(share: Share): void {
  share.usesBefore = share.uses
  share.uses = 0
  share.peakBefore = share.peak
  share.peak = share.running
}
