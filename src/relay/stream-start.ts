/**
 * A streamed answer: its status waits a moment for the upstream's first event, so that an early failure still has a status of its own.
 * Rules: requests.md "First event".
 */

import { Refusal } from '../core/refusal.ts'
import { type Admitted, stampOf } from './admitted.ts'
import { asEventStream, callUpstream } from './call-upstream.ts'
import { Deadline } from './deadline.ts'
import { remember } from './response-memory.ts'
import { ClientStream } from './stream.ts'

/** A comment: the stream has begun, though the upstream has not. */
const OPENING = new TextEncoder().encode(': ok\n\n')

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** `whenEnded` resolves when the stream is settled, which may be long after the response was handed over. */
export async function answerStream<Echo>(admitted: Admitted<Echo>): Promise<{ response: Response; whenEnded: Promise<void> }> {
  const { parts, request, connection, exchange } = admitted
  const stream = startStream(admitted)
  const leave = (): void => void stream.leave().catch(() => undefined)
  request.signal.addEventListener('abort', leave)
  if (request.signal.aborted) leave()
  const first = await stream.first(parts.timings.firstEventWaitMs)
  const { whenEnded } = stream
  if (first instanceof Refusal) {
    connection.restore()
    return { response: exchange.refuse(first, connection.origin), whenEnded }
  }
  const response = new Response(stream.body(first === 'waiting' ? OPENING : undefined), {
    headers: { ...STREAM_HEADERS, ...exchange.headers(connection.origin) },
  })
  return { response, whenEnded }
}

function startStream<Echo>(admitted: Admitted<Echo>): ClientStream {
  const { parts, format, call, request, connection, exchange, held, lease, release } = admitted
  const { world, live, timings } = parts
  const limits = world.limits()
  const { body: _sent, routing: _taken, ...answered } = call
  const transcoder = format.transcoder(answered, stampOf(exchange))
  const deadline = new Deadline(world, limits.totalTimeoutMs - exchange.elapsedMs, () => stream.onStop())
  // Who has left before anything was sent costs nobody anything: a call that is aborted from the start never leaves.
  if (request.signal.aborted) deadline.stop('leaver')
  let isFailing = false
  const opening = callUpstream(admitted, deadline, () => {
    isFailing = true
  }).then((reply) => {
    // The upstream has the whole body once it answers, and a stream lives long.
    lease.release()
    return asEventStream(reply, deadline, lease)
  })
  const stream: ClientStream = new ClientStream({
    world,
    exchange,
    connection,
    held,
    transcoder,
    deadline,
    timings,
    opening,
    isFailing: () => isFailing,
    onEnd: (outcome, kept) => {
      release()
      live.remove(stream)
      world.metrics.streamEnded(format.name)
      if (outcome === 'complete' && kept !== 'unavailable') remember(parts, held.key.id, () => transcoder.finished?.())
    },
  })
  live.add(stream, Math.min(limits.stallTimeoutMs, limits.writeStallMs, timings.heartbeatIdleMs, timings.terminalWaitMs) / 4)
  world.metrics.streamStarted(format.name)
  return stream
}
