/** The upstreams of a configuration, each behind its transport, as members of the pool. Rules: operator.md "Configuration". */

import type { Config, UpstreamConfig } from './config/config.ts'
import { NATIVE_VERSION } from './core/native/versions.ts'
import { makeSimulator } from './simulator/simulator.ts'
import type { Door } from './upstream/doors/door.ts'
import { doorOf, droppedPaths, isEdited } from './upstream/doors/doors.ts'
import { nativeDoor } from './upstream/doors/native.ts'
import { fetchUpstream } from './upstream/fetch-upstream.ts'
import type { MemberConfig } from './upstream/member.ts'
import { socketUpstream } from './upstream/socket-upstream.ts'
import type { Upstream } from './upstream/upstream.ts'

type Running = Readonly<{ config: Config; members: readonly MemberConfig[] }>

/**
 * Without a configured upstream the simulator takes the place of the network, behind the same adapter and by the same rules. A reload keeps each transport whose
 * settings it does not change, with its connections and the calls on them; the connections of a replaced transport end by themselves.
 */
export function membersOf(config: Config, running?: Running): readonly MemberConfig[] {
  if (config.upstreams.length === 0) return running?.config.upstreams.length === 0 ? running.members : [embedded()]
  return config.upstreams.map((upstream) => {
    const { name, priority, weight, maxConcurrent, countTokens, echo } = upstream
    const old = running?.config.upstreams.find((one) => one.name === name)
    const kept =
      old !== undefined && isSameSite(old, upstream) ? running?.members.find((member) => member.name === name)?.upstream : undefined
    return {
      name,
      priority,
      weight,
      maxConcurrent,
      countTokens,
      echo,
      isEdited: isEdited(upstream),
      droppedPaths: droppedPaths(upstream),
      upstream: kept ?? upstreamOf(upstream),
    }
  })
}

const isSameSite = (a: UpstreamConfig, b: UpstreamConfig): boolean => Bun.deepEquals(siteOf(a), siteOf(b))
const siteOf = ({ weight: _w, priority: _p, maxConcurrent: _m, countTokens: _c, echo: _e, ...site }: UpstreamConfig) => site

function embedded(): MemberConfig {
  const simulator = makeSimulator({})
  const fetch = (url: string, init: RequestInit): Promise<Response> => simulator(new Request(url, init))
  const upstream = fetchUpstream({
    name: 'simulator',
    dialect: 'vendor',
    baseUrl: 'http://simulator',
    door: nativeDoor({ apiKey: undefined }),
    fetch,
  })
  return { name: 'simulator', priority: 0, weight: 1, maxConcurrent: Number.POSITIVE_INFINITY, upstream }
}

/** A conversation gets the same edits of its version and betas on every turn, before its request reaches the transport. */
export function upstreamOf(upstream: UpstreamConfig): Upstream {
  const transport = transportOf(upstream)
  const { forwardsVersions, forwardsBetas } = upstream
  if (forwardsVersions && forwardsBetas) return transport
  return {
    call: (request, stop, events) =>
      transport.call(
        {
          ...request,
          version: forwardsVersions ? request.version : NATIVE_VERSION,
          betas: forwardsBetas ? request.betas : '',
        },
        stop,
        events,
      ),
  }
}

export const doorOfUpstream = ({ door, edits, headers, secretHeaders, ...upstream }: UpstreamConfig): Door =>
  doorOf(door, edits, { ...upstream, headers: { ...headers, ...secretHeaders } })

function transportOf(upstream: UpstreamConfig): Upstream {
  const door = doorOfUpstream(upstream)
  if (upstream.transport === 'socket') return socketUpstream({ ...upstream, door })
  const { proxyUrl } = upstream
  return fetchUpstream({
    ...upstream,
    door,
    fetch: (url, init) => fetch(url, proxyUrl === undefined ? init : { ...init, proxy: proxyUrl }),
  })
}
