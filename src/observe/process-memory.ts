/**
 * How much memory this process may use: what its control groups allow, else what the machine has. Rules: the Linux manual pages cgroups(7), "memory.max" of
 * version 2 and "memory.limit_in_bytes" of version 1. The limit of a group above the process's own binds the process, too.
 */

import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

type Memory = Readonly<{
  totalBytes: number
  /** A file's text; undefined when it cannot be read. */
  read(path: string): string | undefined
}>

export function processMemoryBytes({ totalBytes, read }: Memory = MACHINE): number {
  const groups = (read('/proc/self/cgroup') ?? '').split('\n').flatMap(filesOf)
  // "max", and the largest number that version 1 knows, say that there is no limit.
  const limits = groups.map((path) => Number.parseInt(read(path) ?? '', 10)).filter((limit) => limit > 0)
  return Math.min(totalBytes, ...limits)
}

/** The files that may limit us by one line of `/proc/self/cgroup`, `id:controllers:path`: the group's own and those of the groups above it. */
function filesOf(line: string): readonly string[] {
  const [id = '', controllers = '', ...rest] = line.split(':')
  const isUnified = id === '0' && controllers === ''
  if (!isUnified && !controllers.split(',').includes('memory')) return []
  const [root, file] = isUnified ? ['/sys/fs/cgroup', 'memory.max'] : ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes']
  const names = rest.join(':').split('/').filter(Boolean)
  return Array.from({ length: names.length + 1 }, (_, depth) => [root, ...names.slice(0, depth), file].join('/'))
}

const MACHINE: Memory = {
  totalBytes: totalmem(),
  read: (path) => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  },
}
