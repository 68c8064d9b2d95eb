/** Where a store keeps the ends of the chains that this process extends: those of its lane. Rules: ledger.md "Chain", "Two stores". */

/** `id`: of the account. `hash`: of its last row; null where there is none. */
type StoredHead = Readonly<{ account: number; id: string; count: number; hash: Buffer | null }>

export interface ChainPlace {
  readonly lane: number
  /** Of those accounts that are there. */
  headsOf(accounts: readonly number[]): readonly StoredHead[]
  /** Of those keys that are there. */
  keyIdsOf(keys: readonly number[]): readonly Readonly<{ key: number; id: string }>[]
  /** After a credit; a settle sets it with its sums. */
  setHead(account: number, count: number, hash: Buffer): void
}
