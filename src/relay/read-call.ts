/** Reads a request's bytes into its call: a light body at once, a heavy one on a thread. Rules: requests.md "Bodies", "Heavy bodies". */

import { parseBody } from '../core/body.ts'
import type { Call } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { isLight, LIGHT_BYTES } from '../core/reading-cost.ts'
import { Refusal } from '../core/refusal.ts'
import type { KeptElsewhere } from '../ledger/shared-answers.ts'
import type { World } from '../world.ts'
import { askersKeyOf } from './asker.ts'
import type { BodyLease } from './body-memory.ts'
import type { BodyReader, HeavyBody } from './body-reader.ts'
import { type Pieces, UNREADABLE } from './read-body.ts'
import { readContext } from './read-context.ts'
import { READERS, type ReaderName } from './readers.ts'
import { AwaitedReferencedItems, ReferencedItems, type ReferencedItemsParts } from './referenced-items.ts'
import { Bringing } from './remembering.ts'
import type { ResponseMemory } from './response-memory.ts'

export type Reading = Readonly<{
  parts: Readonly<{ world: World; memory: ResponseMemory; kept?: KeptElsewhere | undefined; bodyReader: BodyReader }>
  request: Request
  key: KeyRecord
  /** Grows with the items of earlier answers that the request refers to. */
  lease: BodyLease
}>

/** Takes `pieces` over: those of a heavy body are gone afterwards. The echo of the call is of the type that the named reader makes. Throws by bugs only. */
export function readCall(name: ReaderName, reading: Reading, pieces: Pieces): Call<unknown> | Refusal | Promise<Call<unknown> | Refusal> {
  const bytes = inOnePiece(pieces)
  if (bytes === undefined || !isLight(bytes)) return readBeside(name, reading, pieces)
  const { parts, request, key } = reading
  const referenced = new ReferencedItems(referencedParts(reading, bytes.byteLength), parts.kept !== undefined, LIGHT_BYTES)
  const body = parseBody(bytes)
  const read = body instanceof Refusal ? body : READERS[name](body, readContext(parts.world, request, key, referenced.parsed))
  return referenced.isHeavy ? readBeside(name, reading, pieces) : (referenced.refusal ?? read)
}

const NOTHING = new Uint8Array()

/** Undefined: the body is too large to be joined here. */
function inOnePiece([first = NOTHING, ...more]: Pieces): Uint8Array | undefined {
  return more.length === 0 ? first : undefined
}

const referencedParts = ({ parts, key, lease }: Reading, bytes: number): ReferencedItemsParts => ({
  find: (id) => parts.memory.written(key.id, id),
  lease,
  bytes,
})

async function readBeside(name: ReaderName, reading: Reading, pieces: Pieces): Promise<Call<unknown> | Refusal> {
  const { parts, request, key } = reading
  const { kept } = parts
  const referenced = new AwaitedReferencedItems(
    referencedParts(reading, bytesOf(pieces)),
    (count) => kept && new Bringing(kept, askersKeyOf(request.headers), count),
  )
  const { headers, find: findModel, planCapPicos, tagsUserIds } = readContext(parts.world, request, key, () => 'unknown')
  const { signal } = request
  const recall = referenced.written
  const droppedPaths: HeavyBody['droppedPaths'] = (model) => parts.world.upstreams.droppedPaths(model)
  const looked = { headers, find: findModel, droppedPaths, recall, planCapPicos, tagsUserIds }
  const read = await parts.bodyReader.read({ reader: name, pieces, accountId: key.accountId, signal, ...looked })
  if (read !== 'left' && !(read instanceof Refusal)) referenced.count(cutBytesOf(read))
  // A client that left is refused like one that left while it sent its body.
  return referenced.refusal ?? (read === 'left' ? UNREADABLE : read)
}

/** The bytes of the bodies that were written anew for some of the upstreams. */
const cutBytesOf = ({ routing }: Call<unknown>): number =>
  (routing.notes?.cuts ?? []).reduce((sum, { made }) => sum + (made?.body.byteLength ?? 0), 0)

const bytesOf = (pieces: Pieces): number => pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
