/** Turns an answer's head and body into a reply or a fault, for every transport. Rules: faults.md "Before the first byte", "Upstream calls". */

import type { Dialect } from '../core/native/event.ts'
import { inOwnWords } from '../core/native/own-words.ts'
import { DecodedBody } from './decoded-body.ts'
import type { Door } from './doors/door.ts'
import { editedBy } from './doors/request-edit.ts'
import { answerFault, statusFault } from './fault.ts'
import { Parts } from './read-chunks.ts'
import type { Body, CallEvents, Fault, Reply, Stop, UpstreamRequest } from './upstream.ts'

export type NativeAnswer = Readonly<{
  status: number
  contentType: string | null
  retryAfter: string | null
  /** The upstream's own id of the request. */
  requestId: string | null
  /** The error's name, where a field has it; null where none does. */
  errorName: string | null
  body: Body | undefined
}>

export type NativeCall = Readonly<{
  request: UpstreamRequest
  stop: Stop
  events: CallEvents
  /** `performance.now()`. */
  calledAtMs: number
}>

/** A reset this soon after sending means that the connection was dead before. */
export const STALE_MS = 1_000

const REQUEST_ID_LENGTH_MAX = 128
/** How much of an error body is read for the native error inside it. */
const ERROR_BYTES_MAX = 64 * 1024
/** The body of an error is waited for until the call is this old, and for ERROR_TEXT_MS after its head. A stream's status waits a little longer than either. */
const ERROR_CALL_MS = 1_000
const ERROR_TEXT_MS = 250

/** The upstream that answers. */
export type Answerer = Readonly<{ name: string; dialect: Dialect; door: Door; hidesErrorText?: boolean }>

/** Returns at once, except for an error, whose text it reads first. */
export function replyOf(answerer: Answerer, asked: NativeCall, answer: NativeAnswer): Reply | Fault | Promise<Fault> {
  const { name: upstream, dialect, door, hidesErrorText = false } = answerer
  const { status, body } = answer
  if (status !== 200) return errorOf(answerer, asked, answer)
  const contentType = answer.contentType?.toLowerCase() ?? ''
  const reading = door.reading?.(asked.request, contentType, asked.events)
  if (reading !== undefined && body !== undefined) {
    const { isEventStream, decoder } = reading
    return { kind: 'reply', upstream, isEventStream, dialect, hidesErrorText, body: new DecodedBody(body, decoder), ...nameOf(answer) }
  }
  const isEventStream = contentType.startsWith('text/event-stream')
  if (body === undefined || !(isEventStream || contentType.includes('json'))) {
    body?.cancel()
    return { ...answerFault(upstream, 'content-type'), ...nameOf(answer) }
  }
  const reply = { kind: 'reply', upstream, isEventStream, dialect, hidesErrorText, body, ...nameOf(answer) } as const
  if (door.addedPrefix !== undefined) return { ...reply, addedPrefix: door.addedPrefix }
  return door.chat === undefined ? reply : { ...reply, ...door.chat }
}

const UNNAMED = {}

const nameOf = ({ requestId }: NativeAnswer): Pick<Reply, 'requestId'> =>
  requestId === null ? UNNAMED : { requestId: requestId.slice(0, REQUEST_ID_LENGTH_MAX) }

async function errorOf(
  { name: upstream, door, hidesErrorText }: Answerer,
  { request, events, calledAtMs }: NativeCall,
  answer: NativeAnswer,
): Promise<Fault> {
  const { body, retryAfter } = answer
  events.onErrorHead?.()
  const text = await readSome(body, Math.max(ERROR_TEXT_MS, calledAtMs + ERROR_CALL_MS - performance.now()))
  const status = door.errorStatus?.(answer.status, answer.errorName ?? '', text) ?? answer.status
  if (status === 401) door.refused?.()
  const betas = status === 400 && BETAS.test(text) ? betasIn(text, request, door) : []
  if (betas.length > 0) events.onBetasRefused?.(betas)
  const fault = statusFault(upstream, request, status, text, retryAfter)
  return { ...fault, ...(hidesErrorText ? { refusal: inOwnWords(fault.refusal) } : {}), ...nameOf(answer) }
}

const BETAS = /beta/i

/** The client's betas, by which a configuration drops them, of which the text names what was sent; all that were sent where it names none. */
function betasIn(text: string, { notes: _, ...request }: UpstreamRequest, door: Door): readonly string[] {
  const sent = request.betas.split(',').flatMap((beta) => {
    const { betas: sentAs } = editedBy(door, { ...request, body: EMPTY_OBJECT, betas: beta })
    return sentAs === '' ? [] : [{ beta, sentAs }]
  })
  const named = sent.filter(({ sentAs }) => text.includes(sentAs))
  return (named.length === 0 ? sent : named).map(({ beta }) => beta)
}

const EMPTY_OBJECT = Buffer.from('{}')

/** Text that has come by `waitMs` counts as the whole: the client waits for the status, not for the text. A broken error body counts as empty. */
async function readSome(body: Body | undefined, waitMs: number): Promise<string> {
  if (body === undefined) return ''
  const parts = new Parts()
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, waitMs)
  body.take({
    data(piece) {
      parts.add(piece)
      if (parts.length > ERROR_BYTES_MAX) resolve()
    },
    end: resolve,
    broken: resolve,
  })
  await over
  clearTimeout(timer)
  body.cancel()
  return new TextDecoder().decode(parts.joined())
}
