/**
 * Rows of a signed statement that are now at another place of the chain: a failover lost them, and their node wrote them again with another place and hash. Rules:
 * ledger.md "Statements"; nodes.md "After a failover".
 */

import { isObject } from '../../core/json.ts'
import { STORED_RECEIPTS, type StoredReceipt } from '../columns/receipt.ts'
import type { Connection } from '../sql/connection.ts'
import { type ChainRow, ChainTexts, CREDITS, type StoredCredit } from './chain-row.ts'
import type { StatementRow } from './check-statement.ts'
import type { Difference } from './difference.ts'

const RULE = 'rewritten by a failover, in another place of the chain'

/** A row as the statement has it. `text`: the statement's line. */
export type ToldRow = StatementRow & Readonly<{ text: string }>

export class RewrittenRows {
  readonly #db: Connection
  readonly #account: number
  readonly #texts: ChainTexts
  readonly #hadFailover: boolean

  /** `madeAt`: when the statement was made, in Unix milliseconds. */
  constructor(db: Connection, account: number, madeAt: number) {
    this.#db = db
    this.#account = account
    this.#texts = new ChainTexts(db)
    const line = db.query<unknown, [number]>("SELECT 1 AS one FROM audit_log WHERE action = 'failover' AND at >= ? LIMIT 1")
    this.#hadFailover = line.get(madeAt) !== null
  }

  /** Undefined: the ledger has no such row, or there was no failover after the statement. */
  explain(told: ToldRow): Difference | undefined {
    if (!this.#hadFailover) return undefined
    const stored = this.#rowOf(told.id)
    if (stored === undefined || stored.account !== this.#account) return undefined
    if (!Bun.deepEquals(contentOf(stored.text), contentOf(told.text))) return undefined
    return { rule: RULE, subject: told.id, stored: placeText(stored), recomputed: placeText(told) }
  }

  #rowOf(id: string): ChainRow | undefined {
    const receipt = this.#db.query<StoredReceipt, [string]>(`${STORED_RECEIPTS} WHERE r.request_id = ?`).get(id)
    if (receipt !== null) return this.#texts.receipt(receipt)
    const credit = this.#db.query<StoredCredit, [string]>(`${CREDITS} WHERE c.id = ?`).get(id)
    return credit === null ? undefined : this.#texts.credit(credit)
  }
}

const placeText = ({ lane, seq }: Readonly<{ lane: number; seq: number }>): string => `lane ${lane}, place ${seq}`

/** The row without its place in the chain, and without `private`, which depends on the boot. */
function contentOf(text: string): object {
  const row: unknown = JSON.parse(text)
  if (!isObject(row)) return {}
  const { hash: _hash, seq: _seq, lane: _lane, private: _private, ...content } = row
  return content
}
