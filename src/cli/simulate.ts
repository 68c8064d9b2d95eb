/** `tollgate simulate`: the embedded upstream as a server of its own, for tests and load. Rules: faults.md "Simulator". */

import { type Command, InvalidArgumentError } from 'commander'
import { type AwsKey, SIMULATED_KINDS, type SimulatedKind } from '../simulator/doors/kinds.ts'
import { wholeNumber } from './arguments.ts'
import { tell } from './command-context.ts'
import { type CliEnvironment, EXIT, type ExitCode, wrongUse } from './environment.ts'

const port = wholeNumber(0, 65_535)
const KIND_NAMES = SIMULATED_KINDS.join(', ')

type SimulateOptions = Readonly<{ port: number; host: string; kind: SimulatedKind; name?: string; key?: string; awsKey?: AwsKey }>

export function addSimulate(program: Command, environment: CliEnvironment, setExitCode: (code: ExitCode) => void): void {
  program
    .command('simulate')
    .description('run the simulator as an upstream of its own')
    .requiredOption('--port <N>', '0 picks a free one', port)
    .option('--host <HOST>', 'address to listen on', '127.0.0.1')
    .option('--name <NAME>', 'name in the ids of its answers, which tells several simulators apart', upstreamName)
    .option('--key <KEY>', 'the only key that it accepts')
    .option('--kind <KIND>', `the door that it stands behind: ${KIND_NAMES}`, simulatedKind, 'native')
    .option('--aws-key <ID:SECRET>', 'requests are to be signed with it, behind a door of AWS', awsKey)
    .action(async (options: SimulateOptions) => {
      setExitCode(await simulate(environment, options))
    })
}

function simulatedKind(text: string): SimulatedKind {
  const kind = SIMULATED_KINDS.find((one) => one === text)
  if (kind !== undefined) return kind
  throw new InvalidArgumentError(`Expected one of ${KIND_NAMES}.`)
}

function awsKey(text: string): AwsKey {
  const [, id, secret] = /^([^:]+):(.+)$/.exec(text) ?? []
  if (id !== undefined && secret !== undefined) return { id, secret }
  throw new InvalidArgumentError('Expected the id of a key, ":" and its secret.')
}

/** Refuses a name that would break the form of ids in answers, which clients check. */
function upstreamName(text: string): string {
  if (/^[0-9A-Za-z-]{1,32}$/.test(text)) return text
  throw new InvalidArgumentError('Expected 1 to 32 letters, digits and "-".')
}

/** Resolves when a signal stops it. */
async function simulate(environment: CliEnvironment, { host, port, name, key, kind, awsKey }: SimulateOptions): Promise<ExitCode> {
  const { makeSimulatedDoor } = await import('../simulator/doors/door.ts')
  const simulator = makeSimulatedDoor({
    kind,
    awsKey,
    ...(name === undefined ? {} : { name }),
    ...(key === undefined ? {} : { apiKey: key }),
  })
  const server = listen(simulator, host, port)
  if (server === undefined) return tell(environment, wrongUse(`${host}:${port} cannot be listened on; is the port taken?`))
  environment.stdout(`tollgate simulator ${name === undefined ? '' : `${name} `}listening on ${server.url.origin}\n`)
  await new Promise<void>((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
  })
  await server.stop(true)
  return EXIT.ok
}

/** The server has no idle limit, since a prompt may ask for a long silence inside a stream. */
function listen(fetch: (request: Request) => Promise<Response>, hostname: string, port: number) {
  try {
    return Bun.serve({ hostname, port, idleTimeout: 0, maxRequestBodySize: Number.MAX_SAFE_INTEGER, fetch })
  } catch {
    return undefined
  }
}
