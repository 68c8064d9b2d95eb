/**
 * The writer's lock, on the ledger's own inode: a second opener is refused whatever name it opens the file by, and there is no lock file that could be lost.
 * Rules: ledger.md "One writer".
 */

import { closeSync, fstatSync, openSync } from 'node:fs'
import type { LockedFile } from '../place.ts'
import { tryLock } from '../writing/flock.ts'
import { type FileId, fileIdAt, idOf, lockHolderOf } from './file-id.ts'

/** `release` must be called only after every connection to the file is closed. */
export type Lock = Readonly<{ file: LockedFile; release(): void }>
/** `holder`: the id of the process that holds the lock; undefined: it could not be read. */
export type Locked = Readonly<{ holder: number | undefined }>

/** POSIX drops all of a process's locks on a file when it closes any handle of it, SQLite's too: a file that is locked here is not opened again here. */
const heldHere = new Set<FileId>()

/** Throws what the file system says when the file cannot be opened for writing, or cannot be locked. */
export function takeLock(path: string): Lock | Locked {
  const seen = fileIdAt(path)
  if (seen !== undefined && heldHere.has(seen)) return { holder: process.pid }
  const handle = openSync(path, 'r+')
  try {
    const id = idOf(fstatSync(handle, { bigint: true }))
    // A file that was locked, but moved away in between, is not the ledger any more.
    if (!tryLock(handle) || fileIdAt(path) !== id) {
      const holder = lockHolderOf(path)
      closeSync(handle)
      return { holder }
    }
    heldHere.add(id)
    const release = (): void => {
      if (heldHere.delete(id)) closeSync(handle)
    }
    return { file: { id, handle }, release }
  } catch (error) {
    closeSync(handle)
    throw error
  }
}

/** Locks the folder while a file in it is made or replaced. Undefined: another process has the lock. */
export function whileFolderIsLocked<T>(folder: string, work: () => T): T | undefined {
  const handle = openSync(folder, 'r')
  try {
    return tryLock(handle) ? work() : undefined
  } finally {
    closeSync(handle)
  }
}
