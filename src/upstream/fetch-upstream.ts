/**
 * Calls a native upstream with `fetch`: through a proxy, or the embedded simulator. Rules: faults.md "Upstream calls", "Second tries"; platform.md
 * "Bun's fetch".
 */

import type { Dialect } from '../core/native/event.ts'
import type { Door } from './doors/door.ts'
import { editedBy } from './doors/request-edit.ts'
import { connectionFault } from './fault.ts'
import { type NativeCall, replyOf, STALE_MS } from './native-reply.ts'
import { requestFields } from './native-request.ts'
import { proofOf } from './proof.ts'
import { PulledBody } from './pulled-body.ts'
import { type Fault, isFault, type Reply, type Stop, type Upstream, type UpstreamRequest } from './upstream.ts'

export type FetchUpstreamOptions = Readonly<{
  name: string
  dialect: Dialect
  door: Door
  /** Whether customers see our words in place of this upstream's error messages (`error_text = "own"`). Default: false. */
  hidesErrorText?: boolean
  /** Without a trailing slash. */
  baseUrl: string
  /** Bun's `fetch`, or the embedded simulator's. */
  fetch: (request: string, init: RequestInit) => Promise<Response>
}>

export function fetchUpstream(options: FetchUpstreamOptions): Upstream {
  return {
    call: (request, stop, events = {}) => call(options, { request, stop, events, calledAtMs: performance.now() }, true),
  }
}

async function call(options: FetchUpstreamOptions, asked: NativeCall, mayRetry: boolean): Promise<Reply | Fault> {
  const { stop } = asked
  const sent = await requestOf(options, asked.request, stop)
  if (isFault(sent)) {
    asked.events.onOver?.()
    return sent
  }
  const abort = new AbortController()
  stop.listener = () => abort.abort()
  if (stop.isStopped) abort.abort()
  const sentAtMs = performance.now()
  let response: Response
  try {
    response = await options.fetch(sent.url, requestInit(sent, abort.signal, mayRetry))
  } catch (error) {
    // A reset at once means that the upstream had closed the pooled connection while it was idle: the call is repeated. After a later reset it may have cost
    // tokens, and is not.
    const isStale = codeOf(error) === 'ECONNRESET' && performance.now() - sentAtMs < STALE_MS
    if (mayRetry && isStale && !stop.isStopped) return { ...(await call(options, asked, false)), isSecondTry: true }
    asked.events.onOver?.()
    return connectionFault(options.name, stop.isStopped ? 'aborted' : causeOf(error))
  }
  if (response.body === null) asked.events.onOver?.()
  return replyOf(options, asked, {
    status: response.status,
    contentType: response.headers.get('content-type'),
    retryAfter: response.headers.get('retry-after'),
    requestId: response.headers.get('request-id') ?? response.headers.get('x-request-id') ?? response.headers.get('x-amzn-requestid'),
    errorName: response.headers.get('x-amzn-errortype'),
    body: response.body === null ? undefined : new PulledBody(response.body, asked.events.onOver),
  })
}

/** A request as `fetch` takes it. */
export type FetchRequest = Readonly<{ url: string; headers: Record<string, string>; body: Uint8Array }>

export async function requestOf(
  { name, door, baseUrl }: Pick<FetchUpstreamOptions, 'name' | 'door' | 'baseUrl'>,
  asked: UpstreamRequest,
  stop: Stop,
): Promise<FetchRequest | Fault> {
  const request = editedBy(door, asked)
  const pieces = await request.sent
  const url = `${baseUrl}${door.target(request)}`
  const fields = requestFields(request, door.fields)
  const [first = new Uint8Array(), ...more] = pieces
  // `fetch` takes a body in one piece, and copies it.
  const body = more.length === 0 ? first : Buffer.concat(pieces)
  if (door.prove === undefined) return { url, headers: fields, body }
  const { host, pathname, search } = new URL(url)
  const proof = await proofOf(door, { host, target: `${pathname}${search}`, fields, body: pieces }, stop, name)
  return isFault(proof) ? proof : { url, headers: { ...fields, ...proof }, body }
}

function requestInit({ headers, body }: FetchRequest, signal: AbortSignal, keepalive: boolean): BunFetchRequestInit {
  return {
    method: 'POST',
    headers,
    body: body as Uint8Array<ArrayBuffer>,
    redirect: 'manual',
    signal,
    keepalive,
    // Bun's own limit is shorter than the contract's and cannot be moved, so it is off: the relay's deadlines end a call.
    timeout: false,
  } as BunFetchRequestInit
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  ConnectionRefused: 'refused',
  ECONNRESET: 'reset',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  FailedToOpenSocket: 'connect',
}

/** Maps an error to one of a fixed set of causes, such as `refused` or `tls`, because the cause is a metric's label. */
const causeOf = (error: unknown): string => CAUSES[codeOf(error)] ?? (codeOf(error).includes('CERT') ? 'tls' : 'connection')
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
