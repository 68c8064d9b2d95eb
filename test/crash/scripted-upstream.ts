/**
 * Upstreams that do what the prompt of a request says, call by call, and write down for each call what they will ask money for. A vendor counts what it has generated,
 * whether or not anybody was told: `isTold` says whether a client of it could know.
 */

import { chunk, type FakeUpstream, frame, head, type Move, type Script, startFakeUpstream } from '../support/fake-upstream.ts'

export type Call = Readonly<{
  /** The case of the prompt, and its place among the calls of that case, from 1. */
  caseNumber: number
  number: number
  /** What the upstream calls it, where it got so far as to say so. */
  id: string
  fate: Fate
  upstream: string
  input: number
  /** Tokens, input and output together. */
  billed: number
  isTold: boolean
  startedAtMs: number
}>
export type Fate = keyof typeof FATES

const INPUT = 1_000
/** Each is eight bytes, so two tokens at four bytes a token. */
const DELTAS = 3
const DELTA_TOKENS = 2
const DELTA = 'answers '

const startFrame = (input: number): string =>
  frame('message_start', { message: { ...messageOf(input), content: [], usage: { input_tokens: input, output_tokens: 1 } } }) +
  frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const delta = frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: DELTA } })
const ending =
  frame('content_block_stop', { index: 0 }) +
  frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: DELTAS * DELTA_TOKENS } }) +
  frame('message_stop')
const overloaded = frame('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
const messageOf = (input: number) => ({
  id: `msg_${input}`,
  type: 'message',
  role: 'assistant',
  model: 'vendor-model',
  stop_reason: null,
  stop_sequence: null,
})
const wholeOf = (input: number): string =>
  JSON.stringify({
    ...messageOf(input),
    content: [{ type: 'text', text: DELTA.repeat(DELTAS) }],
    stop_reason: 'end_turn',
    usage: { input_tokens: input, output_tokens: DELTAS * DELTA_TOKENS },
  })

const STREAM = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }
const RESET: Move = { reset: true }
const STALL: Move = { stall: true }
const LAST: Move = { bytes: '0\r\n\r\n' }
const deltas = Array.from({ length: DELTAS }, () => chunk(delta))
/** `gate`: opened by the test. */
type Given = Readonly<{ input: number; id: string; gate: Promise<unknown> }>

const stream = (id: string, ...moves: Script): Script => [head(200, { ...STREAM, 'request-id': id }), ...moves]
const whole = (id: string, text: string, ...before: Script): Script => [
  head(200, { 'content-type': 'application/json', 'content-length': String(text.length), 'request-id': id }),
  ...before,
  { bytes: text },
]

const AS_SENT = 'as far as it was sent'
const atTheGate = (when: Promise<unknown>): Script => [{ when }, RESET]

