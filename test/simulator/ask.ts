/** Asks a simulator and takes its answer apart. Time is a clock that the test reads: sleeping costs nothing. */

import type { SimulatorClock } from '../../src/simulator/pace.ts'
import { makeSimulator, type Simulator } from '../../src/simulator/simulator.ts'

export type Fields = Record<string, unknown>

/** Jumps instead of sleeping, and keeps what was slept. */
export function jumpingClock(): SimulatorClock & { slept: number[]; nowMs(): number; jump(byMs: number): void } {
  let now = 0
  const slept: number[] = []
  return {
    slept,
    nowMs: () => now,
    jump: (byMs) => {
      now += byMs
    },
    sleep: (waitMs) => {
      slept.push(waitMs)
      now += waitMs
      return Promise.resolve()
    },
  }
}

export const quick = (seed = 0): Simulator => makeSimulator({ seed, tokensPerSecond: 0, clock: jumpingClock() })

export const user = (content: unknown): Fields => ({ role: 'user', content })
export const assistant = (content: unknown): Fields => ({ role: 'assistant', content })

export const requestOf = (body: unknown, path = '/v1/messages?beta=true', signal?: AbortSignal): Request =>
  new Request(`http://simulator${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })

export const bodyOf = (prompt: unknown, fields: Fields = {}): Fields => ({
  model: 'any-model',
  max_tokens: 4_096,
  messages: [user(prompt)],
  ...fields,
})

/** The whole message of an answer without `stream`; fails on another status than 200. */
export async function ask(simulator: Simulator, prompt: unknown, fields: Fields = {}): Promise<Message> {
  const response = await simulator(requestOf(bodyOf(prompt, fields)))
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  return JSON.parse(text)
}

export type Message = {
  id: string
  model: string
  content: (Fields & { type: string; text?: string })[]
  stop_reason: string | null
  stop_sequence: string | null
  usage: Record<string, number>
}

export async function askStream(simulator: Simulator, prompt: unknown, fields: Fields = {}): Promise<readonly Fields[]> {
  const response = await simulator(requestOf(bodyOf(prompt, { stream: true, ...fields })))
  return eventsOf(await response.text())
}

/** The data of each frame; checks that a frame's `event:` line names its type. */
export function eventsOf(text: string): readonly Fields[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [event = '', data = '', ...more] = frame.split('\n')
      const body = JSON.parse(data.slice('data: '.length))
      if (event !== `event: ${body.type}` || more.length > 0) throw new Error(`not a native frame: ${frame}`)
      return body
    })
}

export const typesOf = (events: readonly Fields[]): readonly unknown[] => events.map(({ type }) => type)

export const deltasOf = (events: readonly Fields[]): readonly Record<string, string>[] =>
  events.filter(({ type }) => type === 'content_block_delta').map(({ delta }) => delta as Record<string, string>)

/** Puts a stream's blocks together, as a client does. */
export function messageOf(events: readonly Fields[]): { content: Fields[]; stop_reason: unknown; usage: Record<string, number> } {
  const content: Fields[] = []
  const json: string[] = []
  let last: Fields = {}
  for (const event of events) {
    const index = Number(event['index'])
    if (event['type'] === 'content_block_start') content[index] = { ...(event['content_block'] as Fields) }
    if (event['type'] === 'content_block_delta') {
      const block = content[index]!
      const { type: _type, ...piece } = event['delta'] as Record<string, string>
      for (const [name, value] of Object.entries(piece)) {
        if (name === 'partial_json') json[index] = (json[index] ?? '') + value
        else block[name] = String(block[name]) + value
      }
    }
    if (event['type'] === 'content_block_stop' && json[index] !== undefined) content[index]!['input'] = JSON.parse(json[index] || '{}')
    if (event['type'] === 'message_delta') last = event
  }
  return { content, stop_reason: (last['delta'] as Fields)['stop_reason'], usage: last['usage'] as Record<string, number> }
}

export const WRITE = {
  name: 'Write',
  description: 'Writes a file',
  input_schema: {
    type: 'object',
    properties: { file_path: { type: 'string' }, content: { type: 'string' }, mode: { type: 'string', enum: ['new', 'append'] } },
    required: ['file_path', 'content', 'mode'],
  },
}
export const READ = { name: 'Read', input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } }
