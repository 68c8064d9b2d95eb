/** A request's socket as the relay needs it: the client's address, and the server's idle limit. Rules: platform.md "Bun's server". */

import type { Server } from 'bun'
import type { Connection } from '../relay/exchange.ts'
import type { World } from '../world.ts'
import { Client } from './client-address.ts'

/** Bun counts in whole seconds, and looks at a socket every four seconds. */
const RESOLUTION_SECONDS = 4

/**
 * The server's idle limit in seconds, never less than was set: a proxy in front that keeps connections for less must not find one closed. Bun counts the limit from the
 * head of a request, so it is lifted while we answer.
 */
export const idleSeconds = (idleMs: number): number => Math.ceil(idleMs / 1000) + RESOLUTION_SECONDS

/** The shortest idle limit. It is the only thing that Bun lets us set on a socket, and it also runs while the client does not read. */
const DROP_SECONDS = 1

/** `server` is null where there is no socket: under `app.handle`. */
export class ServedConnection implements Connection {
  readonly client: Client
  readonly #world: World
  readonly #request: Request
  readonly #server: Server<unknown> | null

  constructor(world: World, request: Request, server: Server<unknown> | null) {
    this.client = new Client(world, request, server)
    this.#world = world
    this.#request = request
    this.#server = server
  }

  get origin(): string | null {
    return this.#request.headers.get('origin')
  }

  keepOpen(): void {
    this.#server?.timeout(this.#request, 0)
  }

  restore(): void {
    this.#server?.timeout(this.#request, idleSeconds(this.#world.limits().idleMs))
  }

  drop(): void {
    this.#server?.timeout(this.#request, DROP_SECONDS)
  }
}
