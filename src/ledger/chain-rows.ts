/**
 * The rows of the chains as the ledger holds them, each with the text that its hash is made of: receipts in the order in which they were written, which is that
 * of every chain, and the credits of an account by their place. A thousand at a time, so that a ledger of any size needs the same memory. Rules: ledger.md
 * "Chain".
 */

import type { Database } from 'bun:sqlite'
import { creditText, ownerText, priceText, privateText, receiptText } from './chain.ts'

/** `amount` is what it adds to the balance; `at` the Unix milliseconds under which a statement counts it. */
export type ChainRow = Readonly<{
  account: number
  isCredit: boolean
  seq: number
  id: string
  hash: string
  text: string
  amount: bigint
  at: number
}>

type StoredReceipt = {
  number: bigint
  account: bigint
  accountId: string | null
  seq: bigint
  lane: bigint
  hash: string
  requestId: string
  keyId: string | null
  modelId: string | null
  status: bigint
  attempts: bigint
  format: string
  isStream: bigint
  outcome: string
  basis: string
  bytesPerToken: bigint | null
  startedAt: bigint
  settledAt: bigint
  day: bigint
  firstByteMs: bigint | null
  durationMs: bigint
  cost: bigint
  waived: bigint
  hold: bigint
  session: string | null
  bootId: string | null
  upstream: string | null
  upstreamModel: string | null
  messageId: string | null
  theirRequestId: string | null
} & Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUses', bigint> &
  Record<'rateInput' | 'rateOutput' | 'rateCacheRead' | 'rateCacheWrite5m' | 'rateCacheWrite1h' | 'rateServerToolUse', bigint | null>

type StoredCredit = {
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

const TOGETHER = 1_000

const RECEIPTS = `SELECT r.number, r.account_number AS account, a.id AS accountId, r.seq, r.lane, lower(hex(r.hash)) AS hash, r.request_id AS requestId, k.id AS keyId,
  m.id AS modelId, r.status, r.attempts, r.format, r.is_stream AS isStream, r.outcome, r.basis, r.bytes_per_token_thousandths AS bytesPerToken,
  r.started_at AS startedAt, r.settled_at AS settledAt, r.day, r.first_byte_ms AS firstByteMs, r.duration_ms AS durationMs,
  r.cost_picos AS cost, r.waived_picos AS waived, r.hold_picos AS hold, nullif(lower(hex(r.session_hash)), '') AS session, b.id AS bootId,
  u.name AS upstream, u.model AS upstreamModel, r.upstream_message_id AS messageId, r.upstream_request_id AS theirRequestId,
  r.input_tokens AS input, r.output_tokens AS output, r.cache_read_tokens AS cacheRead, r.cache_write_5m_tokens AS cacheWrite5m,
  r.cache_write_1h_tokens AS cacheWrite1h, r.server_tool_uses AS serverToolUses, p.input_rate_picos AS rateInput, p.output_rate_picos AS rateOutput,
  p.cache_read_rate_picos AS rateCacheRead, p.cache_write_5m_rate_picos AS rateCacheWrite5m, p.cache_write_1h_rate_picos AS rateCacheWrite1h,
  p.server_tool_use_rate_picos AS rateServerToolUse
FROM receipts r LEFT JOIN accounts a ON a.number = r.account_number LEFT JOIN keys k ON k.number = r.key_number
  LEFT JOIN price_versions p ON p.number = r.price_number LEFT JOIN models m ON m.number = p.model_number
  LEFT JOIN boots b ON b.number = r.boot_number LEFT JOIN upstreams u ON u.number = r.upstream_number`

export class ChainRows {
  readonly #db: Database
  readonly #salt: string

  constructor(db: Database) {
    this.#db = db
    this.#salt = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'salt'").get()?.value ?? ''
  }

  /** In the order in which they were written; of one account only where `account`, its number, is given. */
  *receipts(account?: number): Generator<ChainRow> {
    const query = this.#db.query<StoredReceipt, [bigint, number | null]>(
      `${RECEIPTS} WHERE r.number > ?1 AND (?2 IS NULL OR r.account_number = ?2) ORDER BY r.number LIMIT ${TOGETHER}`,
    )
    for (let last = 0n; ; ) {
      const rows = query.all(last, account ?? null)
      for (const row of rows) yield this.#receipt(row)
      const end = rows.at(-1)
      if (end === undefined) return
      last = end.number
    }
  }

  /** All rows of the account by their places. */
  *ofAccount(account: number): Generator<ChainRow> {
    let next = 1
    for (const receipt of this.receipts(account)) {
      if (receipt.seq > next) {
        for (const credit of this.credits(account, next)) {
          if (credit.seq >= receipt.seq) break
          yield credit
        }
      }
      yield receipt
      next = receipt.seq + 1
    }
    yield* this.credits(account, next)
  }

  /** Those of the account whose place is `from` or later, in order. */
  *credits(account: number, from: number): Generator<ChainRow> {
    const query = this.#db.query<StoredCredit, [number, number]>(
      `SELECT c.account_number AS account, a.id AS accountId, c.seq, c.lane, lower(hex(c.hash)) AS hash, c.id, c.kind, c.amount_picos AS amount, c.ref, c.actor, c.reason,
         c.created_at AS createdAt
       FROM credits c LEFT JOIN accounts a ON a.number = c.account_number WHERE c.account_number = ?1 AND c.lane = 0 AND c.seq >= ?2 ORDER BY c.seq LIMIT ${TOGETHER}`,
    )
    for (let next = from; ; ) {
      const rows = query.all(account, next)
      for (const row of rows) yield this.#credit(row)
      const end = rows.at(-1)
      if (end === undefined) return
      next = Number(end.seq) + 1
    }
  }

  #receipt(row: StoredReceipt): ChainRow {
    const { requestId, upstream, upstreamModel, messageId, theirRequestId, session, bootId } = row
    const rates = {
      input: row.rateInput,
      output: row.rateOutput,
      cacheRead: row.rateCacheRead,
      cacheWrite5m: row.rateCacheWrite5m,
      cacheWrite1h: row.rateCacheWrite1h,
      serverToolUse: row.rateServerToolUse,
    }
    const secret = privateText(this.#salt, [upstream, upstreamModel, messageId, theirRequestId, session, bootId])
    const facts = {
      ...row,
      usage: row,
      isStream: row.isStream === 1n,
      usageSource: row.basis,
      bytesPerTokenThousandths: row.bytesPerToken,
      costPicos: row.cost,
      waivedPicos: row.waived,
      holdPicos: row.hold,
    }
    const owner = ownerText(row.accountId ?? '', row.lane)
    const text = receiptText(facts, owner, JSON.stringify(row.keyId ?? ''), priceText(row.modelId ?? '', rates), secret)
    return {
      account: Number(row.account),
      isCredit: false,
      seq: Number(row.seq),
      id: requestId,
      hash: row.hash,
      text,
      amount: -row.cost,
      at: Number(row.settledAt),
    }
  }

  #credit(row: StoredCredit): ChainRow {
    const { id, seq, hash, amount, actor, reason, createdAt } = row
    const owner = ownerText(row.accountId ?? '', row.lane)
    const text = creditText({ ...row, amountPicos: amount }, owner, privateText(this.#salt, [actor, reason]))
    return { account: Number(row.account), isCredit: true, seq: Number(seq), id, hash, text, amount, at: Number(createdAt) }
  }
}
