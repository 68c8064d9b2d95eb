/**
 * One connection to an upstream, TCP or TLS: it connects within a time limit, and writes and reads with backpressure both ways. It knows no HTTP. Rules:
 * platform.md "Sockets"; faults.md "Upstream calls".
 */

import { isIP } from 'node:net'
import type { Socket, SocketHandler } from 'bun'
import { TurnWrites } from './turn-writes.ts'

export type Target = Readonly<{
  /** A name or an address, IPv6 without brackets. */
  host: string
  port: number
  isSecure: boolean
  /** PEM of the authorities to trust; undefined: those of this machine, and `NODE_EXTRA_CA_CERTS`. */
  ca: string | undefined
  /** The name to ask for and to find in the certificate, where `host` is an address that was looked up before; absent: `host`. */
  serverName?: string
}>

/** The present user of the connection. Nothing is called after `closed`, nor after the user has released it. */
export interface ConnectionUser {
  /** `bytes` are the user's own. They may also come after `pause`. */
  received(bytes: Uint8Array): void
  /** Closed in order, or broken. */
  closed(how: 'ended' | 'reset'): void
}

/** The most bytes that are written in one turn. The kernel would take megabytes at once, and the loop would stand still while the kernel copies them, or TLS encrypts them. */
const WRITE_BYTES_MAX = 512 * 1024

/** How often the kernel probes a silent connection: it finds a peer that is gone, and routers do not forget a connection whose model thinks for minutes. */
const PROBE_MS = 30_000

export class Connection {
  /** Undefined while the connection is idle. */
  user: ConnectionUser | undefined
  /** Called when an unused connection has ended: closed by the other side, idle for too long, or with unexpected bytes. */
  onIdleEnd: () => void = () => undefined

  readonly isSecure: boolean
  readonly #writes: TurnWrites
  /** Pending until the connection is open or has failed. */
  #settle: Opening['settle'] | undefined
  #socket: Socket<Connection> | undefined
  /** Written bytes that the kernel has not taken yet; they are not copied. */
  #unsent: readonly Uint8Array[] = []
  #isPaused = false
  #isClosed = false

  constructor(opening: Opening) {
    this.isSecure = opening.isSecure
    this.#writes = opening.writes
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

  writeUnsent(): void {
    const pieces = this.#unsent
    let next = 0
    let room = WRITE_BYTES_MAX
    for (const piece of pieces) {
      next++
      const offered = piece.length > room ? piece.subarray(0, room) : piece
      const written = Math.max(0, this.#socket?.write(offered) ?? 0)
      if (written === piece.length) {
        room -= written
        continue
      }
      this.#unsent = [piece.subarray(written), ...pieces.slice(next)]
      // The kernel took all that it was offered, so it will not ask for more: the next turn offers the rest.
      if (written === offered.length) this.#writes.add(this)
      return
    }
    this.#unsent = []
  }

  pause(): void {
    if (this.#isPaused || this.#isClosed) return
    this.#isPaused = true
    this.#socket?.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (!this.#isClosed) this.#socket?.resume()
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
    if (this.user !== undefined) this.user.received(bytes)
    else if (!this.#isClosed) this.#endIdle()
  }

  drained(): void {
    this.writeUnsent()
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

type Opening = Readonly<{ isSecure: boolean; writes: TurnWrites; settle: (result: Connection | string) => void }>

/** An attempt to connect that may yet be given up. */
export type OpenedConnection = Readonly<{
  /** The connection, or the cause of its failure. Never rejects. */
  result: Promise<Connection | string>
  /** Resolves when the attempt has ended in the kernel, which cannot be told to give one up. */
  over: Promise<unknown>
  giveUp: (cause: string) => void
}>

/** Looks the name up, connects and shakes hands within `timeoutMs`. `writes`: connections that share it write together, at the end of a turn. */
export function openConnection(
  { host, port, isSecure, ca, serverName }: Target,
  timeoutMs: number,
  writes: TurnWrites = new TurnWrites(),
): OpenedConnection {
  const { promise: result, resolve } = Promise.withResolvers<Connection | string>()
  const giveUp = (cause: string): void => connection.failed(cause)
  const timer = setTimeout(giveUp, timeoutMs, 'connect timeout')
  const settle = (opened: Connection | string): void => {
    clearTimeout(timer)
    resolve(opened)
  }
  const connection = new Connection({ isSecure, writes, settle })
  // Without a property of its own `tls` would mean no TLS at all. An address is checked against the certificate but is no name to ask for
  // (https://www.rfc-editor.org/rfc/rfc6066#section-3).
  const tls = { rejectUnauthorized: true, serverName: serverName ?? (isIP(host) === 0 ? host : ''), ...(ca === undefined ? {} : { ca }) }
  const options = { hostname: host, port, data: connection, socket: HANDLERS, ...(isSecure ? { tls } : {}) }
  // Bun throws at once what is wrong with the options.
  const over = Promise.try(() => Bun.connect<Connection>(options)).catch((error: unknown) => connection.failed(causeOf(error)))
  return { result, over, giveUp }
}

const HANDLERS: SocketHandler<Connection> = {
  open(socket) {
    socket.data.opened(socket)
    // With TLS the handshake is still to come: what is written now would be lost, and the certificate is not checked yet.
    if (!socket.data.isSecure) socket.data.ready()
  },
  handshake(socket, isAuthorized, problem) {
    if (isAuthorized && problem === null && socket.authorized) socket.data.ready()
    else socket.data.failed('tls')
  },
  data: (socket, bytes) => socket.data.received(bytes),
  drain: (socket) => socket.data.drained(),
  close: (socket, error) => socket.data.closed(error === undefined || error === null ? 'ended' : 'reset'),
  error: (socket) => {
    socket.data.closed('reset')
    socket.terminate()
  },
  timeout: (socket) => socket.data.timedOut(),
  connectError: (socket, error) => socket.data.failed(causeOf(error)),
}

const CAUSES: Readonly<Record<string, string>> = { ECONNREFUSED: 'refused', ECONNRESET: 'reset', ENOTFOUND: 'dns', EAI_AGAIN: 'dns' }

/** The cause is from a closed list, since it becomes a metric label. */
function causeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return CAUSES[code] ?? (code.startsWith('DNS') || code.startsWith('EAI') ? 'dns' : 'connect')
}
