/**
 * The rows of the chains as the ledger holds them, each with the text that its hash is made of: receipts in the order in which they were written, which is that
 * of every chain, and the credits of an account by their place. A thousand at a time, so that a ledger of any size needs the same memory. Rules: ledger.md
 * "Chain".
 */

import { creditText, ownerText, priceText, privateText, receiptText } from './chain.ts'
import type { Connection } from './connection.ts'

/** `amount` is what it adds to the balance; `at` the Unix milliseconds under which a statement counts it. */
type ChainPlace = Readonly<{ lane: number; seq: number; id: string; hash: string; amount: bigint; at: number }>
export type ChainRow = ChainPlace & Readonly<{ account: number; isCredit: boolean; text: string }>

/** Of a lane, both ends included. */
export type Places = Readonly<{ lane: number; first: number; last: number }>

type StoredReceipt = {
  number: bigint
  account: bigint
  accountId: string | null
  seq: bigint
  lane: bigint
  hash: string
  requestId: string
  keyId: string | null
  price: bigint
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
} & Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUses', bigint>

type StoredPrice = { modelId: string | null } & Record<
  'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUse',
  bigint | null
>

type StoredPlace = Pick<StoredReceipt, 'number' | 'lane' | 'seq' | 'hash' | 'cost' | 'settledAt'> & { id: string }

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
/** A place is read without its text: of so many numbers together it takes as long as a thousand rows. */
const PLACES_TOGETHER = 4_000

const RECEIPTS = `SELECT r.number, r.account_number AS account, a.id AS "accountId", r.seq, r.lane, lower(hex(r.hash)) AS hash, r.request_id AS "requestId", k.id AS "keyId",
  r.price_number AS price, r.status, r.attempts, r.format, r.is_stream AS "isStream", r.outcome, r.basis, r.bytes_per_token_thousandths AS "bytesPerToken",
  r.started_at AS "startedAt", r.settled_at AS "settledAt", r.day, r.first_byte_ms AS "firstByteMs", r.duration_ms AS "durationMs",
  r.cost_picos AS cost, r.waived_picos AS waived, r.hold_picos AS hold, nullif(lower(hex(r.session_hash)), '') AS session, b.id AS "bootId",
  u.name AS upstream, u.model AS "upstreamModel", r.upstream_message_id AS "messageId", r.upstream_request_id AS "theirRequestId",
  r.input_tokens AS input, r.output_tokens AS output, r.cache_read_tokens AS "cacheRead", r.cache_write_5m_tokens AS "cacheWrite5m",
  r.cache_write_1h_tokens AS "cacheWrite1h", r.server_tool_uses AS "serverToolUses"
FROM receipts r LEFT JOIN accounts a ON a.number = r.account_number LEFT JOIN keys k ON k.number = r.key_number
  LEFT JOIN boots b ON b.number = r.boot_number LEFT JOIN upstreams u ON u.number = r.upstream_number`

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

const PLACES = `SELECT r.number, r.lane, r.seq, r.request_id AS id, lower(hex(r.hash)) AS hash, r.cost_picos AS cost, r.settled_at AS "settledAt" FROM receipts r`

export class ChainRows {
  readonly #db: Connection
  readonly #salt: string
  /** Few, and each in many rows. */
  readonly #prices = new Map<bigint, string>()

  constructor(db: Connection) {
    this.#db = db
    this.#salt = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'salt'").get()?.value ?? ''
  }

  /** All in the order in which they were written. */
  *receipts(): Generator<ChainRow> {
    const query = this.#db.query<StoredReceipt, [bigint]>(`${RECEIPTS} WHERE r.number > ?1 ORDER BY r.number LIMIT ${TOGETHER}`)
    for (let last = 0n; ; ) {
      const rows = query.all(last)
      for (const row of rows) yield this.#receipt(row)
      const end = rows.at(-1)
      if (end === undefined) return
      last = end.number
    }
  }

  /**
   * The rows of the account in these lanes, those of a lane in their order. Undefined after every thousand that were looked at, whosever they are: there its
   * reader may pause.
   */
  *ofAccount(account: number, lanes: readonly Places[]): Generator<ChainRow | undefined> {
    const stored = this.#byNumber<StoredReceipt>(RECEIPTS, TOGETHER, account, lanes)
    yield* this.#withCredits(account, lanes, stored, (row) => this.#receipt(row))
  }

  /** The same without their texts, which are most of the work. */
  *placesOf(account: number, lanes: readonly Places[]): Generator<ChainPlace | undefined> {
    yield* this.#withCredits(account, lanes, this.#byNumber<StoredPlace>(PLACES, PLACES_TOGETHER, account, lanes), placeOf)
  }

