/** A native answer in Bedrock's form: binary frames in place of events, its names of errors, its count of tokens. Rules: native.md "Binary frames". */

import { isObject, type JsonObject } from '../../core/json.ts'
import { chunkFrame, exceptionFrame } from '../binary-frames.ts'

const ERRORS: Readonly<Record<number, readonly [string, number]>> = {
  400: ['ValidationException', 400],
  401: ['AccessDeniedException', 403],
  403: ['AccessDeniedException', 403],
  404: ['ResourceNotFoundException', 404],
  408: ['ModelTimeoutException', 408],
  429: ['ThrottlingException', 429],
  500: ['InternalServerException', 500],
  529: ['ServiceUnavailableException', 503],
}

const STREAM_ERRORS: Readonly<Record<string, string>> = {
  rate_limit_error: 'throttlingException',
  overloaded_error: 'serviceUnavailableException',
  timeout_error: 'modelTimeoutException',
  invalid_request_error: 'validationException',
}

export async function bedrockResponse(answer: Response, isCount: boolean): Promise<Response> {
  const { status, body, headers } = answer
  if (status !== 200) {
    const [name, theirs] = ERRORS[status] ?? ['InternalServerException', 500]
    const { error } = objectOf(await answer.text())
    const message = isObject(error) ? error['message'] : undefined
    const retryAfter = headers.get('retry-after')
    return Response.json(
      { message },
      {
        status: theirs,
        headers: { 'x-amzn-errortype': `${name}:http://internal.amazon.com/`, ...(retryAfter && { 'retry-after': retryAfter }) },
      },
    )
  }
  if (isCount) return Response.json({ inputTokens: objectOf(await answer.text())['input_tokens'] })
  if (body === null || !headers.get('content-type')?.startsWith('text/event-stream')) return answer
  return new Response(framesOf(body), { headers: { 'content-type': 'application/vnd.amazon.eventstream' } })
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  let rest = ''
  let usage: JsonObject = {}
  for await (const piece of body) {
    const events = (rest + decoder.decode(piece, { stream: true })).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const text = /^data: ?(.*)$/m.exec(event)?.[1] ?? ''
      const json = objectOf(text)
      usage = { ...usage, ...usageIn(json) }
      yield frameOf(json, text, usage)
    }
  }
}

function frameOf(json: JsonObject, text: string, usage: JsonObject): Uint8Array {
  if (json['type'] === 'error') {
    const error = isObject(json['error']) ? json['error'] : {}
    return exceptionFrame(STREAM_ERRORS[String(error['type'])] ?? 'internalServerException', { message: error['message'] })
  }
  return chunkFrame(json['type'] === 'message_stop' ? JSON.stringify({ ...json, ...metricsOf(usage) }) : text)
}

function usageIn({ message, usage }: JsonObject): JsonObject {
  if (isObject(usage)) return usage
  return isObject(message) && isObject(message['usage']) ? message['usage'] : {}
}

const metricsOf = (usage: JsonObject): JsonObject => ({
  'amazon-bedrock-invocationMetrics': {
    inputTokenCount: usage['input_tokens'],
    outputTokenCount: usage['output_tokens'],
    cacheReadInputTokenCount: usage['cache_read_input_tokens'],
    cacheWriteInputTokenCount: usage['cache_creation_input_tokens'],
  },
})

function objectOf(text: string): JsonObject {
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? json : {}
  } catch {
    return {}
  }
}
