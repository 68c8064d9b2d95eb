/** `tollgate restore FILE`: a verified copy takes the ledger's place, and the people's file comes back with it; what was there is kept beside it. Rules: ledger.md "Restore". */

import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { problemOf } from '../../db/problem.ts'
import type { ReportProblem } from '../ledger/reading/account-lists.ts'
import { type Companion, type Restored, restoreLedger } from '../ledger/restore.ts'
import { isGatewayRunning } from '../operator/ask-gateways.ts'
import { peopleCopyOf, readyPeople } from '../people/people-copy.ts'
import { peoplePathOf } from '../people/people-file.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { asOwnersOnly, EXIT, type ExitCode, noLedger, type Stop, wrongUse } from './environment.ts'
import { stopOf } from './read-report.ts'
import { differenceTable } from './verify.ts'

export function addRestore(program: Command, run: Run): void {
  const restore = withJson(program.command('restore'))
    .description('put a copy in the ledger’s place, and FILE.people, where it is there, in that of the people’s file')
    .argument('<FILE>', 'a backup')
  restore.action((file: string) => run(restore, (context) => restoreFrom(context, resolve(context.environment.folder, file))))
}

async function restoreFrom(context: CommandContext, file: string): Promise<ExitCode | Stop> {
  const ledgerPath = context.config.ledger.path
  if (await isGatewayRunning(ledgerPath)) return noLedger('a gateway is running on this ledger: stop it first')
  const restored = restore(context, file)
  if ('problem' in restored) {
    const isOfCopy = restored.problem === 'missing' || restored.problem === 'unwritable'
    return isOfCopy ? wrongUse(restored.message.replace('there is no ledger at', 'there is no backup at')) : stopOf(restored)
  }
  if ('differences' in restored) {
    const { differences } = restored
    context.say(
      { ok: false, file, data: differences },
      () => `${file} is not in order; nothing was changed:\n${differenceTable(differences)}`,
    )
    return EXIT.finding
  }
  const { path, setAside } = restored
  const { size } = statSync(path)
  const people = existsSync(peopleCopyOf(file)) ? peoplePathOf(ledgerPath) : null
  context.say({ ok: true, file, ledger: path, bytes: size, people, set_aside: setAside }, () =>
    [
      `${path} is now what ${file} holds (${size} bytes), and it is in order.`,
      people === null
        ? `There is no ${peopleCopyOf(file)}: the people stay as they are.`
        : `${people} is now what ${peopleCopyOf(file)} holds; all people sign in again.`,
      ...setAside.map((name) => `Set aside: ${name}`),
    ].join('\n'),
  )
  return EXIT.ok
}

function restore({ config: { ledger }, environment }: CommandContext, file: string): Restored {
  const now = environment.now()
  const people = (): Companion | ReportProblem | undefined => {
    const ready = readyPeople(peopleCopyOf(file), peoplePathOf(ledger.path), now)
    if (ready === 'none') return undefined
    return 'problem' in ready ? { problem: 'corrupt', message: `${ready.problem}; nothing was changed` } : ready
  }
  try {
    return asOwnersOnly(() => restoreLedger(ledger.path, file, now, people))
  } catch (error) {
    return problemOf(error, ledger.path)
  }
}
