/**
 * Which upstream answered a conversation last, for as long as a vendor's prompt cache keeps it: where another one answers next, the prompt is written again that the
 * first would have read. Rules: pool.md "Affinity".
 */

import { Recent } from '../core/recent.ts'

/** `new`: nobody answered it of late. `kept`: the same upstream did. `moved`: another did. */
export type Affinity = 'new' | 'kept' | 'moved'

/** The shortest life of a vendor's cache; each use renews it. */
const WARM_MS = 5 * 60_000
/** Some 200 bytes each. */
const CONVERSATIONS_MAX = 50_000

export class Conversations {
  readonly #last = new Recent<Readonly<{ upstream: string; atMs: number }>>(CONVERSATIONS_MAX)

  /** A cache belongs to one model: a session's small model moves nothing of its large one. `nowMs` never jumps. */
  answered(conversation: Uint8Array, modelId: string, upstream: string, nowMs: number): Affinity {
    const key = `${conversation.toBase64()} ${modelId}`
    const last = this.#last.get(key)
    this.#last.set(key, { upstream, atMs: nowMs })
    if (last === undefined || nowMs - last.atMs >= WARM_MS) return 'new'
    return last.upstream === upstream ? 'kept' : 'moved'
  }
}
