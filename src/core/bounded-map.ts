/** A map of at most so many entries: the least recently used goes. */

import { LRUCache } from 'lru-cache'

export type BoundedMap<Value extends {}> = LRUCache<string, Value>

/**
 * `dispose` is told of what is deleted, replaced or pushed out. By the sum of sizes and not by `max`, for which the library lays out all entries at once: most
 * processes never hold a thousandth of what they may.
 */
export const boundedMap = <Value extends {}>(entriesMax: number, dispose?: (value: Value, key: string) => void): BoundedMap<Value> =>
  new LRUCache<string, Value>({ maxSize: entriesMax, sizeCalculation: () => 1, ...(dispose === undefined ? {} : { dispose }) })
