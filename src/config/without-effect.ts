/** Settings that are checked and change nothing, or nothing yet: whoever sets one is told so. Rules: operator.md "Configuration". */

import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** They wait for pools of upstreams. */
const OF_POOLS = ['weight', 'priority'] as const
/** Bun's `fetch` has no such limits. */
const OF_SOCKETS = ['max_concurrent', 'connect_timeout_ms'] as const

/** By their paths in the file, in its order. */
export function settingsWithoutEffect({ upstreams = [], models = [{}] }: UpstreamChoice): readonly ConfigProblem[] {
  const called = new Set(models.map((model) => nameOf(model.upstreams?.[0]) ?? upstreams[0]?.name))
  return upstreams.flatMap((upstream, index) => {
    const path = `upstreams[${index}]`
    const isSet = (name: keyof typeof upstream): boolean => upstream[name] !== undefined
    const idle = OF_POOLS.filter(isSet).map((name) => ({
      path: `${path}.${name}`,
      message: 'has no effect yet: there are no pools of upstreams',
    }))
    if (upstream.transport === 'fetch')
      idle.push(...OF_SOCKETS.filter(isSet).map((name) => ({ path: `${path}.${name}`, message: 'has no effect with transport = "fetch"' })))
    return called.has(upstream.name)
      ? idle
      : [{ path, message: `${upstream.name} is not called yet: a model uses the first upstream that it names` }, ...idle]
  })
}

const nameOf = (upstream: ModelUpstream | undefined): string | undefined => (typeof upstream === 'object' ? upstream.name : upstream)

type ModelUpstream = string | Readonly<{ name: string }>
type UpstreamChoice = Readonly<{
  upstreams?: ConfigFile['upstreams']
  models?: readonly Readonly<{ upstreams?: readonly ModelUpstream[] }>[]
}>
