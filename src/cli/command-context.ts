/** The frame of every command reads the configuration, prints one document or text, and turns a stop into a sentence and an exit code. */

import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { textOfProblem } from '../config/problems.ts'
import { type CliEnvironment, clockProblem, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'

export type CommandContext = Readonly<{
  environment: CliEnvironment
  config: Config
  /** Prints the document with `--json`, else the text, which is made only without `--json`, since a long table takes seconds. */
  say: (document: unknown, text: () => string) => void
}>

/** Runs a command's work between the reading of the configuration and the exit code. */
export type Run = (command: Command, work: (context: CommandContext) => Promise<ExitCode | Stop> | ExitCode | Stop) => Promise<void>

export const runWith =
  (environment: CliEnvironment, setExitCode: (code: ExitCode) => void): Run =>
  async (command, work) => {
    const context = clockProblem(environment.now()) ?? openContext(command, environment)
    const result = isStop(context) ? context : await work(context)
    setExitCode(isStop(result) ? tell(environment, result) : result)
  }

/** Every command that reports can print one JSON document. */
export const withJson = (command: Command): Command => command.option('--json', 'print one JSON document')

export function tell(environment: CliEnvironment, stop: Stop): ExitCode {
  environment.stderr(`tollgate: ${stop.stop}\n`)
  return stop.exitCode
}

export const configOption = (command: Command): string | undefined => command.optsWithGlobals<{ config?: string }>().config
const isJson = (command: Command): boolean => command.optsWithGlobals<{ json?: true }>().json === true

export function printer(environment: CliEnvironment, command: Command): CommandContext['say'] {
  const json = isJson(command)
  return (document, text) => environment.stdout(json ? `${JSON.stringify(document, null, 2)}\n` : `${text()}\n`)
}

const COPIES: ReadonlySet<string> = new Set(['backup', 'restore'])

/** These commands call no upstream, so they need none of its secrets. */
function openContext(command: Command, environment: CliEnvironment): CommandContext | Stop {
  const { folder, env } = environment
  const config = loadConfig({ file: configOption(command), folder, env, needsSecrets: false })
  if ('problems' in config) return wrongUse(`${config.file} has mistakes: ${config.problems.map(textOfProblem).join('; ')}`)
  return (COPIES.has(command.name()) ? copyStop(config) : undefined) ?? { environment, config, say: printer(environment, command) }
}

/** Refuses a command that copies files where the ledger is on Postgres. Rules: operator.md "Two ledgers". */
function copyStop({ ledger }: Config): Stop | undefined {
  if (ledger.kind === 'sqlite') return undefined
  return wrongUse('this copies files, and ledger and people are in Postgres: use its own backups, such as a base backup with archived WAL')
}
