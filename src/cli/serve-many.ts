/** `tollgate serve --processes N`: the parent, between the checked configuration and the exit code. Rules: operator.md "Processes". */

import type { Config } from '../config/config.ts'
import { makeLog } from '../observe/log.ts'
import { logToStderr } from '../observe/stderr.ts'
import { BEGUN_WITH } from './begun-with.ts'
import { guardAgainstBugs } from './bug-guard.ts'
import type { CliEnvironment } from './environment.ts'
import { textOfSlot } from './process-slot.ts'
import { Processes } from './processes.ts'
import { ownCommand } from './reexecute.ts'
import { listeningLine } from './steps.ts'

/** What an end may take beyond the drain: a process lingers for half of this time. */
const GRACE_MS = 10_000

/** How long an end may take. The drain begins after the delay, during which a process answers everything. */
export const endMsOf = ({ server, limits }: Config): number => server.drainDelayMs + limits.drainMs + GRACE_MS

type Many = Readonly<{
  count: number
  /** Whether one more process has the ledger's file; it begins first. */
  leads: boolean
  config: string | undefined
  port: number | undefined
  host: string | undefined
  /** How long all processes may take to end, as configured now. */
  endMs: () => number
}>

export async function serveMany({ count, leads, config, port, host, endMs }: Many, { env, stdout }: CliEnvironment): Promise<number> {
  const log = makeLog({ write: logToStderr() })
  const given = (name: string, value: string | undefined): readonly string[] => (value === undefined ? [] : [name, value])
  const processes = new Processes({
    count,
    leads,
    port,
    command: (index, shared, relays) =>
      ownCommand([
        ...given('--config', config),
        'serve',
        ...['--part', textOfSlot({ index, count })],
        ...given('--host', host),
        ...given('--port', shared?.toString()),
        ...given('--relays', relays.length === 0 ? undefined : relays.join(',')),
      ]),
    env: { ...BEGUN_WITH, ...env },
    onListening: (url) => stdout(listeningLine(url)),
    log,
    endMs,
  })
  guardAgainstBugs(log)
  process.on('SIGTERM', () => processes.stop())
  process.on('SIGINT', () => processes.stop())
  process.on('SIGHUP', () => processes.reload('reloadWithLine'))
  return await processes.run()
}
