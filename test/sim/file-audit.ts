/** The file of a simulated world against its books: receipts, credits, balances, keys, budgets and checkpoints. Rules: money.md "Settle", "Crashes"; ledger.md "Twice is once". */

import type { Usage } from '../../src/core/usage.ts'
import { PERS } from '../../src/core/windows.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { type Books, type Entry, must } from './books.ts'
import { costOf } from './drawn-requests.ts'
import type { Ground, HowEnded } from './ground.ts'
import type { Records } from './records.ts'
import { SET_BY, type WindowBooks } from './window-books.ts'

type ReceiptRow = Readonly<{ id: string; key: string; outcome: string; cost: bigint; waived: bigint }>
type AccountRow = Readonly<{ id: string; credited: bigint; balance: bigint; active: bigint }>
type KeyRow = Readonly<{ id: string; spent: bigint; limit_picos: bigint | null; active: bigint; expires: bigint | null }>
type BudgetRow = Readonly<{ id: string; per: string; by: string; cap: bigint }>
const BUDGET_ROWS = `SELECT coalesce(k.id, a.id) AS id, per, set_by AS by, cap_picos AS cap
  FROM budgets b JOIN accounts a ON a.number = b.account_number LEFT JOIN keys k ON k.number = b.key_number`
const ACCOUNT_ROWS = 'SELECT id, credited_picos AS credited, balance_picos AS balance, is_active AS active FROM accounts'
const KEY_ROWS = 'SELECT id, spent_picos AS spent, limit_picos, is_active AS active, expires_at AS expires FROM keys'

/** `usages`: of requests that were settled. `deaths`: how many threads have died. */
type Parts = Readonly<{
  ground: Ground
  books: Books
  windows: WindowBooks
  records: Records
  usages: ReadonlyMap<string, Usage>
  deaths: () => number
  meet: (what: string) => void
}>

export class FileAudit {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The file against the books. What was indeterminate is decided here, once, by what it says. */
  audit(when: 'quiet' | HowEnded, marked: ReadonlySet<string> = new Set()): void {
    const db = this.#parts.ground.read()
    try {
      const receipts = db
        .query<ReceiptRow, []>(
          'SELECT request_id AS id, k.id AS key, outcome, cost_picos AS cost, waived_picos AS waived FROM receipts r JOIN keys k ON k.number = r.key_number',
        )
        .all()
      this.#auditReceipts(new Map(receipts.map((row) => [row.id, row])), when, marked)
      const open = [...this.#parts.books.acts.values(), ...this.#parts.books.indeterminateActs.values()]
      const isIndeterminate = (keyId: string): boolean =>
        open.some(({ accountIds }) => accountIds.includes(this.#parts.books.accountOf(keyId)))
      this.#parts.records.audit(db, when === 'quiet' || when === 'close', isIndeterminate)
      this.#auditRows(db)
      const left = db.query<{ id: string }, []>('SELECT request_id AS id FROM marks').all()
      for (const { id } of left) {
        const entry = this.#parts.books.entries.get(id)
        must('a checkpoint is of a request that runs', when === 'quiet' && entry?.state === 'held', () => `${id} (${entry?.state})`)
      }
      const found = this.#parts.ground.differences(db)
      must('verify finds nothing', found.length === 0, () => JSON.stringify(found[0]))
    } finally {
      db.close()
    }
  }

  #auditReceipts(receipts: Map<string, ReceiptRow>, when: 'quiet' | HowEnded, marked: ReadonlySet<string>): void {
    for (const row of receipts.values())
      must('every receipt is of a request', this.#parts.books.entries.get(row.id)?.keyId === row.key, () => row.id)
    for (const entry of this.#parts.books.entries.values()) {
      const row = receipts.get(entry.id)
      const isThere = row !== undefined
      switch (entry.state) {
        case 'charged':
          must('no acknowledged settle is lost', isThere, () => entry.id)
          break
        case 'voided':
          // A process that died before the checkpoint was taken away leaves a row that costs nothing.
          must(
            'what was voided is not charged',
            !isThere || ((marked.has(entry.id) || entry.isFenced) && row?.outcome === 'recovered' && row.cost === 0n),
            () => entry.id,
          )
          if (isThere) entry.state = 'ended'
          break
        case 'held':
          if (when === 'quiet') must('what runs has no receipt', !isThere || isWaivedByFence(entry, row), () => entry.id)
          else {
            const hasCheckpoint = marked.has(entry.id)
            must(
              'what left a checkpoint is waived, what left none leaves no row',
              isThere === hasCheckpoint || isWaivedByFence(entry, row),
              () => `${entry.id} marked: ${hasCheckpoint}`,
            )
            must('nobody pays for our end', row === undefined || (row.cost === 0n && row.outcome === 'recovered'), () => entry.id)
            if (isThere) this.#parts.meet('a request is recovered')
            entry.state = 'ended'
          }
          break
        case 'settling':
          if (isThere && row.outcome !== 'recovered') this.#parts.meet('an answer is swallowed')
          this.#decide(entry, row, isThere)
          break
        case 'indeterminate':
          if (isThere) this.#parts.meet('an error is a receipt after all')
          must(
            'an error is no charge unless a thread died',
            !isThere || this.#parts.deaths() > entry.deaths || row?.outcome === 'recovered',
            () => entry.id,
          )
          this.#decide(entry, row, isThere)
          break
        case 'ended':
      }
      entry.isTwice = false
      if (entry.isFenced && entry.state === 'charged' && row !== undefined) this.#auditWaived(entry, row)
      if (entry.state === 'charged') this.#auditCost(entry, row)
    }
  }

  /** What a boot that was fenced had admitted: its client saw its end, and it costs nothing. */
  #auditWaived(entry: Entry, row: ReceiptRow): void {
    must('what a fenced boot admitted is waived', isWaivedByFence(entry, row), () => `${entry.id}: ${row.outcome}, ${row.cost}`)
    this.#parts.meet('a settle is waived')
    entry.costPicos = 0n
    entry.state = 'ended'
  }

  /** A process that died took the answer along: what is on file counts. */
  #decide(entry: Entry, row: ReceiptRow | undefined, isThere: boolean): void {
    if (row?.outcome === 'recovered') must('nobody pays for our end', row.cost === 0n, () => entry.id)
    entry.state = isThere && row?.outcome !== 'recovered' ? 'charged' : 'ended'
  }

  #auditCost(entry: Entry, row: ReceiptRow | undefined): void {
    const usage = this.#parts.usages.get(entry.id)
    const price = usage === undefined ? -1n : costOf(usage, entry.list)
    must(
      'a receipt is exact to the last digit',
      row !== undefined && row.cost === entry.costPicos && row.waived === entry.waivedPicos && row.cost + row.waived === price,
      () => `${entry.id}: ${row?.cost} and ${row?.waived}, not ${entry.costPicos} and ${entry.waivedPicos}`,
    )
  }

