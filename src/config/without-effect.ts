/** Settings that are checked and change nothing: `check-config` names those that are set. Rules: operator.md "Configuration"; pool.md "Choice". */

import type { UpstreamEntry } from './catalog-schema.ts'
import { UPSTREAM_DEFAULTS } from './defaults.ts'
import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** By their paths in the file, in its order. */
export function settingsWithoutEffect({ upstreams = [], models = [{}] }: Choices): readonly ConfigProblem[] {
  const pools = models.map((model) => upstreams.filter(({ name }) => model.upstreams?.some((one) => nameOf(one) === name) ?? true))
  const idle = upstreams.flatMap((upstream, index) => idleIn(upstream, `upstreams[${index}]`, pools, upstreams.slice(0, index)))
  return idle
}

/** `pools`: of each model, who serves it. `earlier`: those before it in the file. */
function idleIn(
  upstream: UpstreamEntry,
  path: string,
  pools: readonly (readonly UpstreamEntry[])[],
  earlier: readonly UpstreamEntry[],
): readonly ConfigProblem[] {
  const { name, transport, connect_timeout_ms, weight } = upstream
  const own = pools.filter((pool) => pool.includes(upstream))
  if (own.length === 0) return [{ path, message: `${name} is called by no model` }]
  const others = own.flat().filter((one) => one !== upstream)
  const idle: ConfigProblem[] = []
  const twin = earlier.find((one) => others.includes(one) && isSameAccount(one, upstream))
  if (twin !== undefined)
    idle.push({ path, message: `${name} has the address and the key of ${twin.name}: where one fails, so does the other` })
  if (weight !== undefined && !others.some((one) => priorityOf(one) === priorityOf(upstream)))
    idle.push({ path: `${path}.weight`, message: `has no effect: no model has another upstream of priority ${priorityOf(upstream)}` })
  // Bun's `fetch` has no such limit.
  if (transport === 'fetch' && connect_timeout_ms !== undefined)
    idle.push({ path: `${path}.connect_timeout_ms`, message: 'has no effect with transport = "fetch"' })
  return idle
}

const isSameAccount = (a: UpstreamEntry, b: UpstreamEntry): boolean => siteOf(a) === siteOf(b) && a.api_key_env === b.api_key_env
const siteOf = ({ base_url }: UpstreamEntry): string => base_url.replace(/\/+$/, '').replace(/\/v1$/, '')
const priorityOf = ({ priority = UPSTREAM_DEFAULTS.priority }: UpstreamEntry): number => priority
const nameOf = (upstream: ModelUpstream): string => (typeof upstream === 'object' ? upstream.name : upstream)

type ModelUpstream = string | Readonly<{ name: string }>
type Choices = Readonly<{
  upstreams?: ConfigFile['upstreams']
  models?: readonly Readonly<{ upstreams?: readonly ModelUpstream[] }>[]
}>
