/** A chat request to a call, and a stream through the transcoder: what every chat test starts from. */

import { parseExact } from '../../../../src/core/bytes/exact-json.ts'
import type { Model } from '../../../../src/core/catalog.ts'
import type { Call, Stamp } from '../../../../src/core/format.ts'
import { chatFormat } from '../../../../src/core/formats/chat/format.ts'
import type { ChatEcho } from '../../../../src/core/formats/chat/wire.ts'
import { Refusal } from '../../../../src/core/refusal.ts'
import { sha256Hex } from '../../../../src/relay/read-context.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../../support/golden.ts'
import { inOnePiece } from '../../../support/written.ts'

/** JSON of a shape that the test states by reading it. */
// biome-ignore lint/suspicious/noExplicitAny: a wrong path fails the test that takes it
export type Json = Record<string, any>

export const STAMP: Stamp = { createdSeconds: 1_764_000_000, requestId: 'req_0190' }

/** Reads a request for `GOLDEN_MODEL`, which rejects what is listed. */
export function read(json: unknown, rejects: readonly string[] = [], more: Partial<Model> = {}): Call<ChatEcho> | Refusal {
  const text = JSON.stringify(json)
  const model = { ...GOLDEN_MODEL, ...more, rejects: new Set(rejects) } as Model
  const body = { bytes: Buffer.from(text), json: JSON.parse(text), members: [] }
  const context = {
    headers: new Headers(),
    find: (id: string) => (id === model.id ? model : undefined),
    recall: () => 'unknown' as const,
    sha256Hex,
  }
  return chatFormat.read(body, context)
}

export function accepted(json: unknown, rejects: readonly string[] = [], more: Partial<Model> = {}): Call<ChatEcho> {
  const call = read(json, rejects, more)
  if (call instanceof Refusal) throw new Error(`refused: ${call.message}`)
  return call
}

/** The native body; `messages` and the like over `C0`, the smallest request. */
export function native(fields: Json, rejects: readonly string[] = [], more: Partial<Model> = {}): Json {
  return JSON.parse(nativeText(fields, rejects, more))
}

export const nativeText = (fields: Json, rejects: readonly string[] = [], more: Partial<Model> = {}): string =>
  Buffer.from(accepted({ ...C0, ...fields }, rejects, more).body).toString('utf8')

/** The message of the 400 that a request gets. */
export function refused(fields: Json, rejects: readonly string[] = []): string {
  const call = read({ ...C0, ...fields }, rejects)
  if (!(call instanceof Refusal)) throw new Error(`accepted: ${Buffer.from(call.body).toString('utf8')}`)
  if (call.row.status !== 400 || call.row.type !== 'invalid_request_error') throw new Error(`not a 400: ${call.name}`)
  return call.message
}

export const user = (content: unknown): Json => ({ role: 'user', content })

export const C0 = { model: GOLDEN_MODEL.id, messages: [user('hi')] }

/** A call as the golden streams answer it. */
export function call(echo: Partial<ChatEcho> = {}): Call<ChatEcho> {
  return {
    model: GOLDEN_MODEL,
    isStream: true,
    body: new Uint8Array(GOLDEN_BOUNDS.bodyBytes),
    routing: { conversation: '', modelAt: 0 },
    bounds: GOLDEN_BOUNDS,
    version: '2023-06-01',
    betas: '',
    includesCost: false,
    isStored: true,
    echo: { includesUsageChunk: false, isLegacy: false, customTools: new Set<string>(), ...echo },
  }
}

/** What a client sees of a stream: `now` leaves at once, `last` after the settle, or the fault that ends it. */
export type Streamed = Readonly<{ now: string; last: string; fault: Refusal | undefined; text: string }>

/** Pushes the chunks as the relay would, and fails the stream where it faults. */
export function stream(chunks: readonly Uint8Array[], forCall: Call<ChatEcho> = call()): Streamed {
  const transcoder = chatFormat.transcoder(forCall, STAMP)
  const now: Uint8Array[] = []
  for (const step of [...chunks.map((chunk) => () => transcoder.push(chunk)), () => transcoder.end('ended')]) {
    const pushed = step()
    if (pushed.now !== undefined) now.push(inOnePiece(pushed.now))
    if (pushed.last === undefined && pushed.fault === undefined) continue
    const last = pushed.fault === undefined ? inOnePiece(pushed.last) : transcoder.fail(pushed.fault)
    const parts = { now: Buffer.concat(now).toString('utf8'), last: Buffer.from(last).toString('utf8') }
    return { ...parts, fault: pushed.fault, text: parts.now + parts.last }
  }
  throw new Error('the stream did not end')
}

/** The data of each frame of a chat stream. Only the last, an error, has a second line: its name. */
export function dataOf(text: string): string[] {
  const frames = text.split('\n\n')
  if (frames.pop() !== '') throw new Error('the stream ends inside a frame')
  if (frames.at(-1)?.startsWith('data: {"error":')) frames.push((frames.pop() ?? '').replace(/\nevent: error$/, ''))
  return frames.map((frame) => {
    if (!frame.startsWith('data: ') || frame.includes('\n')) throw new Error(`not one data line: ${frame}`)
    return frame.slice('data: '.length)
  })
}

/** The chunks of a chat stream, without `[DONE]`. */
export const chunksOf = (text: string): Json[] =>
  dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => parseExact(data) as Json)

/** A native event as its frame. */
export const ev = (type: string, fields: Json = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

export const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'utf8'))
