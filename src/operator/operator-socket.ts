/**
 * A running gateway's side of its operator's socket, for its owner only. One operation in, its result out; or what is held now, or how the upstreams do. On a file it is
 * made by the process that holds the ledger's lock. Rules: ledger.md "One writer"; operator.md "Socket", "Audit".
 */

import { existsSync, renameSync } from 'node:fs'
import type { Ledger } from '../ledger/ledger.ts'
import type { Act } from '../ledger/operation.ts'
import { holdsPage } from './holds-page.ts'
import { listenForLines } from './line-socket.ts'
import { ALIVE, readHoldsQuery, readOrder, readUpstreamOrder, writeMessage } from './message-json.ts'
import { actorOfPeer } from './peer.ts'
import { firstNameOf, removeSocket, statOf } from './socket-files.ts'
import { obey, type UpstreamOrder, type Upstreams } from './upstreams.ts'

/** Only the owner may read and write. */
const UMASK = 0o177

/** The part of the ledger that operators reach. */
export type OperatedLedger = Pick<Ledger, 'operate' | 'holds'>

export type ListenOptions = Readonly<{
  upstreams?: Upstreams | undefined
  /** The name of this process among those that write; default: it is the only one. */
  node?: string | undefined
  /** An order about an upstream waits for it. */
  mayOrder?: Promise<void>
  /** Told what an operation threw. */
  onBug?: (bug: unknown) => void
}>

/** Makes the socket's file again within a second when it was removed, such as by a clean-up of the folder. */
const LOOK_EVERY_MS = 500

/** Whatever socket has the name `path` belongs to a dead process: on a file call it with the ledger's lock held. */
export function listenOnOperatorSocket(path: string, ledger: OperatedLedger, options: ListenOptions = {}): { close(): void } {
  removeSocket(path)
  let socket = listenAt(path, ledger, options)
  const looking = setInterval(() => {
    if (existsSync(path)) return
    try {
      const again = listenAt(path, ledger, options)
      // The old one still answers the commands that it is answering.
      socket.server.stop()
      socket = again
    } catch {
      // The folder is gone, or closed to us: it is tried again.
    }
  }, LOOK_EVERY_MS)
  return {
    close() {
      clearInterval(looking)
      socket.server.stop(true)
      // By now it may be the socket of another gateway, on a ledger that was put in the place of ours.
      if (statOf(path)?.ino === socket.inode) removeSocket(path)
    },
  }
}

function listenAt(path: string, ledger: OperatedLedger, options: ListenOptions) {
  // When Bun stops listening, it removes the name, even where that is another socket's by then. And a command that finds the name must find a listener.
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

async function answer(line: string, fd: number, ledger: OperatedLedger, { upstreams, node, mayOrder }: ListenOptions): Promise<string> {
  if (line === ALIVE) return ALIVE
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
    case 'upstreams':
      return upstreams === undefined ? 'unknown' : writeMessage({ node: node ?? null, reports: upstreams.reports() })
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

/** What is in the audit log stands there with its actor. */
const asCalled = (fd: number, order: UpstreamOrder): UpstreamOrder => (order.isNoted ? order : { ...order, act: callerOf(fd, order.act) })

/** Who the kernel says is calling, whatever the message claims. */
const callerOf = (fd: number, act: Act): Act => ({ ...act, actor: actorOfPeer(fd) ?? act.actor, address: 'socket' })
