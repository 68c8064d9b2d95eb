/** The thread of the history, from its own file. */

export const startHistoryThread = (): Worker => new Worker(new URL('../../src/history/thread.ts', import.meta.url))
