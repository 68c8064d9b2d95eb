/** A map of at most `entriesMax` entries; a new entry pushes out the least recently used one. */

import { LRUCache } from 'lru-cache'

export type BoundedMap<Value extends {}> = LRUCache<string, Value>

/**
 * `dispose` is told of what is deleted, replaced or pushed out. The bound is the sum of sizes, not the library's `max`, which allocates room for all entries at once: most
 * processes never hold a thousandth of the entries that they may.
 */
export const boundedMap = <Value extends {}>(entriesMax: number, dispose?: (value: Value, key: string) => void): BoundedMap<Value> =>
  new LRUCache<string, Value>({ maxSize: entriesMax, sizeCalculation: () => 1, ...(dispose === undefined ? {} : { dispose }) })
