/**
 * The user at the other end of a unix socket, as the kernel names it: a message cannot claim another. Rules: operator.md "Audit";
 * https://man7.org/linux/man-pages/man7/unix.7.html (SO_PEERCRED). Linux only.
 */

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'

const SOL_SOCKET = 1
const SO_PEERCRED = 17
const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]
/** The kernel's value for a process without a login. */
const NO_LOGIN = 0xff_ff_ff_ff

type Peer = Readonly<{ pid: number; uid: number }>

let readPeer: ((fd: number) => Peer | undefined) | undefined

/** `os:alice` for who connected to the socket `fd`; undefined where the kernel does not tell. */
export function actorOfPeer(fd: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  readPeer ??= openPeerReader()
  const peer = readPeer(fd)
  return peer === undefined ? undefined : actorOf(peer.uid, peer.pid)
}

/** The same of this process. */
export const ownActor = (): string => {
  const uid = process.getuid?.()
  return uid === undefined ? `os:${userInfo().username}` : actorOf(uid, process.pid)
}

/** The login that a process comes from outlasts `sudo`, so it names the person behind a shared account. */
function actorOf(uid: number, pid: number): string {
  const login = loginOf(pid)
  const user = `os:${nameOf(uid)}`
  return login === undefined || login === uid ? user : `${user} (login ${nameOf(login)})`
}

function loginOf(pid: number): number | undefined {
  const login = Number.parseInt(textOf(`/proc/${pid}/loginuid`), 10)
  return Number.isNaN(login) || login === NO_LOGIN ? undefined : login
}

/** The user's name, else the number. */
function nameOf(uid: number): string {
  const line = textOf('/etc/passwd')
    .split('\n')
    .find((entry) => entry.split(':')[2] === String(uid))
  return line?.split(':')[0] ?? String(uid)
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function openPeerReader(): (fd: number) => Peer | undefined {
  const { i32, ptr: pointer } = FFIType
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, { getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 } })
      return (fd) => {
        const credentials = new Int32Array(3)
        const length = new Uint32Array([credentials.byteLength])
        if (symbols.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ptr(credentials), ptr(length)) !== 0) return undefined
        const [pid = 0, uid = 0] = credentials
        return { pid, uid: uid >>> 0 }
      }
    } catch {
      // Another C library has another name.
    }
  }
  return () => undefined
}
