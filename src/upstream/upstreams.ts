/** The configured upstreams as one: a call goes to the first that its model names. */

import { connectionFault } from './fault.ts'
import type { Upstream } from './upstream.ts'

/** `byName` in the order of the configuration; a model that names none is served by the first. */
export function upstreamsByName(byName: () => ReadonlyMap<string, Upstream>): Upstream {
  return {
    call(request, stop, onErrorHead) {
      const all = byName()
      const name = request.model.upstreams[0]?.name ?? all.keys().next().value
      const upstream = name === undefined ? undefined : all.get(name)
      if (upstream === undefined) return Promise.resolve(connectionFault(name ?? 'none', 'not configured'))
      return upstream.call(request, stop, onErrorHead)
    },
  }
}
