/**
 * The same act as in order-everywhere.ts, from the console of a gateway: the gateway writes the line of the audit log in the person's name, and tells the other
 * processes of its folder. Rules: pool.md "Taking one out"; operator.md "Processes", "Audit".
 */

import type { Ledger } from '../ledger/ledger.ts'
import type { UpstreamReport } from '../upstream/member.ts'
import { silentOf, upstreamsThroughSockets, type Waits } from './ask-gateways.ts'
import { isElsewise, type OrderResult, orderEverywhere } from './order-everywhere.ts'
import { type SocketPlace, socketPathFor, socketsOf } from './socket-files.ts'
import { obey, type UpstreamOrder, type Upstreams } from './upstreams.ts'

/** The gateway itself. `pid`: by default that of this process. */
export type Own = Readonly<{ upstreams: Upstreams; ledger: Pick<Ledger, 'operate'>; pid?: number; waits?: Waits }>

export async function orderFromWithin(
  place: SocketPlace,
  wish: Omit<UpstreamOrder, 'isNoted'>,
  { upstreams, ledger, pid = process.pid, waits }: Own,
): Promise<OrderResult> {
  const { upstream, isOut, act, now } = wish
  const path = socketPathFor(place, pid)
  const siblings = await upstreamsThroughSockets(
    socketsOf(place).filter((one) => one.path !== path),
    waits,
  )
  const reports = [upstreams.reports(), ...siblings.map(({ said }) => (said === 'silent' ? [] : said.reports))]
  const isNoted = reports.some((all) => isElsewise(all, wish))
  const noted = isNoted ? await ledger.operate({ kind: 'setUpstreamOut', upstream, isOut, now }, act) : undefined
  if (noted !== undefined && noted.result !== 'done') return noted
  // The act was done before under the same Idempotency-Key, and what was ordered since stays.
  if (noted?.repeats !== undefined) return unchanged(reports, upstream, silentOf(siblings))
  const own = await obey(upstreams, ledger, { ...wish, isNoted })
  if (own.result !== 'done') return own
  // The token is looked at by the ledger alone, which has the line by now.
  const { by: _, ...told } = act
  const others = siblings.length === 0 ? 'absent' : await orderEverywhere(place, { ...wish, act: told, isNoted }, { waits, but: path })
  if (others === 'absent') return { ...own, count: 1, places: 1, silent: [] }
  if (others.result !== 'done') return { ...own, count: 1 + siblings.length, places: 1, silent: silentOf(siblings) }
  return {
    result: 'done',
    isNew: own.isNew || others.isNew,
    running: own.running + others.running,
    left: Math.min(own.left, others.left),
    count: 1 + others.count,
    places: 1 + others.places,
    silent: others.silent,
  }
}

function unchanged(
  reports: readonly (readonly UpstreamReport[])[],
  upstream: string,
  silent: Extract<OrderResult, { result: 'done' }>['silent'],
): OrderResult {
  const known = reports.filter((all) => all.some(({ name }) => name === upstream))
  const running = known.flat().reduce((sum, one) => sum + (one.name === upstream ? one.running : 0), 0)
  const left = Math.min(...known.map((all) => all.filter(({ out }) => out === null).length))
  return { result: 'done', isNew: false, running, left, count: reports.length, places: known.length, silent }
}
