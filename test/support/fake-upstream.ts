/**
 * An upstream that a test commands byte by byte: a TCP listener that records every request as it came and plays a script for it. It knows HTTP/1.1 only as
 * far as finding where a request ends; what goes back is what the script says, right or wrong.
 */

import type { Socket, TCPSocketListener } from 'bun'

/**
 * One move of an answer. `when` waits for something that the test does. `end` closes the connection in order, `reset` breaks it, `stall` says nothing more until the client leaves. A script that just
 * stops leaves the connection open for the next request.
 */
export type Move =
  | Readonly<{ bytes: Uint8Array | string }>
  | Readonly<{ delayMs: number }>
  | Readonly<{ when: Promise<unknown> }>
  | Readonly<{ end: true }>
  | Readonly<{ reset: true }>
  | Readonly<{ stall: true }>
export type Script = readonly Move[]

/** A stream whose last piece comes again for as long as the client reads. */
export function* endlessStream(...pieces: readonly [...StreamPiece[], StreamPiece]): Iterable<Move> {
  yield* nativeStream(...pieces).slice(0, -1)
  const last = pieces.at(-1) ?? ''
  const move = isMove(last) ? last : chunk(last)
  for (;;) yield move
}

export type RecordedRequest = {
  readonly method: string
  /** With its query, as it stood in the request line. */
  readonly path: string
  /** In order, with the case that was sent. */
  readonly headers: readonly (readonly [string, string])[]
  /** The first header of that name in any case. */
  header(name: string): string | undefined
  readonly body: Uint8Array
  json(): unknown
  /** Counts connections from 0. */
  readonly connection: number
  /** `performance.now()` when the last byte of the request was here. */
  readonly receivedAtMs: number
  /** `performance.now()` when the client left before the script was played to its end; undefined when it did not. */
  abortedAtMs: number | undefined
  /** Bytes of the answer that were handed to the socket. */
  sentBytes: number
  /** Resolves when the script is over or the client has left. */
  readonly done: Promise<void>
}

/** `using` stops it however the test ends. */
export type FakeUpstream = Disposable &
  Readonly<{
    url: string
    port: number
    requests: readonly RecordedRequest[]
    connectionsOpened(): number
    connectionsClosed(): number
    /** The request of that number (from 0), as soon as it has arrived. */
    arrival(index: number): Promise<RecordedRequest>
    stop(): void
  }>

type FakeUpstreamOptions = Readonly<{
  answer: (request: RecordedRequest, index: number) => Iterable<Move>
  /** 0: a free one. */
  port?: number
}>

type Connection = { number: number; input: Buffer; playing: Promise<void>; isClosed: boolean; leave: AbortController; drained: () => void }

export function startFakeUpstream({ answer, port = 0 }: FakeUpstreamOptions): Promise<FakeUpstream> {
  const requests: RecordedRequest[] = []
  const waiting = new Map<number, (request: RecordedRequest) => void>()
  let opened = 0
  let closed = 0
  const sockets = new Set<Socket<Connection>>()

  const takeRequests = (socket: Socket<Connection>): void => {
    const connection = socket.data
    for (let read = readRequest(connection.input); read !== undefined; read = readRequest(connection.input)) {
      connection.input = connection.input.subarray(read.end)
      let finish = (): void => undefined
      const done = new Promise<void>((resolve) => {
        finish = resolve
      })
      const request = record(read, connection.number, done)
      const index = requests.push(request) - 1
      waiting.get(index)?.(request)
      connection.playing = connection.playing.then(() => play(socket, request, answer(request, index))).finally(finish)
      connection.playing.catch((error) => {
        console.error('fake upstream:', error)
        socket.terminate()
      })
    }
  }

  const listener: TCPSocketListener<Connection> = Bun.listen<Connection>({
    hostname: '127.0.0.1',
    port,
    socket: {
      open(socket) {
        socket.data = {
          number: opened++,
          input: Buffer.alloc(0),
          playing: Promise.resolve(),
          isClosed: false,
          leave: new AbortController(),
          drained: () => undefined,
        }
        sockets.add(socket)
      },
      data(socket, bytes) {
        socket.data.input = Buffer.concat([socket.data.input, bytes])
        takeRequests(socket)
      },
      drain: (socket) => socket.data.drained(),
      close(socket) {
        closed++
        sockets.delete(socket)
        socket.data.isClosed = true
        socket.data.leave.abort()
        socket.data.drained()
      },
      error: () => undefined,
    },
  })

  const stop = (): void => {
    for (const socket of sockets) socket.terminate()
    listener.stop(true)
  }
  return Promise.resolve({
    url: `http://127.0.0.1:${listener.port}`,
    port: listener.port,
    requests,
    connectionsOpened: () => opened,
    connectionsClosed: () => closed,
    arrival: (index) => {
      const here = requests[index]
      return here === undefined ? new Promise((resolve) => waiting.set(index, resolve)) : Promise.resolve(here)
    },
    stop,
    [Symbol.dispose]: stop,
  })
}

async function play(socket: Socket<Connection>, request: RecordedRequest, script: Iterable<Move>): Promise<void> {
  const { leave } = socket.data
  for (const move of script) {
    if ('bytes' in move) await send(socket, request, move.bytes)
    else if ('delayMs' in move) await pause(move.delayMs, leave.signal)
    else if ('when' in move) await move.when
    else if ('stall' in move) await pause(undefined, leave.signal)
    else if ('end' in move) return void socket.end()
    else return socket.terminate()
    if (socket.data.isClosed) {
      request.abortedAtMs = performance.now()
      return
    }
  }
}

