/**
 * A lease: how much of an account's balance, or of what a key's limit leaves, a node may spend without asking. Pure: whether it covers a request, how much is
 * idle, and how far it goes back. What the database grants is its own rule (db/postgres/migrations/0002_leases.sql). Rules: ledger.md "Leases".
 */

/** Of a wallet, as its node knows it. Amounts in picodollars. */
export type Lease = {
  /** Never more than what the balance backs of the database's row, less what is settled and not acknowledged. */
  amountPicos: bigint
  /** Set aside for requests that have asked for more and are not answered. */
  askedPicos: bigint
  /** How many these are. */
  asks: number
  /** Some of it was given back, and that is not answered. */
  isReleasing: boolean
  /** The least that was idle since the last look at it. */
  leastIdlePicos: bigint
  /** Where little is left nothing may lie idle: others need it. */
  isSmall: boolean
  /** The row may have more: an answer was lost, or a request was granted beyond what is left. */
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
  isIndeterminate: false,
})

export const runningOf = ({ heldPicos, lease }: Leased): bigint => heldPicos + lease.askedPicos
export const idleOf = (leased: Leased): bigint => leased.lease.amountPicos - runningOf(leased)

/** In full, and out of something: a request that holds nothing needs a balance, too. */
export function covers(leased: Leased, amountPicos: bigint): boolean {
  const idle = idleOf(leased)
  return idle > 0n && idle >= amountPicos
}

/**
 * Why something goes back. unused: it was idle ever since the last look · ended: a request has, where nothing may lie idle · wanted: another node waits for it ·
 * over: this node is.
 */
export type GiveBackReason = 'unused' | 'ended' | 'wanted' | 'over'

/** How much of the lease stays; undefined: nothing goes back now. One move at a time: the answer to an earlier one would take this one back. */
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
      // A key that is busy here needs some of it as well; the other node gets the rest when it asks again.
      return heldPicos > 0n && !lease.isSmall ? (idle + 1n) / 2n : idle
    case 'over':
      return idle
  }
}

/** Something was taken out of what is idle. */
export function noteIdle(leased: Leased): void {
  leased.lease.leastIdlePicos = smaller(leased.lease.leastIdlePicos, idleOf(leased))
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
