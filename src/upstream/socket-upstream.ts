/** A native upstream over sockets of our own: HTTP/1.1 on kept connections. Rules: faults.md "Upstream calls", "Second tries", "Connections". */

import { type BoundedMap, boundedMap } from '../core/bounded-map.ts'
import type { Dialect } from '../core/native/event.ts'
import { BodyStream } from './body-stream.ts'
import type { Connection } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { Door, Fields, Pieces } from './doors/door.ts'
import { editedBy } from './doors/request-edit.ts'
import { connectionFault } from './fault.ts'
import { type CallEvents as ConnectionCall, Http1Call } from './http1-call.ts'
import type { AnswerHead } from './http1-head.ts'
import { fieldLines, requestBytes, requestHead } from './http1-request.ts'
import { type NativeAnswer, type NativeCall, replyOf, STALE_MS } from './native-reply.ts'
import { requestFields } from './native-request.ts'
import { proofOf } from './proof.ts'
import { PulledBody } from './pulled-body.ts'
import { PushedBody } from './pushed-body.ts'
import {
  type Body,
  type BodySink,
  type BodySource,
  type Fault,
  isFault,
  type Reply,
  type Stop,
  type Upstream,
  type UpstreamRequest,
} from './upstream.ts'

export type SocketUpstreamOptions = Readonly<{
  name: string
  dialect: Dialect
  door: Door
  /** Whether customers see our words in place of this upstream's error messages (`error_text = "own"`). Default: false. */
  hidesErrorText?: boolean
  /** Without a trailing slash. */
  baseUrl: string
  connectTimeoutMs: number
  /** PEM of the authorities to trust instead of the machine's. */
  ca?: string
  /** How long an idle connection is kept. */
  restSeconds?: number
}>

export function socketUpstream(options: SocketUpstreamOptions): Upstream {
  const url = new URL(options.baseUrl)
  const isSecure = url.protocol === 'https:'
  const target = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (isSecure ? 443 : 80)),
    isSecure,
    ca: options.ca,
  }
  const site = {
    ...options,
    host: url.host,
    path: url.pathname.replace(/\/$/, ''),
    pool: new ConnectionPool({ ...options, target }),
    heads: boundedMap<Uint8Array>(HEADS_MAX),
  }
  return {
    call: (request, stop, events = {}) => call(site, { request, stop, events, calledAtMs: performance.now() }),
  }
}

type Site = Readonly<{
  name: string
  dialect: Dialect
  door: Door
  host: string
  path: string
  pool: ConnectionPool
  /** Heads by all that they depend on: requests differ in little else than the body. */
  heads: BoundedMap<Uint8Array>
}>

const HEADS_MAX = 64

function headOf(site: Site, target: string, request: UpstreamRequest): Uint8Array | undefined {
  const asked = `${target}\n${request.version}\n${request.betas}`
  const known = site.heads.get(asked)
  if (known !== undefined) return known
  const head = requestHead(`${site.path}${target}`, site.host, requestFields(request, site.door.fields))
  if (head !== undefined) site.heads.set(asked, head)
  return head
}

/** The request's bytes, or why there are none; returned at once unless the body or the proof has to be waited for. */
function bytesOf(site: Site, asked: UpstreamRequest, stop: Stop): Made | Promise<Made> {
  const request = editedBy(site.door, asked)
  const target = site.door.target(request)
  const head = headOf(site, target, request)
  if (head === undefined) return connectionFault(site.name, 'request')
  const { sent } = request
  const made = (body: Pieces): Made | Promise<Made> => proven(site, { request, target, head, body, stop })
  return sent instanceof Promise ? sent.then(made) : made(sent)
}

type Unproven = Readonly<{ request: UpstreamRequest; target: string; head: Uint8Array; body: Pieces; stop: Stop }>

function proven({ name, door, host, path }: Site, { request, target, head, body, stop }: Unproven): Made | Promise<Made> {
  if (door.prove === undefined) return requestBytes(head, body)
  const made = (proof: Fields | Fault): Made => {
    if (isFault(proof)) return proof
    const own = fieldLines(proof)
    return own === undefined ? connectionFault(name, 'request') : requestBytes(head, body, own)
  }
  const call = { host, target: `${path}${target}`, fields: requestFields(request, door.fields), body }
  const proof = proofOf(door, call, stop, name)
  return proof instanceof Promise ? proof.then(made) : made(proof)
}

type Made = readonly Uint8Array[] | Fault

