/** The calls of a probe, made as the gateway makes them: one tiny request, and its result. Rules: operator.md "Commands". */

import type { Model } from '../core/catalog.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { readNativeEvent } from '../core/native/event.ts'
import { NATIVE_VERSION } from '../core/native/versions.ts'
import { readFrame } from '../core/sse/read-event.ts'
import { FrameSplitter } from '../core/sse/split-frames.ts'
import { CallStop } from '../relay/deadline.ts'
import { readWhole } from '../upstream/read-chunks.ts'
import { isFault, type Reply, type Upstream } from '../upstream/upstream.ts'

const TIMEOUT_MS = 60_000
const ANSWER_BYTES_MAX = 1024 * 1024

/** A request of a probe: its path and body, and the version and betas that it names, if any. */
export type ProbeCall = Readonly<{
  path: '/v1/messages' | '/v1/messages/count_tokens'
  body: JsonObject
  version?: string
  betas?: string
}>

/** `events`: the events of a stream; `message`: the answer in one piece; `cause`: why there is neither. */
export type Probed =
  | Readonly<{ kind: 'events'; events: readonly JsonObject[] }>
  | Readonly<{ kind: 'message'; message: JsonObject }>
  | Readonly<{ kind: 'failed'; status: number | undefined; cause: string }>

/** The body of a request as it is sent; the hold is priced by its bytes. */
export const bodyOf = ({ body }: ProbeCall, modelId: string): string => JSON.stringify({ model: modelId, ...body })

/** Makes one call of the probe; a failure is a result, so the promise never rejects. */
export async function probe(upstream: Upstream, model: Model, modelId: string, call: ProbeCall): Promise<Probed> {
  const stop = new CallStop()
  const timer = setTimeout(() => stop.stop('deadline'), TIMEOUT_MS)
  const { path, version = NATIVE_VERSION, betas = '' } = call
  const request = {
    path,
    query: '',
    model: { ...model, upstreamModel: modelId },
    body: Buffer.from(bodyOf(call, modelId)),
    isStream: call.body['stream'] === true,
    version,
    betas,
    modelAt: '{"model":'.length,
  } as const
  try {
    const reply = await upstream.call(request, stop)
    if (isFault(reply)) return { kind: 'failed', status: reply.status, cause: wordsOf(reply.cause, reply.refusal.message) }
    return await read(reply)
  } finally {
    clearTimeout(timer)
    stop.stop('done')
  }
}

const wordsOf = (cause: string, message: string): string => (cause.startsWith('status 4') ? `${cause}: ${message}` : cause)

async function read(reply: Reply): Promise<Probed> {
  const bytes = await readWhole(reply.body, ANSWER_BYTES_MAX)
  if (typeof bytes === 'string') return { kind: 'failed', status: 200, cause: bytes }
  if (reply.isEventStream) return { kind: 'events', events: eventsOf(bytes) }
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isObject(message) ? { kind: 'message', message } : { kind: 'failed', status: 200, cause: 'malformed' }
  } catch {
    return { kind: 'failed', status: 200, cause: 'malformed' }
  }
}

function eventsOf(bytes: Uint8Array): readonly JsonObject[] {
  const events: JsonObject[] = []
  new FrameSplitter().push(bytes, (text, start, end) => {
    const event = readNativeEvent(readFrame(text, start, end), 'vendor')
    if (event !== undefined && event !== 'malformed') events.push({ ...event.body, type: event.type })
  })
  return events
}
