/**
 * What the kernel does for us about clients that do not read: it keeps little for them, and resets them. Bun gives no hand on sockets, but an accepted socket
 * inherits the options of the one that listens. Rules: product.md "Changed after measuring" (a client over its write stall is reset); tcp(7): TCP_USER_TIMEOUT,
 * TCP_NOTSENT_LOWAT. Linux only; elsewhere such a client is closed, and what waits for it stays in the kernel until the kernel gives up.
 */

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const IPPROTO_TCP = 6
const TCP_USER_TIMEOUT = 18
const TCP_NOTSENT_LOWAT = 25
const LISTENING = '0A'
const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]

/** Unsent bytes that the kernel takes for one client; its own bound would be 4 MiB. Above what is under way, so a fast reader is as fast. */
const UNSENT_BYTES_MAX = 256 * 1024
/** The stream's own limit passes first, so that what was delivered is charged before the connection breaks. */
const AFTER_OURS_MS = 1_000

/** For connections that `port` of this process accepts from now on. False where the kernel cannot be told. */
export function limitWrites(port: number, writeStallMs: number): boolean {
  if (process.platform !== 'linux') return false
  const set = openSetsockopt()
  if (set === undefined) return false
  const listeners = listenersOn(port)
  const areSet = listeners.map(
    (fd) => set(fd, TCP_USER_TIMEOUT, writeStallMs + AFTER_OURS_MS) && set(fd, TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX),
  )
  return listeners.length > 0 && areSet.every(Boolean)
}

type SetOption = (fd: number, option: number, value: number) => boolean

function openSetsockopt(): SetOption | undefined {
  const { i32, u32, ptr: pointer } = FFIType
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, { setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } })
      return (fd, option, value) =>
        symbols.setsockopt(fd, IPPROTO_TCP, option, ptr(new Int32Array([value])), Int32Array.BYTES_PER_ELEMENT) === 0
    } catch {
      // Another C library has another name.
    }
  }
  return undefined
}

/** Descriptors of this process that listen on a port. Source: proc(5), `/proc/net/tcp`. */
function listenersOn(port: number): readonly number[] {
  const ours = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const inodes = new Set<string>()
  for (const table of ['tcp', 'tcp6'])
    for (const line of readLines(`/proc/self/net/${table}`)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      if (state === LISTENING && local.endsWith(ours)) inodes.add(`socket:[${inode}]`)
    }
  return readdirSync('/proc/self/fd')
    .filter((fd) => inodes.has(targetOf(fd)))
    .map(Number)
}

/** Nothing where there is no IPv6. */
function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** The descriptor that read the folder is gone by now. */
function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
