/** All routes as one Elysia. It reads no environment and listens on nothing: tests call it as it is. Rules: platform.md "Elysia", "Bun's server"; operator.md "Shutdown". */

import { Elysia } from 'elysia'
import type { Relay } from '../relay/relay.ts'
import { pathOf } from '../relay/request-target.ts'
import type { World } from '../world.ts'
import { absoluteUrl } from './absolute-url.ts'
import type { ClientLimits } from './client-limit.ts'
import { preflight } from './cors.ts'
import { dashboardRoutes } from './dashboard.ts'
import { docsRoutes } from './docs.ts'
import { generateRoutes } from './generate.ts'
import { publicHealth } from './health.ts'
import { type Gates, keyMacro } from './key.ts'
import { keyStatusRoutes } from './key-status.ts'
import { modelRoutes } from './models.ts'
import { refusals } from './refusals.ts'
import { statementKeyRoutes } from './statement-key.ts'
import { usageRoutes } from './usage.ts'

/** Strict paths: a doubled or missing `/v1`, or a trailing slash, is 404. `standardHostname` is off because Elysia would look for the path behind the Host header. */
const APP_OPTIONS = { strictPath: true, handler: { standardHostname: false } } as const

/** The parts with which the routes answer; the gateway makes each of them once. */
export type AppParts = Readonly<{ world: World; relay: Relay; clientLimits: ClientLimits }> & Gates

export function buildApp({ world, relay, keyLimits, rates, clientLimits }: AppParts) {
  const gates = { keyLimits, rates }
  const macro = keyMacro(world, gates, clientLimits)
  const app = new Elysia(APP_OPTIONS)
    .use(absoluteUrl())
    .use(pathAsSent(() => isListening()))
    .use(connectionClose(world))
    .use(refusals(world))
    .use(preflight(world))
    .use(generateRoutes(world, relay, clientLimits))
    .use(dashboardRoutes(world, macro))
    .use(usageRoutes(world, macro))
    .use(keyStatusRoutes(world, gates, macro))
    .use(statementKeyRoutes(world, macro))
    .use(modelRoutes(world, macro))
    .use(publicHealth(world))
  const isListening = (): boolean => app.server !== null
  return app.use(docsRoutes(world, () => app))
}

/**
 * Accepts a path of the API only as it is written. Bun hands over `/v1/./models` and `/v1\models` as `/v1/models`, but matches its own routes, among which Elysia puts
 * those of the API, against the path that was sent. So an API path that reaches the handler behind those routes was written differently, and is 404. `isListening`:
 * only a listening server matches routes of its own. Rules: contract.md "Errors".
 */
const pathAsSent = (isListening: () => boolean) =>
  new Elysia({ name: 'path-as-sent' }).wrap((answer) => (request: Request) => {
    // A request that Bun matched has the parameters of its route; a preflight has none by design.
    if (!('params' in request) && request.method !== 'OPTIONS' && isListening() && pathOf(request.url).startsWith(API))
      Object.defineProperty(request, 'url', { value: request.url.replace(API, `${API}./`), configurable: true })
    return answer(request)
  })

const API = '/v1/'

/**
 * While the process leaves, every answer carries `Connection: close`, so that the client's next request opens a connection to another process:
 * https://www.rfc-editor.org/rfc/rfc9112#section-9.6.
 */
const connectionClose = ({ isLeaving }: Pick<World, 'isLeaving'>) =>
  new Elysia({ name: 'connection-close' }).wrap(
    (answer) => (request: Request) => (isLeaving() ? closing(answer(request)) : answer(request)),
  )

async function closing(answer: unknown): Promise<unknown> {
  const response = await answer
  if (response instanceof Response) response.headers.set('connection', 'close')
  return response
}

/** The routes with the types of what they take and answer, for clients in TypeScript (Eden). */
export type App = ReturnType<typeof buildApp>
