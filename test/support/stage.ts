/**
 * A gateway between a client and an upstream that the test commands, with one funded key: what nearly every socket test needs. And the three formats as a
 * client sees them: how a stream is asked for, and how it ended.
 */

import type { FormatName } from '../../src/core/format.ts'
import type { Move, RecordedRequest } from './fake-upstream.ts'
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts'
import { MODEL_ID, type ReceiptRow, startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts'
import { connectRaw, type RawConnection, rawRequest } from './raw-client.ts'

export const FORMATS: readonly FormatName[] = ['messages', 'chat', 'responses']
const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' } as const

export type Question = Readonly<{ format?: FormatName; stream?: boolean; model?: string; query?: string; more?: Record<string, unknown> }>

/** Path and body of a small request; the native one is 32 tokens at most. */
export function question({ format = 'messages', stream = false, model = MODEL_ID, query = '', more = {} }: Question): {
  path: string
  body: Record<string, unknown>
} {
  const path = `${PATHS[format]}${query}`
  const common = { model, ...(stream ? { stream } : {}), ...more }
  if (format === 'responses') return { path, body: { input: 'Hello there', max_output_tokens: 32, ...common } }
  return { path, body: { max_tokens: 32, messages: [{ role: 'user', content: 'Hello there' }], ...common } }
}

/** The request's index counts from 0 over the life of the stage. */
type Answer = Iterable<Move> | ((request: RecordedRequest, index: number) => Iterable<Move>)

/** `await using` stops it however the test ends. */
export type Stage = AsyncDisposable &
  Readonly<{
    gateway: TestGateway
    upstream: FakeUpstream
    secret: string
    /** What the upstream answers from now on. */
    play(answer: Answer): void
    ask(question?: Question, init?: RequestInit): Promise<Response>
    /** Asks on a connection of its own; the answer is read from it. */
    askRaw(question?: Question, headers?: Readonly<Record<string, string>>): Promise<RawConnection>
    /** Waits until nothing is held, then gives the receipt of an answer; undefined when nothing was charged or kept. Fails unless the ledger is sound. */
    receiptOf(answer: Response | string): Promise<ReceiptRow | undefined>
    /** The same for requests whose id nobody saw: all receipts that were added by `act`. */
    receiptsOf(act: () => Promise<unknown>): Promise<readonly ReceiptRow[]>
    stop(): Promise<void>
  }>

export async function startStage(options: TestGatewayOptions = {}, balanceUsd = '1000'): Promise<Stage> {
  let answer: Answer = []
  const upstream = await startFakeUpstream({
    answer: (request, index) => (typeof answer === 'function' ? answer(request, index) : answer),
  })
  const gateway = await startTestGateway({ ...options, upstreams: [upstream.url, ...(options.upstreams ?? [])] })
  const secret = await gateway.createKey({ balanceUsd })
  const settled = async (): Promise<readonly ReceiptRow[]> => {
    await gateway.idle()
    const differences = gateway.verify()
    if (differences.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(differences)}`)
    return gateway.receipts()
  }
  const stop = async (): Promise<void> => {
    await gateway.stop()
    upstream.stop()
  }
  return {
    gateway,
    upstream,
    secret,
    play: (next) => {
      answer = next
    },
    ask: (asked = {}, init = {}) => {
      const { path, body } = question(asked)
      return gateway.post(path, secret, body, init)
    },
    askRaw: async (asked = {}, headers = {}) => {
      const { path, body } = question(asked)
      const connection = await connectRaw(gateway.url)
      await connection.send(rawRequest('POST', path, { authorization: `Bearer ${secret}`, ...headers }, JSON.stringify(body)))
      return connection
    },
    receiptOf: async (from) => {
      const id = typeof from === 'string' ? from : from.headers.get('x-request-id')
      return (await settled()).find(({ requestId }) => requestId === id)
    },
    receiptsOf: async (act) => {
      const known = new Set(gateway.receipts().map(({ requestId }) => requestId))
      await act()
      return (await settled()).filter(({ requestId }) => !known.has(requestId))
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

export type StreamEnd = 'complete' | 'none' | Readonly<{ type: string; message: string }>

type Event = Readonly<{ event: string; data: Record<string, unknown> }>

/** The data events of a stream in order; comments are left out, `[DONE]` is the event of that name. Throws at a frame that is cut or is no JSON. */
export function eventsOf(text: string): readonly Event[] {
  if (text !== '' && !text.endsWith('\n\n')) throw new Error(`a cut frame: ${text.slice(-200)}`)
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const lines = frame.split('\n')
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7) ?? ''
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6) ?? ''
      return data === '[DONE]' ? { event: '[DONE]', data: {} } : { event, data: JSON.parse(data) as Record<string, unknown> }
    })
}

/** How a stream ended, in its format's terms. Throws unless it has exactly one terminal form, at its very end, or none at all. */
export function endOf(format: FormatName, text: string): StreamEnd {
  const events = eventsOf(text)
  const ends = events.map((event) => endIn(format, event)).filter((end) => end !== undefined)
  if (ends.length > 1) throw new Error(`${ends.length} ends: ${text.slice(-600)}`)
  const [end = 'none'] = ends
  const last = events.at(-1)
  if (end !== 'none' && (last === undefined || endIn(format, last) === undefined))
    throw new Error(`something after the end: ${text.slice(-600)}`)
  return end
}

function endIn(format: FormatName, { event, data }: Event): Exclude<StreamEnd, 'none'> | undefined {
  switch (format) {
    case 'messages':
      return event === 'message_stop' ? 'complete' : event === 'error' ? errorIn(data) : undefined
    case 'chat':
      return event === '[DONE]' ? 'complete' : data['error'] === undefined ? undefined : errorIn(data)
    case 'responses': {
      if (event === 'response.completed' || event === 'response.incomplete') return 'complete'
      if (event !== 'response.failed') return undefined
      const { error } = data['response'] as { error: { code: string; message: string } }
      return { type: error.code, message: error.message }
    }
  }
}

const errorIn = (data: Record<string, unknown>): { type: string; message: string } => {
  const { type, message } = data['error'] as { type: string; message: string }
  return { type, message }
}
