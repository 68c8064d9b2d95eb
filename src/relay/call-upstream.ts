/** The one call to the upstream, and the shapes of answer that are taken from it. Rules: faults.md "Before the first byte". */

import { type NativeMessage, readMessage, streamOfMessage } from '../core/native/message.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import { PushedBody } from '../upstream/pushed-body.ts'
import { readWhole } from '../upstream/read-chunks.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import type { Admitted } from './admitted.ts'
import type { BodyLease } from './body-memory.ts'
import type { CallStop } from './deadline.ts'
import { nativeQueryOf } from './request-target.ts'

/** A whole answer is held in memory; one that is larger is a broken upstream. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** `onErrorHead`: see the upstream's port. */
export async function callUpstream<Echo>(admitted: Admitted<Echo>, deadline: CallStop, onErrorHead?: () => void): Promise<Reply | Fault> {
  const { model, body, version, betas } = admitted.call
  const query = admitted.format.name === 'messages' ? nativeQueryOf(admitted.request.url) : ''
  const request = { path: '/v1/messages', query, model, body, version, betas } as const
  const reply = await admitted.parts.world.upstream.call(request, deadline, onErrorHead)
  const { reason } = deadline
  return reply.kind === 'fault' && (reason === 'deadline' || reason === 'drain') ? brokenReply(reply.upstream, reason, deadline) : reply
}

export type MessageReply = Readonly<{ kind: 'message'; upstream: string; message: NativeMessage }>

/** The whole message of a reply; event streams, anything that is no message, and one that has no room in memory are faults. */
export async function readReply(reply: Reply, deadline: CallStop, lease: BodyLease): Promise<MessageReply | Fault> {
  if (reply.isEventStream) {
    reply.body.cancel()
    return brokenReply(reply.upstream, 'content-type', deadline)
  }
  const bytes = await readWhole(reply.body, MESSAGE_BYTES_MAX, (length) => lease.growAnswer(length))
  if (bytes instanceof Refusal) return { ...brokenReply(reply.upstream, 'memory', deadline), refusal: bytes }
  if (typeof bytes === 'string')
    return brokenReply(reply.upstream, deadline.reason ?? (bytes === 'broken' ? 'reset' : 'too-large'), deadline)
  const message = readMessage(bytes)
  return message === undefined ? brokenReply(reply.upstream, 'malformed', deadline) : { kind: 'message', upstream: reply.upstream, message }
}

/** An upstream that answers a stream request with a whole message is taken at its word: the stream is made from it. */
export async function asEventStream(reply: Reply | Fault, deadline: CallStop, lease: BodyLease): Promise<Reply | Fault> {
  if (reply.kind === 'fault' || reply.isEventStream) return reply
  const whole = await readReply(reply, deadline, lease)
  if (whole.kind === 'fault') return whole
  return { ...reply, isEventStream: true, body: PushedBody.of(streamOfMessage(whole.message)) }
}

const brokenReply = (upstream: string, cause: string, deadline: CallStop): Fault => ({
  kind: 'fault',
  upstream,
  refusal: new Refusal(refusalBy(deadline)),
  cause,
  isAlarm: false,
})

function refusalBy({ reason }: CallStop): RefusalName {
  if (reason === 'deadline') return 'timedOut'
  return reason === 'drain' ? 'draining' : 'upstreamBroken'
}
