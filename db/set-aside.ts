/** Renames a database file and the files beside it, so that they are out of the way and kept: the new names have the time. Rules: ledger.md "Restore". */

import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from './open.ts'

/** `suffixes`: those of the files, in the order in which they are renamed. `now`: Unix milliseconds. Returns the new names, which are on disk by then. */
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
