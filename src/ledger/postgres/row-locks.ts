/**
 * Locks the rows of accounts, keys and tokens that a transaction will write, in the order of their numbers, before it writes: two nodes that lock rows in different orders would
 * wait for each other. A group of settles does the same in its own statement. Rules: ledger.md "Settles on Postgres".
 */

import type { Connection } from '../sql/connection.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'
import type { WriteTask } from '../task.ts'

export class RowLocks {
  readonly #lockAccounts
  readonly #lockKeys
  readonly #lockTokens

  constructor(db: Connection) {
    this.#lockAccounts = db.query<unknown, [string, string, string]>(
      // The numbers are collected first, because Postgres would read all rows for an OR of numbers and a subquery.
      `SELECT number FROM accounts WHERE number = ANY (ARRAY(SELECT number FROM accounts WHERE number = ${anyOf('?1', 'BIGINT')}
         UNION SELECT number FROM accounts WHERE id = ${anyOf('?2', 'TEXT')}
         UNION SELECT account_number FROM keys WHERE id = ${anyOf('?3', 'TEXT')}))
       ORDER BY number FOR NO KEY UPDATE`,
    )
    this.#lockKeys = db.query<unknown, [string, string]>(
      `SELECT number FROM keys WHERE number = ${anyOf('?1', 'BIGINT')} OR id = ${anyOf('?2', 'TEXT')} ORDER BY number FOR NO KEY UPDATE`,
    )
    this.#lockTokens = db.query<unknown, [string]>(
      `SELECT number FROM api_tokens WHERE id = ${anyOf('?1', 'TEXT')} ORDER BY number FOR NO KEY UPDATE`,
    )
  }

  /** A token's row orders all that nodes do over it: revoking it, and two writes under one Idempotency-Key. It is the last that is locked. */
  #takeTokens(tasks: readonly WriteTask[]): void {
    const ids = tasks.flatMap((task) => {
      if (task.kind !== 'operate') return []
      const { operation, act } = task
      return [...('tokenId' in operation ? [operation.tokenId] : []), ...(act.by === undefined ? [] : [act.by.tokenId])]
    })
    if (ids.length > 0) this.#lockTokens.all(arrayText([...new Set(ids)]))
  }

  /** Locks the rows of operations, whose checks must hold until they are written, and those of the settles of the same group. */
  take(tasks: readonly WriteTask[]): void {
    const accountIds = new Set<string>()
    const keyIds = new Set<string>()
    for (const task of tasks) {
      if (task.kind !== 'operate') continue
      const { operation } = task
      if ('accountId' in operation && operation.accountId !== null) accountIds.add(operation.accountId)
      if ('keyId' in operation && operation.keyId !== null) keyIds.add(operation.keyId)
    }
    if (accountIds.size > 0 || keyIds.size > 0) this.#takeAccounts(tasks, accountIds, keyIds)
    this.#takeTokens(tasks)
  }

  #takeAccounts(tasks: readonly WriteTask[], accountIds: ReadonlySet<string>, keyIds: ReadonlySet<string>): void {
    const debits = tasks.flatMap((task) => (task.kind === 'settle' ? [task.debit] : []))
    const accounts = arrayText([...new Set(debits.map(({ accountNumber }) => accountNumber))])
    const keys = arrayText([...new Set(debits.map(({ keyNumber }) => keyNumber))])
    this.#lockAccounts.all(accounts, arrayText([...accountIds]), arrayText([...keyIds]))
    this.#lockKeys.all(keys, arrayText([...keyIds]))
  }
}
