/** `tollgate backup FILE`: a whole and consistent copy of the ledger while the gateway runs. Rules: ledger.md "Files". */

import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { asOwnersOnly, EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { readReport, stopOf } from './read-report.ts'
import { differenceTable } from './verify.ts'

export function addBackup(program: Command, run: Run): void {
  const backup = withJson(program.command('backup')).description('copy the ledger into a new file').argument('<FILE>', 'must not exist yet')
  backup.action((file: string) => run(backup, (context) => backUp(context, resolve(context.environment.folder, file))))
}

function backUp(context: CommandContext, file: string): ExitCode | Stop {
  if (existsSync(file)) return wrongUse(`${file} exists already; a backup never overwrites`)
  const differences = readReport(context, (report) => asOwnersOnly(() => report.backup(file)))
  if (isStop(differences)) return differences
  if ('problem' in differences) return differences.problem === 'unwritable' ? wrongUse(differences.message) : stopOf(differences)
  const { size } = statSync(file)
  const isClean = differences.length === 0
  const text = `The ledger was copied to ${file} (${size} bytes)`
  context.say({ ok: isClean, file, bytes: size, data: differences }, () =>
    isClean ? `${text}, and the copy is in order.` : `${text}, but rows of it differ:\n${differenceTable(differences)}`,
  )
  return isClean ? EXIT.ok : EXIT.finding
}
