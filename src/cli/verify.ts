/** `tollgate verify`: recomputes every balance, cost and roll-up, and shows the rows that differ. Rules: money.md "Verify". */

import type { Command } from 'commander'
import type { Difference } from '../ledger/difference.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop } from './environment.ts'
import { readReport } from './read-report.ts'
import { tableText } from './text.ts'

export function addVerify(program: Command, run: Run): void {
  const verify = withJson(program.command('verify')).description('recompute every balance and cost; 1 when a row differs')
  verify.action(() => run(verify, verifyLedger))
}

function verifyLedger(context: CommandContext): ExitCode | Stop {
  const differences = readReport(context, (report) => report.verify())
  if (isStop(differences)) return differences
  const isClean = differences.length === 0
  context.say({ ok: isClean, data: differences }, () => (isClean ? IN_ORDER : differenceTable(differences)))
  return isClean ? EXIT.ok : EXIT.finding
}

const IN_ORDER = 'The ledger is in order: every balance, cost and sum is what its rows say.'

export const differenceTable = (differences: readonly Difference[]): string =>
  tableText(
    ['RULE', 'WHERE', 'STORED', 'RECOMPUTED'],
    differences.map(({ rule, subject, stored, recomputed }) => [rule, subject, stored, recomputed]),
    '',
  )
