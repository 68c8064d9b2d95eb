/**
 * A process that begins beside others of its folder learns from them which upstreams are out, before its first call: an upstream does not come back because one of
 * several processes died. Rules: pool.md "Taking one out"; operator.md "Processes".
 */

import type { Log } from '../observe/log.ts'
import type { TakenOut } from '../upstream/member.ts'
import { upstreamsThroughSockets, type Waits } from './ask-gateways.ts'
import { type ListenOptions, listenOnOperatorSocket, type OperatedLedger } from './operator-socket.ts'
import { removeSocket, type SocketPlace, socketPathFor, socketsOf } from './socket-files.ts'
import type { Upstreams } from './upstreams.ts'

/** How long a hanging process may delay the start of another one. */
const WAITS = { memory: 2_000 }

type JoinOptions = Omit<ListenOptions, 'mayOrder'> &
  Readonly<{ upstreams: Upstreams; log: Pick<Log, 'notice'>; pid?: number; waits?: Pick<Waits, 'memory'> }>

/**
 * Listens first and asks the siblings then, so that an order reaches this process itself, or a sibling before it is asked. An order that comes meanwhile waits, so that
 * the later word counts. Sockets that dead processes left are removed.
 */
export async function joinSiblings(place: SocketPlace, ledger: OperatedLedger, options: JoinOptions): Promise<{ close(): void }> {
  const { upstreams, log, pid = process.pid, waits = WAITS, ...rest } = options
  const path = socketPathFor(place, pid)
  const { promise: mayOrder, resolve } = Promise.withResolvers<void>()
  const socket = listenOnOperatorSocket(path, ledger, { ...rest, upstreams, mayOrder })
  const siblings = socketsOf(place).filter((one) => one.path !== path)
  const answers = await upstreamsThroughSockets(siblings, waits)
  for (const sibling of siblings) if (!answers.some((answer) => answer.socket === sibling)) removeSocket(sibling.path)
  const taken = new Map<string, TakenOut>()
  for (const { said, socket: asked } of answers) {
    if (said === 'silent') log.notice('another process of this place did not say which upstreams are out', { socket: asked.path })
    else for (const { name, out } of said.reports) if (out !== null && out.at >= (taken.get(name)?.at ?? 0)) taken.set(name, out)
  }
  for (const { name: upstream } of upstreams.reports()) {
    const out = taken.get(upstream)
    if (out === undefined) continue
    upstreams.takeOut(upstream, out)
    log.notice('an upstream is out, as it is in the other processes', { upstream, by: out.by, reason: out.reason })
  }
  resolve()
  return socket
}
