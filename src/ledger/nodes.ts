/** The nodes that share a ledger: their identity, their messages, whichever store carries them, and what is known of them. Rules: nodes.md "Lanes and leases", "Notifications". */

import type { Picos } from '../core/money.ts'
import type { NodeFacts } from '../core/node-facts.ts'

/** A process that writes. `lane`: the lane of its chains. `boot`: the number of `bootId`. Lane, boot and epoch together are its right to write. */
export type NodeIdentity = Readonly<{ lane: number; boot: number; bootId: string; epoch: number }>

/** Lanes and account numbers are those of the database. `lane`: the lane of the node that sends the message. */
export type NodeMessage =
  /** These keys may do more or less than before. */
  | Readonly<{ kind: 'keys'; lane: number; stop: 'disabled' | null; keyIds: readonly string[] }>
  /** All keys of this account may. */
  | Readonly<{ kind: 'account'; lane: number; accountId: string }>
  /** The account's balance was changed by another way than a settle, or a budget of all of its keys was set. */
  | Readonly<{ kind: 'credit'; lane: number; accountId: string }>
  /** Keys were imported, so that there are more foreign secrets than before. */
  | Readonly<{ kind: 'import'; lane: number }>
  /** `lane` needs what lies idle of this account's balance, or of this key's limit: each node gives its part back. */
  | Readonly<{ kind: 'giveBack'; lane: number; accountNumber: number; keyNumber: number | null }>

/**
 * `running`: the node renewed within the last half term. `silent`: it did not, so it admits nothing, and may come back. `lost`: its lease is over, and the next node that
 * looks takes over its requests in flight. `free`: the node ended, or was taken over.
 */
export type NodeState = 'running' | 'silent' | 'lost' | 'free'

export type NodeReport = Readonly<{
  lane: number
  /** The name of the node; if the lane is free, of the last node in it. */
  name: string
  state: NodeState
  /** Unix milliseconds, like `beatAt` and `leaseUntil`. */
  startedAt: number
  beatAt: number
  /** Undefined: the lane is free. */
  leaseUntil: number | undefined
  /** The sum of its leases over all accounts. */
  leasedPicos: Picos
  /** How many of its requests have been in flight for more than a second. */
  requestCount: number
  /** The facts that the node runs with, as far as it has told them. */
  facts: NodeFacts
}>
