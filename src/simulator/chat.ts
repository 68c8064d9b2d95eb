/**
 * The simulator as a server of the chat format: it gives the answer that it would give to the equivalent native request, in the form of such servers. Rules: openai.md "Chunks";
 * faults.md "Simulator".
 */

import { parseBody } from '../core/body.ts'
import type { Model } from '../core/catalog.ts'
import type { Call, Stamp } from '../core/format.ts'
import { chatFormat } from '../core/formats/chat/format.ts'
import { chatCompletion } from '../core/formats/chat/response.ts'
import type { ChatEcho } from '../core/formats/chat/wire.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { picos } from '../core/money.ts'
import { errorOfBody } from '../core/native/error.ts'
import { readMessage } from '../core/native/message.ts'
import { Refusal } from '../core/refusal.ts'
import { type Pushed, piecesOf } from '../core/transcoder.ts'
import { betweenEvents, type ChatDialectName, inDialect } from './chat-dialects.ts'

export const CHAT_ROUTE = '/v1/chat/completions'

/** What the prompt asks of the chat form of the answer, noted while the native answer is made. */
export type Noted = { dialect?: ChatDialectName | undefined }

type AskNative = (request: Request, noted: Noted) => Promise<Response>

const FREE = picos(0n)

/** A model of this id that rejects nothing: the simulator takes every model. */
const modelNamed = (id: string): Model => ({
  id,
  displayName: id,
  upstreamModel: id,
  upstreams: [],
  isNative: true,
  chat: [],
  levels: [],
  rates: { input: FREE, output: FREE, cacheRead: FREE, cacheWrite5m: FREE, cacheWrite1h: FREE, serverToolUse: FREE },
  contextWindow: 200_000,
  maxOutputTokens: 1_000_000,
  bytesPerToken: 4,
  createdSeconds: 0,
  rejects: new Set(),
})

export async function answerChat(request: Request, askNative: AskNative, nowMs: () => number): Promise<Response> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  const body = parseBody(bytes)
  const call = body instanceof Refusal ? body : read(body)
  if (call instanceof Refusal || body instanceof Refusal)
    return errorAnswer(400, String((call as Refusal).message), 'invalid_request_error')
  const headers = new Headers({ 'content-type': 'application/json', 'x-api-key': bearerOf(request) })
  const noted: Noted = {}
  const { url, signal } = request
  const native = await askNative(
    new Request(new URL('/v1/messages', url).href, { method: 'POST', headers, body: call.body, signal }),
    noted,
  )
  if (native.status !== 200) return await errorAnswerOf(native)
  const type = native.headers.get('content-type') ?? ''
  if (type.startsWith('text/html')) return native
  const stamp: Stamp = { createdSeconds: Math.floor(nowMs() / 1_000), requestId: native.headers.get('request-id') ?? 'req_sim' }
  const answer = { call, stamp, dialect: noted.dialect, asksUsage: asksUsage(body.json) }
  return type.startsWith('text/event-stream') ? streamAnswer(native, answer) : await wholeAnswer(native, answer)
}

const read = (body: Exclude<ReturnType<typeof parseBody>, Refusal>): Call<ChatEcho> | Refusal =>
  chatFormat.read(body, {
    headers: new Headers(),
    find: modelNamed,
    recall: () => 'unknown',
    sha256Hex: (text) => new Bun.CryptoHasher('sha256').update(text).digest('hex'),
  }) as Call<ChatEcho> | Refusal

const bearerOf = ({ headers }: Request): string => (headers.get('authorization') ?? '').replace(/^Bearer /i, '')

const asksUsage = ({ stream_options: options }: JsonObject): boolean => isObject(options) && options['include_usage'] === true

function errorAnswer(status: number, message: string, type: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { message, type, param: null, code: type === 'insufficient_quota' ? type : null } }, { status, headers })
}

async function errorAnswerOf(native: Response): Promise<Response> {
  const error = errorOfBody(await native.text())
  const retryAfter = native.headers.get('retry-after')
  return errorAnswer(
    native.status,
    error?.message ?? '',
    error?.type ?? 'server_error',
    retryAfter === null ? {} : { 'retry-after': retryAfter },
  )
}

type Answer = Readonly<{ call: Call<ChatEcho>; stamp: Stamp; dialect: ChatDialectName | undefined; asksUsage: boolean }>

