/** The world as a running process has it: its clocks, its ids, and the values that its configuration and its addresses have at the moment. Rules: house.md "Long-lived things". */

import { type Config, isRelay } from './config/config.ts'
import { KeyStore } from './ledger/admission/key-store.ts'
import type { Shared } from './ledger/open-options.ts'
import type { MemberConfig } from './upstream/member.ts'
import type { World } from './world.ts'

/** The state that changes while a gateway runs. */
export type GatewayState = {
  config: Config
  members: readonly MemberConfig[]
  isLeaving: boolean
  isDraining: boolean
  url: string
  operatorUrl: string
}

export const monotonicMs = (): number => performance.now()

export const realWorld = (
  state: GatewayState,
  shared: Shared | undefined,
  parts: Pick<World, 'ledger' | 'reports' | 'log' | 'metrics' | 'wheel' | 'upstreams'>,
): World => ({
  ...parts,
  clock: { now: Date.now, monotonicMs },
  requestId: () => `req_${Bun.randomUUIDv7().replaceAll('-', '')}`,
  keys: new KeyStore(parts.ledger, { now: Date.now, ...(shared && { isCurrent: shared.isCurrent, whileHeard: shared.whileHeard }) }),
  catalog: () => state.config.catalog,
  limits: () => state.config.limits,
  dashboardUrl: () =>
    state.config.server.dashboardUrl ?? `${state.config.cabinet.publicUrl ?? state.config.server.publicUrl ?? state.url}/cabinet`,
  publicUrl: () => state.config.server.publicUrl ?? state.url,
  trustedProxies: () => state.config.server.trustedProxies,
  corsOrigins: () => state.config.server.corsOrigins,
  ledgerPromise: () => shared?.promise()?.text ?? '',
  isRelay: () => isRelay(state.config),
  nodeDifferences: () => shared?.differences() ?? [],
  isLeaving: () => state.isLeaving,
  isDraining: () => state.isDraining,
})
