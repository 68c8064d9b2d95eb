/**
 * An upstream that keeps its own books: every call gets a number, and its input tokens are that number and a thousand, so that a receipt says which call it
 * belongs to. It answers when `turn` lets it, which is how a test keeps streams open.
 */

import { frame } from '../support/fake-upstream.ts'

export const FIRST_INPUT_TOKENS = 1_000
const DELTAS = 6

export type Call = {
  readonly number: number
  readonly isStream: boolean
  readonly apiKey: string | null
  readonly usage: Readonly<{ input: number; output: number; cacheRead: number }>
  /** Every byte of the answer was handed over. */
  isAnswered: boolean
}

export type BookKeeper = Readonly<{ url: string; calls: readonly Call[]; stop(): Promise<void> }>

/** `turn` is awaited after `message_start` and after each delta (`step` 0, 1 …); for an answer in one piece once, before it. */
export function keepBooks(turn: (call: Call, step: number) => Promise<void> | void = () => undefined): BookKeeper {
  const calls: Call[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { stream = false } = (await request.json()) as { stream?: boolean }
      const number = calls.length
      const usage = { input: FIRST_INPUT_TOKENS + number, output: 7 + (number % 50), cacheRead: number % 3 }
      const call: Call = { number, isStream: stream, apiKey: request.headers.get('x-api-key'), usage, isAnswered: false }
      calls.push(call)
      if (stream) return new Response(framesOf(call, turn), { headers: { 'content-type': 'text/event-stream' } })
      await turn(call, 0)
      call.isAnswered = true
      return Response.json({ ...messageOf(call), content: [{ type: 'text', text: wordsOf(call) }], stop_reason: 'end_turn' })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, calls, stop: () => server.stop(true) }
}

function framesOf(call: Call, turn: (call: Call, step: number) => Promise<void> | void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const frames = async function* (): AsyncGenerator<Uint8Array> {
    const { cacheRead, input, output } = call.usage
    const message = { ...messageOf(call), content: [], usage: { ...usageOf(call), output_tokens: 1 } }
    yield encoder.encode(frame('message_start', { message }))
    yield encoder.encode(frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }))
    for (let step = 0; step < DELTAS; step++) {
      await turn(call, step)
      yield encoder.encode(frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: textAt(call, step) } }))
    }
    yield encoder.encode(frame('content_block_stop', { index: 0 }))
    const usage = { input_tokens: input, cache_read_input_tokens: cacheRead, output_tokens: output }
    yield encoder.encode(frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }))
    call.isAnswered = true
    yield encoder.encode(frame('message_stop'))
  }
  const made = frames()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await made.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

/** What every answer to this call says, and no other. */
export const wordsOf = (call: Pick<Call, 'number'>): string => `answer-${call.number}.`

const textAt = (call: Call, step: number): string => `${wordsOf(call)} ${step} `

/** All that a stream says. */
export const textOf = (call: Call): string => Array.from({ length: DELTAS }, (_, step) => textAt(call, step)).join('')

const messageOf = (call: Call) => ({
  id: `msg_${call.number}`,
  type: 'message',
  role: 'assistant',
  model: 'vendor-model',
  stop_reason: null,
  stop_sequence: null,
  usage: usageOf(call),
})

const usageOf = ({ usage }: Call) => ({
  input_tokens: usage.input,
  output_tokens: usage.output,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: usage.cacheRead,
})
