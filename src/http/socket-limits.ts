/**
 * Lets the kernel bound what a client's socket may take of the gateway: it buffers little for clients that do not read, and resets them; and it takes in little at a
 * time of those that send. Bun offers no socket options, but an accepted socket inherits those of the listening one. Rules: requests.md "Backpressure"; platform.md
 * "Bun's server"; https://man7.org/linux/man-pages/man7/tcp.7.html, https://man7.org/linux/man-pages/man7/socket.7.html. Linux only; elsewhere the connection of a
 * client that does not read is closed, and its unsent bytes stay in the kernel until the kernel gives up.
 */

import { FFIType, ptr } from 'bun:ffi'
import { libc } from '../ledger/libc.ts'
import { listenersOn } from './kernel-sockets.ts'

const { i32, u32, ptr: pointer } = FFIType
const SOL_SOCKET = 1
const SO_RCVBUF = 8
const IPPROTO_TCP = 6
const TCP_USER_TIMEOUT = 18
const TCP_NOTSENT_LOWAT = 25

/** Unsent bytes that the kernel takes for one client; its own bound would be 4 MiB. Bytes that are under way do not count, so a fast reader is as fast. */
const UNSENT_BYTES_MAX = 256 * 1024
/**
 * Bytes that the kernel keeps of one client until the loop reads them; it takes twice as many. By itself it would keep 6 MiB, which the server reads in one turn: of
 * three uploads that holds the loop for 15 ms. Over a way of 100 ms a body comes at 2 MB a second.
 */
const UNREAD_BYTES_MAX = 128 * 1024
/** The stream's own limit passes this much earlier, so that what was delivered is charged before the connection breaks. */
const AFTER_OURS_MS = 1_000

/** Sets the limits for connections that `port` of this process accepts from now on. False where the kernel offers no such limits. */
export function limitSockets(port: number, writeStallMs: number): boolean {
  const calls = libc({ setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } })
  if (calls === undefined) return false
  const set = (fd: number, level: number, option: number, value: number): boolean =>
    calls.setsockopt(fd, level, option, ptr(new Int32Array([value])), Int32Array.BYTES_PER_ELEMENT) === 0
  const listeners = listenersOn(port)
  const areSet = listeners.map(
    (fd) =>
      set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, writeStallMs + AFTER_OURS_MS) &&
      set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX) &&
      set(fd, SOL_SOCKET, SO_RCVBUF, UNREAD_BYTES_MAX),
  )
  return listeners.length > 0 && areSet.every(Boolean)
}
