/** `tollgate verify`: recomputes every balance, cost and roll-up, and shows the rows that differ. Rules: money.md "Verify". */

import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Difference } from '../ledger/chain/difference.ts'
import { statementKeyAt } from '../ledger/chain/statement-key.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { readLines } from './read-lines.ts'
import { readReport } from './read-report.ts'
import { tableText } from './text.ts'
import { checkFile } from './verify-statement.ts'

export function addVerify(program: Command, run: Run): void {
  const verify = withJson(program.command('verify'))
    .description('recompute every balance, cost and chain; 1 when a row differs')
    .option('--against <FILE>', 'an earlier statement, with which the ledger must agree')
  verify.action(({ against }: { against?: string }) => run(verify, (context) => verifyLedger(context, against)))
}

function verifyLedger(context: CommandContext, against: string | undefined): ExitCode | Stop {
  const file = against === undefined ? undefined : resolve(context.environment.folder, against)
  const unsound = file === undefined ? undefined : problemOfStatement(context, file)
  if (unsound !== undefined) return unsound
  const differences = readReport(context, (report) => [
    ...report.verify(),
    ...(file === undefined ? [] : report.against(() => readLines(file))),
  ])
  if (isStop(differences)) return differences
  const isClean = differences.length === 0
  context.say({ ok: isClean, data: differences }, () => (isClean ? IN_ORDER : differenceTable(differences)))
  return isClean ? EXIT.ok : EXIT.finding
}

/** Why a statement cannot be held against the ledger: it is not in order itself, or another key signed it. Undefined: it can. */
function problemOfStatement(context: CommandContext, file: string): Stop | undefined {
  const checked = checkFile(file, undefined)
  if (isStop(checked)) return checked
  const [finding] = checked.findings
  if (finding !== undefined) return wrongUse(`${file} is no sound statement: ${finding.where} ${finding.problem}`)
  const key = readReport(context, () => statementKeyAt(context.config.ledger))
  if (key === undefined) return wrongUse(NO_KEY)
  if (isStop(key)) return key
  return checked.head?.publicKey === key.publicKey ? undefined : wrongUse(`${file} was signed by another key than that of this ledger`)
}

const NO_KEY = 'ledger.statement_key_env names no key: it cannot be said that this ledger signed it'
const IN_ORDER = 'The ledger is in order: every balance, cost and sum is what its rows say.'

export const differenceTable = (differences: readonly Difference[]): string =>
  tableText(
    ['RULE', 'WHERE', 'STORED', 'RECOMPUTED'],
    differences.map(({ rule, subject, stored, recomputed }) => [rule, subject, stored, recomputed]),
    '',
  )
