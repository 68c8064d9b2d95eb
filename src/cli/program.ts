/** The command line: which commands there are, and how a run becomes an exit code. Rules: operator.md "Commands". */

import { Command, CommanderError } from 'commander'
import packageFile from '../../package.json' with { type: 'json' }
import { addAccounts } from './accounts.ts'
import { wholeNumber } from './arguments.ts'
import { addBackup } from './backup.ts'
import { addCheckConfig } from './check-config.ts'
import { configOption, runWith } from './command-context.ts'
import { addDoctor } from './doctor.ts'
import { type CliEnvironment, EXIT } from './environment.ts'
import { addKeys } from './keys.ts'
import { addSimulate } from './simulate.ts'
import { addUsage } from './usage.ts'
import { addVerify } from './verify.ts'

/** `argv` is without the program's own name. Resolves to the exit code; rejects on bugs only. */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  const exit: { code: number } = { code: EXIT.ok }
  const program = makeProgram(environment, (code) => {
    exit.code = code
  })
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return exit.code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    throw error
  }
}

function makeProgram(environment: CliEnvironment, setExitCode: (code: number) => void): Command {
  const program = new Command('tollgate')
    .description('A prepaid gateway for language models.')
    .version(packageFile.version)
    .option('--config <FILE>', 'the configuration file; default: tollgate.toml in the working folder')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: environment.stdout,
      writeErr: environment.stderr,
      outputError: (text, write) => write(`tollgate: ${text.replace(/^error: /, '')}`),
    })
    .exitOverride()
  const run = runWith(environment, setExitCode)
  addServe(program, environment, setExitCode)
  addSimulate(program, environment, setExitCode)
  addKeys(program, run)
  addAccounts(program, run)
  addUsage(program, run)
  addVerify(program, run)
  addBackup(program, run)
  addDoctor(program, environment, setExitCode)
  addCheckConfig(program, environment, setExitCode)
  return program
}

/** The gateway's own modules are loaded only here: the other commands start without them. */
function addServe(program: Command, environment: CliEnvironment, setExitCode: (code: number) => void): void {
  const command = program
    .command('serve')
    .description('run the gateway')
    .option('--port <N>', 'instead of the configured one; 0 picks a free one', wholeNumber(0, 65_535))
    .option('--host <HOST>', 'instead of the configured one')
  command.action(async ({ port, host }: { port?: number; host?: string }) => {
    const { serve } = await import('./serve.ts')
    setExitCode(await serve({ config: configOption(command), port, host }, environment))
  })
}
