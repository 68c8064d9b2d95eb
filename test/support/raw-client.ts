/** An HTTP client without manners: sends exactly the bytes it is given, in the pieces it is given, and keeps everything that comes back. */

import type { Socket } from 'bun'
import { findHeader, readChunks } from './fake-upstream.ts'

export type RawResponse = Readonly<{
  status: number
  headers: readonly (readonly [string, string])[]
  /** The first header of that name in any case. */
  header(name: string): string | undefined
  /** Decoded when it was chunked. */
  body: Uint8Array
  text: string
  json(): unknown
  /** The framing says that the body is whole; for a body without framing, that the connection has closed. */
  isComplete: boolean
  /** Position after the answer in the bytes that were parsed. */
  end: number
}>

/** `using` resets it however the test ends. */
export type RawConnection = Disposable &
  Readonly<{
    send(piece: Uint8Array | string): Promise<void>
    /** Everything that has come so far. */
    received(): Uint8Array
    /** Resolves when `isEnough` accepts what has come, or the server has closed. Rejects after `timeoutMs`. */
    until(isEnough: (received: Uint8Array) => boolean, timeoutMs?: number): Promise<Uint8Array>
    /** The next whole answer; answers that were returned before are skipped. An interim 1xx is skipped too. */
    response(timeoutMs?: number): Promise<RawResponse>
    /** Resolves with the moment (`performance.now()`) at which the server closed. */
    closed: Promise<number>
    isClosed(): boolean
    /** No more will be sent; reading goes on. */
    halfClose(): void
    /** Leaves without a word. */
    reset(): void
    /** Stops taking bytes from the network, so that the server feels it; `resume` goes on. */
    pause(): void
    resume(): void
  }>

/** To `http://host:port`. */
export async function connectRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  let store = Buffer.allocUnsafe(65_536)
  let size = 0
  let taken = 0
  let isClosed = false
  let drained = (): void => undefined
  let arrived = (): void => undefined
  let settleClosed: (atMs: number) => void = () => undefined
  const closed = new Promise<number>((resolve) => {
    settleClosed = resolve
  })
  const close = (): void => {
    isClosed = true
    settleClosed(performance.now())
    drained()
    arrived()
  }
  const socket: Socket = await Bun.connect({
    hostname,
    port: Number(port),
    allowHalfOpen: true,
    socket: {
      data(_, bytes) {
        if (size + bytes.length > store.length) store = Buffer.concat([store], 2 * (size + bytes.length))
        store.set(bytes, size)
        size += bytes.length
        arrived()
      },
      drain: () => drained(),
      end: close,
      close,
      error: close,
    },
  })

  const all = (): Buffer => store.subarray(0, size)

  const until = async (isEnough: (received: Uint8Array) => boolean, timeoutMs = 60_000): Promise<Uint8Array> => {
    const deadlineMs = performance.now() + timeoutMs
    for (;;) {
      if (isEnough(all()) || isClosed) return all()
      const leftMs = deadlineMs - performance.now()
      if (leftMs <= 0)
        throw new Error(`raw client: waited ${timeoutMs} ms, got ${all().length} bytes: ${all().toString('latin1').slice(0, 300)}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        arrived = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  const reset = (): void => socket.terminate()

  return {
    async send(piece) {
      let rest = typeof piece === 'string' ? Buffer.from(piece) : piece
      while (rest.length > 0 && !isClosed) {
        const free = new Promise<void>((resolve) => {
          drained = resolve
        })
        rest = rest.subarray(Math.max(0, socket.write(rest)))
        if (rest.length > 0) await free
      }
      socket.flush()
    },
    received: all,
    until,
    async response(timeoutMs) {
      for (;;) {
        const bytes = await until((some) => parseResponse(some.subarray(taken), isClosed)?.isComplete === true, timeoutMs)
        const response = parseResponse(bytes.subarray(taken), isClosed)
        if (response === undefined)
          throw new Error(`raw client: the server closed without an answer: ${Buffer.from(bytes).toString('latin1')}`)
        taken += response.end
        if (response.status >= 200) return response
      }
    },
    closed,
    isClosed: () => isClosed,
    halfClose: () => void socket.shutdown(),
    reset,
    [Symbol.dispose]: reset,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  }
}

/** One request on a connection of its own, its pieces `gapMs` apart; leaves after the answer. */
export async function sendRaw(url: string, pieces: readonly (Uint8Array | string)[], gapMs = 0): Promise<RawResponse> {
  const connection = await connectRaw(url)
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 && gapMs > 0) await Bun.sleep(gapMs)
    await connection.send(piece)
  }
  const response = await connection.response()
  connection.reset()
  return response
}

/** A request with its length: `Host` and `Content-Length` are added unless they are given. */
export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string = '',
): Uint8Array {
  const bytes = Buffer.from(body)
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const added = {
    ...(names.has('host') ? {} : { Host: 'localhost' }),
    ...(bytes.length === 0 || names.has('content-length') ? {} : { 'Content-Length': bytes.length }),
  }
  const lines = Object.entries({ ...added, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), bytes])
}

/** The answer at the start of `bytes`; undefined while its head is not whole. `isClosed` ends a body that has no framing. */
export function parseResponse(bytes: Uint8Array, isClosed: boolean): RawResponse | undefined {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const headEnd = input.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [line = '', ...lines] = input.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = lines.map((header): readonly [string, string] => [
    header.slice(0, header.indexOf(':')),
    header.slice(header.indexOf(':') + 1).trim(),
  ])
  const status = Number(line.split(' ')[1])
  const { body, isComplete, length } = readBody(input.subarray(headEnd + 4), status, headers, isClosed)
  const text = new TextDecoder().decode(body)
  return {
    status,
    headers,
    header: (name) => findHeader(headers, name),
    body,
    text,
    json: () => JSON.parse(text),
    isComplete,
    end: headEnd + 4 + length,
  }
}

function readBody(
  rest: Uint8Array,
  status: number,
  headers: RawResponse['headers'],
  isClosed: boolean,
): { body: Uint8Array; isComplete: boolean; length: number } {
  if (status < 200 || status === 204 || status === 304) return { body: new Uint8Array(), isComplete: true, length: 0 }
  if (findHeader(headers, 'transfer-encoding')?.toLowerCase() === 'chunked') {
    const read = readChunks(rest)
    return { body: read.bytes, isComplete: read.isComplete, length: read.end }
  }
  const length = findHeader(headers, 'content-length')
  if (length === undefined) return { body: rest, isComplete: isClosed, length: rest.length }
  return {
    body: rest.subarray(0, Number(length)),
    isComplete: rest.length >= Number(length),
    length: Math.min(rest.length, Number(length)),
  }
}
