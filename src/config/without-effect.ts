/**
 * Finds settings without an effect, such as `weight` on the only upstream of a priority, and upstreams that share address and key. `check-config` lists them.
 * Rules: operator.md "Configuration"; pool.md "Choice".
 */

import type { UpstreamEntry } from './catalog-schema.ts'
import { UPSTREAM_DEFAULTS } from './defaults.ts'
import { addressOf } from './make-door.ts'
import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** One problem for each setting, with its path, such as `upstreams[1].weight`, in the order of the file. */
export function settingsWithoutEffect({ upstreams = [], models = [{}] }: Choices): readonly ConfigProblem[] {
  const pools = models.map((model) => upstreams.filter(({ name }) => model.upstreams?.some((one) => nameOf(one) === name) ?? true))
  return upstreams.flatMap((upstream, index) => withoutEffectIn(upstream, `upstreams[${index}]`, pools, upstreams.slice(0, index)))
}

/** `pools` has, for each model, the upstreams that serve it. `earlier` has the upstreams before this one in the file. */
function withoutEffectIn(
  upstream: UpstreamEntry,
  path: string,
  pools: readonly (readonly UpstreamEntry[])[],
  earlier: readonly UpstreamEntry[],
): readonly ConfigProblem[] {
  const { name, transport, connect_timeout_ms, weight } = upstream
  const own = pools.filter((pool) => pool.includes(upstream))
  if (own.length === 0) return [{ path, message: `${name} is called by no model` }]
  const others = own.flat().filter((one) => one !== upstream)
  const problems: ConfigProblem[] = []
  const twin = earlier.find((one) => others.includes(one) && isSameAccount(one, upstream))
  if (twin !== undefined)
    problems.push({ path, message: `${name} has the address and the key of ${twin.name}: where one fails, so does the other` })
  if (weight !== undefined && !others.some((one) => priorityOf(one) === priorityOf(upstream)))
    problems.push({ path: `${path}.weight`, message: `has no effect: no model has another upstream of priority ${priorityOf(upstream)}` })
  // Bun's `fetch` has no such limit.
  if (transport === 'fetch' && connect_timeout_ms !== undefined)
    problems.push({ path: `${path}.connect_timeout_ms`, message: 'has no effect with transport = "fetch"' })
  return problems
}

const isSameAccount = (a: UpstreamEntry, b: UpstreamEntry): boolean =>
  siteOf(a) === siteOf(b) && ACCOUNT.every((name) => a[name] === b[name])
const ACCOUNT = ['api_key_env', 'aws_access_key_id_env', 'credentials', 'service_account_env', 'client_id', 'workspace', 'project'] as const
const siteOf = (entry: UpstreamEntry): string => `${addressOf(entry)?.replace(/\/+$/, '').replace(/\/v1$/, '')} ${entry.workspace ?? ''}`
const priorityOf = ({ priority = UPSTREAM_DEFAULTS.priority }: UpstreamEntry): number => priority
const nameOf = (upstream: ModelUpstream): string => (typeof upstream === 'object' ? upstream.name : upstream)

type ModelUpstream = string | Readonly<{ name: string }>
type Choices = Readonly<{
  upstreams?: ConfigFile['upstreams']
  models?: readonly Readonly<{ upstreams?: readonly ModelUpstream[] }>[]
}>