async function call(site: Site, asked: NativeCall): Promise<Reply | Fault> {
  const { name, pool } = site
  const { request, stop, events } = asked
  const made = bytesOf(site, request, stop)
  const bytes = made instanceof Promise ? await made : made
  const over = events.onOver ?? NOTHING
  if (isFault(bytes) || stop.isStopped) {
    over()
    return isFault(bytes) ? bytes : connectionFault(name, 'aborted')
  }
  const sending = { bytes, stop, over }
  const rested = pool.takeRested()
  const first = await (rested === undefined ? sendFresh(pool, sending) : send(pool, rested, sending))
  const isSecondTry = rested !== undefined && 'failed' in first && first.isStale && !stop.isStopped
  const result = isSecondTry ? await sendFresh(pool, sending) : first
  if ('failed' in result) over()
  const reply = 'failed' in result ? connectionFault(name, result.failed) : replyOf(site, asked, result)
  return isSecondTry ? { ...(await reply), isSecondTry } : reply
}

/** `isStale`: the connection was probably dead before it was used. */
type Failed = Readonly<{ failed: string; isStale: boolean }>

/** `over`: called when an answer that had begun has ended. */
type Sending = Readonly<{ bytes: readonly Uint8Array[]; stop: Stop; over: () => void }>

async function sendFresh(pool: ConnectionPool, sending: Sending): Promise<NativeAnswer | Failed> {
  const connection = sending.stop.isStopped ? 'aborted' : await pool.open(sending.stop)
  return typeof connection === 'string' ? { failed: connection, isStale: false } : send(pool, connection, sending)
}

const NOTHING = (): void => undefined

/** Resolves with the answer's head, or with why there is none. */
function send(pool: ConnectionPool, connection: Connection, { bytes, stop, over }: Sending): Promise<NativeAnswer | Failed> {
  const { promise, resolve } = Promise.withResolvers<NativeAnswer | Failed>()
  stop.listener = aborting(new Http1Call(connection, bytes, new Sent(pool, stop, over, resolve)))
  return promise
}

const aborting = (exchange: Http1Call) => (): void => exchange.abort()

/** A call that is under way. An answer may take minutes to come, so the call holds nothing of its request. */
class Sent implements ConnectionCall {
  readonly #pool: ConnectionPool
  readonly #stop: Stop
  readonly #over: () => void
  readonly #sentAtMs = performance.now()
  /** Pending until it is known whether there is an answer. */
  #resolve: ((begun: NativeAnswer | Failed) => void) | undefined
  #hasBegun = false

  constructor(pool: ConnectionPool, stop: Stop, over: () => void, resolve: (begun: NativeAnswer | Failed) => void) {
    this.#pool = pool
    this.#stop = stop
    this.#over = over
    this.#resolve = resolve
  }

  head({ status, fields }: AnswerHead, source: BodySource): BodySink {
    this.#hasBegun = true
    const { sink, body } = bodyOf(source, fields.get('content-encoding'))
    this.#tell({
      status,
      contentType: fields.get('content-type') ?? null,
      retryAfter: fields.get('retry-after') ?? null,
      requestId: fields.get('request-id') ?? fields.get('x-request-id') ?? fields.get('x-amzn-requestid') ?? null,
      errorName: fields.get('x-amzn-errortype') ?? null,
      body,
    })
    return sink
  }

  failed(cause: string, isUnheard: boolean): void {
    this.#tell({ failed: cause, isStale: isUnheard && cause === 'reset' && performance.now() - this.#sentAtMs < STALE_MS })
  }

  over(kept: Connection | undefined): void {
    this.#stop.listener = undefined
    if (kept !== undefined) this.#pool.rest(kept)
    if (this.#hasBegun) this.#over()
  }

  #tell(begun: NativeAnswer | Failed): void {
    this.#resolve?.(begun)
    this.#resolve = undefined
  }
}

type Encoding = ConstructorParameters<typeof DecompressionStream>[0]

const FORMATS: Readonly<Record<string, Encoding>> = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate', br: 'brotli', zstd: 'zstd' }

/**
 * The sink for the encoded body, and the decoded body, for upstreams that compress although they are sent `accept-encoding: identity`. A body with an unknown
 * encoding is passed on as it is: its reader finds neither a message nor a stream in it.
 */
function bodyOf(source: BodySource, encoding: string | undefined): Readonly<{ sink: BodySink; body: Body }> {
  const format = encoding === undefined ? undefined : FORMATS[encoding.toLowerCase()]
  if (format === undefined) {
    const body = new PushedBody(source)
    return { sink: body, body }
  }
  const sink = new BodyStream(source)
  const inflated = sink.stream.pipeThrough(new DecompressionStream(format) as ReadableWritablePair<Uint8Array, Uint8Array>)
  return { sink, body: new PulledBody(inflated) }
}
