/**
 * Finished answers of the responses format in memory, for an hour: what `previous_response_id` and `item_reference` resolve from. A key sees only its own answers, and
 * an account has a share of the memory. Answers are kept as the bytes that were written, so that nothing is held twice and the bound is what is really held. Rules:
 * requests.md "Remembered answers".
 */

import { LRUCache } from 'lru-cache'
import { boundedMap } from '../core/bounded-map.ts'
import type { Forgotten } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { type Finished, piecesOf, type Written } from '../core/transcoder.ts'

type Owner = Pick<KeyRecord, 'id' | 'accountId'>
type RememberedResponse = Readonly<{
  accountId: string
  items: readonly Written[]
  itemKeys: readonly string[]
  bytes: number
  until: number
}>
/** Where an item stands: in which answer, at which place. */
type ItemPlace = Readonly<{ answer: string; index: number }>

/** Memory of an answer, of each item with an id, and of each piece, beside their text. */
const ANSWER_BYTES = 300
const ITEM_BYTES = 200
const PIECE_BYTES = 150
export const RESPONSE_TTL_MS = 60 * 60_000
const BYTES_MAX = 64 * 1024 * 1024
const ACCOUNT_SHARE = 8
const GONE_MAX = 10_000

export class ResponseMemory {
  readonly #now: () => number
  readonly #accountBytesMax: number
  readonly #ttlMs: number
  readonly #answers: LRUCache<string, RememberedResponse>
  readonly #items = new Map<string, ItemPlace>()
  /** The answers of each account, oldest first. */
  readonly #accounts = new Map<string, { bytes: number; readonly answers: Set<string> }>()
  readonly #gone = boundedMap<Forgotten>(GONE_MAX)

  /** `now`: milliseconds of any clock that does not jump back. An account has an eighth of `bytesMax`. */
  constructor({ now, bytesMax = BYTES_MAX, ttlMs = RESPONSE_TTL_MS }: { now: () => number; bytesMax?: number; ttlMs?: number }) {
    this.#now = now
    this.#accountBytesMax = Math.floor(bytesMax / ACCOUNT_SHARE)
    this.#ttlMs = ttlMs
    this.#answers = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (answer, key) => this.#dropped(answer, key),
    })
  }

  /** Keeps an answer's items, its input included. The account's own oldest answers make room, then the oldest of all; one that is larger than a share is not kept. */
  remember({ id: keyId, accountId }: Owner, { responseId, items }: Finished): void {
    const key = entryKey(keyId, responseId)
    const ids = items.map(({ id }) => (id === undefined || id === '' || id === responseId ? undefined : entryKey(keyId, id)))
    const itemKeys = ids.filter((id) => id !== undefined)
    const bytes = ANSWER_BYTES + 2 * key.length + itemKeys.reduce((sum, { length }) => sum + ITEM_BYTES + 2 * length, 0) + heldBytes(items)
    this.#answers.delete(key)
    if (bytes > this.#accountBytesMax) {
      this.#gone.set(key, 'crowded')
      return
    }
    this.#makeRoom(accountId, bytes)
    const own = this.#accounts.get(accountId) ?? { bytes: 0, answers: new Set() }
    this.#accounts.set(accountId, own)
    own.bytes += bytes
    own.answers.add(key)
    for (const [index, id] of ids.entries()) if (id !== undefined) this.#items.set(id, { answer: key, index })
    this.#answers.set(key, { accountId, items: items.map(({ json }) => json), itemKeys, bytes, until: this.#now() + this.#ttlMs })
  }

  /** The items of a response, or the one item, by id, each as its JSON was written; otherwise why there are none. An item costs no more than itself. */
  written(keyId: string, id: string): readonly Buffer[] | Forgotten {
    const key = entryKey(keyId, id)
    const place = this.#answers.has(key) ? undefined : this.#items.get(key)
    const answerKey = place?.answer ?? key
    const answer = this.#answers.get(answerKey)
    if (answer === undefined) return this.#gone.get(key) ?? 'unknown'
    if (this.#now() < answer.until)
      return (place === undefined ? answer.items : answer.items.slice(place.index, place.index + 1)).map(inOnePiece)
    this.#answers.delete(answerKey)
    return 'expired'
  }

  #makeRoom(accountId: string, bytes: number): void {
    const own = this.#accounts.get(accountId)
    if (own === undefined) return
    for (const oldest of own.answers) {
      if (own.bytes + bytes <= this.#accountBytesMax) return
      this.#answers.delete(oldest)
    }
  }

  #dropped({ accountId, itemKeys, bytes, until }: RememberedResponse, key: string): void {
    const own = this.#accounts.get(accountId)
    if (own !== undefined) {
      own.bytes -= bytes
      own.answers.delete(key)
      if (own.answers.size === 0) this.#accounts.delete(accountId)
    }
    for (const item of itemKeys) if (this.#items.get(item)?.answer === key) this.#items.delete(item)
    this.#gone.set(key, this.#now() < until ? 'crowded' : 'expired')
  }
}

const inOnePiece = (json: Written): Buffer => Buffer.concat(piecesOf(json))

const heldBytes = (items: Finished['items']): number =>
  items.flatMap(({ json }) => piecesOf(json)).reduce((sum, piece) => sum + PIECE_BYTES + piece.byteLength, 0)

/** Ids of keys hold no colon, so that no id can reach into another key's entries. */
const entryKey = (keyId: string, id: string): string => `${keyId}:${id}`
