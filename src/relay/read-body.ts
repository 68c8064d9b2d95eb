/**
 * Reads a client's body once: bounded, decoded, checked. Also throws away the body of a request that was refused before it was read: a client that is still
 * sending would otherwise see a reset instead of the answer. Source: spec "Limits"; product.md "Requests"; reliability.md §0.2, §9 A1–A20.
 */

import type { Body } from '../core/body.ts'
import { fromBytes } from '../core/byte-string.ts'
import { isObject } from '../core/json.ts'
import { scanJson } from '../core/json-scan.ts'
import { JSON_DEPTH_MAX, JSON_SEPARATORS_MAX } from '../core/limits.ts'
import { Refusal } from '../core/refusal.ts'

/** Past these a client that keeps sending is cut off after all. */
const DRAIN_BYTES_MAX = 128 * 1024 * 1024
const DRAIN_MS_MAX = 5_000
/** A body slower than this after the grace is not waited for (reliability.md A10). */
const SLOW_GRACE_MS = 10_000
const SLOW_BYTES_PER_SECOND = 512

type CompressionFormat = ConstructorParameters<typeof DecompressionStream>[0]

const FORMATS: Readonly<Record<string, CompressionFormat>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'brotli',
  zstd: 'zstd',
}

const bad = (message: string): Refusal => new Refusal('invalidRequest', { message })

export async function readBody(request: Request, bytesMax: number): Promise<Body | Refusal> {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) return new Refusal('bodyTooLarge')
  const stream = decoded(request)
  if (stream instanceof Refusal) return stream
  const bytes = await collect(stream, bytesMax)
  return bytes instanceof Refusal ? bytes : parse(withoutBom(bytes))
}

/** Reads the rest of a body into nothing, for at most 5 s or 128 MiB. */
export async function drain(request: Request): Promise<void> {
  if (request.body === null || request.body.locked) return
  const reader = request.body.getReader()
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), DRAIN_MS_MAX)
  try {
    let length = 0
    for (let read = await reader.read(); !read.done && length < DRAIN_BYTES_MAX; read = await reader.read()) length += read.value.byteLength
  } catch {
    // The client is gone; there is nobody left to answer.
  } finally {
    clearTimeout(timer)
    reader.releaseLock()
  }
}

function decoded(request: Request): ReadableStream<Uint8Array> | Refusal {
  const encoding = (request.headers.get('content-encoding') ?? 'identity').trim().toLowerCase()
  const body = request.body ?? new Blob([]).stream()
  if (encoding === '' || encoding === 'identity') return body
  const format = FORMATS[encoding]
  if (format === undefined) return bad('content-encoding: Input should be one of gzip, deflate, br, zstd')
  return body.pipeThrough(new DecompressionStream(format) as unknown as ReadableWritablePair<Uint8Array, Uint8Array>)
}

async function collect(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array | Refusal> {
  const reader = stream.getReader()
  const startedAt = performance.now()
  const parts: Uint8Array[] = []
  let length = 0
  let isSlow = false
  const watch = setInterval(() => {
    const elapsedMs = performance.now() - startedAt
    if (elapsedMs < SLOW_GRACE_MS || length / (elapsedMs / 1000) >= SLOW_BYTES_PER_SECOND) return
    isSlow = true
    reader.cancel().catch(() => undefined)
  }, 1_000)
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      length += read.value.byteLength
      if (length > bytesMax) return new Refusal('bodyTooLarge')
      parts.push(read.value)
    }
  } catch {
    return bad('Invalid request body: it could not be read or decoded')
  } finally {
    clearInterval(watch)
    reader.releaseLock()
  }
  if (isSlow) return bad('request body was not received in time')
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

const withoutBom = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

function parse(bytes: Uint8Array): Body | Refusal {
  if (bytes.byteLength === 0) return bad('Invalid JSON: the request body is empty')
  const scanned = scanJson(fromBytes(bytes))
  if (scanned === 'too-deep') return bad(`Invalid JSON: nesting deeper than ${JSON_DEPTH_MAX} levels`)
  if (scanned === 'too-many-separators') return bad(`Invalid JSON: more than ${JSON_SEPARATORS_MAX} commas and colons`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return bad('Invalid JSON: the request body is not valid UTF-8')
  }
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? { bytes, json, members: scanned.members } : bad('Request body must be a JSON object')
  } catch (error) {
    return bad(
      `Invalid JSON: ${error instanceof Error ? error.message.replace(/^JSON Parse error: /, '').slice(0, 200) : 'it cannot be parsed'}`,
    )
  }
}
