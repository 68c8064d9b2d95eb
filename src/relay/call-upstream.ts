/** The one call to the upstream, and the shapes of answer that are taken from it. Rules: faults.md "Before the first byte". */

import type { Model } from '../core/catalog.ts'
import { type NativeMessage, readMessage, usageOfUnusable } from '../core/native/message.ts'
import { streamOfMessage } from '../core/native/stream-of-message.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import { withFirstEvent } from '../upstream/first-event.ts'
import type { Take } from '../upstream/pool-request.ts'
import { PushedBody } from '../upstream/pushed-body.ts'
import { readWhole } from '../upstream/read-chunks.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import type { Admitted } from './admitted.ts'
import type { BodyLease } from './body-memory.ts'
import type { CallStop } from './deadline.ts'
import { nativeQueryOf } from './request-target.ts'

/** A whole answer is held in memory; one that is larger is a broken upstream. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** What `take` makes of the answer. `onErrorHead`: see the upstream's port. */
export async function callUpstream<Echo, T extends Readonly<{ kind: string }>>(
  { call, held, format, request, exchange, parts, claim }: Admitted<Echo>,
  stop: CallStop,
  take: Take<T>,
  onErrorHead?: () => void,
): Promise<T | Fault> {
  const { model, body, version, betas, routing, bounds } = call
  const query = format.name === 'messages' ? nativeQueryOf(request.url) : ''
  const asked = {
    path: '/v1/messages',
    query,
    model,
    body,
    version,
    betas,
    modelAt: routing.modelAt,
    accountId: held.key.accountId,
  } as const
  const result = await parts.world.upstreams.call(bounds.cacheWrites === 'none' ? asked : { ...asked, conversation: held.sessionHash }, {
    stop,
    take,
    log: exchange.calls,
    isWanted: () => claim !== undefined || !request.signal.aborted,
    ...(onErrorHead === undefined ? {} : { onErrorHead }),
  })
  const { reason } = stop
  return isFault(result) && (reason === 'deadline' || reason === 'drain') ? brokenReply(result.upstream, reason, stop) : result
}

const isFault = (result: Readonly<{ kind: string }>): result is Fault => result.kind === 'fault'

export type MessageReply = Readonly<{ kind: 'message'; upstream: string; message: NativeMessage }>

/** The whole message of a reply; event streams, anything that is no message, and one that has no room in memory are faults. */
export async function readReply(reply: Reply, deadline: CallStop, lease: BodyLease): Promise<MessageReply | Fault> {
  if (reply.isEventStream) {
    reply.body.cancel()
    return brokenReply(reply.upstream, 'content-type', deadline)
  }
  const bytes = await readWhole(reply.body, MESSAGE_BYTES_MAX, (length) => lease.growAnswer(length))
  if (bytes instanceof Refusal)
    return { kind: 'fault', upstream: reply.upstream, refusal: bytes, cause: 'memory', isAlarm: false, status: 200 }
  if (typeof bytes === 'string')
    return brokenReply(reply.upstream, deadline.reason ?? (bytes === 'broken' ? 'reset' : 'too-large'), deadline)
  const message = readMessage(bytes)
  if (message !== undefined) return { kind: 'message', upstream: reply.upstream, message }
  const { trouble, ...malformed } = brokenReply(reply.upstream, 'malformed', deadline)
  const usage = usageOfUnusable(bytes)
  // One that is only too deep was generated, and we pay for it: another upstream would be paid for the same once more.
  return usage === undefined ? { ...malformed, ...(trouble && { trouble }) } : { ...malformed, usage }
}

/**
 * A stream whose first event is here. An upstream that answers a stream request with a whole message is taken at its word: the stream is made from it.
 */
export async function readStream(reply: Reply, model: Model, deadline: CallStop, lease: BodyLease): Promise<Reply | Fault> {
  if (reply.isEventStream) return withFirstEvent(reply, model)
  const whole = await readReply(reply, deadline, lease)
  if (whole.kind === 'fault') return whole
  return { ...reply, isEventStream: true, body: PushedBody.of(streamOfMessage(whole.message)) }
}

/** Where we stopped it, the upstream is not to blame. */
const brokenReply = (upstream: string, cause: string, deadline: CallStop): Fault => ({
  kind: 'fault',
  upstream,
  refusal: new Refusal(refusalBy(deadline)),
  cause,
  isAlarm: false,
  ...(deadline.isStopped ? {} : { trouble: { kind: 'broken' }, status: 200 }),
})

function refusalBy({ reason }: CallStop): RefusalName {
  if (reason === 'deadline') return 'timedOut'
  return reason === 'drain' ? 'draining' : 'upstreamBroken'
}
