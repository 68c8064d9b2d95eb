/** Opens a connection to an upstream, TCP or TLS, within a time limit. Rules: platform.md "Sockets"; faults.md "Upstream calls". */

import { isIP } from 'node:net'
import type { SocketHandler } from 'bun'
import { Connection, type Opening } from './connection.ts'
import { TurnReads } from './turn-reads.ts'
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

/** An attempt to connect that may yet be given up. */
export type OpenedConnection = Readonly<{
  /** The connection, or the cause of its failure. Never rejects. */
  result: Promise<Connection | string>
  /** Resolves when the attempt has ended in the kernel, which cannot be told to give one up. */
  over: Promise<unknown>
  giveUp: (cause: string) => void
}>

/** Looks the name up, connects and shakes hands within `timeoutMs`. `writes`, `reads`: shared by the connections of an upstream. */
export function openConnection(
  { host, port, isSecure, ca, serverName }: Target,
  timeoutMs: number,
  { writes, reads }: Pick<Opening, 'writes' | 'reads'> = { writes: new TurnWrites(), reads: new TurnReads() },
): OpenedConnection {
  const { promise: result, resolve } = Promise.withResolvers<Connection | string>()
  const giveUp = (cause: string): void => connection.failed(cause)
  const timer = setTimeout(giveUp, timeoutMs, 'connect timeout')
  const settle = (opened: Connection | string): void => {
    clearTimeout(timer)
    resolve(opened)
  }
  const connection = new Connection({ isSecure, writes, reads, settle })
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
