/** A key's limits by minute and in parallel, where several nodes answer it: each node takes its part of both before it uses it. Rules: keys.md "Limits over nodes". */

/** `requests`: of the minute, to be used within a second. `places`: of those at once, all that the node has from then on, with those that run. */
export type LimitAsk = Readonly<{ keyId: string; requests: number; places: number; perMinute: number; atOnce: number }>

/** At most what was asked for. `waitMs`: until one more request of the minute is there. `nodes`: how many share the limits. */
export type LimitGrant = Readonly<{ requests: number; places: number; waitMs: number; nodes: number }>

export interface SharedLimits {
  /** Never rejects but for a bug. unavailable: it may have been taken all the same. */
  take(ask: LimitAsk): Promise<LimitGrant | 'unavailable'>
}
