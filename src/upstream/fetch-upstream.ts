/**
 * A native upstream over HTTP. What leaves: our own credentials, the version, the cleaned betas, nothing else of the client's headers. What comes back: the
 * body, never a header. Rules: faults.md "Upstream calls", "Second tries"; platform.md "Bun's fetch".
 */

import { connectionFault, statusFault } from './fault.ts'
import { Parts, readChunks } from './read-chunks.ts'
import type { Fault, Reply, Upstream, UpstreamRequest } from './upstream.ts'

export type FetchUpstreamOptions = Readonly<{
  name: string
  /** Without a trailing slash. */
  baseUrl: string
  apiKey: string | undefined
  /** The network, or the embedded simulator. */
  fetch: (request: string, init: RequestInit) => Promise<Response>
}>

const USER_AGENT = 'tollgate'
/** A reset this soon after sending means that the connection was dead before. */
const STALE_MS = 1_000
/** How much of an error body is read for the native error inside it. */
const ERROR_BYTES_MAX = 64 * 1024
/** It is waited for until the call is so old, or so long after its head: a stream's status waits for it a little longer than either. */
const ERROR_CALL_MS = 1_000
const ERROR_TEXT_MS = 250

export function fetchUpstream(options: FetchUpstreamOptions): Upstream {
  return {
    call: (request, signal, onErrorHead) => call(options, { request, signal, onErrorHead, calledAtMs: performance.now() }, true),
  }
}

type Call = Readonly<{ request: UpstreamRequest; signal: AbortSignal; onErrorHead: (() => void) | undefined; calledAtMs: number }>

async function call(options: FetchUpstreamOptions, asked: Call, mayRetry: boolean): Promise<Reply | Fault> {
  const { request, signal } = asked
  const sentAtMs = performance.now()
  let response: Response
  try {
    response = await options.fetch(`${options.baseUrl}${request.path}${request.query}`, requestInit(options, request, signal, mayRetry))
  } catch (error) {
    // A pooled connection that the upstream had closed while it was idle fails at once; a later reset may have cost tokens and is not repeated.
    const isStale = codeOf(error) === 'ECONNRESET' && performance.now() - sentAtMs < STALE_MS
    if (mayRetry && isStale && !signal.aborted) return call(options, asked, false)
    return connectionFault(options.name, signal.aborted ? 'aborted' : causeOf(error))
  }
  if (response.status !== 200) {
    asked.onErrorHead?.()
    const body = await readSome(response.body, Math.max(ERROR_TEXT_MS, asked.calledAtMs + ERROR_CALL_MS - performance.now()))
    return statusFault(options.name, request, response.status, body, response.headers.get('retry-after'))
  }
  const contentType = response.headers.get('content-type')?.toLowerCase() ?? ''
  const isEventStream = contentType.startsWith('text/event-stream')
  if (response.body === null || !(isEventStream || contentType.includes('json'))) {
    await response.body?.cancel().catch(() => undefined)
    return connectionFault(options.name, 'content-type')
  }
  return { kind: 'reply', upstream: options.name, isEventStream, body: response.body }
}

function requestInit(
  options: FetchUpstreamOptions,
  request: UpstreamRequest,
  signal: AbortSignal,
  keepalive: boolean,
): BunFetchRequestInit {
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': USER_AGENT,
      'anthropic-version': request.version,
      ...(request.betas === '' ? {} : { 'anthropic-beta': request.betas }),
      ...(options.apiKey === undefined ? {} : { 'x-api-key': options.apiKey }),
    },
    body: request.body as Uint8Array<ArrayBuffer>,
    redirect: 'manual',
    signal,
    keepalive,
    // Bun's own limit is as long as ours and cannot be moved: the relay's deadlines rule.
    timeout: false,
  } as BunFetchRequestInit
}

async function readSome(body: ReadableStream<Uint8Array> | null, waitMs: number): Promise<string> {
  if (body === null) return ''
  const parts = new Parts()
  const reader = body.getReader()
  // What has come by then is read as all there is: the client waits for the status, not for its text. A broken error body is as good as an empty one.
  const timer = setTimeout(() => reader.cancel().catch(() => undefined), waitMs)
  await readChunks(reader, (chunk) => {
    parts.add(chunk)
    return parts.length > ERROR_BYTES_MAX ? 'enough' : undefined
  })
  clearTimeout(timer)
  await reader.cancel().catch(() => undefined)
  return new TextDecoder().decode(parts.joined())
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
