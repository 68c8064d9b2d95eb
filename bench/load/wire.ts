/**
 * The bytes of a load: what clients send, and what the upstream answers in the native format. The plan of an answer stands in the prompt, so that it passes
 * through every gateway. Each event has the time of its writing in its text, behind a mark, so that the time survives each translation.
 */

import { stamp } from '../clock.ts'

/** An answer in one piece has no events. `everyMs` 0: the events come as fast as the socket takes them. `events` is a multiple of `perWrite`. */
export type Plan = Readonly<{ events: number; perWrite: number; everyMs: number }>

export const IN_ONE_PIECE: Plan = { events: 0, perWrite: 0, everyMs: 0 }

/** The mark before the time in each event. It stands nowhere else, neither in a head nor in another frame. */
export const MARK = '~'

export const MODEL = 'bench-model'
export const TOKENS = { input: 90, output: 96 }

const WORDS = 'All lights went out one by one. '
const PROMPT = 'Which lights went out, and why did nobody see it? '.repeat(6)
const PLAN = /plan:(\d+),(\d+),(\d+);/

const writePlan = ({ events, perWrite, everyMs }: Plan): string => `plan:${events},${perWrite},${everyMs};`

export function readPlan(text: string): Plan | undefined {
  const found = PLAN.exec(text)
  return found === null ? undefined : { events: Number(found[1]), perWrite: Number(found[2]), everyMs: Number(found[3]) }
}

/** A chat request; with `bytes` it is a conversation of about that size, in turns of 8 KiB. */
export function chatBody(plan: Plan, bytes = 0): string {
  const turn = PROMPT.repeat(27)
  const turns = Array.from({ length: Math.floor(bytes / turn.length) }, (_, index) => ({
    role: index % 2 === 0 ? 'assistant' : 'user',
    content: turn,
  }))
  return JSON.stringify({
    model: MODEL,
    max_tokens: 1_000,
    stream: plan.events > 0,
    messages: [
      { role: 'user', content: writePlan(plan) + PROMPT },
      ...turns,
      ...(turns.length % 2 === 1 ? [{ role: 'user', content: 'And?' }] : []),
    ],
  })
}

const event = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`

const USAGE = { input_tokens: TOKENS.input, output_tokens: TOKENS.output }
export const TEXT = WORDS.repeat(12)
const MESSAGE = {
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content: [{ type: 'text', text: TEXT }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
}
const whole = JSON.stringify(MESSAGE)
export const WHOLE_ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n${whole}`

/** The head, and the two frames that stand before the first content. */
export const STREAM_BEGIN =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
  chunk(
    event('message_start', { message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  )

export const STREAM_END = `${chunk(
  event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE }) +
    event('message_stop', {}),
)}0\r\n\r\n`

/** A frame before and after its time. It is padded before the last brace, as the vendor's frames are. */
const BEFORE = `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${MARK}`
const AFTER = ' lights went out one by"}      }\n\n'

/** One write with so many events. */
export function deltas(count: number): string {
  const one = BEFORE + stamp() + AFTER
  return chunk(count === 1 ? one : one.repeat(count))
}
