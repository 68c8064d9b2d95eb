/**
 * The commands' side of the operator's sockets: asks every process that serves from this folder, or the one that writes a file. Rules: ledger.md "One writer";
 * operator.md "Socket", "Processes".
 */

import type { ReloadPreview } from '../config/reload-preview.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { Act, Operation, OperationResult } from '../ledger/operation.ts'
import { holdsPage } from './holds-page.ts'
import { askLine } from './line-socket.ts'
import {
  ALIVE,
  type HoldsQuery,
  type NodeUpstreams,
  readHolds,
  readResult,
  readUpstreamResult,
  readUpstreams,
  WRITABLE,
  writeMessage,
} from './message-json.ts'
import type { Moment } from './moment.ts'
import { readMoment } from './moment-json.ts'
import { readPreview } from './reload-message.ts'
import { type SocketFile, type SocketPlace, socketsOf } from './socket-files.ts'
import type { UpstreamOrder, UpstreamResult } from './upstreams.ts'

/** Milliseconds that an answer may take: `ledger` where the process has to wait for the ledger, `memory` where the process knows the answer itself. */
export type Waits = Readonly<{ ledger: number; memory: number }>
const WAITS: Waits = { ledger: 10_000, memory: 3_000 }
/** An import writes up to 20,000 keys in one transaction. */
const IMPORT_WAIT_MS = 120_000
/** A socket with a listener answers at once. */
const ALIVE_TIMEOUT_MS = 300

/** A process that listens, and what it said; `silent`: it said nothing, said something unknown or too much, or was late. */
export type GatewayReply<T extends object> = Readonly<{ socket: SocketFile; said: T | 'silent'; isTooLong?: true }>

/** The socket of the process that has the file open: its relays write nothing themselves. */
const writerOf = (path: string): readonly SocketFile[] => socketsOf({ kind: 'sqlite', path }).filter(({ pid }) => pid === null)

/** True when a gateway answers at the socket of a ledger in a file. */
export async function isGatewayRunning(ledgerPath: string): Promise<boolean> {
  const [answer] = await askEach(writerOf(ledgerPath), ALIVE, (text) => ({ isAlive: text === ALIVE }))
  return answer !== undefined && answer.said !== 'silent' && answer.said.isAlive
}

/** False when the gateway of a ledger in a file says that it can write nothing there now, and so refuses all requests. */
export async function isGatewayWriting(ledgerPath: string): Promise<boolean> {
  const [answer] = await askEach(writerOf(ledgerPath), WRITABLE, (text) => ({ isWriting: text !== 'false' }))
  return answer === undefined || answer.said === 'silent' || answer.said.isWriting
}

/**
 * Gives an operation to the gateway of a ledger in a file. `absent`: no gateway listens. `unavailable`: one does, but its answer did not come or was unknown. The actor
 * of `act` counts only where the gateway cannot ask the kernel who is calling.
 */
export async function operateThroughSocket(ledgerPath: string, operation: Operation, act: Act): Promise<OperationResult | 'absent'> {
  const waitMs = operation.kind === 'importKeys' ? IMPORT_WAIT_MS : WAITS.ledger
  const [answer] = await askEach(writerOf(ledgerPath), `operate ${writeMessage({ operation, act })}`, readResult, waitMs)
  if (answer === undefined) return 'absent'
  return answer.said === 'silent' ? { result: 'unavailable' } : answer.said
}

/** `silent`: those of the `count` gateways that said nothing. */
export type HeldThere = Readonly<{ holds: readonly Hold[]; count: number; silent: readonly SocketFile[] }>

/** A page of what the gateways of that place hold, oldest first. */
export async function holdsThroughSockets(place: SocketPlace, query: HoldsQuery, timeoutMs = WAITS.memory): Promise<HeldThere> {
  const answers = await askEach(socketsOf(place), `holds ${writeMessage(query)}`, readHolds, timeoutMs)
  const holds = answers.flatMap(({ said }) => (said === 'silent' ? [] : said))
  return { holds: holdsPage(holds, query), count: answers.length, silent: silentOf(answers) }
}

/** The state of the upstreams in each gateway. */
export const upstreamsThroughSockets = (
  sockets: readonly SocketFile[],
  { memory }: Pick<Waits, 'memory'> = WAITS,
): Promise<readonly GatewayReply<NodeUpstreams>[]> => askEach(sockets, 'upstreams now', readUpstreams, memory)

/** What a reload of a gateway of that place would change; of several the first that answers, since all read the same file. */
export async function previewThroughSocket(place: SocketPlace): Promise<ReloadPreview | 'absent' | 'silent'> {
  const sockets = place.kind === 'sqlite' ? writerOf(place.path) : socketsOf(place)
  const answers = await askEach(sockets, 'reload preview', readPreview, WAITS.memory)
  const said = answers.find((answer) => answer.said !== 'silent')?.said
  return said ?? (answers.length === 0 ? 'absent' : 'silent')
}

/** The replies of those that call upstreams, and of the silent: the ledger process of relays only remembers what is out, and tells it to a relay that begins. */
export const callersAmong = (replies: readonly GatewayReply<NodeUpstreams>[]): readonly GatewayReply<NodeUpstreams>[] =>
  replies.some(({ socket: { pid }, said }) => pid !== null && said !== 'silent')
    ? replies.filter(({ socket: { pid }, said }) => pid !== null || said === 'silent')
    : replies

/** What each relay of a ledger in a file does now. */
export const momentsOfRelays = (place: SocketPlace, timeoutMs: number): Promise<readonly GatewayReply<Moment>[]> =>
  askEach(
    socketsOf(place).filter(({ pid }) => pid !== null),
    'moment now',
    readMoment,
    timeoutMs,
  )

/** Gives an order to each gateway. The actor of an order that is not noted yet counts only where the gateway cannot ask the kernel who is calling. */
export const orderThroughSockets = (
  sockets: readonly SocketFile[],
  order: UpstreamOrder,
  { ledger, memory }: Waits = WAITS,
): Promise<readonly GatewayReply<UpstreamResult>[]> =>
  askEach(sockets, `upstream ${writeMessage(order)}`, readUpstreamResult, order.isNoted ? memory : ledger)

export const silentOf = (answers: readonly GatewayReply<object>[]): readonly SocketFile[] =>
  answers.filter(({ said }) => said === 'silent').map(({ socket }) => socket)

/** Asks all at once; sockets without a listener are left out. */
async function askEach<T extends object>(
  sockets: readonly SocketFile[],
  line: string,
  read: (text: string) => T | undefined,
  timeoutMs: number = WAITS.ledger,
): Promise<readonly GatewayReply<T>[]> {
  const asked = sockets.map(async (socket): Promise<readonly GatewayReply<T>[]> => {
    const answered = await askLine(socket.path, line, timeoutMs)
    if (answered === 'absent') return []
    if (answered === 'too long') return [{ socket, said: 'silent', isTooLong: true }]
    if (answered !== 'silent') return [{ socket, said: read(answered.text) ?? 'silent' }]
    // A process that ended while it was asked is left out, like one that had ended before.
    return (await askLine(socket.path, ALIVE, ALIVE_TIMEOUT_MS)) === 'absent' ? [] : [{ socket, said: 'silent' }]
  })
  return (await Promise.all(asked)).flat()
}
