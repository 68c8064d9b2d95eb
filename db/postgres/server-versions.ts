/** The major versions of Postgres that a ledger may be on: its tests ran on each, and CI runs them on both ends. Older ones are refused. Rules: ledger.md "Two stores". */
export const SERVER_VERSIONS = { min: 14, max: 18 } as const
