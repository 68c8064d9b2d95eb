/** Parts of a running process that both a gateway and a ledger process have. Rules: house.md "Long-lived things". */

import type { Config } from './config/config.ts'
import { differencesOf } from './config/difference.ts'
import { factsOf } from './config/node-facts.ts'
import { reloadable } from './config/reloadable.ts'
import type { NodeFacts } from './core/node-facts.ts'
import type { TimerWheel } from './core/timer-wheel.ts'
import type { Alarms } from './observe/alarms.ts'
import type { LogOptions } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import { type GatewayState, monotonicMs } from './real-world.ts'
import { UpstreamPool } from './upstream/pool.ts'
import type { PoolEvents } from './upstream/pool-options.ts'

/** Gives the facts that nodes compare; they are computed again after a reload. */
export function factsNow(state: GatewayState, versionText: string): () => NodeFacts {
  let known: Readonly<{ config: Config; facts: NodeFacts }> | undefined
  return () => {
    if (known?.config !== state.config) known = { config: state.config, facts: factsOf(state.config, versionText) }
    return known.facts
  }
}

export const alarmsTo = (alarms: Alarms, metrics: Metrics): Pick<LogOptions, 'onAlarm' | 'onRequestAlarm'> => ({
  onAlarm(what, fields) {
    metrics.alarm(what)
    alarms.add(what, fields)
  },
  onRequestAlarm: ({ upstream, cause, model }) => alarms.add('upstream', { upstream, cause, model }),
})

export const poolOf = (wheel: TimerWheel, events: PoolEvents): UpstreamPool =>
  new UpstreamPool({ wheel, now: Date.now, monotonicMs, random: Math.random, events })

/** What came of a reload. `ignored`: the names of changed settings that it may not change. `changes`: how many settings are others now. */
export type Reloaded = Readonly<{ ignored: readonly string[]; changes: number }>

type TakingOver = Readonly<{
  state: GatewayState
  pool: UpstreamPool
  membersOf: (config: Config, running: GatewayState) => GatewayState['members']
}>

/** Takes over the settings that a reload may change. */
export function takeOver(next: Config, { state, pool, membersOf }: TakingOver): Reloaded {
  const { config: taken, ignored } = reloadable(state.config, next)
  const changes = differencesOf(state.config, taken).length
  state.members = membersOf(taken, state)
  pool.configure(state.members)
  state.config = taken
  return { ignored, changes }
}
