/**
 * Reads a client's body once: bounded in bytes, memory and time, decoded, checked. Source: spec "Limits"; product.md "Requests"; reliability.md §0.1, §0.9,
 * §9 A1–A20.
 */

import type { Body } from '../core/body.ts'
import { fromBytes } from '../core/byte-string.ts'
import { isObject } from '../core/json.ts'
import { scanJson } from '../core/json-scan.ts'
import { JSON_DEPTH_MAX, JSON_SEPARATORS_MAX, type Limits } from '../core/limits.ts'
import { Refusal } from '../core/refusal.ts'
import type { BodyLease } from './body-memory.ts'
import { inflate, isEncoding } from './inflate.ts'

/** A body must bring at least this much in every window (reliability.md A10); one that has stalled is not waited for, however much of it is here. */
export type Pace = Readonly<{ windowMs: number; windowBytesMin: number }>

const PACE: Pace = { windowMs: 10_000, windowBytesMin: 5_120 }

type Bounds = Pick<Limits, 'bodyBytes' | 'totalTimeoutMs'>

const bad = (message: string): Refusal => new Refusal('invalidRequest', { message })

/** `lease` grows with the body and is the caller's to release: the body stays in memory as long as the request runs. */
export async function readBody(request: Request, bounds: Bounds, lease: BodyLease, pace: Pace = PACE): Promise<Body | Refusal> {
  if (Number(request.headers.get('content-length') ?? 0) > bounds.bodyBytes) return new Refusal('bodyTooLarge')
  const encoding = (request.headers.get('content-encoding') ?? '').trim().toLowerCase()
  if (!isEncoding(encoding)) return bad('content-encoding: Input should be one of gzip, deflate, br, zstd')
  const sent = await collect(request, bounds, lease, pace)
  const bytes = sent instanceof Refusal ? sent : await inflate(sent, encoding, bounds.bodyBytes, lease)
  return bytes instanceof Refusal ? bytes : parse(withoutBom(bytes))
}

async function collect(request: Request, bounds: Bounds, lease: BodyLease, pace: Pace): Promise<Uint8Array | Refusal> {
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const parts: Uint8Array[] = []
  let length = 0
  let stopped: Refusal | undefined
  const unwatch = watch(bounds.totalTimeoutMs, pace, () => length, stop)
  function stop(refusal: Refusal): void {
    stopped ??= refusal
    reader.cancel().catch(() => undefined)
  }
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      length += read.value.byteLength
      if (length > bounds.bodyBytes) return new Refusal('bodyTooLarge')
      if (!lease.resize(length)) return new Refusal('overloaded')
      parts.push(read.value)
    }
  } catch {
    return stopped ?? bad('Invalid request body: it could not be read')
  } finally {
    unwatch()
    reader.releaseLock()
  }
  if (stopped !== undefined) return stopped
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

/** Stops a body that is too slow, and one that takes as long as a whole request may. Gives the function that ends the watch. */
function watch(totalMs: number, { windowMs, windowBytesMin }: Pace, length: () => number, stop: (refusal: Refusal) => void): () => void {
  let lengthBefore = 0
  const window = setInterval(() => {
    if (length() - lengthBefore < windowBytesMin) stop(bad('request body was not received in time'))
    lengthBefore = length()
  }, windowMs)
  const total = setTimeout(() => stop(new Refusal('timedOut')), totalMs)
  return () => {
    clearInterval(window)
    clearTimeout(total)
  }
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
