/**
 * Keeps SQLite from moving the log into the file when the last connection closes, which no setting prevents from here. SQLite needs the whole range of the file's locks for
 * that. A read lock that belongs to an open handle, and that no closing connection of this process drops, prevents it until the handle is closed.
 * Source: fcntl(2) "Open file description locks"; sqlite.org "File Locking And Concurrency". Rules: ledger.md "A ledger that is overwritten".
 */

import { dlopen, FFIType, ptr } from 'bun:ffi'

const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]
const SET_LOCK = 37 // F_OFD_SETLK
const READ_LOCK = 0 // F_RDLCK
const SHARED_FIRST = 0x4000_0002n
const SHARED_BYTES = 510n

/** The lock lasts for as long as `handle` is open. Only Linux has such a lock; on other systems the log is moved into the file. */
export function keepFromLastCheckpoint(handle: number): void {
  if (process.platform !== 'linux') return
  // struct flock: type, whence, start, length, pid.
  const lock = new DataView(new ArrayBuffer(32))
  lock.setInt16(0, READ_LOCK, true)
  lock.setBigInt64(8, SHARED_FIRST, true)
  lock.setBigInt64(16, SHARED_BYTES, true)
  for (const name of LIBRARIES) {
    try {
      const library = dlopen(name, { fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 } })
      library.symbols.fcntl(handle, SET_LOCK, ptr(lock))
      return
    } catch {
      // Another C library has another file name.
    }
  }
}
