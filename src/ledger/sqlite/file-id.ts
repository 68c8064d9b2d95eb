/** Identifies a file under whatever name: a path may be a link, and may later lead to another file. Rules: ledger.md "One writer". */

import { type BigIntStats, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Device and inode. */
export type FileId = string

export const idOf = ({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): FileId => `${dev}:${ino}`

/** The id of the file at the path; undefined: there is none, or it cannot be read. */
export function fileIdAt(path: string): FileId | undefined {
  try {
    return idOf(statSync(path, { bigint: true }))
  } catch {
    return undefined
  }
}

/** The path of the file behind any link: its log, its owner's socket and its watermark lie beside that. If there is no file, the path that it would get. */
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

/** The target of a link that leads to no file: an unmounted disk must not make the program begin a new ledger. */
export function danglingTarget(path: string): string | undefined {
  try {
    const target = readlinkSync(path)
    return fileIdAt(path) === undefined ? target : undefined
  } catch {
    return undefined
  }
}

/** The process that holds a lock on the file, if the kernel tells. Source: proc_locks(5). */
export function lockHolderOf(path: string): number | undefined {
  try {
    const inode = String(statSync(path, { bigint: true }).ino)
    for (const line of readFileSync('/proc/locks', 'latin1').split('\n')) {
      const [, kind, , mode, pid, place = ''] = line.trim().split(/\s+/)
      if (kind === 'FLOCK' && mode === 'WRITE' && place.split(':')[2] === inode && Number(pid) > 0) return Number(pid)
    }
  } catch {
    // There is no such file, or the system does not tell.
  }
  return undefined
}
