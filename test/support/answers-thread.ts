/** The thread of kept answers, from its own file. */

export const startAnswersThread = (): Worker => new Worker(new URL('../../src/answers/thread.ts', import.meta.url))
