/**
 * Walks the chain of every account: what was removed, reordered or changed is named by the row where it shows. A chain that was written anew from some row on
 * is found only against an earlier statement. Rules: ledger.md "Chain".
 */

import { NO_HASH, nextHash } from './chain.ts'
import { type ChainRow, ChainRows } from './chain-rows.ts'
import type { Connection } from './connection.ts'
import type { Difference } from './difference.ts'

/** `hash`: of the last row as it is stored; `again`: as its text gives it, where that differs; both undefined where the row before is missing. */
type Head = { count: number; hash: string | undefined; again: string | undefined }

const GAP = 'the chain of an account has no gap'
const ORDER = 'the rows of an account stand in the order of its chain'
const HASH = 'a row is what its hash says'
const END = 'the chain of an account ends where its account says'

class ChainWalk {
  readonly #rows: ChainRows
  readonly #heads = new Map<number, Head>()
  readonly #credits = new Map<number, number>()
  readonly #found: Difference[] = []

  constructor(rows: ChainRows) {
    this.#rows = rows
  }

  get found(): readonly Difference[] {
    return this.#found
  }

  /** Takes the next receipt of an account, and the credits that stand before it. */
  receipt(row: ChainRow): void {
    const head = this.#headOf(row.account)
    if (row.seq > head.count + 1) {
      for (const credit of this.#rows.credits(row.account, head.count + 1)) {
        if (credit.seq >= row.seq) break
        this.#credit(head, credit)
      }
    }
    this.#take(head, row)
  }

  /** The credits after the last receipt, and the account's own word on where the chain ends. */
  end(account: Readonly<{ number: number; id: string; count: number; hash: string | null; credits: number }>): void {
    const head = this.#headOf(account.number)
    for (const credit of this.#rows.credits(account.number, head.count + 1)) this.#credit(head, credit)
    if (head.count !== account.count) this.#name(END, account.id, `${account.count} rows`, `${head.count} rows`)
    else if ((account.hash ?? NO_HASH) !== head.hash && (account.hash ?? NO_HASH) !== head.again) {
      this.#name(END, account.id, account.hash ?? NO_HASH, head.hash ?? NO_HASH)
    }
    const taken = this.#credits.get(account.number) ?? 0
    if (taken !== account.credits) this.#name(ORDER, account.id, `${account.credits} credits`, `${taken} in the chain`)
  }

  #credit(head: Head, credit: ChainRow): void {
    this.#credits.set(credit.account, (this.#credits.get(credit.account) ?? 0) + 1)
    this.#take(head, credit)
  }

  #take(head: Head, { seq, id, hash, text }: ChainRow): void {
    if (seq <= head.count) {
      this.#name(ORDER, id, `place ${seq}`, `place ${head.count + 1} or later`)
      return
    }
    if (seq > head.count + 1) {
      this.#name(GAP, id, `place ${seq}`, `place ${head.count + 1}`)
      Object.assign(head, { count: seq, hash, again: undefined })
      return
    }
    const made = [head.hash, head.again].filter((before) => before !== undefined).map((before) => nextHash(before, text).toString('hex'))
    const isSame = made.length === 0 || made.includes(hash)
    if (!isSame) this.#name(HASH, id, hash, made[0] ?? '')
    Object.assign(head, { count: seq, hash, again: isSame ? undefined : made[0] })
  }

  #headOf(account: number): Head {
    const head = this.#heads.get(account) ?? { count: 0, hash: NO_HASH, again: undefined }
    this.#heads.set(account, head)
    return head
  }

  #name(rule: string, subject: string, stored: string, recomputed: string): void {
    this.#found.push({ rule, subject, stored, recomputed })
  }
}

type AccountEnd = { number: bigint; id: string; count: bigint; hash: string | null; credits: bigint }

export function chainFindings(db: Connection): readonly Difference[] {
  const rows = new ChainRows(db)
  const walk = new ChainWalk(rows)
  for (const receipt of rows.receipts()) walk.receipt(receipt)
  const accounts = db.query<AccountEnd, []>(
    `SELECT number, id, chain_count AS count, nullif(lower(hex(chain_hash)), '') AS hash, (SELECT count(*) FROM credits WHERE account_number = accounts.number) AS credits FROM accounts`,
  )
  for (const { number, id, count, hash, credits } of accounts.all()) {
    walk.end({ number: Number(number), id, count: Number(count), hash, credits: Number(credits) })
  }
  return walk.found
}
