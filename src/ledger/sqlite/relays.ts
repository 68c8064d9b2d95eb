/**
 * The relays of a file, as the thread that writes knows them: each is a boot with leases in memory, is told what operators change, and ends when its process does. Rules:
 * processes.md "Relays", "Admission".
 */

import type { Database } from 'bun:sqlite'
import type { KeyChange } from '../ledger.ts'
import type { NodeMessage } from '../nodes.ts'
import type { Operation } from '../operation.ts'
import { numberIn } from '../sql/numbers.ts'
import type { Statements } from '../sql/statements.ts'
import type { Debit, LeaseAnswer, LeaseAsk, LeaseMove, RelayRuns } from '../task.ts'
import { messagesOf } from '../writing/node-messages.ts'
import { RelayLeases } from '../writing/relay-leases.ts'
import type { StoreRelays } from '../writing/store.ts'
import { isStorageFailure } from './storage-failure.ts'

type AccountRow = Readonly<{ balance: bigint; isActive: bigint }>
type KeyRow = Readonly<{ limitPicos: bigint | null; spentPicos: bigint; isActive: bigint }>

/** The lane in messages about changes of the ledger's own process; no relay has it, so every relay takes them. */
const OWN_LANE = 0

export class SqliteRelays implements StoreRelays {
  readonly #statements: Statements
  readonly #account
  readonly #key
  readonly #leases = new RelayLeases()
  /** Boots that were relays of this process and are none any more. */
  readonly #ended = new Set<number>()
  #isGranting = true
  #announced: NodeMessage[] = []
  #news: NodeMessage[] = []

  constructor(db: Database, statements: Statements) {
    this.#statements = statements
    this.#account = db.prepare<AccountRow, [number]>(
      'SELECT balance_picos AS balance, is_active AS "isActive" FROM accounts WHERE number = ?',
    )
    this.#key = db.prepare<KeyRow, [number]>(
      'SELECT limit_picos AS "limitPicos", spent_picos AS "spentPicos", is_active AS "isActive" FROM keys WHERE number = ?',
    )
  }

  join(bootId: string, now: number, runs: RelayRuns): number | undefined {
    const { bootNumber, insertBoot } = this.#statements
    try {
      // A relay whose boot is in the file needs no write, so a full disk does not keep it out.
      if (bootNumber.get(bootId) === null) insertBoot.run({ id: bootId, node: 'relay', startedAt: now })
      const boot = numberIn(bootNumber.get(bootId))
      this.#leases.join(boot, runs)
      return boot
    } catch (error) {
      if (!isStorageFailure(error)) throw error
      return undefined
    }
  }

  leave(boot: number): void {
    this.#leases.leave(boot)
    this.#ended.add(boot)
  }

  setGranting(isGranting: boolean): void {
    this.#isGranting = isGranting
  }

  get isEmpty(): boolean {
    return this.#leases.isEmpty
  }

  lives(boot: number): boolean {
    return this.#leases.lives(boot)
  }

  hasEnded(boot: number): boolean {
    return this.#ended.has(boot)
  }

  noteSettled({ boot, ...debit }: Debit): void {
    if (boot !== undefined) this.#leases.noteSettled(boot, debit)
  }

  /** Undefined: the process is not a relay any more, other relays have not yet said what they hold, or there is no such account. */
  move(move: LeaseAsk | LeaseMove): LeaseAnswer | undefined {
    const { boot = OWN_LANE, accountNumber, keyNumber } = move
    const account = this.#account.get(accountNumber)
    if (account === null || !this.#isGranting) return undefined
    const key = this.#key.get(keyNumber)
    const answer = this.#leases.move(boot, move, {
      balancePicos: account.balance,
      isActive: account.isActive === 1n,
      key: key === null ? undefined : { ...key, isActive: key.isActive === 1n },
    })
    if (answer?.verdict === 'wanted') this.#news.push({ kind: 'giveBack', lane: boot, accountNumber, keyNumber })
    return answer
  }

  announce(operation: Operation, changes: readonly KeyChange[]): void {
    if (!this.#leases.isEmpty) this.#announced.push(...messagesOf(OWN_LANE, operation, changes))
  }

  committed(): void {
    if (this.#announced.length === 0) return
    this.#news.push(...this.#announced)
    this.#announced = []
  }

  rolledBack(): void {
    this.#announced = []
  }

  /** Removes and returns the messages for the relays. */
  takeNews(): readonly NodeMessage[] {
    const news = this.#news
    if (news.length > 0) this.#news = []
    return news
  }
}
