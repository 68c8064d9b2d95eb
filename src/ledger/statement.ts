/**
 * A statement of an account: its receipts and credits in a range of time, as a file of JSON lines that its owner can check without us. A head, a line a row,
 * the sums, and an Ed25519 signature over the SHA-256 of all before it. It is of the rows that were there when it was begun: those never change, so that it may be
 * made in pieces while others are written. Rules: ledger.md "Statements".
 */

import { CryptoHasher } from 'bun'
import { NO_HASH } from './chain.ts'
import { type ChainRow, ChainRows } from './chain-rows.ts'
import type { Connection } from './connection.ts'
import type { StatementKey } from './statement-key.ts'

/** Unix milliseconds of the settle or credit: `from` and later, before `to`. */
export type StatementRange = Readonly<{ from?: number | undefined; to?: number | undefined }>

type Span = { first: number; last: number; previous: string; openingPicos: bigint }
const PAUSE = ''

type AccountHead = { number: bigint; count: bigint; hash: string | null }

/** Each with its line break. One read transaction. Undefined: there is no such account. `madeAt`: Unix milliseconds. */
export function* statementLines(
  db: Connection,
  accountId: string,
  range: StatementRange,
  key: StatementKey,
  madeAt: number,
): Generator<string> {
  db.run('BEGIN')
  try {
    const pieces = statementPieces(db, accountId, range, key, madeAt)
    if (pieces === undefined) throw new Error(`a statement of an account that is not there: ${accountId}`)
    for (const piece of pieces) if (piece !== '') yield piece
  } finally {
    db.run('COMMIT')
  }
}

/** The same, and '' wherever its reader may pause: nothing is held open there. Undefined: there is no such account. */
export function statementPieces(
  db: Connection,
  accountId: string,
  range: StatementRange,
  key: StatementKey,
  madeAt: number,
): Generator<string> | undefined {
  const account = db
    .query<AccountHead, [string]>(
      "SELECT number, chain_count AS count, nullif(lower(hex(chain_hash)), '') AS hash FROM accounts WHERE id = ?",
    )
    .get(accountId)
  return account === null ? undefined : signed(linesOf(new ChainRows(db), accountId, account, range, key, madeAt), key)
}

function* linesOf(
  rows: ChainRows,
  accountId: string,
  { number, count, hash }: AccountHead,
  range: StatementRange,
  key: StatementKey,
  madeAt: number,
) {
  const span = yield* spanOf(rows, { account: Number(number), count: Number(count) }, range)
  yield JSON.stringify({
    statement: 1,
    account: accountId,
    from: textOf(range.from),
    to: textOf(range.to),
    made_at: textOf(madeAt),
    public_key: key.publicKey,
    heads: [{ lane: 0, count: Number(count), hash: hash ?? NO_HASH }],
    previous: span.previous,
    opening_balance_picos: String(span.openingPicos),
  })
  const sums = { rows: 0, credits: 0n, costs: 0n, last: span.previous }
  for (const row of rows.ofAccount(Number(number), span)) {
    if (row === undefined) {
      yield PAUSE
      continue
    }
    sums.rows++
    if (row.isCredit) sums.credits += row.amount
    else sums.costs -= row.amount
    sums.last = row.hash
    yield lineOf(row)
  }
  yield JSON.stringify({
    rows: sums.rows,
    credits_picos: String(sums.credits),
    costs_picos: String(sums.costs),
    closing_balance_picos: String(span.openingPicos + sums.credits - sums.costs),
    last: sums.last,
  })
}

function* signed(lines: Iterable<string>, key: StatementKey): Generator<string> {
  const hasher = new CryptoHasher('sha256')
  for (const line of lines) {
    if (line === PAUSE) {
      yield PAUSE
      continue
    }
    hasher.update(`${line}\n`)
    yield `${line}\n`
  }
  yield `${JSON.stringify({ signature: key.sign(hasher.digest()) })}\n`
}

/** The row's own text, with its hash before it. */
const lineOf = ({ hash, text }: ChainRow): string => `{"hash":"${hash}",${text.slice(1)}`

/** From the first row in the range to the last one: where a clock jumped, rows in between stand outside of it and are in the statement all the same. */
function* spanOf(
  rows: ChainRows,
  { account, count }: Readonly<{ account: number; count: number }>,
  { from = 0, to = Number.POSITIVE_INFINITY }: StatementRange,
): Generator<string, Span> {
  const span: Span = { first: 1, last: 0, previous: NO_HASH, openingPicos: 0n }
  let before = { hash: NO_HASH, balance: 0n }
  for (const place of rows.placesOf(account, { first: 1, last: count })) {
    if (place === undefined) {
      yield PAUSE
      continue
    }
    const { seq, at, hash, amount } = place
    const after = { hash, balance: before.balance + amount }
    const isInside = at >= from && at < to
    if (span.last < span.first && isInside) Object.assign(span, { first: seq, previous: before.hash, openingPicos: before.balance })
    else if (span.last < span.first && at < from) Object.assign(span, { first: seq + 1, previous: hash, openingPicos: after.balance })
    if (isInside) span.last = seq
    before = after
  }
  return span
}

const textOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())
