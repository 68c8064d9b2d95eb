/**
 * Finished answers of the responses format, kept for requests that refer to them: in memory, and on disk under the secret that asked. Rules: requests.md
 * "Remembered answers", "Kept answers".
 */

import type { SealingKey } from '../answers/sealing.ts'
import type { Forgotten } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { type Finished, piecesOf } from '../core/transcoder.ts'
import type { KeptElsewhere } from '../ledger/shared-answers.ts'
import { describeBug } from '../observe/bug.ts'
import type { World } from '../world.ts'
import { RESPONSE_TTL_MS, type ResponseMemory } from './response-memory.ts'

type Items = readonly Uint8Array[]

export type Remembering = Readonly<{
  world: Pick<World, 'clock' | 'log'>
  memory: ResponseMemory
  /** Undefined: memory only. */
  kept?: KeptElsewhere | undefined
}>

/** The most unknown ids of one request that are looked for on disk: each costs a read, and a body can name thousands. */
const MISSES_MAX = 64

/** Keeps a finished answer. It is paid for by then: whatever goes wrong here must not take it from its client. */
export function remember(
  { world, memory, kept }: Remembering,
  { key, sealing }: Readonly<{ key: Pick<KeyRecord, 'id' | 'accountId'>; sealing: SealingKey | undefined }>,
  finish: () => Finished | undefined,
): void {
  try {
    const finished = finish()
    if (finished === undefined) return
    memory.remember(key, finished)
    if (sealing !== undefined && kept !== undefined) keepOnDisk(kept, key.accountId, sealing, finished, world.clock.now() + RESPONSE_TTL_MS)
  } catch (error) {
    world.log.alarm('an answer could not be remembered', describeBug(error))
  }
}

function keepOnDisk(kept: KeptElsewhere, accountId: string, key: SealingKey, { responseId, items }: Finished, expiresAt: number): void {
  const parts = items.map(({ id, json }) => ({ ...(isOwn(id, responseId) ? { id } : {}), pieces: piecesOf(json) }))
  const itemIds = parts.flatMap(({ id }) => (id === undefined ? [] : [itemId(id)]))
  kept.keep({ key, accountId, id: answerId(responseId), items: itemIds, expiresAt, text: '', parts })
}

const isOwn = (id: string | undefined, responseId: string): id is string => id !== undefined && id !== '' && id !== responseId

/** The answers that one request brings from disk. An answer is brought once, as a whole with its items. */
export class Bringing {
  readonly #kept: Pick<KeptElsewhere, 'find'>
  readonly #sealing: SealingKey
  /** Counts more bytes; returns the refusal where they have no room. */
  readonly #count: (bytes: number) => Refusal | undefined
  readonly #answers = new Map<string, Items>()
  readonly #items = new Map<string, Uint8Array>()
  #misses = 0

  constructor(kept: Pick<KeptElsewhere, 'find'>, sealing: SealingKey, count: (bytes: number) => Refusal | undefined) {
    this.#kept = kept
    this.#sealing = sealing
    this.#count = count
  }

  /** The id of an answer or an item. */
  async find(id: string): Promise<Items | Forgotten | Refusal> {
    const here = this.#itemsOf(id)
    if (here !== undefined) return here
    if (this.#misses >= MISSES_MAX) return 'unknown'
    const found = await this.#kept.find(this.#sealing, answerId(id), itemId(id))
    if (found === 'unavailable') return new Refusal('storageUnavailable')
    if (typeof found === 'string') {
      this.#misses++
      return found
    }
    const { parts } = found
    const refusal = this.#count(parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0))
    if (refusal !== undefined) return refusal
    for (const { id: own, bytes } of parts) if (own !== undefined) this.#items.set(own, bytes)
    if (!this.#items.has(id))
      this.#answers.set(
        id,
        parts.map(({ bytes }) => bytes),
      )
    return this.#itemsOf(id) ?? 'unknown'
  }

  /** Copies an item into memory of its own: it moves to a thread, and would otherwise take all of its answer with it. */
  #itemsOf(id: string): Items | undefined {
    const item = this.#items.get(id)
    return this.#answers.get(id) ?? (item && [new Uint8Array(item)])
  }
}

const answerId = (id: string): string => `response ${id}`
const itemId = (id: string): string => `item ${id}`
