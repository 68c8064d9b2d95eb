/** From an answer's head and body to a reply or a fault, whatever transport brought them. Rules: faults.md "Before the first byte", "Upstream calls". */

import { connectionFault, statusFault } from './fault.ts'
import { Parts, readChunks } from './read-chunks.ts'
import type { Fault, Reply, UpstreamRequest } from './upstream.ts'

export type NativeAnswer = Readonly<{
  status: number
  contentType: string | null
  retryAfter: string | null
  body: ReadableStream<Uint8Array> | null
}>

export type NativeCall = Readonly<{
  request: UpstreamRequest
  signal: AbortSignal
  onErrorHead: (() => void) | undefined
  /** `performance.now()`. */
  calledAtMs: number
}>

/** A reset this soon after sending means that the connection was dead before. */
export const STALE_MS = 1_000

/** How much of an error body is read for the native error inside it. */
const ERROR_BYTES_MAX = 64 * 1024
/** It is waited for until the call is so old, or so long after its head: a stream's status waits for it a little longer than either. */
const ERROR_CALL_MS = 1_000
const ERROR_TEXT_MS = 250

export async function replyOf(
  upstream: string,
  { request, onErrorHead, calledAtMs }: NativeCall,
  answer: NativeAnswer,
): Promise<Reply | Fault> {
  const { status, body } = answer
  if (status !== 200) {
    onErrorHead?.()
    const text = await readSome(body, Math.max(ERROR_TEXT_MS, calledAtMs + ERROR_CALL_MS - performance.now()))
    return statusFault(upstream, request, status, text, answer.retryAfter)
  }
  const contentType = answer.contentType?.toLowerCase() ?? ''
  const isEventStream = contentType.startsWith('text/event-stream')
  if (body === null || !(isEventStream || contentType.includes('json'))) {
    await body?.cancel().catch(() => undefined)
    return connectionFault(upstream, 'content-type')
  }
  return { kind: 'reply', upstream, isEventStream, body }
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
