/**
 * Holds the ledger against an earlier statement: who wrote a chain anew, with all its hashes, is found by the rows that its owner has. Rules: ledger.md
 * "Statements".
 */

import { ChainRows } from './chain-rows.ts'
import { StatementCheck, type StatementHead, type StatementRow } from './check-statement.ts'
import type { Connection } from './connection.ts'
import type { Difference } from './difference.ts'

const RULE = 'the chain is what an earlier statement says'

/** `lines` gives those of a statement that was checked, from its first one, each time it is called. */
export function statementFindings(db: Connection, lines: () => Iterable<Uint8Array>): readonly Difference[] {
  const check = new StatementCheck()
  const told = rowsOf(check, lines())
  const first = told.next()
  if (check.head === undefined) throw new Error('a statement without a head')
  const account = db.query<{ number: bigint }, [string]>('SELECT number FROM accounts WHERE id = ?').get(check.head.account)
  if (account === null) return [{ rule: RULE, subject: check.head.account, stored: 'no account', recomputed: 'an account' }]
  return [...compare(new ChainRows(db).placesOf(Number(account.number)), check.head, first, told)]
}

/** What was checked before is only read: its hashes and prices are not made again. */
function* rowsOf(check: StatementCheck, lines: Iterable<Uint8Array>): Generator<StatementRow> {
  for (const line of lines) {
    if (check.head === undefined) {
      check.take(line)
      continue
    }
    const { seq, id, hash } = JSON.parse(Buffer.from(line).toString('utf8')) as Partial<StatementRow>
    if (seq !== undefined && id !== undefined && hash !== undefined) yield { seq, id, hash }
  }
}

type Told = IteratorResult<StatementRow, unknown>

function* compare(
  rows: Iterable<StatementRow | undefined>,
  { account, heads, previous }: StatementHead,
  first: Told,
  told: Iterator<StatementRow>,
): Generator<Difference> {
  const expected = new Map(heads)
  if (first.done !== true) expected.set(first.value.seq - 1, previous)
  const missing = ({ id, hash }: StatementRow): Difference => ({ rule: RULE, subject: id, stored: 'no row', recomputed: hash })
  let next = first
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
  const end = Math.max(...heads.keys())
  if (count < end) yield { rule: RULE, subject: account, stored: `${count} rows`, recomputed: `${end} rows` }
}
