/**
 * The user at the other end of a unix socket, as the kernel names it: a message cannot claim to be from another user. Rules: operator.md "Audit". Linux only.
 */

import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { peerOf } from '../ledger/relays/peer.ts'

/** The kernel's value for a process without a login. */
const NO_LOGIN = 0xff_ff_ff_ff

/** The user that connected to the socket `fd`, such as `os:alice`; undefined where the kernel does not tell. */
export function actorOfPeer(fd: number): string | undefined {
  const peer = peerOf(fd)
  return peer === undefined ? undefined : actorOf(peer.uid, peer.pid)
}

/** The user of this process, in the same form. */
export const ownActor = (): string => {
  const uid = process.getuid?.()
  return uid === undefined ? `os:${userInfo().username}` : actorOf(uid, process.pid)
}

/** The login of a process outlasts `sudo`, so it names the person behind a shared account. */
function actorOf(uid: number, pid: number): string {
  const login = loginOf(pid)
  const user = `os:${nameOf(uid)}`
  return login === undefined || login === uid ? user : `${user} (login ${nameOf(login)})`
}

function loginOf(pid: number): number | undefined {
  const login = Number.parseInt(textOf(`/proc/${pid}/loginuid`), 10)
  return Number.isNaN(login) || login === NO_LOGIN ? undefined : login
}

/** The user's name, or the number where there is none. */
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