  /** Accounts and keys. An act that was indeterminate was done or not: the books take what the file says, where it is one of the two. */
  #auditRows(db: Connection): void {
    for (const act of [...this.#parts.books.acts.values(), ...this.#parts.books.indeterminateActs.values()])
      for (const id of act.accountIds) this.#adopt(db, id)
    this.#parts.books.acts.clear()
    this.#parts.books.indeterminateActs.clear()
    const budgets = Map.groupBy(db.query<BudgetRow, []>(BUDGET_ROWS).all(), ({ id }) => id)
    for (const id of [...this.#parts.books.accounts.keys(), ...this.#parts.books.keys.keys()]) {
      const found = (budgets.get(id) ?? []).map(({ per, by, cap }) => `${per} ${by} ${cap}`).toSorted()
      const own = this.#parts.windows.allOf(id)
      must('budgets are as they were set', found.join() === own.join(), () => `${id}: ${found.join()}, not ${own.join()}`)
    }
    for (const row of db.query<AccountRow, []>(ACCOUNT_ROWS).all()) {
      const account = this.#parts.books.accounts.get(row.id)
      must(
        'credits are what was credited',
        row.credited === account?.creditedPicos,
        () => `${row.id}: ${row.credited}, not ${account?.creditedPicos}`,
      )
      const balance = this.#parts.books.balanceOf(row.id)
      must('a balance is credits less spend', row.balance === balance, () => `${row.id}: ${row.balance}, not ${balance}`)
      must('an account is as it was set', (row.active === 1n) === account?.isActive, () => row.id)
    }
    for (const row of db.query<KeyRow, []>(KEY_ROWS).all()) {
      const key = this.#parts.books.keys.get(row.id)
      const spent = this.#parts.books.spentOf(row.id)
      must('a key’s spend is its receipts', row.spent === spent, () => `${row.id}: ${row.spent}, not ${spent}`)
      const isAsSet =
        row.limit_picos === key?.limitPicos && (row.active === 1n) === key.isActive && Number(row.expires ?? -1n) === (key.expiresAt ?? -1)
      must('a key is as it was set', isAsSet, () => row.id)
    }
  }

  #adopt(db: Connection, accountId: string): void {
    const account = this.#parts.books.accounts.get(accountId)
    const credits = db
      .query<{ amount: bigint }, [string]>(
        'SELECT amount_picos AS amount FROM credits c JOIN accounts a ON a.number = c.account_number WHERE a.id = ?',
      )
      .all(accountId)
    const [row] = db
      .query<AccountRow, []>(ACCOUNT_ROWS)
      .all()
      .filter(({ id }) => id === accountId)
    if (account === undefined || row === undefined) return
    account.creditedPicos = credits.reduce((sum, { amount }) => sum + amount, 0n)
    account.isActive = row.active === 1n
    this.#adoptBudgets(db, [accountId, ...this.#parts.books.keysOf(accountId)])
    for (const { id, limit_picos, active, expires } of db.query<KeyRow, []>(KEY_ROWS).all()) {
      const key = this.#parts.books.keys.get(id)
      if (key?.accountId !== accountId) continue
      Object.assign(key, { limitPicos: limit_picos, isActive: active === 1n, expiresAt: expires === null ? null : Number(expires) })
    }
  }

  #adoptBudgets(db: Connection, ids: readonly string[]): void {
    const rows = db.query<BudgetRow, []>(BUDGET_ROWS).all()
    for (const id of ids)
      for (const per of PERS)
        for (const setBy of SET_BY)
          this.#parts.windows.set(id, per, setBy, rows.find((row) => row.id === id && row.per === per && row.by === setBy)?.cap ?? null)
  }
}

const isWaivedByFence = ({ isFenced }: Entry, row: ReceiptRow | undefined): boolean =>
  isFenced && row?.outcome === 'recovered' && row.cost === 0n
