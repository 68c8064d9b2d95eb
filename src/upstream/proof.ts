/**
 * The proof of a call: fields such as a signature or a token that expires. The proof may have to be waited for; the wait ends when the call is stopped. Rules: doors.md
 * "Proofs".
 */

import type { Door, Fields, Proof, ProvenCall } from './doors/door.ts'
import { connectionFault, unprovenFault } from './fault.ts'
import type { Fault, Stop } from './upstream.ts'

const NO_FIELDS: Fields = {}

/** The fields, or the fault that there are none; at once where nothing has to be waited for. `upstream`: its name. */
export function proofOf(door: Door, call: ProvenCall, stop: Stop, upstream: string): Fields | Fault | Promise<Fields | Fault> {
  const proof = door.prove?.(call) ?? NO_FIELDS
  if (!(proof instanceof Promise)) return judged(proof, upstream)
  return unlessStopped(proof, stop).then((found) => (found === undefined ? connectionFault(upstream, 'aborted') : judged(found, upstream)))
}

const judged = (proof: Proof, upstream: string): Fields | Fault => (typeof proof === 'string' ? unprovenFault(upstream, proof) : proof)

/** Undefined: the call was stopped first. */
function unlessStopped<T>(promise: Promise<T>, stop: Stop): Promise<T | undefined> {
  const { promise: first, resolve, reject } = Promise.withResolvers<T | undefined>()
  stop.listener = () => resolve(undefined)
  if (stop.isStopped) resolve(undefined)
  promise.then(resolve, reject)
  return first.finally(() => {
    stop.listener = undefined
  })
}
