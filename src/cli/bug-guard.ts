/**
 * One bug must not take the process and every other stream with it: what nobody caught becomes an alarm. Its message stays unsaid, because it may quote a
 * secret; where it was thrown is told. Source: design.md "Elysia, Bun, SQLite"; reliability.md §0.4, §9 E23.
 */

import type { Log } from '../observe/log.ts'

const PLACES_MAX = 5

export function guardAgainstBugs(log: Pick<Log, 'alarm'>): void {
  process.on('uncaughtException', (error: unknown) => log.alarm('an exception that nobody caught', describeBug(error)))
  process.on('unhandledRejection', (reason: unknown) => log.alarm('a rejection that nobody caught', describeBug(reason)))
}

/** `at`: the innermost places of the stack, without the message that stands above them. */
function describeBug(bug: unknown): { error: string; at: string } {
  if (!(bug instanceof Error)) return { error: typeof bug, at: '' }
  const places = (bug.stack ?? '').split('\n').flatMap((line) => /^ +at (.+:\d+)\)?$/.exec(line)?.[1] ?? [])
  return { error: bug.name, at: places.slice(0, PLACES_MAX).join(' < ') }
}
