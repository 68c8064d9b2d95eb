/** `tollgate backup FILE`: whole and consistent copies of the ledger and of the people's file while the gateway runs. Rules: ledger.md "Files". */

import { existsSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Difference } from '../ledger/chain/difference.ts'
import { backUpPeople, peopleCopyOf } from '../people/people-copy.ts'
import { peoplePathOf } from '../people/people-file.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { asOwnersOnly, EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { readReport, stopOf } from './read-report.ts'
import { differenceTable } from './verify.ts'

export function addBackup(program: Command, run: Run): void {
  const backup = withJson(program.command('backup'))
    .description('copy the ledger into a new file, and the people’s file into FILE.people')
    .argument('<FILE>', 'must not exist yet')
  backup.action((file: string) => run(backup, (context) => backUp(context, resolve(context.environment.folder, file))))
}

/** Copies the people before the ledger: every account that they name is then in the later copy, and no copy of a ledger is without its people. */
function backUp(context: CommandContext, file: string): ExitCode | Stop {
  const peopleFile = peopleCopyOf(file)
  const taken = [file, peopleFile].find(existsSync)
  if (taken !== undefined) return wrongUse(`${taken} exists already; a backup never overwrites`)
  const people = asOwnersOnly(() => backUpPeople(peoplePathOf(context.config.ledger.path), peopleFile))
  const differences = readReport(context, (report) => asOwnersOnly(() => report.backup(file)))
  if (isStop(differences) || 'problem' in differences) {
    if (people === 'made') rmSync(peopleFile)
    if (isStop(differences)) return differences
    return differences.problem === 'unwritable' ? wrongUse(differences.message) : stopOf(differences)
  }
  const { size } = statSync(file)
  const problem = typeof people === 'object' ? people.problem : null
  const isClean = differences.length === 0 && problem === null
  const document = {
    ok: isClean,
    file,
    bytes: size,
    people: people === 'made' ? peopleFile : null,
    people_problem: problem,
    data: differences,
  }
  context.say(document, () => [ledgerText(file, size, differences), peopleText(peopleFile, people)].join('\n'))
  return isClean ? EXIT.ok : EXIT.finding
}

function ledgerText(file: string, bytes: number, differences: readonly Difference[]): string {
  const text = `The ledger was copied to ${file} (${bytes} bytes)`
  return differences.length === 0
    ? `${text}, and the copy is in order.`
    : `${text}, but rows of it differ:\n${differenceTable(differences)}`
}

function peopleText(file: string, people: ReturnType<typeof backUpPeople>): string {
  if (people === 'none') return 'There are no people to copy.'
  if (people !== 'made') return `The people were not copied: ${people.problem}`
  return `The people were copied to ${file}: it holds hashes of passwords and secrets of webhooks, keep it as safe as the ledger.`
}
