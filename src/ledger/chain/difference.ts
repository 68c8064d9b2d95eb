/** A finding of `verify`. Rules: money.md "Verify". */

/** `stored` is what a table says, `recomputed` what its parts add up to. Amounts are picodollars. */
export type Difference = Readonly<{ rule: string; subject: string; stored: string; recomputed: string }>
