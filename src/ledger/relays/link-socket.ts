/** A relay's connection to the ledger process: messages in and out. Rules: processes.md "Relays". */

import type { Socket } from 'bun'
import type { LedgerFault } from '../task.ts'
import { FrameReader, FrameWriter } from './frames.ts'
import type { FromHub, ToHub } from './messages.ts'
import { isOwnSocket } from './socket-file.ts'

type Hearing = Readonly<{
  hear: (message: FromHub) => void
  onClosed: () => void
  onFault: (fault: LedgerFault) => void
}>

export class LinkSocket {
  readonly #socket: Socket<undefined>
  readonly #writer: FrameWriter
  #isOpen = true

  private constructor(socket: Socket<undefined>, writer: FrameWriter) {
    this.#socket = socket
    this.#writer = writer
  }

  /** Undefined: nothing listens there, or what is not ours. */
  static async open(path: string, { hear, onClosed, onFault }: Hearing): Promise<LinkSocket | undefined> {
    if (!isOwnSocket(path)) return undefined
    const reader = new FrameReader()
    let writer: FrameWriter | undefined
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
      writer = new FrameWriter(socket)
      return new LinkSocket(socket, writer)
    } catch {
      return undefined
    }
  }

  send(message: ToHub): void {
    if (this.#isOpen) this.#writer.write(message)
  }

  close(): void {
    this.#isOpen = false
    this.#socket.terminate()
  }
}
