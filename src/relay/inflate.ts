/**
 * Undoes a body's `content-encoding`, off this thread and never past the size limit: a kilobyte may stand for gigabytes. Rules: product.md "Requests";
 * reliability.md §9 A19; wire.md NM-16.
 */

import { brotliDecompress, gunzip, inflate as inflateZlib, zstdDecompress } from 'node:zlib'
import { Refusal } from '../core/refusal.ts'
import type { BodyLease } from './body-memory.ts'

type Decode = (bytes: Uint8Array, options: { maxOutputLength: number }, done: (error: Error | null, bytes: Buffer) => void) => void

const DECODERS = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflateZlib,
  br: brotliDecompress,
  zstd: zstdDecompress,
} as const satisfies Record<string, Decode>

/** `''` and `identity`: the bytes are the body. */
export type Encoding = keyof typeof DECODERS | 'identity' | ''

export const isEncoding = (name: string): name is Encoding => name === '' || name === 'identity' || Object.hasOwn(DECODERS, name)

export async function inflate(bytes: Uint8Array, encoding: Encoding, bytesMax: number, lease: BodyLease): Promise<Uint8Array | Refusal> {
  if (encoding === '' || encoding === 'identity') return bytes
  if (!lease.resize(bytes.byteLength + bytesMax)) return new Refusal('overloaded')
  const decoded = await decode(DECODERS[encoding], bytes, bytesMax)
  if (!(decoded instanceof Refusal)) lease.resize(decoded.byteLength)
  return decoded
}

const decode = (run: Decode, bytes: Uint8Array, bytesMax: number): Promise<Uint8Array | Refusal> =>
  new Promise((resolve) => {
    run(bytes, { maxOutputLength: bytesMax }, (error, decoded) => {
      if (error === null) return resolve(decoded)
      const isTooLarge = 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
      resolve(
        isTooLarge
          ? new Refusal('bodyTooLarge')
          : new Refusal('invalidRequest', { message: 'content-encoding: the request body cannot be decoded' }),
      )
    })
  })
