/** The nodes that share a ledger: their identity and their messages, whichever store carries them. Rules: nodes.md "Lanes and leases", "Notifications". */

/** A process that writes. `lane`: the lane of its chains. `boot`: the number of `bootId`. Lane, boot and epoch together are its right to write. */
export type NodeIdentity = Readonly<{ lane: number; boot: number; bootId: string; epoch: number }>

/** Lanes and account numbers are those of the database. `lane`: the lane of the node that sends the message. */
export type NodeMessage =
  /** These keys may do more or less than before. */
  | Readonly<{ kind: 'keys'; lane: number; stop: 'disabled' | null; keyIds: readonly string[] }>
  /** The account's balance was changed by another way than a settle. */
  | Readonly<{ kind: 'credit'; lane: number; accountId: string }>
  /** Keys were imported, so that there are more foreign secrets than before. */
  | Readonly<{ kind: 'import'; lane: number }>
  /** `lane` needs what lies idle of this account's balance, or of this key's limit: each node gives its part back. */
  | Readonly<{ kind: 'giveBack'; lane: number; accountNumber: number; keyNumber: number | null }>
