/** A key's limits per minute and in parallel on a ledger with several nodes: each node takes a part of both before it uses it. Rules: keys.md "Limits over nodes". */

/** `requests`: how many of the minute's requests the node asks for, to be used within a second. `places`: how many requests it may then run at once, with those that run now. */
export type LimitAsk = Readonly<{ keyId: string; requests: number; places: number; perMinute: number; atOnce: number }>

/** What was granted, at most what was asked for. `waitMs`: the time until one more request of the minute is free. `nodes`: how many nodes share the limits. */
export type LimitGrant = Readonly<{ requests: number; places: number; waitMs: number; nodes: number }>

export interface SharedLimits {
  /** Rejects only by a bug. unavailable: the part may have been taken all the same. */
  take(ask: LimitAsk): Promise<LimitGrant | 'unavailable'>
}
