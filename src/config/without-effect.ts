/** Settings that are checked and change nothing: whoever sets one is told so. Rules: operator.md "Configuration". */

import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** By their paths in the file, in its order. */
export function settingsWithoutEffect({ upstreams = [], models = [{}] }: UpstreamChoice): readonly ConfigProblem[] {
  const isCalled = (name: string): boolean =>
    models.some((model) => model.upstreams === undefined || model.upstreams.some((upstream) => nameOf(upstream) === name))
  return upstreams.flatMap(({ name, transport, connect_timeout_ms }, index) => {
    const path = `upstreams[${index}]`
    const idle: ConfigProblem[] = isCalled(name) ? [] : [{ path, message: `${name} is called by no model` }]
    // Bun's `fetch` has no such limit.
    if (transport === 'fetch' && connect_timeout_ms !== undefined)
      idle.push({ path: `${path}.connect_timeout_ms`, message: 'has no effect with transport = "fetch"' })
    return idle
  })
}

const nameOf = (upstream: ModelUpstream): string => (typeof upstream === 'object' ? upstream.name : upstream)

type ModelUpstream = string | Readonly<{ name: string }>
type UpstreamChoice = Readonly<{
  upstreams?: ConfigFile['upstreams']
  models?: readonly Readonly<{ upstreams?: readonly ModelUpstream[] }>[]
}>
