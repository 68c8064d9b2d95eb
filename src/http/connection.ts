/** A request's socket as the relay needs it: who is at its other end, and the server's idle limit. Rules: platform.md "Bun's server". */

import type { Server } from 'bun'
import type { Connection } from '../relay/exchange.ts'
import type { World } from '../world.ts'
import { clientIpOf } from './client-address.ts'

/** Bun counts in seconds and looks at a socket every four. */
const RESOLUTION_SECONDS = 4

/**
 * The server's idle limit, never less than was set: a proxy in front that keeps a connection for less must not find it closed. Bun counts it from the head
 * of a request, so it is lifted while we answer.
 */
export const idleSeconds = (idleMs: number): number => Math.ceil(idleMs / 1000) + RESOLUTION_SECONDS

/** Bun gives no hand on a socket but its idle limit, which also counts while bytes wait that nobody takes; the shortest there is. */
const DROP_SECONDS = 1

/** `server` is null where no socket is: under `app.handle`. */
export const connectionOf = (world: World, request: Request, server: Server<unknown> | null): Connection => ({
  client: clientIpOf(world, request, server),
  origin: request.headers.get('origin'),
  keepOpen: () => server?.timeout(request, 0),
  restore: () => server?.timeout(request, idleSeconds(world.limits().idleMs)),
  drop: () => server?.timeout(request, DROP_SECONDS),
})
