/**
 * A running gateway's side of its operator's socket, which only its owner may use. It takes one operation and gives its result, or tells the present holds, the
 * state of the upstreams, or what a reload would change. On a ledger in a file the socket is made by the process that holds the ledger's lock. Rules: ledger.md "One writer"; operator.md "Socket",
 * "Audit".
 */

import { existsSync, renameSync } from 'node:fs'
import type { ReloadPreview } from '../config/reload-preview.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Act } from '../ledger/operation.ts'
import { holdsPage } from './holds-page.ts'
import { listenForLines } from './line-socket.ts'
import { ALIVE, readHoldsQuery, readOrder, readUpstreamOrder, WRITABLE, writeMessage } from './message-json.ts'
import type { Moment } from './moment.ts'
import { actorOfPeer } from './peer.ts'
import { firstNameOf, removeSocket, statOf } from './socket-files.ts'
import { obey, type UpstreamOrder, type Upstreams } from './upstreams.ts'

/** Only the owner may read and write. */
const UMASK = 0o177

/** The part of the ledger that operators reach. */
export type OperatedLedger = Pick<Ledger, 'operate' | 'holds' | 'isWritable'>

export type ListenOptions = Readonly<{
  upstreams?: Upstreams | undefined
  previewReload?: (() => ReloadPreview) | undefined
  /** What this process does now, for the ledger process of which it is a relay. */
  moment?: (() => Moment) | undefined
  /** The name of this process among those that write; default: it is the only one. */
  node?: string | undefined
  /** An order about an upstream waits until this resolves. */
  mayOrder?: Promise<void>
  /** Called with what an operation threw. */
  onBug?: (bug: unknown) => void
}>

/** A socket's file that was removed, such as by a clean-up of the folder, is made again within this time. */
const LOOK_EVERY_MS = 500

/** A socket that already has the name `path` must be of a dead process: on a ledger in a file, hold the ledger's lock at the call. */
export function listenOnOperatorSocket(path: string, ledger: OperatedLedger, options: ListenOptions = {}): { close(): void } {
  removeSocket(path)
  let socket = listenAt(path, ledger, options)
  const looking = setInterval(() => {
    if (existsSync(path)) return
    try {
      const again = listenAt(path, ledger, options)
      // The old socket still answers the commands that it has taken.
      socket.server.stop()
      socket = again
    } catch {
      // The folder is gone, or closed to us: the next look tries again.
    }
  }, LOOK_EVERY_MS)
  return {
    close() {
      clearInterval(looking)
      socket.server.stop(true)
      // The name may belong to the socket of another gateway by now, on a ledger that was put in the place of ours.
      if (statOf(path)?.ino === socket.inode) removeSocket(path)
    },
  }
}

function listenAt(path: string, ledger: OperatedLedger, options: ListenOptions) {
  // The socket is renamed once it listens, since a command that finds the name must find a listener. Also, when Bun stops listening it removes the name that it knows, even where
  // that is another socket's by then.
  const first = firstNameOf(path)
  removeSocket(first)
  const umask = process.umask(UMASK)
  try {
    const server = listenForLines(first, (line, fd) => answer(line, fd, ledger, options), options.onBug ?? (() => undefined))
    renameSync(first, path)
    return { server, inode: statOf(path)?.ino }
  } finally {
    process.umask(umask)
  }
}

async function answer(line: string, fd: number, ledger: OperatedLedger, options: ListenOptions): Promise<string> {
  const { upstreams, previewReload, moment, node, mayOrder } = options
  if (line === ALIVE) return ALIVE
  if (line === WRITABLE) return String(ledger.isWritable())
  const [, verb, body = ''] = /^(\w+) (.*)$/.exec(line) ?? []
  switch (verb) {
    case 'operate': {
      const order = readOrder(body)
      if (order === undefined) return writeMessage({ result: 'refused', problem: 'the operation has an unknown form' })
      const { operation, act } = order
      return writeMessage(await ledger.operate(operation, callerOf(fd, act)))
    }
    case 'holds': {
      const query = readHoldsQuery(body)
      return query === undefined ? 'unknown' : writeMessage(holdsPage(ledger.holds(), query))
    }
    case 'reload':
      return previewReload === undefined ? 'unknown' : JSON.stringify(previewReload())
    case 'upstreams':
      return upstreams === undefined ? 'unknown' : writeMessage({ node: node ?? null, reports: upstreams.reports() })
    case 'moment':
      return moment === undefined ? 'unknown' : writeMessage(moment())
    case 'upstream': {
      const order = readUpstreamOrder(body)
      if (order === undefined || upstreams === undefined) return 'unknown'
      await mayOrder
      return writeMessage(await obey(upstreams, ledger, asCalled(fd, order)))
    }
    default:
      return 'unknown'
  }
}

/** An order that the audit log has already keeps its actor. */
const asCalled = (fd: number, order: UpstreamOrder): UpstreamOrder => (order.isNoted ? order : { ...order, act: callerOf(fd, order.act) })

/** The actor is the one that the kernel names, whatever the message claims. */
const callerOf = (fd: number, act: Act): Act => ({ ...act, actor: actorOfPeer(fd) ?? act.actor, address: 'socket' })
