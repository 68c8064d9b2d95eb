/**
 * Closes a listening socket and nothing else. `stop` of Bun's server would also break connections that are idle between two requests, while the next request may be on
 * its way. `/dev/null` takes the socket's place under its number, so that the server finds something to close later. Connections that the kernel has queued for the
 * socket go to the other listeners of the port where `net.ipv4.tcp_migrate_req` is 1; otherwise they are reset. Linux only. Rules: operator.md "Upgrade"; platform.md
 * "Bun's server"; https://docs.kernel.org/networking/ip-sysctl.html.
 */

import { FFIType } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'
import { libc } from '../ledger/libc.ts'
import { dropHandshakes } from './drop-handshakes.ts'
import { listenersOn } from './kernel-sockets.ts'

/**
 * Called once, before the server is stopped. `isAlone`: no other process takes over the connections that are on their way. Resolves with false where the socket still
 * listens.
 */
export type StopAccepting = (how: Readonly<{ isAlone: boolean }>) => Promise<boolean>

/** How long a handshake over a long way may take. */
const HANDSHAKE_MS = 500

/** Prepares to close the listening socket of `port`. The slow part is done here and not at the close, during which new connections wait in the queue. */
export function preparedToStopAccepting(port: number): StopAccepting {
  const { i32 } = FFIType
  const calls = libc({ dup2: { args: [i32, i32], returns: i32 } })
  const sockets = listenersOn(port)
  return async ({ isAlone }) => {
    if (calls === undefined || sockets.length === 0) return false
    if (isAlone && dropHandshakes(sockets)) await Bun.sleep(HANDSHAKE_MS)
    // The loop goes on just after the server has accepted all connections that were there.
    await new Promise(setImmediate)
    const nothing = openSync('/dev/null', 'r')
    const gone = sockets.map((socket) => calls.dup2(nothing, socket) === socket)
    closeSync(nothing)
    return gone.every(Boolean)
  }
}
