/** A log that keeps its lines, parsed. */

import { type Log, type LogOptions, makeLog } from '../../src/observe/log.ts'

export type LogMemory = Readonly<{ log: Log; lines: () => readonly Readonly<Record<string, unknown>>[] }>

export function makeLogMemory(options: Pick<LogOptions, 'now'> = {}): LogMemory {
  const lines: Record<string, unknown>[] = []
  return { log: makeLog({ ...options, write: (line) => lines.push(JSON.parse(line)) }), lines: () => lines }
}
