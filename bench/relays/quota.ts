/**
 * A quarter of a core for a process, by a control group of Linux. Quotas count in periods of ten milliseconds: with longer ones a process that has used its share
 * stands still for so long that its streams seem late.
 */

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PERIOD_US = 10_000
const SHARE = 0.25
const QUOTA_US = PERIOD_US * SHARE
/** Where the groups of processors are: in the first version each controller has a tree of its own, in the second all share one. */
const FIRST = '/sys/fs/cgroup/cpu'
const SECOND = '/sys/fs/cgroup'

export type Held = Readonly<{ release: () => void }>

/** Holds each of the processes to a quarter of a core; gives why this machine cannot. */
export function holdEach(pids: readonly number[]): Held | { why: string } {
  const folders: string[] = []
  const release = (): void => folders.splice(0).forEach(remove)
  try {
    for (const pid of pids) folders.push(held(pid))
    return { release }
  } catch (error) {
    release()
    return { why: `processes are not held to a quarter of a core: ${error instanceof Error ? error.message : String(error)}` }
  }
}

function held(pid: number): string {
  const isFirst = existsSync(join(FIRST, 'cpu.cfs_quota_us'))
  const folder = join(isFirst ? FIRST : SECOND, `tollgate-bench-${pid}`)
  mkdirSync(folder)
  if (isFirst) {
    writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US))
    writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(QUOTA_US))
  } else writeFileSync(join(folder, 'cpu.max'), `${QUOTA_US} ${PERIOD_US}`)
  writeFileSync(join(folder, 'cgroup.procs'), String(pid))
  return folder
}

/** Moves what is in the group back to the root, since a group with processes cannot be removed. */
function remove(folder: string): void {
  const root = folder.startsWith(`${FIRST}/`) ? FIRST : SECOND
  const pid = folder.slice(folder.lastIndexOf('-') + 1)
  if (existsSync(`/proc/${pid}`)) writeFileSync(join(root, 'cgroup.procs'), pid)
  rmdirSync(folder)
}
