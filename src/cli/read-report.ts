/** Reads of the ledger, on a read-only connection that is closed before the command goes on. Rules: ledger.md "One writer". */

import { readProblem } from '../ledger/open-for-reading.ts'
import type { AccountReport, KeyReport, ReportProblem } from '../ledger/reading/account-lists.ts'
import { openReport, type Report } from '../ledger/report.ts'
import { withWindows } from './budgets.ts'
import type { CommandContext } from './command-context.ts'
import { isStop, noLedger, type Stop, wrongUse } from './environment.ts'

/** How long a statement may take: one statement of `verify` looks at every row. */
export const STATEMENT_MS = 600_000

/** The result of `read`, or why there is no ledger to read. `missing`: the result where there is none yet; default: that is a problem, too. */
export function readReport<T>(context: CommandContext, read: (report: Report) => T, missing?: () => T): T | Stop {
  const { startSyncDriver } = context.environment
  const report = openReport({ ...context.config.ledger, startSyncDriver, statementMs: STATEMENT_MS })
  if ('problem' in report) return report.problem === 'missing' && missing !== undefined ? missing() : stopOf(report)
  try {
    return read(report)
  } catch (error) {
    // A damaged page of the file is noticed only when it is read.
    return noLedger(readProblem(error, context.config.ledger).message)
  } finally {
    report.close()
  }
}

/** The key with this id or name. */
export const keyNamed = (context: CommandContext, name: string): KeyReport | Stop =>
  readReport(context, (report) => {
    const found = foundOr(report.accounts.key(name, context.environment.now()))
    return isStop(found) ? found : withWindows(context, found)
  })

export const accountNamed = (context: CommandContext, name: string): AccountReport | Stop =>
  readReport(context, (report) => foundOr(report.accounts.account(name)))

const foundOr = <T extends object>(found: T | ReportProblem): T | Stop => ('problem' in found ? stopOf(found) : found)

/** A mistake in an argument is wrong use; a file that cannot be read is no ledger. */
export function stopOf({ problem, message }: ReportProblem): Stop {
  switch (problem) {
    case 'unknown':
    case 'ambiguous':
      return wrongUse(message)
    default:
      return noLedger(message)
  }
}
