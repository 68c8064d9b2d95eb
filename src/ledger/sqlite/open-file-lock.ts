/**
 * Locks of an open file, which Bun has no call for: who holds one is a question to the kernel that takes a microsecond, and a lock that belongs to a handle is one that no closing
 * connection of this process drops. Only Linux has them. Source: fcntl(2) "Open file description locks".
 */

import { FFIType, ptr } from 'bun:ffi'
import { libc } from '../libc.ts'

const ASK_FOR_LOCK = 36 // F_OFD_GETLK
const SET_LOCK = 37 // F_OFD_SETLK
const READ_LOCK = 0 // F_RDLCK
const WRITE_LOCK = 1 // F_WRLCK

/** In bytes of the file. */
type Range = Readonly<{ first: bigint; bytes: bigint }>

let library: Readonly<{ calls: ReturnType<typeof openCalls> }> | undefined

/** Locks the range against writers for as long as `handle` is open. On other systems there is no lock. */
export function lockForReading(handle: number, range: Range): void {
  call(handle, SET_LOCK, range)
}

/** Whether another handle has a lock for writing in the range, of whatever process; false on other systems. */
export const isLockedForWriting = (handle: number, range: Range): boolean => call(handle, ASK_FOR_LOCK, range) === WRITE_LOCK

/** The type of lock that the kernel leaves in the call's structure. */
function call(handle: number, command: number, { first, bytes }: Range): number {
  // struct flock: type, whence, start, length, pid.
  const lock = new DataView(new ArrayBuffer(32))
  lock.setInt16(0, READ_LOCK, true)
  lock.setBigInt64(8, first, true)
  lock.setBigInt64(16, bytes, true)
  library ??= { calls: openCalls() }
  library.calls?.fcntl(handle, command, ptr(lock))
  return lock.getInt16(0, true)
}

const openCalls = () => libc({ fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 } })
