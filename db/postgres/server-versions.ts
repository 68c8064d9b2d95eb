/** The major versions of Postgres on which all tests of it run. Older ones are refused. Rules: ledger.md "Two stores". */
export const SERVER_VERSIONS = { min: 14, max: 18 } as const
