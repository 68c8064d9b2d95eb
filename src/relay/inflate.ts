/**
 * Undoes a body's `content-encoding` while it comes in, off this thread. The output is taken piece by piece, so that a kilobyte that stands for gigabytes is
 * stopped at the bound. Rules: requests.md "Encodings".
 */

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { Refusal } from '../core/refusal.ts'

/** The most bytes that a decoder gives at once. */
const CHUNK = { chunkSize: 64 * 1024 }

const DECODERS = {
  gzip: () => createGunzip(CHUNK),
  'x-gzip': () => createGunzip(CHUNK),
  deflate: () => createInflate(CHUNK),
  br: () => createBrotliDecompress(CHUNK),
  zstd: () => createZstdDecompress(CHUNK),
} as const satisfies Record<string, () => Transform>

/** `''` and `identity`: the bytes are the body. */
export type Encoding = keyof typeof DECODERS | 'identity' | ''

export const isEncoding = (name: string): name is Encoding => name === '' || name === 'identity' || Object.hasOwn(DECODERS, name)

/** Takes a body as it was sent, chunk by chunk, and passes its decoded bytes on. */
export type Decoder = Readonly<{
  /** Resolves when all that the chunk stands for has come out; with the refusal when the chunk cannot be decoded, or its bytes were refused. */
  write(chunk: Uint8Array): Promise<Refusal | undefined> | Refusal | undefined
  /** Called when the body has come to its end. */
  end(): Promise<Refusal | undefined> | Refusal | undefined
  /** Called when nothing more of the body is wanted. */
  close(): void
}>

/** `take` gets the decoded bytes, and may refuse them. */
export function makeDecoder(encoding: Encoding, take: (bytes: Uint8Array) => Refusal | undefined): Decoder {
  if (encoding === '' || encoding === 'identity') return { write: take, end: () => undefined, close: () => undefined }
  const stream: Transform = DECODERS[encoding]()
  let refusal: Refusal | undefined
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  stream.on('data', (bytes: Uint8Array) => {
    refusal ??= take(bytes)
    if (refusal !== undefined) stream.destroy()
  })
  stream.on('error', () => {
    refusal ??= new Refusal('invalidRequest', { message: 'content-encoding: the request body cannot be decoded' })
    close()
  })
  stream.on('close', close)
  stream.on('end', close)
  return {
    write: async (chunk) => {
      if (refusal !== undefined) return refusal
      const { promise: written, resolve } = Promise.withResolvers<void>()
      stream.write(chunk, () => resolve())
      await Promise.race([written, closed])
      return refusal
    },
    end: async () => {
      stream.end()
      await closed
      return refusal
    },
    close: () => void stream.destroy(),
  }
}
