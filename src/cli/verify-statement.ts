/** `tollgate verify-statement`: checks a statement without a ledger or a configuration. Rules: ledger.md "Statements"; operator.md "Commands". */

import { resolve } from 'node:path'
import type { Command } from 'commander'
import { StatementCheck, type StatementFinding } from '../ledger/chain/check-statement.ts'
import { printer, tell, withJson } from './command-context.ts'
import { type CliEnvironment, EXIT, type ExitCode, type Stop, wrongUse } from './environment.ts'
import { readLines } from './read-lines.ts'
import { tableText } from './text.ts'

export function addVerifyStatement(program: Command, environment: CliEnvironment, setExitCode: (code: ExitCode) => void): void {
  const command = withJson(program.command('verify-statement'))
    .description('check the prices, sums, chain and signature of a statement; 1 when a row differs')
    .argument('<FILE>', 'as `statement` printed it')
    .option('--key <KEY>', 'the public key that must have signed it')
  command.action((file: string, options: { key?: string }) => {
    const checked = checkFile(resolve(environment.folder, file), options.key)
    if (!(checked instanceof StatementCheck)) return setExitCode(tell(environment, checked))
    const { findings, rows, head } = checked
    const isClean = findings.length === 0
    const document = { ok: isClean, account: head?.account ?? null, rows, public_key: head?.publicKey ?? null, data: findings }
    printer(environment, command)(document, () =>
      isClean
        ? `The statement of ${head?.account} is in order: ${rows} rows, signed by ${head?.publicKey}. Compare that key with the gateway's.`
        : findingTable(findings),
    )
    return setExitCode(isClean ? EXIT.ok : EXIT.finding)
  })
}

/** Checks every line of the file; a `Stop` says why it cannot be read. */
export function checkFile(file: string, key: string | undefined): StatementCheck | Stop {
  const check = new StatementCheck()
  try {
    for (const line of readLines(file)) check.take(line)
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return wrongUse(error.message)
    throw error
  }
  check.end()
  if (key !== undefined && check.head?.publicKey !== key)
    check.findings.push({ where: 'line 1', problem: 'names another key than the one that was expected' })
  return check
}

const findingTable = (findings: readonly StatementFinding[]): string =>
  tableText(
    ['WHERE', 'WHAT'],
    findings.map(({ where, problem }) => [where, problem]),
    '',
  )
