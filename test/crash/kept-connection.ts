/** A client of one connection, in bytes: it sends nothing twice and hides no reset, as clients with pools do. */

import type { Socket } from 'bun'

/** What came of a request. `lost`: the connection ended before the answer had begun; `cut`: after it had. */
export type Fate = 'whole' | 'lost' | 'cut'

export class KeptConnection {
  readonly #port: number
  #socket: Socket | undefined
  #text = ''
  #settle: ((fate: Fate) => void) | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Opens a connection where none is; an answer that says so closes it. */
  async ask(request: string): Promise<{ fate: Fate; text: string; isNew: boolean }> {
    const isNew = this.#socket === undefined
    this.#text = ''
    const fate = await new Promise<Fate>((resolve) => {
      this.#settle = resolve
      if (this.#socket !== undefined) this.#socket.write(request)
      else this.#open(request)
    })
    const text = this.#text
    if (/^connection: close\r$/im.test(text) || fate !== 'whole') this.close()
    return { fate, text, isNew }
  }

  close(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.end()
  }

  #open(request: string): void {
    const broken = (): void => {
      this.#socket = undefined
      this.#end(this.#text === '' ? 'lost' : 'cut')
    }
    Bun.connect({
      hostname: '127.0.0.1',
      port: this.#port,
      socket: {
        open: (socket) => {
          this.#socket = socket
          socket.write(request)
        },
        data: (_, bytes) => {
          this.#text += bytes.toString('latin1')
          if (isWhole(this.#text)) this.#end('whole')
        },
        end: broken,
        close: broken,
        error: broken,
      },
    }).catch(broken)
  }

  #end(fate: Fate): void {
    this.#settle?.(fate)
    this.#settle = undefined
  }
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, head + 1))?.[1]
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= head + 4 + Number(length)
}
