/** The one call to the upstream, and the shapes of answer that are taken from it. Source: product.md "Upstream"; wire.md §6.2. */

import { type NativeMessage, readMessage, streamOfMessage } from '../core/native/message.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import type { Deadline } from './deadline.ts'
import { queryOf } from './query.ts'
import type { Run } from './run.ts'

/** A whole answer is held in memory; one that is larger is a broken upstream. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** `onErrorHead`: see the upstream's port. */
export async function callUpstream<Echo>(run: Run<Echo>, deadline: Deadline, onErrorHead?: () => void): Promise<Reply | Fault> {
  const { model, body, version, betas } = run.call
  // The query is part of the native API (`?beta=true`); the other formats have none.
  const query = run.format.name === 'messages' ? queryOf(run.request.url) : ''
  const request = { path: '/v1/messages', query, model, body, version, betas } as const
  const reply = await run.parts.world.upstream.call(request, deadline.signal, onErrorHead)
  const { reason } = deadline
  return reply.kind === 'fault' && (reason === 'deadline' || reason === 'drain') ? brokenReply(reply.upstream, reason, deadline) : reply
}

export type MessageReply = Readonly<{ kind: 'message'; upstream: string; message: NativeMessage }>

/** The whole message of a reply; event streams and anything that is no message are faults. */
export async function readReply(reply: Reply, deadline: Deadline): Promise<MessageReply | Fault> {
  if (reply.isEventStream) {
    await reply.body.cancel().catch(() => undefined)
    return brokenReply(reply.upstream, 'content-type', deadline)
  }
  const bytes = await readBytes(reply.body)
  if (bytes === undefined) return brokenReply(reply.upstream, deadline.reason ?? 'reset', deadline)
  const message = readMessage(bytes)
  return message === undefined ? brokenReply(reply.upstream, 'malformed', deadline) : { kind: 'message', upstream: reply.upstream, message }
}

/** An upstream that answers a stream request with a whole message is taken at its word: the stream is made from it. */
export async function asEventStream(reply: Reply | Fault, deadline: Deadline): Promise<Reply | Fault> {
  if (reply.kind === 'fault' || reply.isEventStream) return reply
  const whole = await readReply(reply, deadline)
  if (whole.kind === 'fault') return whole
  return { ...reply, isEventStream: true, body: new Blob([streamOfMessage(whole.message) as Uint8Array<ArrayBuffer>]).stream() }
}

const brokenReply = (upstream: string, cause: string, deadline: Deadline): Fault => ({
  kind: 'fault',
  upstream,
  refusal: new Refusal(refusalBy(deadline)),
  cause,
  isAlarm: false,
})

function refusalBy({ reason }: Deadline): RefusalName {
  if (reason === 'deadline') return 'timedOut'
  return reason === 'drain' ? 'draining' : 'upstreamBroken'
}

async function readBytes(body: ReadableStream<Uint8Array>): Promise<Uint8Array | undefined> {
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      parts.push(read.value)
      length += read.value.byteLength
      if (length > MESSAGE_BYTES_MAX) {
        await reader.cancel()
        return undefined
      }
    }
  } catch {
    return undefined
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}
