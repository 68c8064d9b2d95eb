/** Settings that are checked and change nothing yet: whoever sets one is told so. Rules: operator.md "Configuration". */

import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** They wait for pools of upstreams. */
const OF_UPSTREAMS = ['weight', 'priority', 'max_concurrent', 'connect_timeout_ms'] as const

/** By their paths in the file, in its order. */
export function settingsWithoutEffect({ upstreams = [], models = [{}] }: UpstreamChoice): readonly ConfigProblem[] {
  const called = new Set(models.map((model) => model.upstreams?.[0] ?? upstreams[0]?.name))
  return upstreams.flatMap((upstream, index) => {
    const path = `upstreams[${index}]`
    const idle = OF_UPSTREAMS.filter((name) => upstream[name] !== undefined).map((name) => ({
      path: `${path}.${name}`,
      message: 'has no effect yet: there are no pools of upstreams',
    }))
    return called.has(upstream.name)
      ? idle
      : [{ path, message: `${upstream.name} is not called yet: a model uses the first upstream that it names` }, ...idle]
  })
}

type UpstreamChoice = Readonly<{
  upstreams?: ConfigFile['upstreams']
  models?: readonly Readonly<{ upstreams?: readonly string[] }>[]
}>
