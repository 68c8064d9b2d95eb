/** The port to the ends of the chains that this process extends, which are those of its lane. Rules: ledger.md "Chain", "Two stores". */

/** `id`: the account's id. `hash`: the hash of the chain's last row; null: the chain has no rows. */
type StoredHead = Readonly<{ account: number; id: string; count: number; hash: Buffer | null }>

export interface ChainPlace {
  readonly lane: number
  /** The ends of these accounts' chains; an account that does not exist has none. */
  headsOf(accounts: readonly number[]): readonly StoredHead[]
  /** The ids of these keys; a key that does not exist has none. */
  keyIdsOf(keys: readonly number[]): readonly Readonly<{ key: number; id: string }>[]
  /** Sets the end after a credit; a settle sets it together with its sums. */
  setHead(account: number, count: number, hash: Buffer): void
}
