/** Finds acknowledged writes that are not in the rows, and the numbers under which they may be written now. Rules: nodes.md "After a failover". */

import type { Operation } from '../operation.ts'
import type { Connection } from '../sql/connection.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'
import type { Debit } from '../task.ts'
import type { Act } from './acknowledged.ts'

const LOOKED_AT_ONCE = 4_096

export type Places = Pick<Debit, 'keyNumber' | 'accountNumber'>

/**
 * Whether an operator's write is in the rows. Each write that changed anything left a line in the audit log, which is found by time, action, target, actor and reason. A
 * credit is found by its id instead, because redeeming a code leaves the line of a credit.
 */
export function isActThere(db: Connection, { operation, act: { actor, reason } }: Act): boolean {
  if ('creditId' in operation) {
    return db.query<unknown, [string]>('SELECT 1 AS one FROM credits WHERE id = ?').get(operation.creditId) !== null
  }
  // It is only a time, which leaves no line.
  if (operation.kind === 'noteTokenUse') return true
  const line = db.query<unknown, [number, string, string, string, string]>(
    'SELECT 1 AS one FROM audit_log WHERE at = ? AND action = ? AND target = ? AND actor = ? AND reason = ?',
  )
  return line.get(operation.now, operation.kind, targetOf(operation), actor, reason) !== null
}

/** The target of an operation, as its line in the audit log names it. */
function targetOf(operation: Operation): string {
  if (operation.kind === 'setBudget') return operation.keyId ?? operation.accountId
  if ('keyId' in operation) return operation.keyId
  if ('batchId' in operation) return operation.batchId
  if ('tokenId' in operation) return operation.tokenId
  if ('upstream' in operation) return operation.upstream
  if (operation.kind === 'importKeys') return operation.system
  if (operation.kind === 'giveLink') return operation.email
  if (operation.kind === 'reload' || operation.kind === 'refuseReload') return 'configuration'
  return operation.kind === 'setAccess' ? (operation.accountId ?? operation.email) : operation.accountId
}

export function missingAmong(db: Connection, debits: readonly Debit[]): readonly Debit[] {
  const there = db.query<{ id: string }, [string]>(`SELECT request_id AS id FROM receipts WHERE request_id = ${anyOf('?', 'TEXT')}`)
  const missing: Debit[] = []
  for (let from = 0; from < debits.length; from += LOOKED_AT_ONCE) {
    const some = debits.slice(from, from + LOOKED_AT_ONCE)
    const found = new Set(there.all(arrayText(some.map(({ requestId }) => requestId))).map(({ id }) => id))
    missing.push(...some.filter(({ requestId }) => !found.has(requestId)))
  }
  return missing
}

/** The present numbers of each debit's key and account, because a server that lost rows may have given their numbers to others. A debit whose key is missing has no entry. */
export function placesOf(
  db: Connection,
  debits: readonly Debit[],
  keyIdOf: (number: number) => string | undefined,
): ReadonlyMap<Debit, Places> {
  const rows = db.query<{ id: string; key: bigint; account: bigint }, [string]>(
    `SELECT id, number AS key, account_number AS account FROM keys WHERE id = ${anyOf('?', 'TEXT')}`,
  )
  const ids = [...new Set(debits.map(({ keyNumber }) => keyIdOf(keyNumber)).filter((id) => id !== undefined))]
  const found = rows.all(arrayText(ids))
  const places = new Map(found.map(({ id, key, account }) => [id, { keyNumber: Number(key), accountNumber: Number(account) }]))
  return new Map(
    debits.flatMap((debit) => {
      const { keyNumber, accountNumber } = debit
      const id = keyIdOf(keyNumber)
      const place = id === undefined ? { keyNumber, accountNumber } : places.get(id)
      return place === undefined ? [] : [[debit, place] as const]
    }),
  )
}
