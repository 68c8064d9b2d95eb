/** An uncaught error becomes an alarm: one bug must not end the process and every other stream. Rules: platform.md "Rejections". */

import { describeBug } from '../observe/bug.ts'
import type { Log } from '../observe/log.ts'

export function guardAgainstBugs(log: Pick<Log, 'alarm'>): void {
  process.on('uncaughtException', (error: unknown) => log.alarm('an uncaught exception', describeBug(error)))
  process.on('unhandledRejection', (reason: unknown) => log.alarm('an unhandled rejection', describeBug(reason)))
}
