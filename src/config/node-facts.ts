/** The settings that must be the same on all nodes of a ledger, as short texts: if they differ, what a request costs depends on the node that answers it. Rules: nodes.md "Nodes that differ". */

import type { NodeFacts } from '../core/node-facts.ts'
import type { Config } from './config.ts'

/** The facts that other nodes compare; no fact holds a secret. `version` is the program's. */
export function factsOf({ catalog, limits, cabinet, upstreams }: Config, version: string): NodeFacts {
  const models = [...catalog.models.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  return {
    version,
    prices: hashOf(models.map(({ id, rates, levels }) => ({ id, rates, levels }))),
    models: hashOf(models.map(({ rates: _, levels: _levels, ...model }) => model)),
    plans: hashOf([...catalog.plans.values()].sort((a, b) => (a.name < b.name ? -1 : 1))),
    limits: hashOf(limits),
    upstreams: hashOf(upstreams.map(({ apiKey: _key, headers: _headers, proxyUrl: _proxy, ...upstream }) => upstream)),
    sign_up: cabinet.signUp,
  }
}

/** The hash is equal for equal values, however their fields are ordered. Eight characters are enough to see a difference. */
const hashOf = (value: unknown): string => new Bun.CryptoHasher('sha256').update(JSON.stringify(value, sorted)).digest('hex').slice(0, 8)

function sorted(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`
  if (value instanceof Set) return [...value].sort()
  if (value instanceof Map) return [...value]
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
