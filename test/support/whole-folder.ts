/** Folders that several test processes may make at once, each in one of its own that gets the name when it is whole: one that was stopped leaves nothing broken. */

import { existsSync, renameSync, rmSync } from 'node:fs'

/** Gives `made` the name `folder`. Where another process was the first, what it made stays, and `made` goes. */
export function nameWhole(made: string, folder: string): void {
  try {
    renameSync(made, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(made, { recursive: true, force: true })
  }
}
