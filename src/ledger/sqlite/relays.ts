/**
 * The relays of a file, as the thread that writes knows them: each is a boot with leases in memory, is told what operators change, and ends when its process does. Rules:
 * processes.md "Relays", "Admission".
 */

import type { Database } from 'bun:sqlite'
import { type Budgets, HOUR_MS, hourAt, presentHour } from '../../core/windows.ts'
import type { SettledRows } from '../key-state.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove, RelayRuns } from '../lease-move.ts'
import type { KeyChange } from '../ledger.ts'
import type { NodeMessage } from '../nodes.ts'
import type { Operation } from '../operation.ts'
import { numberIn } from '../sql/numbers.ts'
import type { Statements } from '../sql/statements.ts'
import type { Debit } from '../task.ts'
import { messagesOf } from '../writing/node-messages.ts'
import { leasedWindows } from '../writing/relay-lease-sides.ts'
import { type LeasedRows, RelayLeases } from '../writing/relay-leases.ts'
import type { Applied, StoreRelays } from '../writing/store.ts'
import { isStorageFailure } from './storage-failure.ts'

type AccountRow = Readonly<{ balance: bigint; isActive: bigint; hasBudgets: bigint }>
type SettledRow = Omit<SettledRows, 'lastSyncedAt' | 'sums'> & Readonly<{ account: bigint; lastSyncedAt: bigint; hasBudgets: bigint }>
type KeyRow = Readonly<{ limitPicos: bigint | null; spentPicos: bigint; isActive: bigint; plan: string }>

/** The lane in messages about changes of the ledger's own process; no relay has it, so every relay takes them. */
const OWN_LANE = 0

export class SqliteRelays implements StoreRelays {
  readonly #statements: Statements
  readonly #account
  readonly #key
  readonly #settledRow
  readonly #leases = new RelayLeases()
  /** Boots that were relays of this process and are none any more. */
  readonly #ended = new Set<number>()
  readonly #now: () => number
  /** The newest hour for which leases were granted: a clock that is a little behind does not open an earlier window again. */
  #hour = 0
  #isGranting = true
  #announced: NodeMessage[] = []
  #news: NodeMessage[] = []
  /** Numbers of the keys of each relay's settles that it was not told of. */
  #settled = new Map<number, Set<number>>()

