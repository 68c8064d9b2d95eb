/** The socket at which relays find the ledger process: messages in and out, of processes of the same user alone. Rules: processes.md "Relays". */

import { rmSync } from 'node:fs'
import type { Socket } from 'bun'
import type { LedgerFault } from '../thread-messages.ts'
import { FrameReader, FrameWriter } from './frames.ts'
import type { FromHub, ToHub } from './messages.ts'
import { peerOf } from './peer.ts'
import { asOwnSocket } from './socket-file.ts'

export type Connection = Readonly<{
  /** The id of the process at the other end. */
  pid: number
  readonly unsentBytes: number
  send(message: FromHub): void
  close(): void
}>

export type Hearing = Readonly<{
  hear: (connection: Connection, message: ToHub) => void
  onClosed: (connection: Connection) => void
  onFault: (fault: LedgerFault) => void
}>

type Data = { connection: RelayConnection | undefined }

/** `callerAt`: who calls, by the file descriptor of the connection; default: the kernel's word. */
export function listenForRelays(path: string, hearing: Hearing, callerAt = peerOf): Readonly<{ close(): void }> {
  const server = asOwnSocket(path, (first) => listenAt(first, hearing, callerAt))
  return {
    close() {
      server.stop(true)
      rmSync(path, { force: true })
    },
  }
}

const listenAt = (path: string, hearing: Hearing, callerAt: typeof peerOf) =>
  Bun.listen<Data>({
    unix: path,
    socket: {
      open(socket) {
        const peer = callerAt((socket as Socket<Data> & { fd: number }).fd)
        const isOwn = peer !== undefined && peer.uid === process.getuid?.()
        socket.data = { connection: isOwn ? new RelayConnection(socket, peer.pid) : undefined }
        if (!isOwn) socket.terminate()
      },
      data(socket, chunk) {
        const { connection } = socket.data
        if (connection === undefined) return
        try {
          for (const message of connection.reader.read(chunk)) if (connection.isOpen) hearing.hear(connection, message as ToHub)
        } catch (bug) {
          hearing.onFault({ problem: 'what a relay said failed by a bug', bug })
          connection.close()
        }
      },
      drain: (socket) => socket.data.connection?.writer.drain(),
      close(socket) {
        const { connection } = socket.data
        if (connection !== undefined) hearing.onClosed(connection)
      },
      error: (socket) => socket.terminate(),
    },
  })

class RelayConnection implements Connection {
  readonly pid: number
  readonly reader = new FrameReader()
  readonly writer: FrameWriter
  readonly #socket: Socket<Data>
  isOpen = true

  constructor(socket: Socket<Data>, pid: number) {
    this.#socket = socket
    this.pid = pid
    this.writer = new FrameWriter(socket)
  }

  get unsentBytes(): number {
    return this.writer.unsentBytes
  }

  send(message: FromHub): void {
    if (this.isOpen) this.writer.write(message)
  }

  /** Closes the connection; messages that were already read from it are ignored. */
  close(): void {
    this.isOpen = false
    this.#socket.end()
  }
}
