/**
 * Which upstream answered a conversation last, kept as long as a vendor's prompt cache: where another upstream answers next, the prompt must be written to a cache
 * again. Rules: pool.md "Affinity".
 */

import { boundedMap } from '../core/bounded-map.ts'

/** `new`: no upstream has answered it of late. `kept`: the same upstream has. `moved`: another one has. */
export type Affinity = 'new' | 'kept' | 'moved'

/** The shortest life of a vendor's cache; each use renews it. */
const WARM_MS = 5 * 60_000
/** One conversation takes some 200 bytes. */
const CONVERSATIONS_MAX = 50_000

export class Conversations {
  readonly #last = boundedMap<Readonly<{ upstream: string; atMs: number }>>(CONVERSATIONS_MAX)

  /** The name of the upstream that has the conversation in its cache; undefined where none does. `nowMs` never jumps. */
  warm(conversation: Uint8Array, modelId: string, nowMs: number): string | undefined {
    const last = this.#last.get(keyOf(conversation, modelId))
    return last === undefined || nowMs - last.atMs >= WARM_MS ? undefined : last.upstream
  }

  answered(conversation: Uint8Array, modelId: string, upstream: string, nowMs: number): Affinity {
    const warm = this.warm(conversation, modelId, nowMs)
    this.#last.set(keyOf(conversation, modelId), { upstream, atMs: nowMs })
    if (warm === undefined) return 'new'
    return warm === upstream ? 'kept' : 'moved'
  }
}

/** A cache belongs to one model, so a conversation has an upstream for each of its models. */
const keyOf = (conversation: Uint8Array, modelId: string): string => `${conversation.toBase64()} ${modelId}`