/** `output`: generated, and billed beside the input; null: the call is not billed. */
const FATES = {
  complete: {
    output: 6,
    isTold: true,
    play: ({ id, input }: Given) => stream(id, chunk(startFrame(input)), ...deltas, chunk(ending), LAST),
  },
  'complete at the gate': {
    output: 6,
    isTold: true,
    play: ({ id, input, gate }: Given) => stream(id, chunk(startFrame(input)), ...deltas, { when: gate }, chunk(ending), LAST),
  },
  'reset in the answer': {
    output: 6,
    isTold: true,
    play: ({ id, input }: Given) => stream(id, chunk(startFrame(input)), ...deltas, { delayMs: 20 }, RESET),
  },
  'error in the answer': {
    output: 6,
    isTold: true,
    play: ({ id, input }: Given) => stream(id, chunk(startFrame(input)), ...deltas, chunk(overloaded), LAST),
  },
  'reset after the start': {
    output: 1,
    isTold: true,
    play: ({ id, input }: Given) => stream(id, chunk(startFrame(input)), { delayMs: 20 }, RESET),
  },
  'reset before the start': { output: 1, isTold: false, play: ({ id }: Given) => stream(id, { delayMs: 20 }, RESET) },
  'ping, then reset': { output: 1, isTold: false, play: ({ id }: Given) => stream(id, chunk(frame('ping')), { delayMs: 20 }, RESET) },
  'reset without a byte': { output: 1, isTold: false, play: () => [RESET] },
  'error first': { output: 1, isTold: false, play: ({ id }: Given) => stream(id, chunk(overloaded), LAST) },
  'status 529': { output: null, isTold: true, play: () => refusal },
  'late start': { output: 1, isTold: true, play: ({ id, input }: Given) => stream(id, { delayMs: 250 }, chunk(startFrame(input)), STALL) },
  'goes on for ever': { output: 6, isTold: true, play: ({ id, input }: Given) => stream(id, chunk(startFrame(input)), ...deltas, STALL) },
  'reset at the gate': {
    output: 6,
    isTold: true,
    play: ({ id, input, gate }: Given) => stream(id, chunk(startFrame(input)), ...deltas, ...atTheGate(gate)),
  },
  'reset at the gate before the start': { output: 1, isTold: false, play: ({ id, gate }: Given) => stream(id, ...atTheGate(gate)) },
  /** A delta each tenth of a second. */
  drips: {
    output: AS_SENT,
    isTold: true,
    play: ({ id, input }: Given) =>
      stream(id, chunk(startFrame(input)), ...Array.from({ length: 60 }, () => [chunk(delta), { delayMs: 100 }]).flat()),
  },
  silent: { output: 1, isTold: false, play: () => [STALL] },
  'never starts': { output: 1, isTold: false, play: ({ id }: Given) => stream(id, STALL) },
  whole: { output: 6, isTold: true, play: ({ id, input }: Given) => whole(id, wholeOf(input)) },
  'late whole': { output: 6, isTold: true, play: ({ id, input }: Given) => whole(id, wholeOf(input), { delayMs: 150 }) },
  'whole at the gate': { output: 6, isTold: true, play: ({ id, input, gate }: Given) => whole(id, wholeOf(input), { when: gate }) },
  'whole cut off': {
    output: 6,
    isTold: false,
    play: ({ id, input }: Given) => [...whole(id, wholeOf(input)).slice(0, 1), { bytes: wholeOf(input).slice(0, 40) }, RESET],
  },
  'no message': { output: 6, isTold: false, play: ({ id }: Given) => whole(id, '{"id":"msg_1","content":') },
  'whole for ever': { output: 6, isTold: false, play: ({ id, input }: Given) => whole(id, wholeOf(input), STALL) },
} as const satisfies Record<string, { output: number | null | typeof AS_SENT; isTold: boolean; play: (given: Given) => Script }>

const OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
const refusal: Script = [
  head(529, { 'content-type': 'application/json', 'content-length': String(OVERLOADED.length) }),
  { bytes: OVERLOADED },
]

export const promptOf = (caseNumber: number, fates: readonly Fate[]): string => `case ${caseNumber}: ${fates.join(' / ')}.`

/** `open` lets go on what waits at the gate; `close` makes another for the calls that follow. */
export type ScriptedUpstreams = Readonly<{ urls: readonly string[]; calls: readonly Call[]; open(): void; close(): void; stop(): void }>

/** Upstreams of these names, with one set of books. */
export async function scriptedUpstreams(...names: readonly string[]): Promise<ScriptedUpstreams> {
  const calls: Call[] = []
  let gate = Promise.withResolvers<void>()
  const answerAs =
    (upstream: string) =>
    (request: Readonly<{ body: Uint8Array; sentBytes: number }>): Script => {
      const [, given = '', fates = ''] = /case (\d+): ([a-z0-9, /]+)\./.exec(new TextDecoder().decode(request.body)) ?? []
      const caseNumber = Number(given)
      const number = calls.filter((call) => call.caseNumber === caseNumber).length + 1
      // A call on a connection that was about to close is sent again by itself: the last fate stays.
      const all = fates.split(' / ')
      const fate = (all[number - 1] ?? all.at(-1)) as Fate
      const { output, isTold, play } = FATES[fate]
      const input = INPUT + calls.length
      const id = `up_${calls.length}`
      const script = play({ input, id, gate: gate.promise })
      calls.push({
        caseNumber,
        number,
        id,
        fate,
        upstream,
        input,
        get billed() {
          return output === null ? 0 : input + (output === AS_SENT ? outputSent(script, request.sentBytes) : output)
        },
        isTold,
        startedAtMs: performance.now(),
      })
      return script
    }
  const running: FakeUpstream[] = []
  for (const name of names) running.push(await startFakeUpstream({ answer: answerAs(name) }))
  return {
    urls: running.map(({ url }) => url),
    calls,
    open: () => gate.resolve(),
    close: () => {
      gate = Promise.withResolvers<void>()
    },
    stop: () => {
      for (const upstream of running) upstream.stop()
    },
  }
}

/** Tokens of the deltas among the first bytes of a script, and the one with which a message starts. */
function outputSent(script: Script, sentBytes: number): number {
  let left = sentBytes
  let tokens = 1
  for (const move of script) {
    if (!('bytes' in move)) continue
    left -= move.bytes.length
    if (left < 0) break
    if (String(move.bytes).includes('content_block_delta')) tokens += DELTA_TOKENS
  }
  return Math.max(1, tokens - 1)
}
