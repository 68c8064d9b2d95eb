/** The file descriptors of a process, as the kernel counts them: every connection takes one. Source: proc(5), getrlimit(2). */

import { readdirSync, readFileSync } from 'node:fs'

/** How many descriptors may be open at once: the soft limit, which Bun raises to the hard limit at start. Undefined where the system does not tell. */
export function descriptorLimit(pid: number | 'self' = 'self'): number | undefined {
  const text = readLimits(pid)
  const soft = /^Max open files +(\S+)/m.exec(text)?.[1] ?? ''
  if (soft === 'unlimited') return Number.POSITIVE_INFINITY
  return /^\d+$/.test(soft) ? Number(soft) : undefined
}

/** How long a count is told again: it costs the process a look at each of them. */
const COUNTED_EVERY_MS = 5_000
let counted: Readonly<{ open: number | undefined; atMs: number }> | undefined

/** As `openDescriptors`, as of some seconds ago at most. */
export function recentDescriptors(): number | undefined {
  const atMs = performance.now()
  if (counted === undefined || atMs - counted.atMs >= COUNTED_EVERY_MS) counted = { open: openDescriptors(), atMs }
  return counted.open
}

/** The number of open descriptors of this process, without the one that reads the list. */
export function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}

function readLimits(pid: number | 'self'): string {
  try {
    return readFileSync(`/proc/${pid}/limits`, 'latin1')
  } catch {
    return ''
  }
}
