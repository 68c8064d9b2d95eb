/**
 * Holds the ledger against an earlier statement: who wrote a chain anew, with all its hashes, is found by the rows that its owner has. Rules: ledger.md
 * "Statements".
 */

import type { Connection } from '../sql/connection.ts'
import { ChainRows } from './chain-rows.ts'
import { type StatedLane, StatementCheck, type StatementHead, type StatementRow } from './check-statement.ts'
import type { Difference } from './difference.ts'

const RULE = 'the chain is what an earlier statement says'

/** `lines` gives those of a statement that was checked, from its first one, each time it is called. Lane by lane: only the rows of one lane have an order. */
export function statementFindings(db: Connection, lines: () => Iterable<Uint8Array>): readonly Difference[] {
  const { head } = readHead(lines())
  const account = db.query<{ number: bigint }, [string]>('SELECT number FROM accounts WHERE id = ?').get(head.account)
  if (account === null) return [{ rule: RULE, subject: head.account, stored: 'no account', recomputed: 'an account' }]
  const rows = new ChainRows(db)
  return head.lanes.flatMap((stated) => {
    const { lane } = stated
    const places = rows.placesOf(Number(account.number), [{ lane, first: 1, last: Number.MAX_SAFE_INTEGER }])
    return [...compare(places, head.account, stated, readHead(lines()).rowsOf(lane))]
  })
}

/** What was checked before is only read: its hashes and prices are not made again. */
function readHead(lines: Iterable<Uint8Array>): Readonly<{ head: StatementHead; rowsOf: (lane: number) => Iterator<StatementRow> }> {
  const [check, rest] = [new StatementCheck(), lines[Symbol.iterator]()]
  const first = rest.next()
  if (first.done !== true) check.take(first.value)
  if (check.head === undefined) throw new Error('a statement without a head')
  return { head: check.head, rowsOf: (lane) => rowsOf(rest, lane) }
}

function* rowsOf(lines: Iterator<Uint8Array>, lane: number): Generator<StatementRow> {
  for (let line = lines.next(); line.done !== true; line = lines.next()) {
    const row = JSON.parse(Buffer.from(line.value).toString('utf8')) as Partial<StatementRow>
    if (row.lane === lane && row.seq !== undefined && row.id !== undefined && row.hash !== undefined) {
      yield { lane, seq: row.seq, id: row.id, hash: row.hash }
    }
  }
}

function* compare(
  rows: Iterable<StatementRow | undefined>,
  account: string,
  { count: end, hash: endHash, previous }: StatedLane,
  told: Iterator<StatementRow>,
): Generator<Difference> {
  let next = told.next()
  const expected = new Map([[end, endHash]])
  if (next.done !== true) expected.set(next.value.seq - 1, previous)
  const missing = ({ id, hash }: StatementRow): Difference => ({ rule: RULE, subject: id, stored: 'no row', recomputed: hash })
  let count = 0
  for (const stored of rows) {
    if (stored === undefined) continue
    const { seq, id, hash } = stored
    count = seq
    for (; next.done !== true && next.value.seq < seq; next = told.next()) yield missing(next.value)
    const row = next.done !== true && next.value.seq === seq ? next.value : undefined
    const said = row?.hash ?? expected.get(seq)
    if (said !== undefined && said !== hash) yield { rule: RULE, subject: row?.id ?? id, stored: hash, recomputed: said }
    if (row !== undefined) next = told.next()
  }
  for (; next.done !== true; next = told.next()) yield missing(next.value)
  if (count < end) yield { rule: RULE, subject: account, stored: `${count} rows`, recomputed: `${end} rows` }
}
