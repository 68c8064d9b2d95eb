/** The program's version and the commit that it was made of. Rules: operator.md "Releases". */

import { join } from 'node:path'
import packageFile from '../../package.json' with { type: 'json' }

/** The commit that `bun run build` compiles in; empty where the build had no git. A program that runs from source does not have the name at all. */
declare const TOLLGATE_COMMIT: string

const ROOT = join(import.meta.dir, '../..')

/** The arguments with which git names the commit; the build uses them, too. */
export const DESCRIBE: readonly string[] = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']

export function versionText(): string {
  const commit = typeof TOLLGATE_COMMIT === 'undefined' ? commitOf(ROOT) : TOLLGATE_COMMIT
  return commit === '' ? packageFile.version : `${packageFile.version} (${commit})`
}

/** The commit of the checkout in this folder itself, never of one around it; empty where git does not answer. */
export function commitOf(folder: string): string {
  // Git takes no lock here, so that a commit at the same time succeeds.
  const git = ['git', '--no-optional-locks', '--git-dir', join(folder, '.git'), '--work-tree', folder]
  try {
    const asked = Bun.spawnSync([...git, ...DESCRIBE], { timeout: TIMEOUT_MS })
    return asked.exitCode === 0 ? asked.stdout.toString().trim() : ''
  } catch {
    // There is no git on this machine.
    return ''
  }
}

/** How long git may take: a disk may sleep, or be busy. */
const TIMEOUT_MS = 10_000
