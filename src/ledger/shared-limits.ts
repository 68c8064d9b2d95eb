/** A key's limits per minute and in parallel on a ledger with several nodes: each node takes a part of both before it uses it. Rules: keys.md "Limits over nodes". */

/**
 * `requests`: how many of the minute's requests the node asks for, to be used within a second. `places`: how many requests it may then run at once, with those that run now. `burst`: how
 * many may come at once, where that is not a minute's; only relays ask so.
 */
export type LimitAsk = Readonly<{ keyId: string; requests: number; places: number; perMinute: number; atOnce: number; burst?: number }>

/** What was granted, at most what was asked for. `waitMs`: the time until one more request of the minute is free. `nodes`: how many nodes share the limits. */
export type LimitGrant = Readonly<{ requests: number; places: number; waitMs: number; nodes: number }>

export interface SharedLimits {
  /** Rejects only by a bug. unavailable: the part may have been taken all the same. */
  take(ask: LimitAsk): Promise<LimitGrant | 'unavailable'>
}

/** What an account may send in a minute where several relays answer: each counts by itself, tells the others, and hears what all have counted. Rules: processes.md "Shared". */
export interface SharedBytes {
  /** Notes bytes that were let in here, of so many that the account may send in a minute. Returns at once. */
  add(accountId: string, bytes: number, perMinute: number): void
  /** `aheadMs`: how long it takes until the account's minute is whole again, by what all relays have let in. */
  onTold(listener: (accountId: string, aheadMs: number) => void): void
}
