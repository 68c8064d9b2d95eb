/**
 * A native upstream behind `fetch`: through a proxy, or the embedded simulator. Rules: faults.md "Upstream calls", "Second tries"; platform.md "Bun's fetch".
 */

import type { Dialect } from '../core/native/event.ts'
import { connectionFault } from './fault.ts'
import { type NativeCall, replyOf, STALE_MS } from './native-reply.ts'
import { type Access, requestFields } from './native-request.ts'
import { PulledBody } from './pulled-body.ts'
import type { Fault, Reply, Upstream, UpstreamRequest } from './upstream.ts'

export type FetchUpstreamOptions = Access &
  Readonly<{
    name: string
    dialect: Dialect
    /** Its errors reach customers in our words; default: in its own. */
    hidesErrorText?: boolean
    /** Without a trailing slash. */
    baseUrl: string
    /** The network, or the embedded simulator. */
    fetch: (request: string, init: RequestInit) => Promise<Response>
  }>

export function fetchUpstream(options: FetchUpstreamOptions): Upstream {
  return {
    call: (request, stop, events = {}) => call(options, { request, stop, events, calledAtMs: performance.now() }, true),
  }
}

async function call(options: FetchUpstreamOptions, asked: NativeCall, mayRetry: boolean): Promise<Reply | Fault> {
  const { request, stop } = asked
  const over = new AbortController()
  stop.listener = () => over.abort()
  if (stop.isStopped) over.abort()
  const sentAtMs = performance.now()
  let response: Response
  try {
    response = await options.fetch(
      `${options.baseUrl}${request.path}${request.query}`,
      requestInit(options, request, over.signal, mayRetry),
    )
  } catch (error) {
    // A pooled connection that the upstream had closed while it was idle fails at once; a later reset may have cost tokens and is not repeated.
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
    requestId: response.headers.get('request-id'),
    body: response.body === null ? undefined : new PulledBody(response.body, asked.events.onOver),
  })
}

function requestInit(access: Access, request: UpstreamRequest, signal: AbortSignal, keepalive: boolean): BunFetchRequestInit {
  return {
    method: 'POST',
    headers: requestFields(request, access),
    body: request.body as Uint8Array<ArrayBuffer>,
    redirect: 'manual',
    signal,
    keepalive,
    // Bun's own limit is as long as ours and cannot be moved: the relay's deadlines rule.
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

/** A fault's cause from a closed list: it becomes a metric label. */
const causeOf = (error: unknown): string => CAUSES[codeOf(error)] ?? (codeOf(error).includes('CERT') ? 'tls' : 'connection')
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
