/** The history of a gateway: where it lies, and its alarms. Rules: pages.md "History"; operator.md "Metrics". */

import { type Ask, PostgresHistory } from './history/postgres-store.ts'
import type { HistoryEvent, HistoryStore } from './history/store.ts'
import { historyPathOf, ThreadedHistory } from './history/threaded-store.ts'
import type { World } from './world.ts'

type Options = Readonly<{
  /** The ledger's path. */
  path: string
  /** Makes a Worker of `src/history/thread.ts`. */
  startThread: () => Worker
  /** The question to the database of a ledger that nodes share; undefined: the ledger is a file. */
  ask: (() => Ask) | undefined
}>

/** How long no further alarm follows one: a full disk fails in the same way every ten seconds. */
const QUIET_MS = 10 * 60_000

export function historyBeside({ path, startThread, ask }: Options, world: Pick<World, 'log' | 'clock'>): HistoryStore {
  const onEvent = telling(world)
  if (ask === undefined) return new ThreadedHistory({ path: historyPathOf(path), startThread, onEvent })
  return new PostgresHistory({ ask: (text, given) => ask()(text, given), now: world.clock.now, onEvent })
}

function telling({ log, clock }: Pick<World, 'log' | 'clock'>): (event: HistoryEvent) => void {
  let quietUntilMs = 0
  return (event) => {
    if (event.kind === 'setAside') {
      log.alarm('history', { fault: `the file was of no use, and another was begun (${event.problem})`, set_aside: event.files.join(', ') })
      return
    }
    if (clock.monotonicMs() < quietUntilMs) return
    quietUntilMs = clock.monotonicMs() + QUIET_MS
    log.alarm('history', { fault: `charts may get a gap (${event.problem})` })
  }
}
