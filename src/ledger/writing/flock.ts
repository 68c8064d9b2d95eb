/**
 * The kernel's lock on an open file, whatever name it was opened by. The lock ends with the last handle, and so with the process, also by `kill -9`. Bun has no call
 * for it. Source: flock(2) of Linux (glibc, musl) and of macOS. Rules: ledger.md "One writer".
 */

import { dlopen, FFIType, read } from 'bun:ffi'

const LOCK_EX = 2
const LOCK_NB = 4
const IS_MAC = process.platform === 'darwin'
const LIBRARIES = IS_MAC ? ['libSystem.B.dylib'] : ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]
const ERRNO_PLACE = IS_MAC ? '__error' : '__errno_location'
/** EWOULDBLOCK: another process holds it. */
const HELD = IS_MAC ? 35 : 11

let library: ReturnType<typeof openLibrary> | undefined

/** Locks the file for this handle alone. False: another handle has it. Throws where the file system or the machine knows no such lock. */
export function tryLock(handle: number): boolean {
  library ??= openLibrary()
  if (library.flock(handle, LOCK_EX | LOCK_NB) === 0) return true
  const errno = library.errno()
  if (errno === HELD) return false
  throw Object.assign(new Error(`flock is refused (errno ${errno})`), { syscall: 'flock', code: `${errno}` })
}

function openLibrary() {
  const { i32, ptr } = FFIType
  for (const name of LIBRARIES) {
    try {
      const { symbols } = dlopen(name, { flock: { args: [i32, i32], returns: i32 }, [ERRNO_PLACE]: { args: [], returns: ptr } })
      const place = symbols[ERRNO_PLACE] as unknown as () => Parameters<typeof read.i32>[0] | null
      const errno = (): number => {
        const at = place()
        return at === null ? 0 : read.i32(at)
      }
      return { flock: symbols.flock as (handle: number, operation: number) => number, errno }
    } catch {
      // Another C library has another file name.
    }
  }
  throw Object.assign(new Error('this system has no flock'), { syscall: 'flock', code: 'ENOSYS' })
}
