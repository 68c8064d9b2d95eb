/** The one call to the upstream, and the shapes of answer that are taken from it. Rules: faults.md "Before the first byte". */

import type { Model } from '../core/catalog.ts'
import { readCompletion } from '../core/formats/chat/reverse/completion.ts'
import { completionStream } from '../core/formats/chat/reverse/completion-stream.ts'
import { readMessage, usageOfUnusable } from '../core/native/message.ts'
import { streamOfMessage } from '../core/native/stream-of-message.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import { billedUsage, type Usage } from '../core/usage.ts'
import { withFirstEvent } from '../upstream/first-event.ts'
import type { Take } from '../upstream/pool-request.ts'
import { PushedBody } from '../upstream/pushed-body.ts'
import { type Parts, readParts } from '../upstream/read-chunks.ts'
import { type Fault, isFault, type Reply } from '../upstream/upstream.ts'
import type { Admitted } from './admitted.ts'
import type { BodyLease } from './body-memory.ts'
import type { CallStop } from './deadline.ts'
import { nativeQueryOf } from './request-target.ts'

/** A whole answer is held in memory; one that is larger is a broken upstream. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** Returns what `take` makes of the answer. With `stream`, each upstream has a time limit for its first event, and `onErrorHead` is called as upstream.ts says. */
export async function callUpstream<Echo, T extends Readonly<{ kind: string }>>(
  { call, held, format, request, exchange, parts, claim }: Admitted<Echo>,
  stop: CallStop,
  take: Take<T>,
  stream?: Readonly<{ firstEventTimeoutMs: number; onErrorHead: () => void }>,
): Promise<T | Fault> {
  const { model, body, chat, version, betas, bounds } = call
  const { conversation: _, ...placed } = call.routing
  const query = format.name === 'messages' ? nativeQueryOf(request.url) : ''
  const asked = {
    path: '/v1/messages',
    query,
    model,
    body,
    isStream: stream !== undefined,
    version,
    betas,
    ...placed,
    accountId: held.key.accountId,
    ...(chat === undefined ? {} : { chat }),
  } as const
  // Servers of chat may cache any prompt, whatever the request says.
  const isPlaced = bounds.cacheWrites !== 'none' || chat !== undefined
  const result = await parts.world.upstreams.call(!isPlaced ? asked : { ...asked, conversation: held.sessionHash }, {
    stop,
    take,
    log: exchange.calls,
    isWanted: () => claim !== undefined || !request.signal.aborted,
    ...stream,
  })
  const { reason } = stop
  return isFault(result) && (reason === 'deadline' || reason === 'drain') ? brokenReply(result.upstream, reason, stop) : result
}

/** Reads all of a reply, in the pieces in which it came. An event stream is a fault, and so is a reply that has no room in memory, or that broke while it waited for room. */
export async function readReply(reply: Reply, deadline: CallStop, lease: BodyLease): Promise<Parts | Fault> {
  if (reply.isEventStream) {
    reply.body.cancel()
    return brokenReply(reply.upstream, 'content-type', deadline)
  }
  let hasWaited = false
  const parts = await readParts(reply.body, MESSAGE_BYTES_MAX, (length) => {
    const held = lease.growAnswer(length)
    hasWaited ||= held instanceof Promise
    return held
  })
  if (parts instanceof Refusal) return faultOf(reply, parts, 'memory')
  if (typeof parts !== 'string') return parts
  // The gateway made the reply wait, so the break is our fault: another upstream would be paid for the same answer, and be cut off as well.
  if (parts === 'broken' && hasWaited && deadline.reason === undefined) return faultOf(reply, new Refusal('overloaded'), 'memory')
  return brokenReply(reply.upstream, deadline.reason ?? (parts === 'broken' ? 'reset' : 'too-large'), deadline)
}

/** The fault of an answer that has come, and that the gateway cannot hand on for a reason of its own. */
export const faultOf = ({ upstream }: Reply, refusal: Refusal, cause: string): Fault => ({
  kind: 'fault',
  upstream,
  refusal,
  cause,
  isAlarm: false,
  status: 200,
})

/** The fault of an answer that is no message. One that is only nested too deep was generated, and we pay for it: another upstream would be paid for the same once more. */
export function unusable({ upstream }: Reply, usage: Usage | undefined, deadline: CallStop): Fault {
  const { trouble, ...malformed } = brokenReply(upstream, 'malformed', deadline)
  return usage === undefined ? { ...malformed, ...(trouble && { trouble }) } : { ...malformed, usage }
}

/**
 * Gives a stream whose first event is here. `inNative`: gives the reply as the client's format reads it. Where an upstream answers a stream request with a whole
 * message, the stream is made from that message.
 */
export async function readStream(
  reply: Reply,
  { model, deadline, lease, inNative }: Readonly<{ model: Model; deadline: CallStop; lease: BodyLease; inNative: (reply: Reply) => Reply }>,
): Promise<Reply | Fault> {
  if (reply.isEventStream) return withFirstEvent(inNative(reply), model)
  const parts = await readReply(reply, deadline, lease)
  if (isFault(parts)) return parts
  const bytes = parts.joined()
  if (reply.chat !== undefined) {
    const completion = readCompletion(bytes)
    if (completion === undefined) return unusable(reply, undefined, deadline)
    return withFirstEvent(inNative({ ...reply, isEventStream: true, body: PushedBody.of(completionStream(completion.json)) }), model)
  }
  const message = readMessage(bytes, reply.addedPrefix)
  if (message === undefined) return unusable(reply, usageOfUnusable(bytes), deadline)
  const { observation } = message
  const other = reply.judgeModel?.(observation.model, billedUsage(observation.reported))
  if (other !== undefined) return other
  return { ...reply, isEventStream: true, body: PushedBody.of(streamOfMessage(message)) }
}

/** The fault of a reply that broke off. Where the gateway stopped the call, the upstream is not to blame. */
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
