/** Lines over a unix socket: each connection sends one line and gets one line back. Both sides are bounded, in bytes and in time. Rules: operator.md "Socket". */

import type { Socket } from 'bun'

/** The most bytes of a question, the longest of which is an import. */
const ASKED_BYTES_MAX = 32 * 1024 * 1024
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
const IDLE_SECONDS = 15
const LINE_END = 0x0a

type Exchange = { received: Uint8Array[]; bytes: number; unsent: Uint8Array }

/** `answer` gets the line and the connection's descriptor. A connection whose line is too long, or whose answer throws, is closed without one. */
export function listenForLines(path: string, answer: (line: string, fd: number) => Promise<string>, onBug: (bug: unknown) => void) {
  return Bun.listen<Exchange>({
    unix: path,
    socket: {
      open(socket) {
        socket.data = { received: [], bytes: 0, unsent: new Uint8Array() }
        socket.timeout(IDLE_SECONDS)
      },
      data(socket, chunk) {
        const line = lineOf(socket.data, chunk, ASKED_BYTES_MAX)
        if (line === 'too long') return socket.terminate()
        if (line === undefined) return
        socket.timeout(0)
        answer(line.text, descriptorOf(socket)).then(
          (text) => send(socket, Buffer.from(`${text}\n`)),
          (bug: unknown) => {
            onBug(bug)
            socket.terminate()
          },
        )
      },
      drain: (socket) => send(socket, socket.data.unsent),
      timeout: (socket) => socket.terminate(),
    },
  })
}

type Line = Readonly<{ text: string }>

/** The answer to a line. `absent`: there is no listener at `path`; `silent`: nothing came, or not in time; `too long`: more than fits. */
export async function askLine(path: string, line: string, timeoutMs: number): Promise<Line | 'absent' | 'silent' | 'too long'> {
  const { promise: answered, resolve } = Promise.withResolvers<Line | 'silent' | 'too long'>()
  const late = setTimeout(() => resolve('silent'), timeoutMs)
  const exchange: Exchange = { received: [], bytes: 0, unsent: new Uint8Array() }
  try {
    const socket = await Bun.connect<Exchange>({
      unix: path,
      data: exchange,
      socket: {
        data(_, chunk) {
          const answer = lineOf(exchange, chunk, ANSWER_BYTES_MAX)
          if (answer !== undefined) resolve(answer)
        },
        drain(open) {
          write(open, open.data.unsent)
        },
        close: () => resolve('silent'),
        error: () => resolve('silent'),
      },
    })
    write(socket, Buffer.from(`${line}\n`))
    const answer = await answered
    socket.terminate()
    return answer
  } catch {
    return 'absent'
  } finally {
    clearTimeout(late)
  }
}

/** Bun's types leave the descriptor out. */
const descriptorOf = (socket: Socket<Exchange>): number => (socket as Socket<Exchange> & { fd: number }).fd

/** The first line, once it is complete; undefined: it is not yet. */
function lineOf(exchange: Exchange, chunk: Uint8Array, bytesMax: number): Line | 'too long' | undefined {
  const { received } = exchange
  received.push(Uint8Array.from(chunk))
  exchange.bytes += chunk.byteLength
  if (exchange.bytes > bytesMax) return 'too long'
  if (!chunk.includes(LINE_END)) return undefined
  const text = Buffer.concat(received).toString()
  received.length = 0
  return { text: text.slice(0, text.indexOf('\n')) }
}

function write(socket: Socket<Exchange>, bytes: Uint8Array): boolean {
  socket.data.unsent = bytes.subarray(Math.max(0, socket.write(bytes)))
  return socket.data.unsent.byteLength === 0
}

function send(socket: Socket<Exchange>, bytes: Uint8Array): void {
  if (bytes.byteLength > 0 && write(socket, bytes)) socket.end()
}
