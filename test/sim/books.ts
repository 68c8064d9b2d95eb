/**
 * The auditor: what the ledger must say, kept from what it was asked and what it answered, with arithmetic of its own. What nobody can know while it is under way
 * (an answer that a death swallowed) stands as indeterminate until the file itself is read; everything else is certain and exact.
 */

export type Entry = {
  readonly id: string
  readonly keyId: string
  readonly holdPicos: bigint
  readonly list: number
  /** That in which it was admitted. */
  readonly hour: number
  /**
   * held · settling: sent · charged: acknowledged · indeterminate: its client got an error · voided · ended: a process died with it, the file has said how.
   */
  state: 'held' | 'settling' | 'charged' | 'indeterminate' | 'voided' | 'ended'
  costPicos: bigint
  waivedPicos: bigint
  /** How many threads had died when it was sent. */
  deaths: number
  /** A thread may have committed it and died, and another one has spilled it: until that is replayed memory may count it twice. */
  isTwice: boolean
  /** Its node lost its lane before it had a receipt: it is waived, whenever it comes. Until the rows are read nobody knows whether memory counts it. */
  isFenced: boolean
}

export type KeyBook = { accountId: string; plan: string; limitPicos: bigint | null; isActive: boolean; expiresAt: number | null }
export type AccountBook = { creditedPicos: bigint; isActive: boolean }

/** What an operator's act does once it is done. `indeterminate`: it was answered `unavailable`. */
export type Act = Readonly<{ id: string; accountIds: readonly string[]; apply: () => unknown }>

export class Finding extends Error {}

/** `rule`: the invariant, by its name. */
export function must(rule: string, isSo: boolean, about: () => string): void {
  if (!isSo) throw new Finding(`${rule}: ${about()}`)
}

export class Books {
  readonly accounts = new Map<string, AccountBook>()
  readonly keys = new Map<string, KeyBook>()
  readonly entries = new Map<string, Entry>()
  /** Sent and not answered, in their order. */
  readonly acts = new Map<string, Act>()
  /** Answered with an error, and perhaps done all the same. */
  readonly indeterminateActs = new Map<string, Act>()

  entriesOf(keyId: string, ...states: readonly Entry['state'][]): readonly Entry[] {
    return [...this.entries.values()].filter((entry) => entry.keyId === keyId && states.includes(entry.state))
  }

  keysOf(accountId: string): readonly string[] {
    return [...this.keys].filter(([, key]) => key.accountId === accountId).map(([id]) => id)
  }

  accountOf(keyId: string): string {
    return this.keys.get(keyId)?.accountId ?? ''
  }

  /** Whether something of the account is under way that the memory may or may not count. */
  isCertain(accountId: string): boolean {
    const touches = (act: Act): boolean => act.accountIds.includes(accountId)
    const isOpen = [...this.acts.values(), ...this.indeterminateActs.values()].some(touches)
    const isClear = (keyId: string): boolean =>
      !this.entriesOf(keyId, 'indeterminate', 'charged', 'settling').some((it) => it.state === 'indeterminate' || it.isTwice || it.isFenced)
    return !isOpen && this.keysOf(accountId).every(isClear)
  }

  /** Spent by what was acknowledged, and by what is on its way. */
  spentOf(keyId: string): bigint {
    return this.entriesOf(keyId, 'settling', 'charged').reduce((sum, { costPicos }) => sum + costPicos, 0n)
  }

  balanceOf(accountId: string): bigint {
    const spent = this.keysOf(accountId).reduce((sum, keyId) => sum + this.spentOf(keyId), 0n)
    return (this.accounts.get(accountId)?.creditedPicos ?? 0n) - spent
  }

  heldOf(keyId: string): bigint {
    return this.entriesOf(keyId, 'held').reduce((sum, { holdPicos }) => sum + holdPicos, 0n)
  }

  heldOfAccount(accountId: string): bigint {
    return this.keysOf(accountId).reduce((sum, keyId) => sum + this.heldOf(keyId), 0n)
  }

  /** The rule of admission, written down a second time: what a hold must be answered. `ofWindows`: what its budgets answer, where they do not let it in. */
  admission(keyId: string, now: number, ofWindows?: string): string {
    const key = this.keys.get(keyId)
    const account = this.accounts.get(key?.accountId ?? '')
    if (key === undefined || account === undefined) return 'disabled'
    if (!key.isActive || !account.isActive) return 'disabled'
    if (key.expiresAt !== null && key.expiresAt <= now) return 'expired'
    const balance = this.balanceOf(key.accountId)
    const left = key.limitPicos === null ? 1n : key.limitPicos - this.spentOf(keyId)
    if (balance <= 0n || left <= 0n) return 'exhausted'
    if (ofWindows?.startsWith('until') === true) return ofWindows
    const free = balance - this.heldOfAccount(key.accountId)
    const leftFree = key.limitPicos === null ? 1n : left - this.heldOf(keyId)
    return free <= 0n || leftFree <= 0n ? 'reserved' : (ofWindows ?? 'held')
  }
}
