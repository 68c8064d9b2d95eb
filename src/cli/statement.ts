/** `tollgate statement`: an account's receipts and credits as a signed file that its owner can check. Rules: ledger.md "Statements"; operator.md "Commands". */

import type { Command } from 'commander'
import { statementKeyAt } from '../ledger/chain/statement-key.ts'
import { recordSigningKeyAt } from '../ledger/postgres/signing-key-record.ts'
import { readFrom, readTo } from './arguments.ts'
import type { CommandContext, Run } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { accountNamed, readReport } from './read-report.ts'

/** Lines are written together, since a write for each would cost more than making the line. */
const LINES_AT_ONCE = 64

type Options = Readonly<{ from?: number; to?: number }>

export function addStatement(program: Command, run: Run): void {
  const statement = program
    .command('statement')
    .description('print a signed statement of an account as JSON lines')
    .argument('<ACCOUNT>', 'its id or name')
    .option('--from <TIME>', 'a UTC day or time, such as 2027-01-31; what was settled or credited then and later', readFrom)
    .option('--to <TIME>', 'a UTC day, its end included, or a time; what was settled or credited before', readTo)
  statement.action((account: string, options: Options) => run(statement, (context) => printStatement(context, account, options)))
}

function printStatement(context: CommandContext, name: string, range: Options): ExitCode | Stop {
  const { from, to } = range
  if (from !== undefined && to !== undefined && from >= to) return wrongUse('--from is not before --to')
  const account = accountNamed(context, name)
  if (isStop(account)) return account
  const { verbatim, now, startSyncDriver } = context.environment
  const { ledger } = context.config
  const written = readReport(context, (report) => {
    const key = statementKeyAt(ledger)
    if (key === undefined) return wrongUse('ledger.statement_key_env names no key to sign it by')
    if (ledger.kind === 'postgres') recordSigningKeyAt({ ...ledger, startSyncDriver })
    let block: string[] = []
    for (const line of report.statement(account.id, range, key, now())) {
      if (block.push(line) < LINES_AT_ONCE) continue
      verbatim(block.join(''))
      block = []
    }
    verbatim(block.join(''))
    return EXIT.ok
  })
  return written
}
