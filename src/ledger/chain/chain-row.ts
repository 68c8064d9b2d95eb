/**
 * A row of the chains as it is stored, and the text that its hash is made of: a receipt, a credit, and a receipt's place without its text.
 * Rules: ledger.md "Chain".
 */

import { asBytes } from '../../core/bytes/json-bytes.ts'
import { factsOfStored, privateOfStored, type StoredReceipt } from '../columns/receipt.ts'
import type { Connection } from '../sql/connection.ts'
import { creditText, ownerText, priceText, privateText, receiptText } from './chain.ts'

/** `amount`: what the row adds to the balance. `at`: the Unix milliseconds at which a statement counts the row. */
export type ChainPlace = Readonly<{ lane: number; seq: number; id: string; hash: string; amount: bigint; at: number }>
export type ChainRow = ChainPlace & Readonly<{ account: number; isCredit: boolean; text: string }>

type StoredPrice = { modelId: string | null } & Record<
  'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUse',
  bigint | null
>

export type StoredPlace = Pick<StoredReceipt, 'number' | 'lane' | 'seq' | 'hash' | 'costPicos' | 'settledAt'> & { id: string }

export type StoredCredit = {
  account: bigint
  accountId: string | null
  seq: bigint
  lane: bigint
  hash: string
  id: string
  kind: string
  amount: bigint
  ref: string
  actor: string
  reason: string
  createdAt: bigint
}

const PRICE = `SELECT m.id AS "modelId", p.input_rate_picos AS input, p.output_rate_picos AS output, p.cache_read_rate_picos AS "cacheRead",
  p.cache_write_5m_rate_picos AS "cacheWrite5m", p.cache_write_1h_rate_picos AS "cacheWrite1h", p.server_tool_use_rate_picos AS "serverToolUse"
FROM price_versions p LEFT JOIN models m ON m.number = p.model_number WHERE p.number = ?`

const NO_PRICE: StoredPrice = {
  modelId: null,
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite5m: null,
  cacheWrite1h: null,
  serverToolUse: null,
}

export const PLACES = `SELECT r.number, r.lane, r.seq, r.request_id AS id, lower(hex(r.hash)) AS hash, r.cost_picos AS "costPicos", r.settled_at AS "settledAt" FROM receipts r`

export const CREDITS = `SELECT c.account_number AS account, a.id AS "accountId", c.seq, c.lane, lower(hex(c.hash)) AS hash, c.id, c.kind, c.amount_picos AS amount, c.ref, c.actor, c.reason,
  c.created_at AS "createdAt"
FROM credits c LEFT JOIN accounts a ON a.number = c.account_number`

/** A row's text also takes the ledger's salt and the price that the row names. */
export class ChainTexts {
  readonly #db: Connection
  readonly #salt: string
  /** The texts of prices, kept because there are few prices and many rows name each. */
  readonly #prices = new Map<bigint, Uint8Array>()

  constructor(db: Connection) {
    this.#db = db
    this.#salt = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'salt'").get()?.value ?? ''
  }

  receipt(row: StoredReceipt): ChainRow {
    const secret = privateText(this.#salt, privateOfStored(row))
    const owner = asBytes(ownerText(row.accountId ?? '', row.lane))
    const text = receiptText(factsOfStored(row), owner, row.keyId ?? '', this.#priceOf(row.price), secret)
    return {
      account: Number(row.account),
      isCredit: false,
      lane: Number(row.lane),
      seq: Number(row.seq),
      id: row.requestId,
      hash: row.hash,
      text,
      amount: -row.costPicos,
      at: Number(row.settledAt),
    }
  }

  #priceOf(number: bigint): Uint8Array {
    const known = this.#prices.get(number)
    if (known !== undefined) return known
    const { modelId, ...rates } = this.#db.query<StoredPrice, [bigint]>(PRICE).get(number) ?? NO_PRICE
    const price = asBytes(priceText(modelId ?? '', rates))
    this.#prices.set(number, price)
    return price
  }

  credit(row: StoredCredit): ChainRow {
    const { id, seq, hash, amount, actor, reason, createdAt } = row
    const owner = ownerText(row.accountId ?? '', row.lane)
    const text = creditText({ ...row, amountPicos: amount }, owner, privateText(this.#salt, [actor, reason]))
    return {
      account: Number(row.account),
      isCredit: true,
      lane: Number(row.lane),
      seq: Number(seq),
      id,
      hash,
      text,
      amount,
      at: Number(createdAt),
    }
  }
}

export const placeOf = ({ lane, seq, id, hash, costPicos, settledAt }: StoredPlace): ChainPlace => ({
  lane: Number(lane),
  seq: Number(seq),
  id,
  hash,
  amount: -costPicos,
  at: Number(settledAt),
})
