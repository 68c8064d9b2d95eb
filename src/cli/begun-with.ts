/** What every process that this program begins has in its environment, since the engine reads it at its start only. Rules: platform.md "Memory". */

/** The operator's own value of a variable wins. */
export const BEGUN_WITH = {
  /**
   * Whenever the loop waits, the allocator looks through the pages of its thread for holes to give back, on a thread of its own: 5 % of a request's CPU, and as much of
   * it again in pages that are soon wanted anew. A look a second gives the same memory back.
   */
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '1000',
} as const
