/** The thread's side of reads: a connection that cannot write, opened with the first question. Rules: ledger.md "Reads". */

import { AccountReads } from './account-reads.ts'
import type { Connection } from './connection.ts'
import { ConsoleReads } from './console-reads.ts'
import { CustomerReads } from './customer-reads.ts'
import { openForReading } from './open-for-reading.ts'
import type { Place } from './place.ts'
import type { Finding, Question } from './reports.ts'
import { statementKeyOf } from './statement-key.ts'
import { StatementReads } from './statement-reads.ts'
import type { LedgerFault } from './task.ts'

export class ReadConnection {
  readonly #onFault: (fault: LedgerFault) => void
  #db: Connection | undefined
  #reads: Answerers | undefined

  constructor(onFault: (fault: LedgerFault) => void) {
    this.#onFault = onFault
  }

  /** After a failure the file is opened anew. */
  answer(place: Place, question: Question): Finding {
    try {
      if (question.kind === 'statementKey') return { publicKey: statementKeyOf(place.path).publicKey }
      this.#reads ??= this.#open(place)
      return this.#reads === undefined ? 'unavailable' : find(this.#reads, question)
    } catch (bug) {
      this.#onFault({ problem: `a read of the ledger failed: ${question.kind}`, bug })
      this.close()
      return 'unavailable'
    }
  }

  close(): void {
    this.#db?.close()
    this.#db = this.#reads = undefined
  }

  #open(place: Place): Answerers | undefined {
    const db = openForReading(place)
    if ('problem' in db) {
      this.#onFault({ problem: `the ledger cannot be read: ${db.message}` })
      return undefined
    }
    this.#db = db
    return {
      customers: new CustomerReads(db),
      accounts: new AccountReads(db),
      console: new ConsoleReads(db),
      statements: new StatementReads(db, place.path),
    }
  }
}

type Answerers = Readonly<{ customers: CustomerReads; accounts: AccountReads; console: ConsoleReads; statements: StatementReads }>

function find({ customers, accounts, console, statements }: Answerers, question: Exclude<Question, { kind: 'statementKey' }>): Finding {
  switch (question.kind) {
    case 'key':
      return customers.key(question)
    case 'receipts':
      return customers.receipts(question)
    case 'receipt':
      return customers.receipt(question)
    case 'daily':
      return customers.daily(question)
    case 'account':
      return accounts.account(question)
    case 'accountKeys':
      return accounts.keys(question)
    case 'accountKey':
      return accounts.key(question)
    case 'accountReceipts':
      return accounts.receipts(question)
    case 'accountReceipt':
      return accounts.receipt(question)
    case 'accountCredits':
      return accounts.credits(question)
    case 'spend':
      return accounts.spend(question)
    case 'spendHours':
      return accounts.spendHours(question)
    case 'statement':
      return statements.part(question)
    case 'accounts':
      return console.accounts(question)
    case 'keys':
      return console.keys(question)
    case 'allReceipts':
      return console.receipts(question)
    case 'anyReceipt':
      return console.receipt(question)
    case 'attempts':
      return console.attempts(question)
    case 'credits':
      return console.credits(question)
    case 'codeBatches':
      return console.codeBatches(question)
    case 'codeBatch':
      return console.codeBatch(question)
    case 'audit':
      return console.audit(question)
    case 'usageOfDay':
      return console.usageOfDay(question)
    case 'alertFacts':
      return console.alertFacts(question)
  }
}