  /** `now`: Unix milliseconds. */
  constructor(db: Database, statements: Statements, now: () => number) {
    this.#statements = statements
    this.#now = now
    this.#account = db.prepare<AccountRow, [number]>(
      `SELECT balance_picos AS balance, is_active AS "isActive", EXISTS (SELECT 1 FROM budgets WHERE account_number = number) AS "hasBudgets"
       FROM accounts WHERE number = ?`,
    )
    this.#key = db.prepare<KeyRow, [number]>(
      'SELECT limit_picos AS "limitPicos", spent_picos AS "spentPicos", is_active AS "isActive", plan FROM keys WHERE number = ?',
    )
    this.#settledRow = db.prepare<SettledRow, [number]>(
      `SELECT k.id AS "keyId", a.id AS "accountId", a.number AS account, k.plan AS plan, k.spent_picos AS "spentPicos", a.balance_picos AS "balancePicos",
         k.last_synced_at AS "lastSyncedAt", EXISTS (SELECT 1 FROM budgets WHERE account_number = a.number) AS "hasBudgets"
       FROM keys k JOIN accounts a ON a.number = k.account_number WHERE k.number = ?`,
    )
  }

  join(bootId: string, now: number, runs: RelayRuns): number | undefined {
    const { bootNumber, insertBoot } = this.#statements
    try {
      // A relay whose boot is in the file needs no write, so a full disk does not keep it out.
      if (bootNumber.get(bootId) === null) insertBoot.run({ id: bootId, node: 'relay', startedAt: now })
      const boot = numberIn(bootNumber.get(bootId))
      this.#leases.join(boot, runs, this.#hourNow())
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
    if (boot === undefined) return
    this.#leases.noteSettled(boot, debit, (key) => this.#key.get(key)?.plan ?? '')
    const keys = this.#settled.get(boot) ?? new Set()
    this.#settled.set(boot, keys.add(debit.keyNumber))
  }

  /** Undefined: the process is not a relay any more, other relays have not yet said what they hold, or there is no such account. */
  move(move: LeaseAsk | LeaseMove): LeaseAnswer | undefined {
    const { boot = OWN_LANE, accountNumber, keyNumber } = move
    const account = this.#account.get(accountNumber)
    if (account === null || !this.#isGranting) return undefined
    const key = this.#key.get(keyNumber)
    const answer = this.#leases.move(boot, move, this.#rowsOf(move, account, key))
    if (answer?.verdict === 'wanted') this.#news.push({ kind: 'giveBack', lane: boot, accountNumber, keyNumber })
    return answer
  }

  #rowsOf(move: LeaseAsk | LeaseMove, account: AccountRow, key: KeyRow | null): LeasedRows {
    const newest = this.#hourNow()
    const asked = 'windows' in move ? move.windows : undefined
    const { accountNumber, keyNumber, plan } = move
    const hasWindows = account.hasBudgets === 1n || asked !== undefined
    const of = { key: keyNumber, account: accountNumber, plan: plan?.name ?? key?.plan ?? '' }
    const sums = hasWindows ? this.#statements.windowSums(of, hourAt(this.#now()), newest) : undefined
    const hour = sums?.hour ?? newest
    const windowsOf = (spent: readonly bigint[] | undefined, budgets: Budgets | undefined) =>
      leasedWindows(hour, spent ?? [], budgets ?? [])
    return {
      hour,
      ledgerMs: Math.max(this.#now(), newest * HOUR_MS),
      isActive: account.isActive === 1n,
      balancePicos: account.balance,
      spentPicos: key?.spentPicos ?? 0n,
      account: { left: account.balance, windows: windowsOf(sums?.account, sums?.accountBudgets) },
      plan: plan === undefined ? undefined : { left: undefined, windows: windowsOf(sums?.plan, asked?.planBudgets) },
      key:
        key === null
          ? undefined
          : {
              left: key.limitPicos === null ? undefined : key.limitPicos - key.spentPicos,
              windows: windowsOf(sums?.key, sums?.keyBudgets),
              isActive: key.isActive === 1n,
            },
    }
  }

  #hourNow(): number {
    this.#hour = presentHour(this.#hour, hourAt(this.#now()))
    return this.#hour
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

  /** Removes and returns what the relays are to be told. */
  takeTold(): Pick<Applied, 'news' | 'settledRows'> {
    const [news, settled] = [this.#news, this.#settled]
    if (news.length > 0) this.#news = []
    if (settled.size === 0) return news.length === 0 ? {} : { news }
    this.#settled = new Map()
    const settledRows = new Map([...settled].map(([boot, keys]) => [boot, this.#rowsBehind([...keys])]))
    return { settledRows, ...(news.length === 0 ? {} : { news }) }
  }

  /** The relay does without them where the file cannot be read. */
  #rowsBehind(keys: readonly number[]): readonly SettledRows[] {
    try {
      return keys.map((key) => this.#settledRowsOf(key)).filter((rows) => rows !== undefined)
    } catch (error) {
      if (!isStorageFailure(error)) throw error
      return []
    }
  }

  #settledRowsOf(key: number): SettledRows | undefined {
    const row = this.#settledRow.get(key)
    if (row === null) return undefined
    const { account: number, hasBudgets, lastSyncedAt, ...rows } = row
    const account = Number(number)
    const { plan } = rows
    const sums =
      hasBudgets === 1n || this.#leases.hasPlan(account, plan)
        ? { sums: this.#statements.windowSums({ key, account, plan }, hourAt(this.#now()), this.#hourNow()) }
        : {}
    return { ...rows, ...sums, lastSyncedAt: Number(lastSyncedAt) }
  }
}
