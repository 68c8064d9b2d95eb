/** The rates of plans and keys where several processes share a ledger: each request is counted in one place, all its buckets or none. Rules: keys.md "Rates over nodes". */

import type { Amounts, RateLimits, Wanted } from '../core/token-buckets.ts'

/** An account over its keys of a plan, or one key. `running`: the requests of it that run in the asking process, with the one that asks. */
export type RateOwner = Readonly<{ name: string; limits: RateLimits; running: number }>

/** A request that asks to be let in. `slots` 1: it takes a place among those that run at once. */
export type RateAsk = Readonly<{ owners: readonly RateOwner[]; wanted: Wanted; slots: 0 | 1 }>

/** How an owner stands after the ask. `isFull`: it has no place for one more request. */
export type RateStanding = Amounts & Readonly<{ isFull: boolean }>

/** `owners`: in the order of the ask. `nodes`: how many processes share the rates. */
export type RateAnswer = Readonly<{ isAdmitted: boolean; owners: readonly RateStanding[]; nodes: number }>

/** What requests that have ended took more, or less, than was counted; and how many of the owner's run now. */
export type RateCorrection = Readonly<{ owner: RateOwner; amounts: Amounts }>

export interface SharedRates {
  /** Rejects only by a bug. unavailable: it may have been counted all the same. */
  take(ask: RateAsk): Promise<RateAnswer | 'unavailable'>
  /** `number`: grows with each; corrections that are sent again, since there was no answer, have the same, and count once. */
  correct(corrections: readonly RateCorrection[], number: number): Promise<'done' | 'unavailable'>
}
