/**
 * A whole copy to Postgres, under the file's lock. What was in flight is settled first; then one transaction makes the schemas, copies, compares and verifies, so
 * that a copy that is interrupted leaves nothing. Rules: ledger.md "Copy".
 */

import { existsSync } from 'node:fs'
import { markMoved, openDatabase } from '../../db/open.ts'
import { openPostgres } from '../../db/postgres/open.ts'
import type { Difference } from './chain/difference.ts'
import { statementKeyOf, statementKeyPathOf } from './chain/statement-key.ts'
import { type PostgresPlace, placeText } from './place.ts'
import { readProblem } from './postgres/connect.ts'
import { PostgresConnection } from './postgres/connection.ts'
import { copyFindings, copyLedger } from './postgres/copy.ts'
import { recordSigningKey } from './postgres/signing-key-record.ts'
import { differencesInDatabase } from './postgres/verify.ts'
import type { Connection } from './sql/connection.ts'
import { openLedger } from './sqlite/open.ts'
import { differencesInFile } from './sqlite/verify.ts'
import type { OpenProblem } from './thread-messages.ts'

export type CopyOptions = Readonly<{
  /** The path of the file. */
  path: string
  to: Pick<PostgresPlace, 'url'>
  /** Copies other tables in the same transaction and returns their differences; it runs before the ledger's tables are made. */
  beside: (to: Connection) => readonly Difference[]
  startThread: () => Worker
  startSyncDriver: () => Worker
  bootId: string
  now: () => number
}>

/** `rows`: the number of rows by table. `keyPath`: the path of the key that signs the ledger's statements, if there is one. `of`: which ledger is not sound; nothing was copied. */
export type CopyResult =
  | Readonly<{ kind: 'copied'; rows: ReadonlyMap<string, number>; recovered: number; keyPath: string | undefined }>
  | Readonly<{ kind: 'differs'; of: 'file' | 'copy'; differences: readonly Difference[] }>
  | Readonly<{ kind: 'no file'; problem: OpenProblem }>
  | Readonly<{ kind: 'no target'; message: string }>

/** The limit of a statement, which may insert some thousand rows, or sum up a whole table. */
const STATEMENT_MS = 600_000

/** Thrown to undo the transaction: nothing is copied, and the reason is returned afterwards. */
class Undone extends Error {
  readonly result: CopyResult
  constructor(result: CopyResult) {
    super('the copy is undone')
    this.result = result
  }
}

export async function copyToPostgres(options: CopyOptions): Promise<CopyResult> {
  const { path, startThread, bootId, now } = options
  const opened = await openLedger({ path, create: false, bootId, startThread, now })
  if ('problem' in opened) return { kind: 'no file', problem: opened }
  try {
    const from = openDatabase(opened.path, 'read')
    if ('problem' in from) return { kind: 'no file', problem: from }
    try {
      const differences = differencesInFile(from)
      if (differences.length > 0) return { kind: 'differs', of: 'file', differences }
      return copyInto(options, from, opened.path, opened.recovered)
    } finally {
      from.close()
    }
  } finally {
    await opened.ledger.close()
  }
}

function copyInto({ to: { url }, startSyncDriver, beside }: CopyOptions, from: Connection, path: string, recovered: number): CopyResult {
  const place: PostgresPlace = { kind: 'postgres', path, url, node: 'copy', leaseMs: 0, statementKey: undefined }
  const to = new PostgresConnection({ url, access: 'write', startSyncDriver, timeoutMs: STATEMENT_MS, name: 'tollgate copy' })
  try {
    const keyPath = statementKeyPathOf(path)
    const copy = to.transaction(() => {
      refuseUnlessEmpty(to, place)
      const besides = beside(to)
      to.run('SET LOCAL search_path = ledger')
      const problem = openPostgres(to, placeText(place), 'create')
      if (problem !== undefined) throw new Undone({ kind: 'no target', message: problem.message })
      const copied = copyLedger(from, to)
      if (existsSync(keyPath)) recordSigningKey(to, statementKeyOf(path).publicKey)
      const differences = [...besides, ...copyFindings(from, to), ...differencesInDatabase(to)]
      if (differences.length > 0) throw new Undone({ kind: 'differs', of: 'copy', differences })
      return copied
    })
    const rows = markMoved(path, placeText(place), copy)
    if ('problem' in rows) return { kind: 'no file', problem: rows }
    return { kind: 'copied', rows, recovered, keyPath: existsSync(keyPath) ? keyPath : undefined }
  } catch (error) {
    if (error instanceof Undone) return error.result
    return { kind: 'no target', message: readProblem(error, place).message }
  } finally {
    to.close()
  }
}

function refuseUnlessEmpty(to: Connection, place: PostgresPlace): void {
  const found = to
    .query<{ name: string }, []>("SELECT nspname AS name FROM pg_namespace WHERE nspname IN ('ledger', 'people') ORDER BY 1")
    .all()
  if (found.length === 0) return
  const names = found.map(({ name }) => `"${name}"`).join(' and ')
  const message = `${placeText(place)} has a schema ${names} already; a copy never writes into what is there: name an empty database`
  throw new Undone({ kind: 'no target', message })
}
