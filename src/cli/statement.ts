/** `tollgate statement`: an account's receipts and credits as a signed file that its owner can check. Rules: ledger.md "Statements"; operator.md "Commands". */

import { type Command, InvalidArgumentError } from 'commander'
import { statementKeyOf } from '../ledger/statement-key.ts'
import type { CommandContext, Run } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop } from './environment.ts'
import { accountNamed, readReport } from './read-report.ts'

type Options = Readonly<{ from?: number; to?: number }>

export function addStatement(program: Command, run: Run): void {
  const statement = program
    .command('statement')
    .description('print a signed statement of an account as JSON lines')
    .argument('<ACCOUNT>', 'its id or name')
    .option('--from <TIME>', 'a UTC day or time, such as 2027-01-31; what was settled or credited then and later', readTime)
    .option('--to <TIME>', 'a UTC day or time; what was settled or credited before', readTime)
  statement.action((account: string, options: Options) => run(statement, (context) => printStatement(context, account, options)))
}

function printStatement(context: CommandContext, name: string, range: Options): ExitCode | Stop {
  const account = accountNamed(context, name)
  if (isStop(account)) return account
  const { stdout, now } = context.environment
  const written = readReport(context, (report) => {
    const key = statementKeyOf(context.config.ledgerPath)
    for (const line of report.statement(account.id, range, key, now())) stdout(line)
    return EXIT.ok
  })
  return written
}

/** A day begins at midnight UTC; a time without a zone is UTC. */
function readTime(text: string): number {
  const match = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{3})?)?)?Z?$/.exec(text)
  const ms =
    match === null ? Number.NaN : Date.parse(text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text.replace(/^(.{10})Z$/, '$1'))
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected a UTC day or time, such as 2027-01-31 or 2027-01-31T12:00Z.')
  return ms
}
