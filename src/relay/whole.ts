/** An answer in one piece. A client that leaves does not stop it: the upstream finishes, and it is billed exactly. Rules: money.md "Charges". */

import { Refusal } from '../core/refusal.ts'
import type { Fault } from '../upstream/upstream.ts'
import type { Admitted } from './admitted.ts'
import { answerBody } from './answer-body.ts'
import { addMoney, appliedHeaders } from './answer-headers.ts'
import { callUpstream } from './call-upstream.ts'
import { Deadline, type StopReason } from './deadline.ts'
import { endClaim } from './idempotency.ts'
import type { LiveStream } from './live-streams.ts'
import { readAnswer, type WholeAnswer } from './read-answer.ts'
import { remember } from './remembering.ts'
import { describe, settle } from './settle.ts'

export async function answerWhole<Echo>(admitted: Admitted<Echo>): Promise<Response> {
  const { startTimeoutMs, totalTimeoutMs } = admitted.parts.world.limits()
  const deadline = new Deadline(admitted.parts.world, Math.min(startTimeoutMs, totalTimeoutMs - admitted.exchange.elapsedMs))
  const { live } = admitted.parts
  // A disabled key's whole answer is finished and billed; only a shutdown cannot wait for it.
  const stoppable = stoppableBy((reason) => reason === 'drain' && deadline.stop(reason), admitted)
  live.add(stoppable)
  try {
    const answer = await callUpstream(admitted, deadline, (reply) => readAnswer(admitted, reply, deadline))
    const outcome = deadline.reason === 'deadline' || deadline.reason === 'drain' ? deadline.reason : 'fault'
    deadline.stop('done')
    return await (answer.kind === 'fault' ? refuse(admitted, answer, outcome) : respond(admitted, answer))
  } finally {
    deadline.stop('done')
    live.remove(stoppable)
    admitted.release()
    admitted.connection.restore()
  }
}

const stoppableBy = <Echo>(stop: (reason: StopReason) => void, { held }: Admitted<Echo>): LiveStream => ({
  key: held.key,
  stop: async (reason) => stop(reason),
})

function refuse<Echo>(
  { parts, exchange, connection, held, claim }: Admitted<Echo>,
  fault: Fault,
  outcome: 'deadline' | 'drain' | 'fault',
): Response {
  const { refusal, upstream, cause, isAlarm } = fault
  parts.world.ledger.void(exchange.requestId, exchange.calls.unpaid(cause, parts.world.clock.now()))
  claim?.answer.drop(refusal)
  return exchange.refuse(refusal, connection.origin, { ...describe(held), upstream, cause, isAlarm, outcome })
}

async function respond<Echo>(admitted: Admitted<Echo>, { bytes, observation, upstream, finish }: WholeAnswer): Promise<Response> {
  const { parts, held, exchange, connection } = admitted
  exchange.noteFirstByte()
  const outcome = admitted.request.signal.aborted ? 'leaver' : 'complete'
  const kept = await settle(parts.world, exchange, held, {
    outcome,
    observation,
    isWhole: true,
    status: 200,
    more: { upstream },
  })
  const head = { status: 200, contentType: 'application/json', requestId: exchange.requestId }
  endClaim(admitted.claim, { outcome, kept, head, isStored: admitted.call.isStored, whole: bytes })
  if (kept === 'unavailable') return exchange.refuse(new Refusal('storageUnavailable'), connection.origin)
  remember(parts, { key: held.key, sealing: admitted.sealing }, finish)
  const headers = { ...exchange.headers(connection.origin), ...appliedHeaders(admitted.call) }
  headers['content-type'] = 'application/json'
  addMoney(headers, kept.costPicos, parts.world.ledger.keyBalanceOf(held.key.id))
  return new Response(answerBody(bytes, admitted.lease), { headers })
}
