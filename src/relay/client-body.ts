/**
 * The client's end of a stream: bytes go to its socket in the step in which they are written. It tells when the socket is full, and when it takes bytes
 * again. Rules: requests.md "Backpressure"; platform.md "Bun's server".
 */

import type { Written } from '../core/transcoder.ts'

export interface ClientBodyUser {
  /** The server is ready for bytes. */
  opened(client: ClientBody): void
  /** The socket has taken all the bytes that a `write` had to leave waiting. */
  drained(): void
  /** The client is gone. */
  left(): void
}

/** The controller that the server gives a direct stream; Bun's types say less. A promise means that the socket is full; it resolves when the socket has taken all. */
type Controller = {
  write(bytes: Uint8Array): number | Promise<unknown>
  flush(): unknown
  close(error?: Error): unknown
}

export class ClientBody {
  readonly #controller: Controller
  readonly #user: ClientBodyUser
  #isFull = false
  #isOver = false

  constructor(controller: Controller, user: ClientBodyUser) {
    this.#controller = controller
    this.#user = user
  }

  /** False when the socket is full: bytes that are written then are kept in memory. */
  write(written: Written): boolean {
    if (this.#isOver) return true
    if (written instanceof Uint8Array) this.#write(written)
    else for (const piece of written) this.#write(piece)
    this.#controller.flush()
    return !this.#isFull
  }

  close(): void {
    if (this.#end()) this.#controller.close()
  }

  /** Ends the connection at once, without the end of the body. */
  breakOff(): void {
    if (this.#end()) this.#controller.close(new Error('the client is gone'))
  }

  /** Called when the server no longer holds the body. */
  forget(): void {
    this.#end()
  }

  #write(bytes: Uint8Array): void {
    const taken = this.#controller.write(bytes)
    if (typeof taken === 'number' || this.#isFull) return
    this.#isFull = true
    const drained = (): void => {
      this.#isFull = false
      if (!this.#isOver) this.#user.drained()
    }
    taken.then(drained, drained)
  }

  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    return true
  }
}

/** The body of a response, as a direct stream: it has no queue, and makes no promise for each chunk. */
export function clientBody(user: ClientBodyUser): ReadableStream<Uint8Array> {
  let client: ClientBody | undefined
  const source: Bun.DirectUnderlyingSource<Uint8Array> = {
    type: 'direct',
    // The server calls this once; the body is open until it is closed.
    pull(controller) {
      if (client !== undefined) return
      client = new ClientBody(controller as Controller, user)
      user.opened(client)
    },
    cancel() {
      client?.forget()
      user.left()
    },
  }
  return new ReadableStream<Uint8Array>(source)
}
