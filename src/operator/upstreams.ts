/**
 * Upstreams as an operator sees and switches them. The act is in the audit log before it has its effect, which lasts only in the memory of the running gateway. Rules:
 * pool.md "Taking one out"; operator.md "Socket", "Audit".
 */

import type { Ledger } from '../ledger/ledger.ts'
import type { Act, OperationResult } from '../ledger/operation.ts'
import type { UpstreamPool } from '../upstream/pool.ts'

/** The part of the pool that operators reach. */
export type Upstreams = Pick<UpstreamPool, 'reports' | 'takeOut' | 'putBack'>

export type UpstreamOrder = Readonly<{
  upstream: string
  isOut: boolean
  /** The audit log has the act already, as one act in several processes. */
  isNoted: boolean
  act: Act
  /** Unix milliseconds. */
  now: number
}>

/** `isNew`: the state has changed. `running`: calls that go on. `left`: upstreams that still take calls. */
export type UpstreamResult =
  | Readonly<{ result: 'done'; isNew: boolean; running: number; left: number }>
  | Exclude<OperationResult, { result: 'done' }>

export async function obey(
  upstreams: Upstreams,
  ledger: Pick<Ledger, 'operate'>,
  { upstream: name, isOut, isNoted, act, now }: UpstreamOrder,
): Promise<UpstreamResult> {
  const known = upstreams.reports().find((one) => one.name === name)
  if (known === undefined) {
    const names = upstreams.reports().map((one) => one.name)
    return { result: 'refused', problem: `there is no upstream "${name}"; there are ${names.join(', ')}` }
  }
  const isNew = (known.out !== null) !== isOut
  if (isNew) {
    const noted = isNoted ? undefined : await ledger.operate({ kind: 'setUpstreamOut', upstream: name, isOut, now }, act)
    if (noted !== undefined && noted.result !== 'done') return noted
    if (isOut) upstreams.takeOut(name, { by: act.actor, reason: act.reason, at: now })
    else upstreams.putBack(name)
  }
  return { result: 'done', isNew, running: known.running, left: leftOf(upstreams) }
}

export const leftOf = (upstreams: Upstreams): number => upstreams.reports().filter(({ out }) => out === null).length