/** Waits while the client does not read: what a script sends is never piled up in memory. */
async function send(socket: Socket<Connection>, request: RecordedRequest, piece: Uint8Array | string): Promise<void> {
  let rest = typeof piece === 'string' ? Buffer.from(piece) : piece
  while (rest.length > 0 && !socket.data.isClosed) {
    const drained = new Promise<void>((resolve) => {
      socket.data.drained = resolve
    })
    const written = Math.max(0, socket.write(rest))
    request.sentBytes += written
    rest = rest.subarray(written)
    if (rest.length > 0) await drained
  }
  socket.flush()
}

/** Without a time it waits for the client to leave. */
function pause(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = delayMs === undefined ? undefined : setTimeout(resolve, delayMs)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

type ReadRequest = Readonly<{ line: string; headers: readonly (readonly [string, string])[]; body: Uint8Array; end: number }>

/** Undefined while the request is not whole. */
function readRequest(input: Buffer): ReadRequest | undefined {
  const headEnd = input.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [line = '', ...lines] = input.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = lines.map((header): readonly [string, string] => {
    const colon = header.indexOf(':')
    return [header.slice(0, colon), header.slice(colon + 1).trim()]
  })
  const start = headEnd + 4
  if (findHeader(headers, 'transfer-encoding')?.toLowerCase() === 'chunked') {
    const body = readChunks(input.subarray(start))
    return body.isComplete ? { line, headers, body: body.bytes, end: start + body.end } : undefined
  }
  const end = start + Number(findHeader(headers, 'content-length') ?? 0)
  return input.length < end ? undefined : { line, headers, body: Uint8Array.from(input.subarray(start, end)), end }
}

function record({ line, headers, body }: ReadRequest, connection: number, done: Promise<void>): RecordedRequest {
  const [method = '', path = ''] = line.split(' ')
  return {
    method,
    path,
    headers,
    header: (name) => findHeader(headers, name),
    body,
    json: () => JSON.parse(new TextDecoder().decode(body)),
    connection,
    receivedAtMs: performance.now(),
    abortedAtMs: undefined,
    sentBytes: 0,
    done,
  }
}

export const findHeader = (headers: readonly (readonly [string, string])[], name: string): string | undefined =>
  headers.find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1]

/** A chunked body as far as it has come. `end` is the position after the last chunk's blank line. */
export function readChunks(input: Uint8Array): { bytes: Uint8Array; isComplete: boolean; end: number } {
  const text = Buffer.from(input.buffer, input.byteOffset, input.byteLength)
  const parts: Uint8Array[] = []
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(text.subarray(at, lineEnd).toString('latin1'), 16)
    const start = lineEnd + 2
    if (Number.isNaN(size)) return { bytes: Buffer.concat(parts), isComplete: false, end: at }
    if (size === 0) {
      const end = text.indexOf('\r\n', start)
      return { bytes: Buffer.concat(parts), isComplete: end !== -1, end: end === -1 ? at : end + 2 }
    }
    parts.push(text.subarray(start, start + size))
    if (text.length < start + size + 2) return { bytes: Buffer.concat(parts), isComplete: false, end: at }
    at = start + size + 2
  }
}

type Fields = Readonly<Record<string, unknown>>

/** A native frame: `frame('ping', {})`. */
export const frame = (type: string, fields: Fields = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

/** Status line and headers, with their blank line. */
export const head = (status: number, headers: Readonly<Record<string, string>>): Move => ({
  bytes: `HTTP/1.1 ${status} ${REASONS[status] ?? 'Status'}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`,
})

const REASONS: Readonly<Record<number, string>> = { 200: 'OK', 400: 'Bad Request', 429: 'Too Many Requests', 500: 'Internal Server Error' }

/** One chunk of a chunked body. */
export const chunk = (piece: Uint8Array | string): Move => {
  const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
  return { bytes: Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]) }
}

export const LAST_CHUNK: Move = { bytes: '0\r\n\r\n' }

export const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** A piece of a stream is bytes, or a move between them. */
export type StreamPiece = Uint8Array | string | Move

const isMove = (piece: StreamPiece): piece is Move => typeof piece !== 'string' && !(piece instanceof Uint8Array)

/** A chunked event stream, each piece a chunk of its own, ended properly; after a piece that ends, resets or stalls nothing more is sent. */
export const nativeStream = (...pieces: readonly StreamPiece[]): Script => [
  head(200, { ...EVENT_STREAM, 'transfer-encoding': 'chunked' }),
  ...pieces.map((piece) => (isMove(piece) ? piece : chunk(piece))),
  LAST_CHUNK,
]

/** The same without chunks: the end of the connection is the end of the stream. */
export const nativeStreamUntilClose = (...pieces: readonly StreamPiece[]): Script => [
  head(200, { ...EVENT_STREAM, connection: 'close' }),
  ...pieces.map((piece) => (isMove(piece) ? piece : { bytes: piece })),
  { end: true },
]

/** A JSON answer with its length. */
export const nativeMessage = (json: unknown, headers: Readonly<Record<string, string>> = {}): Script => answerOf(200, json, headers)

/** An error answer. A `body` that is a string is sent as it is; give its content-type yourself. */
export const errorAnswer = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Script =>
  answerOf(status, body, headers)

function answerOf(status: number, body: unknown, headers: Readonly<Record<string, string>>): Script {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return [head(status, { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers }), { bytes }]
}

/** A whole answer of two words. */
export const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'Good morning' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 3 },
}

/** The frames of a short, complete text answer: for tests that need an answer and not a particular one. */
export const textFrames = (text: string, usage: Fields = { input_tokens: 10, output_tokens: 1 }, outputTokens = 5): readonly string[] => [
  frame('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'upstream-model',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  }),
  frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  frame('content_block_stop', { index: 0 }),
  frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: outputTokens } }),
  frame('message_stop'),
]
