/** `tollgate serve`: one process, from its re-execution to its last flush. Rules: operator.md "Shutdown"; platform.md "Process". */

import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { type ConfigProblems, textOfProblem } from '../config/problems.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { makeLog } from '../observe/log.ts'
import { logToStderr } from '../observe/stderr.ts'
import { guardAgainstBugs } from './bug-guard.ts'
import { tell } from './command-context.ts'
import { type CliEnvironment, EXIT, type ExitCode } from './environment.ts'
import { ledgerStop } from './ledger-choice.ts'
import { ignoredProxies } from './proxies.ts'
import { reexecute } from './reexecute.ts'

export type ServeOptions = Readonly<{ config: string | undefined; port: number | undefined; host: string | undefined }>

/** Resolves with the exit code when the gateway has drained. */
export async function serve(options: ServeOptions, environment: CliEnvironment): Promise<ExitCode> {
  const { startThread, startWire, startBodyThread, stdout, stderr } = environment
  const load = (): Config | ConfigProblems => loadConfig({ file: options.config, folder: environment.folder, env: environment.env })
  const config = load()
  if ('problems' in config) {
    stderr(explain(config))
    return EXIT.usage
  }
  const ledgerProblem = ledgerStop(config)
  if (ledgerProblem !== undefined) return tell(environment, ledgerProblem)
  if (config.upstreams.some(({ transport }) => transport === 'fetch')) reexecute(environment.env)
  const proxies = ignoredProxies(environment.env, config)
  if (proxies.length > 0) makeLog({ write: stderr }).notice(`${proxies.join(', ')} ignored: a proxy would see the upstream's key`)
  const gateway = await startGateway({
    config,
    readConfig: load,
    startThread,
    startWire,
    startBodyThread,
    host: options.host,
    port: options.port,
    log: logToStderr(),
  })
  if ('problem' in gateway) {
    stderr(`tollgate: ${gateway.message}\n`)
    return gateway.problem === 'ledger' ? EXIT.ledger : EXIT.finding
  }
  guardAgainstBugs(gateway.world.log)
  reloadOnSignal(gateway, load)
  const stopped = untilStopped(gateway)
  gateway.world.log.notice('listening', { url: gateway.url, operator_url: gateway.operatorUrl })
  if (config.upstreams.length === 0) gateway.world.log.notice('no upstream is configured, the embedded simulator answers')
  // The last step of a start: who reads this line may send a signal at once.
  stdout(`tollgate listening on ${gateway.url}\n`)
  await stopped
  return EXIT.ok
}

/** What an end may still take once all is drained and closed: a log that is read slowly, an upstream that does not hang up. */
const LINGER_MS = 5_000

/** Resolves when a signal has been obeyed: the first drains, a second does not wait for running streams. The process ends soon after, whatever hangs. */
export async function untilStopped(gateway: Gateway): Promise<void> {
  try {
    await drained(gateway)
  } finally {
    setTimeout(() => process.exit(), LINGER_MS).unref()
  }
}

function drained(gateway: Gateway): Promise<void> {
  return new Promise((resolve, reject) => {
    let isDraining = false
    const stop = (): void => {
      if (isDraining) {
        gateway.hurry()
        return
      }
      isDraining = true
      gateway.world.log.notice('draining')
      gateway.drain().then(resolve, reject)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}

/** `load`: reads the configuration anew. */
export function reloadOnSignal(gateway: Gateway, load: () => Config | ConfigProblems): void {
  process.on('SIGHUP', () => reload(gateway, load()))
}

function reload(gateway: Gateway, config: Config | ConfigProblems): void {
  const { log } = gateway.world
  if ('problems' in config) {
    const { file = '', problems } = config
    log.alarm('the configuration that was running stays in force', { file, problems: problems.map(textOfProblem).join('; ') })
    return
  }
  const ignored = gateway.reload(config)
  log.notice('configuration reloaded', ignored.length === 0 ? {} : { needs_restart: ignored.join(', ') })
}

const explain = ({ file, problems }: ConfigProblems): string =>
  problems.map((problem) => `tollgate: ${file ?? 'configuration'}: ${textOfProblem(problem)}\n`).join('')
