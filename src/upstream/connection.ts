/**
 * One connection to an upstream, TCP or TLS: it writes and reads with backpressure both ways, a turn's worth at a time. It knows no HTTP. Rules: platform.md
 * "Sockets"; faults.md "Upstream calls".
 */

import type { Socket } from 'bun'
import { LARGE_READ_BYTES, type TurnReads } from './turn-reads.ts'
import type { TurnWrites } from './turn-writes.ts'

/** The present user of the connection. Nothing is called after `closed`, nor after the user has released it. */
export interface ConnectionUser {
  /** `bytes` are the user's own. They may also come after `pause`. */
  received(bytes: Uint8Array): void
  /** Closed in order, or broken. */
  closed(how: 'ended' | 'reset'): void
}

/** How often the kernel probes a silent connection: it finds a peer that is gone, and routers do not forget a connection whose model thinks for minutes. */
const PROBE_MS = 30_000

export class Connection {
  /** Undefined while the connection is idle. */
  user: ConnectionUser | undefined
  /** Called when an unused connection has ended: closed by the other side, idle for too long, or with unexpected bytes. */
  onIdleEnd: () => void = () => undefined

  readonly isSecure: boolean
  readonly #writes: TurnWrites
  readonly #reads: TurnReads
  /** Pending until the connection is open or has failed. */
  #settle: Opening['settle'] | undefined
  #socket: Socket<Connection> | undefined
  /** Written bytes that the kernel has not taken yet; they are not copied. */
  #unsent: readonly Uint8Array[] = []
  /** The user wants nothing now. */
  #isPaused = false
  /** What comes next is left to a later turn. */
  #isReadLater = false
  #isClosed = false

  constructor(opening: Opening) {
    this.isSecure = opening.isSecure
    this.#writes = opening.writes
    this.#reads = opening.reads
    this.#settle = opening.settle
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether all that was written is with the kernel. */
  get isFlushed(): boolean {
    return this.#unsent.length === 0
  }

  /** Writes at the end of this turn of the loop; to be called once for each request. What the kernel does not take then is written when it asks for more. */
  write(pieces: readonly Uint8Array[]): void {
    this.#unsent = pieces
    this.#writes.add(this)
  }

  get unsentBytes(): number {
    let bytes = 0
    for (const piece of this.#unsent) bytes += piece.length
    return bytes
  }

  writeUnsent(bytesMax: number): number {
    const pieces = this.#unsent
    let next = 0
    let room = bytesMax
    for (const piece of pieces) {
      next++
      const offered = piece.length > room ? piece.subarray(0, room) : piece
      const written = Math.max(0, this.#socket?.write(offered) ?? 0)
      room -= written
      if (written === piece.length) continue
      this.#unsent = [piece.subarray(written), ...pieces.slice(next)]
      // The kernel took all that it was offered, so it will not ask for more: a later turn offers the rest.
      if (written === offered.length) this.#writes.add(this)
      return bytesMax - room
    }
    this.#unsent = []
    return bytesMax - room
  }

  pause(): void {
    if (this.#isPaused || this.#isClosed) return
    this.#isPaused = true
    if (!this.#isReadLater) this.#socket?.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#read()
  }

  readOn(): void {
    this.#isReadLater = false
    this.#read()
  }

  /** Keeps the connection for the next request, at most so long, and without keeping the process alive. */
  rest(seconds: number): void {
    this.user = undefined
    this.resume()
    this.#socket?.timeout(seconds)
    this.#socket?.unref()
  }

  /** Ends what `rest` began. The timer of the idle time runs on, and is ignored while the connection is used. */
  wake(): void {
    this.#socket?.ref()
  }

  /** Closes in order: nothing more is wanted from the other side. */
  end(): void {
    this.#release()
    this.#socket?.end()
  }

  /** Closes at once, so that an upstream that still works for us notices. */
  destroy(): void {
    this.#release()
    this.#socket?.terminate()
  }

  /** Drops the callback once it has been called: the connection outlives what the callback refers to. */
  #opened(result: Connection | string): void {
    this.#settle?.(result)
    this.#settle = undefined
  }

  #readLater(): void {
    if (this.#isReadLater || this.#isClosed) return
    this.#isReadLater = true
    this.#socket?.pause()
    this.#reads.add(this)
  }

  #read(): void {
    if (!this.#isPaused && !this.#isReadLater && !this.#isClosed) this.#socket?.resume()
  }

  #release(): void {
    this.user = undefined
    this.#unsent = []
    this.#isClosed = true
  }

  /** This method and those below are called by the socket's handlers. */
  opened(socket: Socket<Connection>): void {
    this.#socket = socket
    if (this.#isClosed) socket.terminate()
    else socket.setKeepAlive(true, PROBE_MS)
  }

  ready(): void {
    if (!this.#isClosed) this.#opened(this)
  }

  failed(cause: string): void {
    this.#opened(cause)
    this.destroy()
  }

  received(bytes: Uint8Array): void {
    if (bytes.length >= LARGE_READ_BYTES) this.#readLater()
    if (this.user !== undefined) this.user.received(bytes)
    else if (!this.#isClosed) this.#endIdle()
  }

  drained(): void {
    if (!this.isFlushed) this.#writes.add(this)
  }

  closed(how: 'ended' | 'reset'): void {
    const { user } = this
    const wasLetGo = this.#isClosed
    this.#release()
    this.#opened(this.isSecure ? 'tls' : 'reset')
    if (user !== undefined) user.closed(how)
    else if (!wasLetGo) this.onIdleEnd()
  }

  timedOut(): void {
    if (this.user === undefined && !this.#isClosed) this.#endIdle()
  }

  #endIdle(): void {
    this.end()
    this.onIdleEnd()
  }
}

/** `writes`, `reads`: connections that share them have their turns together. */
export type Opening = Readonly<{
  isSecure: boolean
  writes: TurnWrites
  reads: TurnReads
  settle: (result: Connection | string) => void
}>
