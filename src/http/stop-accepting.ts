/**
 * Closes a listening socket and nothing else. `stop` of Bun's server would also break connections that are idle between two requests, while the next request may
 * be on its way. `/dev/null` takes the socket's place under its number, so that the server finds what it closes later. What the kernel has queued for the socket
 * goes to the other listeners of the port where `net.ipv4.tcp_migrate_req` is 1; otherwise it is reset. Linux only. Rules: operator.md "Upgrade";
 * platform.md "Bun's server"; https://docs.kernel.org/networking/ip-sysctl.html.
 */

import { FFIType } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'
import { dropHandshakes } from './drop-handshakes.ts'
import { listenersOn } from './kernel-sockets.ts'
import { libc } from './libc.ts'

/** Called once, before the server is stopped. `isAlone`: no other process takes over what is on its way. Resolves with false where the socket still listens. */
export type StopAccepting = (how: Readonly<{ isAlone: boolean }>) => Promise<boolean>

/** A handshake over a long way. */
const HANDSHAKE_MS = 500

/** Prepares to close the listening socket of `port`. The slow part is done now: at the close, new connections would wait in the queue meanwhile. */
export async function preparedToStopAccepting(port: number): Promise<StopAccepting> {
  const { i32 } = FFIType
  const calls = libc({ dup2: { args: [i32, i32], returns: i32 } })
  const sockets = await listenersOn(port)
  return async ({ isAlone }) => {
    if (calls === undefined || sockets.length === 0) return false
    if (isAlone && dropHandshakes(sockets)) await Bun.sleep(HANDSHAKE_MS)
    // Just after the server has accepted all that was there.
    await new Promise(setImmediate)
    const nothing = openSync('/dev/null', 'r')
    const gone = sockets.map((socket) => calls.dup2(nothing, socket) === socket)
    closeSync(nothing)
    return gone.every(Boolean)
  }
}
