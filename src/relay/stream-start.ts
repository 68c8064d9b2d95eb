/**
 * A streamed answer: its status waits a moment for the upstream's first event, so that an early failure still has a status of its own.
 * Rules: requests.md "First event".
 */

import { Refusal } from '../core/refusal.ts'
import type { Take } from '../upstream/pool-request.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import { type Admitted, stampOf } from './admitted.ts'
import { appliedHeaders } from './answer-headers.ts'
import type { BodyLease } from './body-memory.ts'
import { callUpstream, readStream } from './call-upstream.ts'
import { CallStop } from './deadline.ts'
import { endClaim } from './idempotency.ts'
import { nativeReader } from './native-body.ts'
import { remember } from './remembering.ts'
import { ClientStream } from './stream.ts'
import { OPENING, STREAM_HEADERS } from './stream-head.ts'

/** `whenEnded` resolves when the stream is settled, which may be long after the response was handed over. */
export async function answerStream<Echo>(admitted: Admitted<Echo>): Promise<{ response: Response; whenEnded: Promise<void> }> {
  const { request, connection, exchange, claim } = admitted
  const applied = appliedHeaders(admitted.call)
  const stream = startStream(admitted)
  const { whenEnded } = stream
  request.signal.addEventListener('abort', leaving(stream))
  const first = await stream.first
  if (first instanceof Refusal) {
    connection.restore()
    return { response: exchange.refuse(first, connection.origin), whenEnded }
  }
  claim?.answer.begin(beating(stream))
  const response = new Response(stream.body(first === 'waiting' ? OPENING : undefined), {
    headers: { ...STREAM_HEADERS, ...exchange.headers(connection.origin), ...applied },
  })
  return { response, whenEnded }
}

/** A function of its own: a closure made inside `answerStream` would keep its variables, the request's body too, as long as the stream runs. */
const leaving = (stream: ClientStream) => (): void => stream.left()
const beating = (stream: ClientStream) => (): Uint8Array | undefined => stream.heartbeat()

function startStream<Echo>(admitted: Admitted<Echo>): ClientStream {
  const { parts, format, request, lease } = admitted
  const stop = new CallStop()
  const stream = openStream(admitted, stop)
  parts.live.add(stream)
  parts.world.metrics.streamStarted(format.name)
  if (request.signal.aborted) stream.abandon()
  const { firstEventTimeoutMs } = parts.world.limits()
  const begun = callUpstream(admitted, stop, taking(admitted, stop), { firstEventTimeoutMs, onErrorHead: failing(stream) })
  begun.then(answering(stream, lease), (error: unknown) => stream.failed(error))
  return stream
}

function openStream<Echo>(
  { parts, format, call, connection, exchange, held, sealing, release, claim }: Admitted<Echo>,
  stop: CallStop,
): ClientStream {
  const { world, live, timings } = parts
  const { body: _sent, chat: _told, routing: _taken, ...answered } = call
  const transcoder = format.transcoder(answered, stampOf(exchange))
  const stream: ClientStream = new ClientStream({
    world,
    exchange,
    connection,
    held,
    transcoder,
    call: stop,
    timings,
    ...(claim === undefined ? {} : { kept: claim.answer }),
    onEnd: ({ outcome, refusal }, kept) => {
      const head = { status: 200, contentType: STREAM_HEADERS['content-type'], requestId: exchange.requestId }
      endClaim(claim, { outcome, kept, head, isStored: answered.isStored, refusal })
      release()
      live.remove(stream)
      world.metrics.streamEnded(format.name)
      if (outcome === 'complete' && kept !== 'unavailable') remember(parts, { key: held.key, sealing }, () => transcoder.finished?.())
    },
  })
  return stream
}

/** A function of its own, as `leaving` is, so that its closure holds nothing of the request while the answer comes. */
function taking<Echo>({ parts: { world, timings }, format, exchange, lease }: Admitted<Echo>, stop: CallStop): Take<Reply> {
  const { requestId } = exchange
  const { wheel, clock } = world
  const timing = { wheel, nowMs: () => clock.monotonicMs(), waitMs: timings.terminalWaitMs }
  const inNative = format.name === 'chat' ? asItIs : nativeReader(requestId, timing)
  return (reply, model) => readStream(reply, { model, deadline: stop, lease, inNative })
}

const asItIs = (reply: Reply): Reply => reply

const failing = (stream: ClientStream) => (): void => stream.failing()

const answering =
  (stream: ClientStream, lease: BodyLease) =>
  (reply: Reply | Fault): void => {
    // The body is not needed any more, since no other upstream will be asked; the stream may run for minutes.
    lease.release()
    stream.answered(reply)
  }
