/** From a request's bytes to its call: a small body at once, a large one on the thread for them. Rules: requests.md "Bodies", "Large bodies". */

import { parseBody } from '../core/body.ts'
import type { Call } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import type { World } from '../world.ts'
import type { BodyLease } from './body-memory.ts'
import type { BodyReader } from './body-reader.ts'
import { UNREADABLE } from './read-body.ts'
import { readContext } from './read-context.ts'
import { READERS, type ReaderName } from './readers.ts'
import { Recalling } from './recalling.ts'
import type { ResponseMemory } from './response-memory.ts'

/** Above it a body holds the loop for longer than a stream should wait. */
const LARGE_BYTES = 1024 * 1024

export type Reading = Readonly<{
  parts: Readonly<{ world: World; memory: ResponseMemory; bodyReader: BodyReader }>
  request: Request
  key: KeyRecord
  /** Grows with what the request refers to. */
  lease: BodyLease
}>

/** `bytes` are the reader's own: of a large body nothing is left of them. The call is as the named reader makes it, which knows its echo. Throws by bugs only. */
export function readCall(
  name: ReaderName,
  reading: Reading,
  bytes: Uint8Array,
): Call<unknown> | Refusal | Promise<Call<unknown> | Refusal> {
  if (bytes.byteLength >= LARGE_BYTES) return readBeside(name, reading, bytes)
  const { request, key, lease } = reading
  const recalling = new Recalling(finding(reading), lease, bytes.byteLength, LARGE_BYTES)
  const body = parseBody(bytes)
  const read = body instanceof Refusal ? body : READERS[name](body, readContext(reading.parts.world, request, key, recalling.parsed))
  return recalling.isLarge ? readBeside(name, reading, bytes) : (recalling.refusal ?? read)
}

const finding =
  ({ parts, key }: Pick<Reading, 'parts' | 'key'>) =>
  (id: string) =>
    parts.memory.written(key.id, id)

async function readBeside(name: ReaderName, reading: Reading, bytes: Uint8Array): Promise<Call<unknown> | Refusal> {
  const { parts, request, key, lease } = reading
  const find = finding(reading)
  const recalling = new Recalling(find, lease, bytes.byteLength)
  const { headers, find: findModel } = readContext(parts.world, request, key, recalling.parsed)
  const { signal } = request
  const recall = recalling.written
  const read = await parts.bodyReader.read({ reader: name, bytes, accountId: key.accountId, signal, headers, find: findModel, recall })
  // As for one that left while it sent its body.
  return recalling.refusal ?? (read === 'left' ? UNREADABLE : read)
}
