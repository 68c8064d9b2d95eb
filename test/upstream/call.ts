/** One native call to an upstream over sockets, for the tests of this folder. */

import type { RequestEdits } from '../../src/core/door.ts'
import { CallStop } from '../../src/relay/deadline.ts'
import { BodyStream } from '../../src/upstream/body-stream.ts'
import { nativeDoor } from '../../src/upstream/doors/native.ts'
import type { Access } from '../../src/upstream/native-request.ts'
import { readWhole } from '../../src/upstream/read-chunks.ts'
import { type SocketUpstreamOptions, socketUpstream } from '../../src/upstream/socket-upstream.ts'
import type { Body, BodySource, Fault, Reply, Stop, Upstream, UpstreamRequest } from '../../src/upstream/upstream.ts'
import { makeTestModel } from '../support/world.ts'

export const upstreamAt = (baseUrl: string, { apiKey = 'upstream-secret', auth, headers, ...options }: Options = {}): Upstream => {
  const door = nativeDoor({ apiKey, ...(auth && { auth }), ...(headers && { headers }) })
  return socketUpstream({ name: 'north', dialect: 'strict', baseUrl, door, connectTimeoutMs: 60_000, ...options })
}

type Options = Partial<SocketUpstreamOptions & Access>

export function request(changed: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    path: '/v1/messages',
    query: '',
    model: makeTestModel(),
    body: Buffer.from('{"a":1}'),
    isStream: false,
    version: '2023-06-01',
    betas: '',
    ...changed,
  }
}

export const NO_EDITS: RequestEdits = { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true }

export const never = (): Stop => new CallStop()

/** The whole body of a reply as text; a fault as `fault: CAUSE`, a body that breaks as `broken`. */
export async function textOf(called: Promise<Reply | Fault> | Reply | Fault): Promise<string> {
  const reply = await called
  if (reply.kind === 'fault') return `fault: ${reply.cause}`
  const bytes = await readWhole(reply.body, 64 * 1024 * 1024)
  return typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes)
}

/** The body as a stream that is pulled: one read behind the other. */
export function pulled(body: Body): ReadableStream<Uint8Array> {
  const sink = new BodyStream(body)
  body.take(sink)
  return sink.stream
}

export const ask = (upstream: Upstream, changed: Partial<UpstreamRequest> = {}): Promise<string> =>
  textOf(upstream.call(request(changed), never()))

/** A body's source that does nothing and notes what it is told. */
export function sourceOf(calls: string[]): BodySource {
  const source: BodySource = {
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    cancel: () => void calls.push('cancel'),
    handOn: () => source,
  }
  return source
}
