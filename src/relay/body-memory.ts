/**
 * Bytes of request bodies in memory at once, over all requests: read, parsed, or kept for the upstream call. Beyond the bound a request is refused, not queued.
 * Source: reliability.md §5 (overload); product.md, the table under "Upstream" (our own overload).
 */

import type { World } from '../world.ts'

/** One request's share. */
export type BodyLease = Readonly<{
  /** Takes or gives back until the share is `bytes`. False: it would not fit, and nothing has changed. */
  resize(bytes: number): boolean
  /** Gives everything back; may be called any number of times. */
  release(): void
}>

/** Sixteen bodies of the largest size; parsing makes each of them several times larger, but only one is parsed at a time. */
const BODY_MEMORY_BYTES_MAX = 512 * 1024 * 1024

export class BodyMemory {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax = BODY_MEMORY_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  lease(): BodyLease {
    let share = 0
    const resize = (bytes: number): boolean => {
      const total = this.#bytes - share + bytes
      if (bytes > share && total > this.#bytesMax) return false
      this.#bytes = total
      share = bytes
      return true
    }
    return { resize, release: () => void resize(0) }
  }
}

const memoryOfWorlds = new WeakMap<World, BodyMemory>()

/** The memory of this world: all routes share the same one. */
export function bodyMemoryOf(world: World): BodyMemory {
  const known = memoryOfWorlds.get(world)
  if (known !== undefined) return known
  const memory = new BodyMemory()
  memoryOfWorlds.set(world, memory)
  return memory
}
