/**
 * Lets the kernel bound clients that do not read: it buffers little for them, and resets them. Bun offers no socket options, but an accepted socket inherits those of
 * the listening one. Rules: requests.md "Backpressure"; https://man7.org/linux/man-pages/man7/tcp.7.html. Linux only; elsewhere such a client's connection is closed,
 * and its unsent bytes stay in the kernel until the kernel gives up.
 */

import { FFIType, ptr } from 'bun:ffi'
import { listenersOn } from './kernel-sockets.ts'
import { libc } from './libc.ts'

const { i32, u32, ptr: pointer } = FFIType
const IPPROTO_TCP = 6
const TCP_USER_TIMEOUT = 18
const TCP_NOTSENT_LOWAT = 25

/** Unsent bytes that the kernel takes for one client; its own bound would be 4 MiB. Bytes that are under way do not count, so a fast reader is as fast. */
const UNSENT_BYTES_MAX = 256 * 1024
/** The stream's own limit passes this much earlier, so that what was delivered is charged before the connection breaks. */
const AFTER_OURS_MS = 1_000

/** Sets the limit for connections that `port` of this process accepts from now on. False where the kernel offers no such limit. */
export async function limitWrites(port: number, writeStallMs: number): Promise<boolean> {
  const calls = libc({ setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } })
  if (calls === undefined) return false
  const set = (fd: number, option: number, value: number): boolean =>
    calls.setsockopt(fd, IPPROTO_TCP, option, ptr(new Int32Array([value])), Int32Array.BYTES_PER_ELEMENT) === 0
  const listeners = await listenersOn(port)
  const areSet = listeners.map(
    (fd) => set(fd, TCP_USER_TIMEOUT, writeStallMs + AFTER_OURS_MS) && set(fd, TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX),
  )
  return listeners.length > 0 && areSet.every(Boolean)
}
