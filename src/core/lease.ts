/**
 * A lease: how much of an account's balance, or of what a key's limit leaves, a node may spend without asking. Pure: whether it covers a request, how much is
 * idle, and how far it goes back. What the database grants is its own rule (db/postgres/migrations/0002_leases.sql). Rules: ledger.md "Leases".
 */

/** The lease of a wallet, as its node knows it. Amounts are in picodollars. */
export type Lease = {
  /** Never more than the part of the database's row that the balance backs, less what is settled and not yet acknowledged. */
  amountPicos: bigint
  /** Set aside for requests that asked the database for more and have no answer yet. */
  askedPicos: bigint
  /** The number of these requests. */
  asks: number
  /** Part of the lease was given back, and the database has not answered yet. */
  isReleasing: boolean
  /** The smallest idle amount since the last look at the lease. */
  leastIdlePicos: bigint
  /** Little is left of the balance or limit, so nothing may lie idle: other nodes need it. */
  isSmall: boolean
  /** Where budgets by window hold: the hour for which the idle part was granted, in whole hours since 1970. In a later hour it covers nothing. */
  hour: number
  /** What requests of earlier hours held when it was granted: windows that begin with the hour do not count it, so what such a request leaves when it ends is not of them. */
  earlierPicos: bigint
  /** The database's row may hold more than this node knows: an answer was lost, or a request was granted more than what is left. */
  isIndeterminate: boolean
}

/** What a lease is compared with: `heldPicos` is what running requests hold of it. */
export type Leased = Readonly<{ heldPicos: bigint; lease: Lease }>

export const emptyLease = (): Lease => ({
  amountPicos: 0n,
  askedPicos: 0n,
  asks: 0,
  isReleasing: false,
  leastIdlePicos: 0n,
  isSmall: false,
  hour: 0,
  earlierPicos: 0n,
  isIndeterminate: false,
})

export const runningOf = ({ heldPicos, lease }: Leased): bigint => heldPicos + lease.askedPicos
export const idleOf = (leased: Leased): bigint => leased.lease.amountPicos - runningOf(leased)

/** Whether the idle part, without what is kept `apart` of it, covers the amount in full. It must be above 0: a request that holds nothing needs a balance, too. */
export function covers(leased: Leased, amountPicos: bigint, apartPicos = 0n): boolean {
  const idle = idleOf(leased) - apartPicos
  return idle > 0n && idle >= amountPicos
}

/**
 * Why a part of the lease goes back. unused: it was idle ever since the last look · ended: a request ended where nothing may lie idle · wanted: another node
 * waits for it · over: this node closes its ledger.
 */
export type GiveBackReason = 'unused' | 'ended' | 'wanted' | 'over'

/** How much of the lease stays; undefined: nothing goes back now. Only one change is under way at a time: the answer to an earlier one would undo a later one. */
export function stayOf(leased: Leased, reason: GiveBackReason): bigint | undefined {
  const { lease } = leased
  if (lease.asks > 0 || lease.isReleasing) return undefined
  const given = givenOf(leased, idleOf(leased), reason)
  if (given <= 0n && !(lease.isIndeterminate && (lease.isSmall || reason !== 'ended'))) return undefined
  return greater(runningOf(leased), lease.amountPicos - given)
}

function givenOf({ heldPicos, lease }: Leased, idle: bigint, reason: GiveBackReason): bigint {
  switch (reason) {
    case 'unused':
      return lease.isSmall || lease.isIndeterminate ? idle : smaller(lease.leastIdlePicos, idle)
    case 'ended':
      return lease.isSmall ? idle : 0n
    case 'wanted':
      // A key that is busy on this node keeps half of the idle part; the other node gets the rest when it asks again.
      return heldPicos > 0n && !lease.isSmall ? (idle + 1n) / 2n : idle
    case 'over':
      return idle
  }
}

/** Called when the idle part has become smaller. */
export function noteIdle(leased: Leased): void {
  leased.lease.leastIdlePicos = smaller(leased.lease.leastIdlePicos, idleOf(leased))
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
