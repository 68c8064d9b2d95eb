/** A relay's connection to the ledger process: messages in and out. Rules: processes.md "Relays". */

import type { LedgerFault } from '../thread-messages.ts'
import { FrameReader, FrameWriter } from './frames.ts'
import type { FromHub, ToHub } from './messages.ts'
import { isOwnSocket } from './socket-file.ts'

export type LinkHearing = Readonly<{
  hear: (message: FromHub) => void
  onClosed: () => void
  onFault: (fault: LedgerFault) => void
}>

export type LinkSocket = Readonly<{ send(message: ToHub): void; close(): void }>

/** Undefined: nothing listens there, or a socket of another user does. */
export async function connectToHub(path: string, { hear, onClosed, onFault }: LinkHearing): Promise<LinkSocket | undefined> {
  if (!isOwnSocket(path)) return undefined
  const reader = new FrameReader()
  let writer: FrameWriter | undefined
  let isOpen = true
  try {
    const socket = await Bun.connect<undefined>({
      unix: path,
      socket: {
        data(from, chunk) {
          try {
            for (const message of reader.read(chunk)) hear(message as FromHub)
          } catch (bug) {
            onFault({ problem: 'what the ledger process said failed by a bug', bug })
            from.terminate()
          }
        },
        drain: () => writer?.drain(),
        close: onClosed,
        error: (from) => from.terminate(),
      },
    })
    const own = new FrameWriter(socket)
    writer = own
    return {
      send(message) {
        if (isOpen) own.write(message)
      },
      close() {
        isOpen = false
        socket.terminate()
      },
    }
  } catch {
    return undefined
  }
}