  *#withCredits<Stored extends { lane: bigint; seq: bigint }, Row extends ChainPlace>(
    account: number,
    lanes: readonly Places[],
    stored: Iterable<Stored | undefined>,
    rowOf: (stored: Stored) => Row,
  ): Generator<Row | ChainRow | undefined> {
    const walked = new Map(lanes.map(({ lane, first, last }) => [lane, { next: first, last }]))
    for (const one of stored) {
      if (one === undefined) {
        yield undefined
        continue
      }
      const lane = walked.get(Number(one.lane))
      if (lane === undefined || one.seq < lane.next || one.seq > lane.last) continue
      const receipt = rowOf(one)
      if (receipt.seq > lane.next) yield* this.#creditsUntil(account, receipt.lane, lane.next, receipt.seq - 1)
      yield receipt
      lane.next = receipt.seq + 1
    }
    for (const [lane, { next, last }] of walked) yield* this.#creditsUntil(account, lane, next, last)
  }

  *#creditsUntil(account: number, lane: number, from: number, last: number): Generator<ChainRow> {
    for (const credit of this.credits(account, lane, from)) {
      if (credit.seq > last) return
      yield credit
    }
  }

  /** So many numbers at a time, and undefined after them: an account may have few of them. */
  *#byNumber<Stored extends object>(
    select: string,
    together: number,
    account: number,
    lanes: readonly Places[],
  ): Generator<Stored | undefined> {
    const first = Math.min(...lanes.map((places) => places.first))
    const last = Math.max(...lanes.map((places) => places.last))
    const query = this.#db.query<Stored, number[]>(
      `${select} WHERE r.number > ?1 AND r.number <= ?2 AND r.account_number = ?3 AND r.seq BETWEEN ?4 AND ?5 ORDER BY r.number`,
    )
    const end = Number(this.#db.query<{ end: bigint | null }, []>('SELECT max(number) AS end FROM receipts').get()?.end ?? 0)
    for (let at = 0; at < end; at += together) {
      yield* query.all(at, at + together, account, first, last)
      yield undefined
    }
  }

  /** Those of the account's lane whose place is `from` or later, in order. */
  *credits(account: number, lane: number, from: number): Generator<ChainRow> {
    const query = this.#db.query<StoredCredit, [number, number, number]>(
      `SELECT c.account_number AS account, a.id AS "accountId", c.seq, c.lane, lower(hex(c.hash)) AS hash, c.id, c.kind, c.amount_picos AS amount, c.ref, c.actor, c.reason,
         c.created_at AS "createdAt"
       FROM credits c LEFT JOIN accounts a ON a.number = c.account_number WHERE c.account_number = ?1 AND c.lane = ?2 AND c.seq >= ?3 ORDER BY c.seq LIMIT ${TOGETHER}`,
    )
    for (let next = from; ; ) {
      const rows = query.all(account, lane, next)
      for (const row of rows) yield this.#credit(row)
      const end = rows.at(-1)
      if (end === undefined) return
      next = Number(end.seq) + 1
    }
  }

  #receipt(row: StoredReceipt): ChainRow {
    const { requestId, upstream, upstreamModel, messageId, theirRequestId, session, bootId } = row
    const secret = privateText(this.#salt, [upstream, upstreamModel, messageId, theirRequestId, session, bootId])
    // Named one by one: a copy of the whole row would cost as much as all the rest.
    const facts = {
      seq: row.seq,
      requestId,
      usage: row,
      format: row.format,
      isStream: row.isStream === 1n,
      outcome: row.outcome,
      usageSource: row.basis,
      bytesPerTokenThousandths: row.bytesPerToken,
      costPicos: row.cost,
      waivedPicos: row.waived,
      holdPicos: row.hold,
      status: row.status,
      attempts: row.attempts,
      startedAt: row.startedAt,
      settledAt: row.settledAt,
      day: row.day,
      firstByteMs: row.firstByteMs,
      durationMs: row.durationMs,
    }
    const owner = ownerText(row.accountId ?? '', row.lane)
    const text = receiptText(facts, owner, JSON.stringify(row.keyId ?? ''), this.#priceOf(row.price), secret)
    return {
      account: Number(row.account),
      isCredit: false,
      lane: Number(row.lane),
      seq: Number(row.seq),
      id: requestId,
      hash: row.hash,
      text,
      amount: -row.cost,
      at: Number(row.settledAt),
    }
  }

  #priceOf(number: bigint): string {
    const known = this.#prices.get(number)
    if (known !== undefined) return known
    const { modelId, ...rates } = this.#db.query<StoredPrice, [bigint]>(PRICE).get(number) ?? NO_PRICE
    const text = priceText(modelId ?? '', rates)
    this.#prices.set(number, text)
    return text
  }

  #credit(row: StoredCredit): ChainRow {
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

const placeOf = ({ lane, seq, id, hash, cost, settledAt }: StoredPlace): ChainPlace => ({
  lane: Number(lane),
  seq: Number(seq),
  id,
  hash,
  amount: -cost,
  at: Number(settledAt),
})
