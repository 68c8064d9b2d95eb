/** The thread's side of reads: a connection that cannot write, opened with the first question. Rules: ledger.md "Reads". */

import type { Database } from 'bun:sqlite'
import { openDatabase } from '../../db/open.ts'
import { CustomerReads } from './customer-reads.ts'
import type { Finding, Question } from './reports.ts'
import { statementKeyOf } from './statement-key.ts'
import type { LedgerFault } from './task.ts'

export class ReadConnection {
  readonly #onFault: (fault: LedgerFault) => void
  #db: Database | undefined
  #customers: CustomerReads | undefined

  constructor(onFault: (fault: LedgerFault) => void) {
    this.#onFault = onFault
  }

  /** After a failure the file is opened anew. */
  answer(path: string, question: Question): Finding {
    try {
      if (question.kind === 'statementKey') return { publicKey: statementKeyOf(path).publicKey }
      this.#customers ??= this.#open(path)
      return this.#customers === undefined ? 'unavailable' : find(this.#customers, question)
    } catch (bug) {
      this.#onFault({ problem: `a read of the ledger failed: ${question.kind}`, bug })
      this.close()
      return 'unavailable'
    }
  }

  close(): void {
    this.#db?.close()
    this.#db = this.#customers = undefined
  }

  #open(path: string): CustomerReads | undefined {
    const db = openDatabase(path, 'read')
    if ('problem' in db) {
      this.#onFault({ problem: `the ledger cannot be read: ${db.message}` })
      return undefined
    }
    this.#db = db
    return new CustomerReads(db)
  }
}

function find(customers: CustomerReads, question: Exclude<Question, { kind: 'statementKey' }>): Finding {
  switch (question.kind) {
    case 'key':
      return customers.key(question)
    case 'receipts':
      return customers.receipts(question)
    case 'receipt':
      return customers.receipt(question)
    case 'daily':
      return customers.daily(question)
  }
}
