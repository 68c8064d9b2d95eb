/** The command line: which commands there are, and how a run becomes an exit code. Rules: operator.md "Commands". */

import { Command, CommanderError, Option } from 'commander'
import { wholeNumber } from './arguments.ts'
import { configOption, type Run, runWith } from './command-context.ts'
import { type CliEnvironment, EXIT } from './environment.ts'
import { type ProcessSlot, readCount, readPids, readSlot } from './process-slot.ts'
import { versionText } from './version.ts'

/** `argv` is without the program's own name. Resolves to the exit code; rejects on bugs only. */
export async function runCli(argv: readonly string[], { stdout, stderr, ...rest }: Omit<CliEnvironment, 'verbatim'>): Promise<number> {
  const environment = {
    ...rest,
    stdout: (text: string) => stdout(printable(text)),
    stderr: (text: string) => stderr(printable(text)),
    verbatim: stdout,
  }
  const exit: { code: number } = { code: EXIT.ok }
  const program = await makeProgram(argv, environment, (code) => {
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

/** Control characters except line feed and tab, other ends of lines, and characters that change the direction of writing. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Text that is repeated from an argument moves no cursor and sets no colour: its control characters are escaped, such as `\u001b`, which JSON reads as the same character. */
const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

async function makeProgram(argv: readonly string[], environment: CliEnvironment, setExitCode: SetExitCode): Promise<Command> {
  const program = new Command('tollgate')
    .description('A prepaid gateway for language models.')
    .option('-V, --version', 'which program this is: its version, and the commit that it was made of')
    .on('option:version', () => {
      environment.stdout(`${versionText()}\n`)
      throw new CommanderError(EXIT.ok, 'commander.version', '')
    })
    .option('--config <FILE>', 'the configuration file; default: tollgate.toml in the working folder')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: environment.stdout,
      writeErr: environment.stderr,
      outputError: (text, write) => write(`tollgate: ${text.replace(/^error: /, '')}`),
    })
    .exitOverride()
  const run = runWith(environment, setExitCode)
  for (const add of commandsFor(argv)) await add(program, { environment, setExitCode, run })
  return program
}

type SetExitCode = (code: number) => void
type Parts = Readonly<{ environment: CliEnvironment; setExitCode: SetExitCode; run: Run }>
type Add = (program: Command, parts: Parts) => void | Promise<void>

/** The commands in the order of the help. A command is loaded only when the command line may name it. */
const COMMANDS: Readonly<Record<string, Add>> = {
  serve: (program, { environment, setExitCode }) => addServe(program, environment, setExitCode),
  simulate: async (program, { environment, setExitCode }) => (await import('./simulate.ts')).addSimulate(program, environment, setExitCode),
  keys: async (program, { run }) => {
    const [{ addKeys }, { addRates }] = await Promise.all([import('./keys.ts'), import('./key-rates.ts')])
    addRates(addKeys(program, run), run)
  },
  accounts: async (program, { run }) => (await import('./accounts.ts')).addAccounts(program, run),
  usage: async (program, { run }) => (await import('./usage.ts')).addUsage(program, run),
  receipts: async (program, { run }) => (await import('./receipts.ts')).addReceipts(program, run),
  attempts: async (program, { run }) => (await import('./attempts.ts')).addAttempts(program, run),
  'top-ups': async (program, { run }) => (await import('./top-ups.ts')).addTopUps(program, run),
  codes: async (program, { run }) => (await import('./codes.ts')).addCodes(program, run),
  tokens: async (program, { run }) => (await import('./tokens.ts')).addTokens(program, run),
  holds: async (program, { run }) => (await import('./holds.ts')).addHolds(program, run),
  nodes: async (program, { run }) => (await import('./nodes.ts')).addNodes(program, run),
  upstreams: async (program, { run }) => (await import('./upstreams.ts')).addUpstreams(program, run),
  audit: async (program, { run }) => (await import('./audit.ts')).addAudit(program, run),
  reconcile: async (program, { run }) => (await import('./reconcile.ts')).addReconcile(program, run),
  reprice: async (program, { run }) => (await import('./reprice.ts')).addReprice(program, run),
  import: async (program, { run }) => (await import('./import.ts')).addImport(program, run),
  people: async (program, { run }) => (await import('./people.ts')).addPeople(program, run),
  verify: async (program, { run }) => (await import('./verify.ts')).addVerify(program, run),
  statement: async (program, { run }) => (await import('./statement.ts')).addStatement(program, run),
  'verify-statement': async (program, { environment, setExitCode }) =>
    (await import('./verify-statement.ts')).addVerifyStatement(program, environment, setExitCode),
  backup: async (program, { run }) => (await import('./backup.ts')).addBackup(program, run),
  restore: async (program, { run }) => (await import('./restore.ts')).addRestore(program, run),
  ledger: async (program, { run }) => (await import('./ledger.ts')).addLedger(program, run),
  doctor: async (program, { environment, setExitCode }) => (await import('./doctor.ts')).addDoctor(program, environment, setExitCode),
  'check-config': async (program, { environment, setExitCode }) =>
    (await import('./check-config.ts')).addCheckConfig(program, environment, setExitCode),
}

/** The commands that the command line may name: all of them for help, and where none is named, so that one can be suggested for an unknown word. */
function commandsFor(argv: readonly string[]): readonly Add[] {
  const named = Object.entries(COMMANDS).filter(([name]) => argv.includes(name))
  const wantsHelp = argv.some((word) => word === 'help' || word === '--help' || word === '-h')
  return named.length === 0 || wantsHelp ? Object.values(COMMANDS) : named.map(([, add]) => add)
}

type Served = { port?: number; host?: string; processes: number; part?: ProcessSlot; relays?: readonly number[] }

/** The gateway's own modules are loaded only here: the other commands start without them. */
function addServe(program: Command, environment: CliEnvironment, setExitCode: SetExitCode): void {
  const command = program
    .command('serve')
    .description('run the gateway')
    .option('--port <N>', 'instead of the configured one; 0 picks a free one', wholeNumber(0, 65_535))
    .option('--host <HOST>', 'instead of the configured one')
    .option('--processes <N>', 'that many processes on one port; "auto": as many as there are cores, less one', readCount, 1)
    // This name stays: the parent of an older version starts this program with `--part`.
    .addOption(new Option('--part <I/N>', 'which of several processes this is').argParser(readSlot).hideHelp())
    .addOption(new Option('--relays <PIDS>', 'the relays that live while the ledger process begins').argParser(readPids).hideHelp())
  command.action(async ({ processes, part: slot, relays = [], ...given }: Served) => {
    const { serve } = await import('./serve.ts')
    setExitCode(
      await serve({ config: configOption(command), port: undefined, host: undefined, ...given, processes, slot, relays }, environment),
    )
  })
}
