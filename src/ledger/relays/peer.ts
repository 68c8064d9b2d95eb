/**
 * The process at the other end of a unix socket, as the kernel names it. Linux only: https://man7.org/linux/man-pages/man7/unix.7.html (SO_PEERCRED). Also when it began
 * and whether it lives: proc(5), `/proc/pid/stat`. Rules: operator.md "Audit"; processes.md "Death".
 */

import { FFIType, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'
import { libc } from '../libc.ts'

const SOL_SOCKET = 1
const SO_PEERCRED = 17

export type Peer = Readonly<{ pid: number; uid: number }>

let readPeer: ((fd: number) => Peer | undefined) | undefined

/** Undefined where the kernel does not tell. */
export function peerOf(fd: number): Peer | undefined {
  readPeer ??= openPeerReader()
  return readPeer(fd)
}

/** When the process began, in the kernel's ticks, which tells it from a later process of the same number; undefined: there is no such process, or only a zombie. */
export function beginningOf(pid: number): string | undefined {
  try {
    // The name in parentheses may contain any characters.
    const [state, ...rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return state === 'Z' || state === 'X' ? undefined : rest[START_TIME]
  } catch {
    return undefined
  }
}

/** The index of `starttime`, the 22nd field, counted after the state. */
const START_TIME = 18

function openPeerReader(): (fd: number) => Peer | undefined {
  const { i32, ptr: pointer } = FFIType
  const calls = libc({ getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 } })
  return (fd) => {
    const credentials = new Int32Array(3)
    const length = new Uint32Array([credentials.byteLength])
    if (calls?.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ptr(credentials), ptr(length)) !== 0) return undefined
    const [pid = 0, uid = 0] = credentials
    return { pid, uid: uid >>> 0 }
  }
}
