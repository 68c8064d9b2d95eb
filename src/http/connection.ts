/** A request's socket as the relay needs it: who is at its other end, and the server's idle limit. Source: design.md "Elysia, Bun, SQLite" (`server.timeout`). */

import type { Server } from 'bun'
import type { Connection } from '../relay/exchange.ts'
import type { World } from '../world.ts'
import { clientIpOf } from './client-address.ts'

/** Idle keep-alive sockets are closed after this. Bun counts it from the head of a request, so it is lifted while we answer. */
export const IDLE_SECONDS = 30
/** Bun gives no hand on a socket but its idle limit, which also counts while bytes wait that nobody takes; the shortest there is. */
const DROP_SECONDS = 1

/** `server` is null where no socket is: under `app.handle`. */
export const connectionOf = (world: World, request: Request, server: Server<unknown> | null): Connection => ({
  client: clientIpOf(world, request, server),
  origin: request.headers.get('origin'),
  keepOpen: () => server?.timeout(request, 0),
  restore: () => server?.timeout(request, IDLE_SECONDS),
  drop: () => server?.timeout(request, DROP_SECONDS),
})
