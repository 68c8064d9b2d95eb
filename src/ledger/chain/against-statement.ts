/**
 * Compares the ledger with an earlier statement: a chain that was rewritten with all its hashes differs from the rows that its owner has. Rules: ledger.md
 * "Statements".
 */

import type { Connection } from '../sql/connection.ts'
import { ChainRows } from './chain-rows.ts'
import { type StatedLane, StatementCheck, type StatementHead, type StatementRow } from './check-statement.ts'
import type { Difference } from './difference.ts'
import { RewrittenRows, type ToldRow } from './rewritten.ts'

const RULE = 'the chain is what an earlier statement says'

/** Each call of `lines` gives all lines of a statement that was checked before. The lanes are compared one by one, because only the rows of one lane have an order. */
export function statementFindings(db: Connection, lines: () => Iterable<Uint8Array>): readonly Difference[] {
  const { head, madeAt } = readHead(lines())
  const account = db.query<{ number: bigint }, [string]>('SELECT number FROM accounts WHERE id = ?').get(head.account)
  if (account === null) return [{ rule: RULE, subject: head.account, stored: 'no account', recomputed: 'an account' }]
  const rows = new ChainRows(db)
  const rewritten = new RewrittenRows(db, Number(account.number), madeAt)
  return head.lanes.flatMap((stated) => {
    const { lane } = stated
    const places = rows.placesOf(Number(account.number), [{ lane, first: 1, last: Number.MAX_SAFE_INTEGER }])
    return explained([...compare(places, head.account, stated, readHead(lines()).rowsOf(lane))], rewritten)
  })
}

/** The findings of one lane. If every stated row that is not at its place is explained, a lane that ends elsewhere than stated is explained, too. */
function explained(found: readonly Found[], rewritten: RewrittenRows): readonly Difference[] {
  const told = found.filter(({ told: row }) => row !== undefined)
  const words = new Map(told.map((one) => [one, one.told && rewritten.explain(one.told)]))
  const isWhole = told.length > 0 && told.every((one) => words.get(one) !== undefined)
  return (isWhole ? told : found).map((one) => words.get(one) ?? one.difference)
}

/** `told`: the row that the statement has at this place. */
type Found = Readonly<{ difference: Difference; told?: ToldRow }>

/** What the statement says. `madeAt`: Unix milliseconds. */
type Told = Readonly<{ head: StatementHead; madeAt: number; rowsOf: (lane: number) => Iterator<ToldRow> }>

/** Reads a statement that was checked before: hashes and prices of its rows are not computed again. */
function readHead(lines: Iterable<Uint8Array>): Told {
  const [check, rest] = [new StatementCheck(), lines[Symbol.iterator]()]
  const first = rest.next()
  if (first.done !== true) check.take(first.value)
  if (check.head === undefined) throw new Error('a statement without a head')
  const { made_at: madeAt } = JSON.parse(Buffer.from(first.value).toString('utf8')) as { made_at: string }
  return { head: check.head, madeAt: Date.parse(madeAt), rowsOf: (lane) => rowsOf(rest, lane) }
}

function* rowsOf(lines: Iterator<Uint8Array>, lane: number): Generator<ToldRow> {
  for (let line = lines.next(); line.done !== true; line = lines.next()) {
    const text = Buffer.from(line.value).toString('utf8')
    const row = JSON.parse(text) as Partial<StatementRow>
    if (row.lane === lane && row.seq !== undefined && row.id !== undefined && row.hash !== undefined) {
      yield { lane, seq: row.seq, id: row.id, hash: row.hash, text }
    }
  }
}

function* compare(
  rows: Iterable<StatementRow | undefined>,
  account: string,
  { count: end, hash: endHash, previous }: StatedLane,
  told: Iterator<ToldRow>,
): Generator<Found> {
  let next = told.next()
  const expected = new Map([[end, endHash]])
  if (next.done !== true) expected.set(next.value.seq - 1, previous)
  const missing = (row: ToldRow): Found => ({
    told: row,
    difference: { rule: RULE, subject: row.id, stored: 'no row', recomputed: row.hash },
  })
  let count = 0
  for (const stored of rows) {
    if (stored === undefined) continue
    const { seq, id, hash } = stored
    count = seq
    for (; next.done !== true && next.value.seq < seq; next = told.next()) yield missing(next.value)
    const row = next.done !== true && next.value.seq === seq ? next.value : undefined
    const said = row?.hash ?? expected.get(seq)
    if (said !== undefined && said !== hash) {
      const difference = { rule: RULE, subject: row?.id ?? id, stored: hash, recomputed: said }
      yield row === undefined ? { difference } : { told: row, difference }
    }
    if (row !== undefined) next = told.next()
  }
  for (; next.done !== true; next = told.next()) yield missing(next.value)
  if (count < end) yield { difference: { rule: RULE, subject: account, stored: `${count} rows`, recomputed: `${end} rows` } }
}
