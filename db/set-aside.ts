/** A database file and what lies beside it, out of the way and kept: under names with the time. Rules: ledger.md "Restore". */

import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from './open.ts'

/** `suffixes`: of the files, in the order in which they go. `now`: Unix milliseconds. The new names; on disk when this returns. */
export function setAside(path: string, suffixes: readonly string[], now: number): readonly string[] {
  const aside = `${path}.${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const moved: string[] = []
  for (const suffix of suffixes) {
    if (!existsSync(path + suffix)) continue
    renameSync(path + suffix, aside + suffix)
    moved.push(aside + suffix)
  }
  syncFolder(dirname(path))
  return moved
}
