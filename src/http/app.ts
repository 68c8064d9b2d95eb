/** All routes as one Elysia. No environment, no listening: tests call it as it is. Rules: platform.md "Elysia". */

import { Elysia } from 'elysia'
import type { KeyGate } from '../relay/key-limits.ts'
import type { Relay } from '../relay/relay.ts'
import type { World } from '../world.ts'
import { absoluteUrl } from './absolute-url.ts'
import type { ClientLimits } from './client-limit.ts'
import { connectionClose } from './connection-close.ts'
import { preflight } from './cors.ts'
import { dashboardRoutes } from './dashboard.ts'
import { docsRoutes } from './docs.ts'
import { generateRoutes } from './generate.ts'
import { publicHealth } from './health.ts'
import { keyMacro } from './key.ts'
import { keyStatusRoutes } from './key-status.ts'
import { modelRoutes } from './models.ts'
import { pathAsSent } from './path-as-sent.ts'
import { refusals } from './refusals.ts'
import { statementKeyRoutes } from './statement-key.ts'
import { usageRoutes } from './usage.ts'

/** Strict paths: a doubled or missing `/v1` and a trailing slash are 404. `standardHostname` off: Elysia would look for the path behind the Host header. */
const APP_OPTIONS = { strictPath: true, handler: { standardHostname: false } } as const

/** What the routes answer with; the gateway makes each of them once. */
export type AppParts = Readonly<{ world: World; relay: Relay; keyLimits: KeyGate; clientLimits: ClientLimits }>

export function buildApp({ world, relay, keyLimits, clientLimits }: AppParts) {
  const macro = keyMacro(world, keyLimits, clientLimits)
  const app = new Elysia(APP_OPTIONS)
    .use(absoluteUrl())
    .use(pathAsSent(() => isListening()))
    .use(connectionClose(world))
    .use(refusals(world))
    .use(preflight(world))
    .use(generateRoutes(world, relay, clientLimits))
    .use(dashboardRoutes(world, macro))
    .use(usageRoutes(world, macro))
    .use(keyStatusRoutes(world, keyLimits, macro))
    .use(statementKeyRoutes(world, macro))
    .use(modelRoutes(world, macro))
    .use(publicHealth(world))
  const isListening = (): boolean => app.server !== null
  return app.use(docsRoutes(world, () => app))
}

/** The routes with the types of what they take and answer, for clients in TypeScript (Eden). */
export type App = ReturnType<typeof buildApp>
