/**
 * Takes an upstream out, or puts it back, in every process that serves from this folder. It is one act with one line in the audit log. The first process for which the
 * act changes something writes the line, before any other process is told. Rules: pool.md "Taking one out"; operator.md "Processes", "Audit".
 */

import type { UpstreamReport } from '../upstream/member.ts'
import { type GatewayReply, orderThroughSockets, silentOf, upstreamsThroughSockets, type Waits } from './ask-gateways.ts'
import { type SocketFile, type SocketPlace, socketsOf } from './socket-files.ts'
import type { UpstreamOrder, UpstreamResult } from './upstreams.ts'

/**
 * The processes' replies as one: `isNew` if it is so for any of them, `running` as a sum, `left` as the least. `count`: processes that call upstreams; `places`:
 * those of them in which the order holds now; `silent`: processes without a reply. All others know no such upstream.
 */
export type OrderResult =
  | (Done & Readonly<{ count: number; places: number; silent: readonly SocketFile[] }>)
  | Exclude<UpstreamResult, { result: 'done' }>

type Done = Extract<UpstreamResult, { result: 'done' }>
type Answers = readonly GatewayReply<UpstreamResult>[]
type Asking = Readonly<{ waits?: Waits | undefined; but?: string }>

/** `absent`: no process listens. A process that begins meanwhile is told, too; one that begins later learns of the order from the others. `but`: a socket that is not asked. */
export async function orderEverywhere(
  place: SocketPlace,
  wish: UpstreamOrder,
  { waits, but }: Asking = {},
): Promise<OrderResult | 'absent'> {
  const asked = new Set(but === undefined ? [] : [but])
  const answers: GatewayReply<UpstreamResult>[] = []
  let { isNoted } = wish
  for (;;) {
    const sockets = socketsOf(place).filter(({ path }) => !asked.has(path))
    if (sockets.length === 0) return together(answers)
    for (const { path } of sockets) asked.add(path)
    const noting: Answers = isNoted ? [] : await noted(sockets, wish, waits)
    const done = noting.filter(({ said }) => isDone(said))
    isNoted ||= done.some(isChange)
    // The upstream is out in no process without a line in the log.
    if (!isNoted && done.length < noting.length) return { result: 'unavailable' }
    const others = sockets.filter((socket) => !done.some((answer) => answer.socket === socket))
    answers.push(...done, ...(await orderThroughSockets(others, { ...wish, isNoted }, waits)))
  }
}

/** Tells the processes for which the order changes something, one after another, until it has changed something for one. */
async function noted(sockets: readonly SocketFile[], wish: UpstreamOrder, waits: Waits | undefined): Promise<Answers> {
  const answers: GatewayReply<UpstreamResult>[] = []
  for (const { socket, said } of await upstreamsThroughSockets(sockets, waits)) {
    if (said === 'silent' || !isElsewise(said.reports, wish)) continue
    answers.push(...(await orderThroughSockets([socket], { ...wish, isNoted: false }, waits)))
    if (answers.some(isChange)) break
  }
  return answers
}

/** Whether an order would change something for the process that gave these reports. */
export const isElsewise = (reports: readonly UpstreamReport[], { upstream, isOut }: Pick<UpstreamOrder, 'upstream' | 'isOut'>): boolean =>
  reports.some(({ name, out }) => name === upstream && (out !== null) !== isOut)

const isDone = (said: UpstreamResult | 'silent'): said is Done => said !== 'silent' && said.result === 'done'
const isChange = ({ said }: GatewayReply<UpstreamResult>): boolean => isDone(said) && said.isNew

function together(answers: Answers): OrderResult | 'absent' {
  const all = answers.map(({ said }) => said)
  const done = all.filter(isDone)
  if (done.length === 0) return answers.length === 0 ? 'absent' : (all.find(isNot) ?? { result: 'unavailable' })
  // The ledger process of relays only remembers what is out.
  const relays = answers.filter(({ socket: { pid } }) => pid !== null)
  const callers = relays.length > 0 ? relays : answers
  return {
    result: 'done',
    isNew: done.some(({ isNew }) => isNew),
    running: done.reduce((sum, { running }) => sum + running, 0),
    left: Math.min(...done.map(({ left }) => left)),
    count: callers.length,
    places: callers.filter(({ said }) => isDone(said)).length,
    silent: silentOf(answers),
  }
}

const isNot = (said: UpstreamResult | 'silent'): said is Exclude<UpstreamResult, Done> => said !== 'silent' && !isDone(said)