async function wholeAnswer(native: Response, { call, stamp, dialect }: Answer): Promise<Response> {
  const bytes = new Uint8Array(await native.arrayBuffer())
  const message = readMessage(bytes)
  if (message === undefined) return new Response(bytes, { headers: { 'content-type': 'application/json' } })
  const completion = plain(chatCompletion(message, call, stamp) as unknown as JsonObject, message.observation.stopSequence)
  return Response.json(dialect === undefined ? completion : inDialect(dialect, completion, 0))
}

/** Translates the native stream step by step, as it comes. */
function streamAnswer(native: Response, answer: Answer): Response {
  const { call, stamp } = answer
  const transcoder = chatFormat.transcoder({ ...call, echo: { ...call.echo, includesUsageChunk: true } }, stamp)
  const writer = new ChunkRewriter(answer, () => transcoder.observation.stopSequence)
  const reader = native.body?.getReader()
  let isOver = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (let said = ''; said === ''; ) {
          const next = await reader?.read()
          const piece = next?.value as Uint8Array | undefined
          const pushed = isOver ? {} : piece === undefined ? transcoder.end('ended') : transcoder.push(piece)
          isOver ||= pushed.last !== undefined || pushed.fault !== undefined
          said = writer.write(pushed, piece)
          if (said !== '') controller.enqueue(Buffer.from(said))
          if (piece === undefined) return controller.close()
        }
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' } })
}

/** Rewrites the chunks of the gateway's own chat stream as the chosen server writes them. */
class ChunkRewriter {
  readonly #answer: Answer
  readonly #stopSequence: () => string | undefined
  #count = 0

  constructor(answer: Answer, stopSequence: () => string | undefined) {
    this.#answer = answer
    this.#stopSequence = stopSequence
  }

  write({ now = [], last = [], fault }: Pushed, native: Uint8Array | undefined): string {
    const text = Buffer.concat([...piecesOf(now), ...piecesOf(last)]).toString('utf8')
    const frames = text.split('\n\n').filter((frame) => frame !== '')
    const chunks = frames.map((frame) => this.#frame(frame.slice('data: '.length))).join('')
    if (fault === undefined || native === undefined) return chunks
    if (!Buffer.from(native).includes('event: error')) return `${chunks}data: {"choices":[{"del\n\n`
    return `${chunks}data: ${JSON.stringify({ error: { message: fault.message, type: 'server_error', code: fault.row.status } })}\n\n`
  }

  #frame(data: string): string {
    if (data === '[DONE]') return 'data: [DONE]\n\n'
    const chunk = plain(JSON.parse(data) as JsonObject, this.#stopSequence())
    const { dialect } = this.#answer
    if (chunk['choices'] === undefined || isEmpty(chunk)) return ''
    if (isObject(chunk['usage']) && !this.#answer.asksUsage) return ''
    const said = dialect === undefined ? chunk : inDialect(dialect, chunk, this.#count++)
    return said === undefined ? '' : `${betweenEvents(dialect)}data: ${JSON.stringify(said)}\n\n`
  }
}

/** Whether a chunk has become empty, since it held only what other servers do not send. */
const isEmpty = ({ choices }: JsonObject): boolean =>
  Array.isArray(choices) &&
  choices.some(({ delta, finish_reason }) => isObject(delta) && Object.keys(delta).length === 0 && finish_reason === null)

/** The chunk without what only the gateway sends: signed thinking, and figures under native names. */
function plain(chunk: JsonObject, stopSequence: string | undefined): JsonObject {
  const { usage, choices, ...rest } = chunk
  const plainChoices = (Array.isArray(choices) ? choices : []).filter(isObject).map((choice) => ({
    ...choice,
    ...(isObject(choice['delta']) ? { delta: withoutSigned(choice['delta']) } : {}),
    ...(isObject(choice['message']) ? { message: withoutSigned(choice['message']) } : {}),
    ...(choice['finish_reason'] === 'stop' && stopSequence !== undefined ? { stop_reason: stopSequence } : {}),
  }))
  return { ...rest, choices: plainChoices, ...(isObject(usage) ? { usage: plainUsage(usage) } : {}) }
}

const withoutSigned = ({ thinking_blocks: _signed, ...said }: JsonObject): JsonObject => said

const plainUsage = ({ cache_read_input_tokens: _read, cache_creation_input_tokens: _written, ...usage }: JsonObject): JsonObject => usage
