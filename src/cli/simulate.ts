/** `tollgate simulate`: the embedded upstream as a server of its own, for tests and load. Rules: faults.md "Simulator". */

import { type Command, InvalidArgumentError } from 'commander'
import { wholeNumber } from './arguments.ts'
import { tell } from './command-context.ts'
import { type CliEnvironment, EXIT, type ExitCode, wrongUse } from './environment.ts'

const port = wholeNumber(0, 65_535)

type SimulateOptions = Readonly<{ port: number; host: string; name?: string; key?: string }>

export function addSimulate(program: Command, environment: CliEnvironment, setExitCode: (code: ExitCode) => void): void {
  program
    .command('simulate')
    .description('run the simulator as an upstream of its own')
    .requiredOption('--port <N>', '0 picks a free one', port)
    .option('--host <HOST>', 'address to listen on', '127.0.0.1')
    .option('--name <NAME>', 'name in the ids of its answers, which tells several simulators apart', upstreamName)
    .option('--key <KEY>', 'the only key that it accepts')
    .action(async (options: SimulateOptions) => {
      setExitCode(await simulate(environment, options))
    })
}

/** The name is part of the ids in answers, whose form clients check. */
function upstreamName(text: string): string {
  if (/^[0-9A-Za-z-]{1,32}$/.test(text)) return text
  throw new InvalidArgumentError('Expected 1 to 32 letters, digits and "-".')
}

/** Resolves when a signal stops it. */
async function simulate(environment: CliEnvironment, { host, port, name, key }: SimulateOptions): Promise<ExitCode> {
  const { makeSimulator } = await import('../simulator/simulator.ts')
  const simulator = makeSimulator({ ...(name === undefined ? {} : { name }), ...(key === undefined ? {} : { apiKey: key }) })
  const server = listen(simulator, host, port)
  if (server === undefined) return tell(environment, wrongUse(`${host}:${port} cannot be listened on; is the port taken?`))
  environment.stdout(`tollgate simulator ${name === undefined ? '' : `${name} `}listening on ${server.url.origin}\n`)
  await new Promise<void>((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
  })
  await server.stop(true)
  return EXIT.ok
}

/** Without an idle limit: a prompt may ask for a long silence inside a stream. */
function listen(fetch: (request: Request) => Promise<Response>, hostname: string, port: number) {
  try {
    return Bun.serve({ hostname, port, idleTimeout: 0, maxRequestBodySize: Number.MAX_SAFE_INTEGER, fetch })
  } catch {
    return undefined
  }
}
