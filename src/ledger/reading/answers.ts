/** Every question that is read from the rows, and the reader that answers it. Rules: ledger.md "Reads". */

import type { NodeReport } from '../nodes.ts'
import type { Place } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import { AccountReads } from './account-reads.ts'
import { BudgetReads } from './budget-reads.ts'
import { BudgetWindows } from './budget-windows.ts'
import { ConsoleReads } from './console-reads.ts'
import type { ConsoleQuestion } from './console-reports.ts'
import { CustomerReads } from './customer-reads.ts'
import { OperatorReads } from './operator-reads.ts'
import type { OperatorQuestion } from './operator-reports.ts'
import type { Finding, Question } from './reports.ts'
import { StatementReads } from './statement-reads.ts'

export type Answers = Readonly<{
  customers: CustomerReads
  accounts: AccountReads
  budgets: BudgetReads
  watchedBudgets: BudgetWindows
  console: ConsoleReads
  operators: OperatorReads
  statements: StatementReads
}>

/** `db`: a connection that gives integers as bigints. */
export const answersOf = (db: Connection, place: Place, nodes: () => readonly NodeReport[] = () => []): Answers => ({
  customers: new CustomerReads(db),
  accounts: new AccountReads(db),
  budgets: new BudgetReads(db),
  watchedBudgets: new BudgetWindows(db),
  console: new ConsoleReads(db),
  operators: new OperatorReads(db, nodes),
  statements: new StatementReads(db, place),
})

type Answered = Exclude<Question, { kind: 'statementKey' }>

export function answerTo(answers: Answers, question: Answered): Finding {
  const { customers, accounts, statements } = answers
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
    case 'hasKeys':
      return accounts.hasKeys(question)
    case 'accountPlans':
      return accounts.plans(question)
    case 'budgets':
      return answers.budgets.budgets(question)
    case 'accountReceipts':
      return accounts.receipts(question)
    case 'accountReceipt':
      return accounts.receipt(question)
    case 'accountCredits':
      return accounts.credits(question)
    case 'budgetWindows':
      return answers.watchedBudgets.found(question)
    case 'spend':
      return accounts.spend(question)
    case 'spendHours':
      return accounts.spendHours(question)
    case 'statement':
      return statements.part(question)
    default:
      return answerToOperators(answers, question)
  }
}

function answerToOperators({ console, operators }: Answers, question: ConsoleQuestion | OperatorQuestion): Finding {
  switch (question.kind) {
    case 'accounts':
      return console.accounts(question)
    case 'keys':
      return console.keys(question)
    case 'orderedAccounts':
      return console.orderedAccounts(question)
    case 'orderedKeys':
      return console.orderedKeys(question)
    case 'allReceipts':
      return console.receipts(question)
    case 'orderedReceipts':
      return console.orderedReceipts(question)
    case 'names':
      return console.names(question)
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
    case 'margin':
      return console.margin(question)
    case 'explore':
      return console.explore(question)
    case 'usageOfDay':
      return console.usageOfDay(question)
    case 'alertFacts':
      return console.alertFacts(question)
    case 'usage':
      return operators.usage(question)
    case 'checkpoints':
      return operators.checkpoints(question)
    case 'tokens':
      return operators.tokens(question)
    case 'nodes':
      return operators.nodes()
    case 'repriced':
      return console.repriced(question)
  }
}
