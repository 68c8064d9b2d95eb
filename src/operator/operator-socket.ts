/**
 * The operator's way to a running gateway: a unix socket beside the ledger, for its owner only. One operation in, its result out; or what is held now, or how the upstreams
 * do. It is made by whoever holds the ledger's lock. Rules: ledger.md "One writer"; operator.md "Socket", "Audit".
 */

import { lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hold, Ledger } from '../ledger/ledger.ts'
import type { Act, Operation, OperationResult } from '../ledger/operation.ts'
import { realPathOf } from '../ledger/sqlite/file-id.ts'
import type { UpstreamReport } from '../upstream/member.ts'
import { holdsPage } from './holds-page.ts'
import { askLine, listenForLines } from './line-socket.ts'
import {
  type HoldsQuery,
  readHolds,
  readHoldsQuery,
  readOrder,
  readResult,
  readUpstreamOrder,
  readUpstreamResult,
  readUpstreams,
  writeMessage,
} from './message-json.ts'
import { actorOfPeer } from './peer.ts'
import { obey, type UpstreamOrder, type UpstreamResult, type Upstreams } from './upstreams.ts'

/** The kernel's limit is 108 bytes on Linux and 104 on macOS, with the closing zero and the process id that is behind the name at first. */
const PATH_BYTES_MAX = 92
const ANSWER_TIMEOUT_MS = 10_000
/** Only the owner may read and write. */
const UMASK = 0o177
const ALIVE = 'alive'

/** `<ledger>.sock` beside the file itself, whatever link led to it, or a hash of it in the temporary folder where that would be too long. */
export function socketPathOf(ledgerPath: string): string {
  const path = `${realPathOf(ledgerPath)}.sock`
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex').slice(0, 32)
  return join(tmpdir(), `tollgate-${hash}.sock`)
}

/** `onBug` is told what an operation threw. */
type ListenOptions = Readonly<{ upstreams?: Upstreams; onBug?: (bug: unknown) => void }>

/** Call it with the ledger's lock held: a socket file that is still there then belongs to a dead process. */
export function listenOnOperatorSocket(path: string, ledger: Ledger, options: ListenOptions = {}): { close(): void } {
  const { upstreams, onBug = () => undefined } = options
  removeSocket(path)
  // Bun takes away the name that it listens on when it stops, whose ever it is by then.
  const first = `${path}.${process.pid}`
  removeSocket(first)
  const umask = process.umask(UMASK)
  try {
    const server = listenForLines(first, (line, fd) => answer(line, fd, ledger, upstreams), onBug)
    renameSync(first, path)
    const made = statOf(path)?.ino
    return {
      close() {
        server.stop(true)
        // By now it may be the socket of another gateway, on a ledger that was put in the place of ours.
        if (statOf(path)?.ino === made) removeSocket(path)
      },
    }
  } finally {
    process.umask(umask)
  }
}

/** True when a gateway answers at the ledger's socket. */
export async function isGatewayRunning(ledgerPath: string): Promise<boolean> {
  return (await ask(ledgerPath, ALIVE)) === ALIVE
}

/**
 * `absent`: no gateway listens. `unavailable`: one does, but its answer did not come or was none of ours. The actor of `act` counts only where the gateway
 * cannot ask the kernel who is calling.
 */
export async function operateThroughSocket(ledgerPath: string, operation: Operation, act: Act): Promise<OperationResult | 'absent'> {
  const text = await ask(ledgerPath, `operate ${writeMessage({ operation, act })}`)
  if (text === undefined) return 'absent'
  return readResult(text) ?? { result: 'unavailable' }
}

/** A page of what a running gateway holds, oldest first. */
export async function holdsThroughSocket(ledgerPath: string, query: HoldsQuery): Promise<readonly Hold[] | 'absent' | 'unavailable'> {
  const text = await ask(ledgerPath, `holds ${writeMessage(query)}`)
  if (text === undefined) return 'absent'
  return readHolds(text) ?? 'unavailable'
}

/** How the upstreams of a running gateway do. */
export async function upstreamsThroughSocket(ledgerPath: string): Promise<readonly UpstreamReport[] | 'absent' | 'unavailable'> {
  const text = await ask(ledgerPath, 'upstreams now')
  if (text === undefined) return 'absent'
  return readUpstreams(text) ?? 'unavailable'
}

/** The actor of the order counts only where the gateway cannot ask the kernel who is calling. */
export async function orderUpstreamThroughSocket(ledgerPath: string, order: UpstreamOrder): Promise<UpstreamResult | 'absent'> {
  const text = await ask(ledgerPath, `upstream ${writeMessage(order)}`)
  if (text === undefined) return 'absent'
  return readUpstreamResult(text) ?? { result: 'unavailable' }
}

async function answer(line: string, fd: number, ledger: Ledger, upstreams: Upstreams | undefined): Promise<string> {
  if (line === ALIVE) return ALIVE
  const [, verb, body = ''] = /^(\w+) (.*)$/.exec(line) ?? []
  switch (verb) {
    case 'operate': {
      const order = readOrder(body)
      if (order === undefined) return writeResult({ result: 'refused', problem: 'the operation has an unknown form' })
      const { operation, act } = order
      return writeResult(await ledger.operate(operation, callerOf(fd, act)))
    }
    case 'holds': {
      const query = readHoldsQuery(body)
      return query === undefined ? 'unknown' : writeMessage(holdsPage(ledger.holds(), query))
    }
    case 'upstreams':
      return upstreams === undefined ? 'unknown' : writeMessage(upstreams.reports())
    case 'upstream': {
      const order = readUpstreamOrder(body)
      if (order === undefined || upstreams === undefined) return 'unknown'
      return writeMessage(await obey(upstreams, ledger, { ...order, act: callerOf(fd, order.act) }))
    }
    default:
      return 'unknown'
  }
}

/** Who the kernel says is calling, whatever the message claims. */
const callerOf = (fd: number, act: Act): Act => ({ ...act, actor: actorOfPeer(fd) ?? act.actor, address: 'socket' })

const writeResult = (result: OperationResult): string => JSON.stringify(result)

/** The text of the answer, '' where none came in time; undefined when nobody listens. A socket of another user is nobody. */
async function ask(ledgerPath: string, line: string): Promise<string | undefined> {
  const path = socketPathOf(ledgerPath)
  if (!isOurs(path)) return undefined
  const answered = await askLine(path, line, ANSWER_TIMEOUT_MS)
  if (answered === 'absent') return undefined
  return answered === 'silent' ? '' : answered.text
}

function isOurs(path: string): boolean {
  const stat = statOf(path)
  const user = process.getuid?.()
  return stat?.isSocket() === true && (user === undefined || user === 0 || stat.uid === user)
}

/** Undefined also where the folder is none, or closed to us. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) unlinkSync(path)
}
