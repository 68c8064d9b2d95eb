/** `tollgate serve`: one process, from its re-execution to its last flush, whether by itself or one of several. Rules: operator.md "Shutdown"; platform.md "Process". */

import { type Config, isRelay } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { type ConfigProblems, textOfProblem } from '../config/problems.ts'
import type { Gateway } from '../gateway.ts'
import { makeLog } from '../observe/log.ts'
import { processMemoryBytes } from '../observe/process-memory.ts'
import { logToStderr } from '../observe/stderr.ts'
import { guardAgainstBugs } from './bug-guard.ts'
import { tell } from './command-context.ts'
import { type CliEnvironment, clockProblem, EXIT, wrongUse } from './environment.ts'
import { obeyParent, type ReloadOrder } from './process-commands.ts'
import { configOfSlot, type ProcessSlot, slotsProblem } from './process-slot.ts'
import { ignoredProxies } from './proxies.ts'
import { reexecute } from './reexecute.ts'
import { reload } from './reload.ts'
import { endMsOf, serveMany } from './serve-many.ts'
import { askOfParent, listeningLine, tellCutOff, tellStep } from './steps.ts'
import { versionText } from './version.ts'

export type ServeOptions = Readonly<{
  config: string | undefined
  port: number | undefined
  host: string | undefined
  /** How many processes answer; with more than one, this process is their parent. */
  processes: number
  /** Which of several processes this one is; undefined: it is not one of several. */
  slot: ProcessSlot | undefined
  /** For a ledger process: the process ids of relays that already run. */
  relays: readonly number[]
}>

/** Resolves with the exit code when the gateway has drained. */
export async function serve(options: ServeOptions, environment: CliEnvironment): Promise<number> {
  const { slot, processes: count } = options
  const { startThread, startSyncDriver, startBodyThread, startAnswersThread, startHistoryThread, startPeopleThread, stdout, stderr } =
    environment
  const load = (): Config | ConfigProblems => {
    const loaded = loadConfig({ file: options.config, folder: environment.folder, env: environment.env })
    return 'problems' in loaded || slot === undefined ? loaded : configOfSlot(loaded, slot)
  }
  const wrongClock = clockProblem(environment.now())
  if (wrongClock !== undefined) return tell(environment, wrongClock)
  if (slot !== undefined) tellStep('configuration')
  const config = load()
  if ('problems' in config) {
    stderr(explain(config))
    return EXIT.usage
  }
  const tooMany = slotsProblem(config, count)
  if (tooMany !== undefined) return tell(environment, wrongUse(tooMany))
  if (count > 1) {
    const many = { ...options, count, leads: config.ledger.kind === 'sqlite', endMs: () => endMsOf(inForce(load(), config)) }
    return await serveMany(many, environment)
  }
  if (slot?.index === 0) return await serveLedger(config, load, options.relays, environment)
  if (config.upstreams.some(({ transport }) => transport === 'fetch')) reexecute(environment.env)
  const proxies = ignoredProxies(environment.env, config)
  if (proxies.length > 0) makeLog({ write: stderr }).notice(`${proxies.join(', ')} ignored: a proxy would see the upstream's key`)
  // The ledger's thread loads its program while this one loads the gateway's: a third of a start. A relay has no such thread.
  const early = isRelay(config) ? { take: startThread, drop: () => undefined } : begunEarly(startThread)
  const { startGateway } = await import('../gateway.ts')
  const reloadSet = (order: ReloadOrder): void => {
    if (slot !== undefined) askOfParent(order)
    else if (!('problem' in gateway)) reload(gateway, load(), order === 'reloadWithLine' ? Date.now() : undefined)
  }
  const gateway = await startGateway({
    config,
    readConfig: load,
    askReload: () => reloadSet('reload'),
    startThread: early.take,
    startSyncDriver,
    startBodyThread,
    startAnswersThread,
    startHistoryThread,
    startPeopleThread,
    host: options.host,
    port: options.port,
    ...(config.ledger.kind === 'postgres' ? { version: versionText() } : {}),
    log: logToStderr(),
    onFenced: endAsFenced(stderr),
    ...(slot === undefined ? {} : { siblings: slot.count - 1, onStep: tellStep, memoryBytes: processMemoryBytes() / slot.count }),
  })
  early.drop()
  if ('problem' in gateway) {
    stderr(`tollgate: ${gateway.message}\n`)
    return gateway.problem === 'ledger' ? EXIT.ledger : EXIT.finding
  }
  guardAgainstBugs(gateway.world.log)
  process.on('SIGHUP', () => reloadSet('reloadWithLine'))
  const stopped = slot === undefined ? untilStopped(gateway) : untilParentStops(gateway, load)
  gateway.world.log.notice('listening', { url: gateway.url, operator_url: gateway.operatorUrl })
  if (config.upstreams.length === 0) gateway.world.log.notice('no upstream is configured, the embedded simulator answers')
  // This line is the last step of a start: a program that reads it may send a signal at once.
  stdout(listeningLine(gateway.url))
  await stopped
  return EXIT.ok
}

