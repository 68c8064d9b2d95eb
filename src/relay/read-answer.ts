/**
 * Turns a whole answer's bytes as they came from its upstream into those for the client. A large answer goes to a thread in the pieces in which it came, and comes back
 * as what is sent: to join, parse and write it here would take five times its memory and hold every stream. Rules: requests.md "Heavy bodies", "Memory of bodies";
 * native.md "Answer".
 */

import type { Format } from '../core/format.ts'
import type { Observation } from '../core/native/observation.ts'
import { isLight } from '../core/reading-cost.ts'
import { Refusal } from '../core/refusal.ts'
import type { Finished } from '../core/transcoder.ts'
import { billedUsage } from '../core/usage.ts'
import { errorEventFault } from '../upstream/fault.ts'
import type { Parts } from '../upstream/read-chunks.ts'
import { type Fault, isFault, type Reply } from '../upstream/upstream.ts'
import { type Admitted, stampOf } from './admitted.ts'
import { answerOf } from './answer-of.ts'
import { faultOf, readReply, unusable } from './call-upstream.ts'
import type { CallStop } from './deadline.ts'

/** `finish`: gives what later requests may refer to, if anything. */
export type WholeAnswer = Readonly<{
  kind: 'answer'
  upstream: string
  bytes: Uint8Array
  observation: Observation
  finish: () => Finished | undefined
}>

/** Above this size even joining the pieces is done on a thread. */
const JOINED_BYTES_MAX = 256 * 1024

export async function readAnswer<Echo>(admitted: Admitted<Echo>, reply: Reply, deadline: CallStop): Promise<WholeAnswer | Fault> {
  const answer = await readWhole(admitted, reply, deadline)
  if (isFault(answer)) return answer
  const { model, reported } = answer.observation
  return reply.judgeModel?.(model, billedUsage(reported)) ?? answer
}

async function readWhole<Echo>(admitted: Admitted<Echo>, reply: Reply, deadline: CallStop): Promise<WholeAnswer | Fault> {
  const parts = await readReply(reply, deadline, admitted.lease)
  if (isFault(parts)) return parts
  if (parts.length > JOINED_BYTES_MAX) return answerBeside(admitted, reply, parts, deadline)
  const bytes = parts.joined()
  return isLight(bytes) ? answerHere(admitted, reply, bytes, deadline) : answerBeside(admitted, reply, parts, deadline)
}

function answerHere<Echo>(
  { format, call, exchange }: Admitted<Echo>,
  reply: Reply,
  bytes: Uint8Array,
  deadline: CallStop,
): WholeAnswer | Fault {
  const stamp = stampOf(exchange)
  const { chat, addedPrefix } = reply
  const made = answerOf(bytes, { format, call, stamp, chat, addedPrefix })
  if (!('message' in made))
    return made.error === undefined ? unusable(reply, made.usage, deadline) : errorEventFault(reply, made.error, call.model)
  const { message } = made
  return {
    kind: 'answer',
    upstream: reply.upstream,
    bytes: made.bytes,
    observation: message.observation,
    finish: () => format.finished?.(message, call, stamp),
  }
}

async function answerBeside<Echo>(admitted: Admitted<Echo>, reply: Reply, parts: Parts, deadline: CallStop): Promise<WholeAnswer | Fault> {
  const { parts: shared, format, call, held, exchange } = admitted
  const { echo, input } = apart(format, call.echo)
  const { body: _sent, chat: _told, routing: _taken, ...answered } = call
  const { chat, addedPrefix } = reply
  const message = { format: format.name, pieces: parts.pieces(), call: { ...answered, echo }, stamp: stampOf(exchange), chat, addedPrefix }
  const read = await shared.bodyReader.answer(message, held.key.accountId)
  if (read instanceof Refusal) return faultOf(reply, read, 'reading')
  if (!('bytes' in read))
    return read.error === undefined ? unusable(reply, read.usage, deadline) : errorEventFault(reply, read.error, call.model)
  const { bytes, observation, finished } = read
  const finish = (): Finished | undefined => finished && { ...finished, items: [...input, ...finished.items] }
  return { kind: 'answer', upstream: reply.upstream, bytes, observation, finish }
}

const apart = <Echo>(format: Format<Echo>, echo: Echo): ReturnType<NonNullable<Format<Echo>['apart']>> =>
  format.apart?.(echo) ?? { echo, input: [] }
