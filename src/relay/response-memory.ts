/**
 * Finished answers of the responses format, for an hour, in memory only: what `previous_response_id` and `item_reference` resolve from. A key sees only
 * its own. Kept as the bytes that were written, so that nothing is held twice and the bound is what is really held. Rules: requests.md "Remembered answers".
 */

import { LRUCache } from 'lru-cache'
import { parseExact } from '../core/bytes/exact-json.ts'
import type { Finished, Written } from '../core/transcoder.ts'
import { describeBug } from '../observe/bug.ts'
import type { World } from '../world.ts'

/** An answer's items, each as JSON, or where an item stands: in which answer, at which place. */
type Entry = readonly Written[] | Readonly<{ answer: string; index: number }>

/** What an entry, and each piece of an item, take beside their text. */
const ENTRY_BYTES = 200
const PIECE_BYTES = 150
const TTL_MS = 60 * 60_000
const BYTES_MAX = 64 * 1024 * 1024

export class ResponseMemory {
  readonly #entries: LRUCache<string, Entry>

  /** `now`: milliseconds of any clock that does not jump back. */
  constructor({ now, maxBytes = BYTES_MAX, ttlMs = TTL_MS }: { now: () => number; maxBytes?: number; ttlMs?: number }) {
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (entry, key) => ENTRY_BYTES + 2 * key.length + heldBytes(entry),
      ttl: ttlMs,
      ttlResolution: 0,
      perf: { now },
    })
  }

  /** Keeps an answer's items, its input included. An answer that alone would fill the memory is not kept. */
  remember(keyId: string, { responseId, items }: Finished): void {
    const answer = entryKey(keyId, responseId)
    this.#entries.set(
      answer,
      items.map(({ json }) => json),
    )
    if (!this.#entries.has(answer)) return
    for (const [index, { id }] of items.entries()) {
      if (id !== undefined && id !== '' && id !== responseId) this.#entries.set(entryKey(keyId, id), { answer, index })
    }
  }

  /** The items of a response, or the one item, by id; undefined when unknown, too old or pushed out. An item costs no more than itself. */
  recall(keyId: string, id: string): readonly unknown[] | undefined {
    return this.written(keyId, id)?.map((json) => parseExact(json.toString()))
  }

  /** The same as they were written: each item's JSON. */
  written(keyId: string, id: string): readonly Buffer[] | undefined {
    const entry = this.#entries.get(entryKey(keyId, id))
    if (entry === undefined) return undefined
    if (!('answer' in entry)) return entry.map(inOnePiece)
    const items = this.#entries.get(entry.answer)
    return items === undefined || 'answer' in items ? undefined : items.slice(entry.index, entry.index + 1).map(inOnePiece)
  }
}

/** Keeps a finished answer. It is paid for by then: whatever goes wrong here must not take it from its client. */
export function remember(
  { world, memory }: Readonly<{ world: World; memory: ResponseMemory }>,
  keyId: string,
  finish: () => Finished | undefined,
): void {
  try {
    const finished = finish()
    if (finished !== undefined) memory.remember(keyId, finished)
  } catch (error) {
    world.log.alarm('an answer could not be remembered', describeBug(error))
  }
}

const piecesOf = (json: Written): readonly Uint8Array[] => (json instanceof Uint8Array ? [json] : json)

const inOnePiece = (json: Written): Buffer => Buffer.concat(piecesOf(json))

const heldBytes = (entry: Entry): number =>
  'answer' in entry ? 0 : entry.flatMap(piecesOf).reduce((sum, piece) => sum + PIECE_BYTES + piece.byteLength, 0)

/** Ids of keys hold no colon, so that no id can reach into another key's entries. */
const entryKey = (keyId: string, id: string): string => `${keyId}:${id}`
