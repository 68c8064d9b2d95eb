/**
 * The notice that the people's store does not answer: at most one in ten seconds and log, with the count since the last, since a store that is away refuses every page.
 * Rules: pages.md "People".
 */

import type { Log } from './log.ts'

const EVERY_MS = 10_000

type Told = Readonly<{ atMs: number; count: number }>

const told = new WeakMap<Pick<Log, 'notice'>, Told>()

/** `problem`: that of the newest refusal. `now`: milliseconds that never jump. */
export function noticeAway(log: Pick<Log, 'notice'>, problem: string, now = performance.now()): void {
  const { atMs, count } = told.get(log) ?? { atMs: Number.NEGATIVE_INFINITY, count: 0 }
  const isDue = now - atMs >= EVERY_MS
  told.set(log, isDue ? { atMs: now, count: 0 } : { atMs, count: count + 1 })
  if (isDue) log.notice('the people cannot be asked', { problem, count: count + 1 })
}
