/**
 * A statement of an account: its receipts and credits in a range of time, as a file of JSON lines that its owner can check without us. It has a head, a line for
 * each row, the sums, and an Ed25519 signature over the SHA-256 of everything before. It covers the rows that were there when it was begun: those never change, so that
 * it may be made in pieces while other rows are written. Rules: ledger.md "Statements".
 */

import { CryptoHasher } from 'bun'
import type { Connection } from '../sql/connection.ts'
import { NO_HASH } from './chain.ts'
import type { ChainRow } from './chain-row.ts'
import { ChainRows, type Places } from './chain-rows.ts'
import type { StatementKey } from './statement-key.ts'

/** Unix milliseconds of the settle or credit: `from` and later, before `to`. */
export type StatementRange = Readonly<{ from?: number | undefined; to?: number | undefined }>

/** The statement's part of a lane. `previous`: the hash before its first row. `openingPicos`: the sum of the lane's rows before that. */
type Span = Places & Readonly<{ previous: string; openingPicos: bigint }>
const PAUSE = ''

/** The lines of the statement, each with its line break. Throws if there is no such account. `madeAt`: Unix milliseconds. */
export function* statementLines(
  db: Connection,
  accountId: string,
  range: StatementRange,
  key: StatementKey,
  madeAt: number,
): Generator<string> {
  const pieces = statementPieces(db, accountId, range, key, madeAt)
  if (pieces === undefined) throw new Error(`a statement of an account that is not there: ${accountId}`)
  for (const piece of pieces) if (piece !== '') yield piece
}

/** The same lines, with '' wherever the reader may pause, because nothing is held open there. Undefined: there is no such account. */
export function statementPieces(
  db: Connection,
  accountId: string,
  range: StatementRange,
  key: StatementKey,
  madeAt: number,
): Generator<string> | undefined {
  const account = db.query<{ number: bigint }, [string]>('SELECT number FROM accounts WHERE id = ?').get(accountId)
  if (account === null) return undefined
  const number = Number(account.number)
  return signed(linesOf(new ChainRows(db), { id: accountId, number, heads: laneHeads(db, number) }, range, key, madeAt), key)
}

type Account = Readonly<{ id: string; number: number; heads: readonly LaneHead[] }>

function* linesOf(rows: ChainRows, { id, number, heads }: Account, range: StatementRange, key: StatementKey, madeAt: number) {
  const spans = yield* spansOf(rows, number, heads, range)
  const openingPicos = spans.reduce((sum, span) => sum + span.openingPicos, 0n)
  const lasts = new Map(spans.map(({ lane, previous }) => [lane, previous]))
  const [one] = spans
  const isOfLane0 = spans.length === 1 && one?.lane === 0
  yield JSON.stringify({
    statement: isOfLane0 ? 1 : 2,
    account: id,
    from: textOf(range.from),
    to: textOf(range.to),
    made_at: textOf(madeAt),
    public_key: key.publicKey,
    ...(isOfLane0 ? { heads, previous: one.previous } : { heads: heads.map((head) => ({ ...head, previous: lasts.get(head.lane) })) }),
    opening_balance_picos: String(openingPicos),
  })
  const sums = { rows: 0, credits: 0n, costs: 0n }
  for (const row of rows.ofAccount(number, spans)) {
    if (row === undefined) {
      yield PAUSE
      continue
    }
    sums.rows++
    if (row.isCredit) sums.credits += row.amount
    else sums.costs -= row.amount
    lasts.set(row.lane, row.hash)
    yield lineOf(row)
  }
  yield JSON.stringify({
    rows: sums.rows,
    credits_picos: String(sums.credits),
    costs_picos: String(sums.costs),
    closing_balance_picos: String(openingPicos + sums.credits - sums.costs),
    last: isOfLane0 ? lasts.get(0) : [...lasts].map(([lane, hash]) => ({ lane, hash })),
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

/** The statement's line of a row: its hash, then its own text. */
const lineOf = ({ hash, text }: ChainRow): string => `{"hash":"${hash}",${text.slice(1)}`

/**
 * Each lane's rows, from the first in the range to the last in the range. After a clock jumped, some rows in between lie outside of the range, and are in the statement too.
 */
function* spansOf(
  rows: ChainRows,
  account: number,
  heads: readonly LaneHead[],
  { from = 0, to = Number.POSITIVE_INFINITY }: StatementRange,
): Generator<string, readonly Span[]> {
  const lanes = new Map(
    heads.map(({ lane }) => [lane, { lane, first: 1, last: 0, previous: NO_HASH, openingPicos: 0n, before: { hash: NO_HASH, sum: 0n } }]),
  )
  for (const place of rows.placesOf(
    account,
    heads.map(({ lane, count }) => ({ lane, first: 1, last: count })),
  )) {
    if (place === undefined) {
      yield PAUSE
      continue
    }
    const { seq, at, hash, amount } = place
    const span = lanes.get(place.lane)
    if (span === undefined) continue
    const { before } = span
    const after = { hash, sum: before.sum + amount }
    const isInside = at >= from && at < to
    if (span.last < span.first && isInside) Object.assign(span, { first: seq, previous: before.hash, openingPicos: before.sum })
    else if (span.last < span.first && at < from) Object.assign(span, { first: seq + 1, previous: hash, openingPicos: after.sum })
    if (isInside) span.last = seq
    span.before = after
  }
  return [...lanes.values()]
}

const textOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())

type LaneHead = Readonly<{ lane: number; count: number; hash: string }>

/** The ends of the account's chains, by lane; an account without a row has an empty lane 0. */
function laneHeads(db: Connection, account: number): readonly LaneHead[] {
  const heads = db
    .query<{ lane: bigint; count: bigint; hash: string }, [number]>(
      'SELECT lane, chain_count AS count, lower(hex(chain_hash)) AS hash FROM chain_heads WHERE account_number = ? ORDER BY lane',
    )
    .all(account)
    .map(({ lane, count, hash }) => ({ lane: Number(lane), count: Number(count), hash }))
  return heads.length === 0 ? [{ lane: 0, count: 0, hash: NO_HASH }] : heads
}
