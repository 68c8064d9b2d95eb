/** Which file it is, under whatever name: a path may be a link, and may come to name another file. Rules: ledger.md "One writer". */

import { type BigIntStats, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Device and inode. */
export type FileId = string

export const idOf = ({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): FileId => `${dev}:${ino}`

/** Undefined where nothing is, or nothing can be seen. */
export function fileIdAt(path: string): FileId | undefined {
  try {
    return idOf(statSync(path, { bigint: true }))
  } catch {
    return undefined
  }
}

/** The file's own path: beside it are its log, its lock's owner's socket, its mark. Where no file is, the one that it would get. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    try {
      return join(realpathSync(dirname(path)), basename(path))
    } catch {
      return path
    }
  }
}

/** Where a link points to that leads nowhere: a disk that is not mounted is no reason to begin a new ledger. */
export function danglingTarget(path: string): string | undefined {
  try {
    const target = readlinkSync(path)
    return fileIdAt(path) === undefined ? target : undefined
  } catch {
    return undefined
  }
}

/** The process that holds a lock on the file, where the kernel tells. Source: proc_locks(5). */
export function lockHolderOf(path: string): number | undefined {
  try {
    const inode = String(statSync(path, { bigint: true }).ino)
    for (const line of readFileSync('/proc/locks', 'latin1').split('\n')) {
      const [, kind, , mode, pid, place = ''] = line.trim().split(/\s+/)
      if (kind === 'FLOCK' && mode === 'WRITE' && place.split(':')[2] === inode && Number(pid) > 0) return Number(pid)
    }
  } catch {
    // No such file, or a system that does not tell.
  }
  return undefined
}