/** The parts of a running process that signals and its parent use. */
type Served = Pick<Gateway, 'world' | 'reload' | 'drain' | 'hurry'>

/** Ends this process; its parent begins another in its place. */
const endAsFenced =
  (stderr: (text: string) => void) =>
  (reason: string): void => {
    stderr(`tollgate: this process ends: ${reason}\n`)
    process.exit(EXIT.finding)
  }

/** Runs the process that has the ledger's file while others answer. */
async function serveLedger(
  config: Config,
  load: () => Config | ConfigProblems,
  relays: readonly number[],
  { startThread, startSyncDriver, startAnswersThread, startHistoryThread, startPeopleThread, stdout, stderr }: CliEnvironment,
): Promise<number> {
  const { startLedgerProcess } = await import('../ledger-process.ts')
  const threads = { startThread, startSyncDriver, startAnswersThread, startHistoryThread, startPeopleThread }
  const begun = await startLedgerProcess({
    config,
    readConfig: load,
    askReload: () => askOfParent('reload'),
    ...threads,
    relays,
    onStep: tellStep,
    onCutOff: tellCutOff,
    log: logToStderr(),
  })
  if ('problem' in begun) {
    stderr(`tollgate: ${begun.message}\n`)
    return begun.problem === 'ledger' ? EXIT.ledger : EXIT.finding
  }
  guardAgainstBugs(begun.world.log)
  process.on('SIGHUP', () => askOfParent('reloadWithLine'))
  const stopped = untilParentStops(begun, load)
  begun.world.log.notice('the ledger process is there', { operator_url: begun.operatorUrl })
  stdout(listeningLine(begun.url))
  await stopped
  return EXIT.ok
}

/** The configuration as it is read now, or the one before where it has a mistake. */
const inForce = (now: Config | ConfigProblems, before: Config): Config => ('problems' in now ? before : now)

/** The first thread starts at once, before it is asked for; `drop` ends it where it was not needed. */
function begunEarly(start: () => Worker): Readonly<{ take: () => Worker; drop: () => void }> {
  let begun: Worker | undefined = start()
  const take = (): Worker => {
    const thread = begun ?? start()
    begun = undefined
    return thread
  }
  return { take, drop: () => begun?.terminate() }
}

/** How long the process may linger after drain and close, because its log is read slowly or an upstream does not hang up. */
const LINGER_MS = 5_000

/** Resolves when the gateway has drained after a signal: the first begins the drain, a second ends its waiting for streams. The process ends soon after, whatever hangs. */
export async function untilStopped(gateway: Served): Promise<void> {
  await stoppedBy(gateway, () => () => undefined)
}

/** Obeys a parent's commands beside signals: the command to drain and a signal to the whole group are one stop, not two. */
const untilParentStops = (gateway: Served, load: () => Config | ConfigProblems): Promise<void> =>
  stoppedBy(gateway, (drain) => obeyParent({ drain, hurry: gateway.hurry, reload: (lineAt) => reload(gateway, load(), lineAt) }))

/** `listen`: listens for another way to stop, and returns a function that ends this. */
async function stoppedBy(gateway: Served, listen: (drain: () => void) => () => void): Promise<void> {
  const end = Promise.withResolvers<void>()
  let isDraining = false
  const drain = (): void => {
    if (isDraining) return
    isDraining = true
    gateway.world.log.notice('draining')
    gateway.drain().then(end.resolve, end.reject)
  }
  let signals = 0
  const onSignal = (): void => (++signals === 1 ? drain() : gateway.hurry())
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const close = listen(drain)
  try {
    await end.promise
  } finally {
    close()
    setTimeout(() => process.exit(), LINGER_MS).unref()
  }
}

const explain = ({ file, problems }: ConfigProblems): string =>
  problems.map((problem) => `tollgate: ${file ?? 'configuration'}: ${textOfProblem(problem)}\n`).join('')
