/** What a probe asks an upstream, what each answer says of the upstream, and which settings follow. Rules: operator.md "Commands"; native.md "Other servers". */

import { isObject, type JsonObject } from '../core/json.ts'
import { isSameModel } from '../core/native/model-echo.ts'
import type { ProbeCall, Probed } from './probe-calls.ts'

/** `setting`: a line of the configuration that the upstream needs; '' where the default is right. */
export type ProbeFinding = Readonly<{ check: string; found: string; setting: string }>

type Check = Readonly<{
  check: string
  call: ProbeCall
  outputTokensMax: number
  judge: (probed: Probed, modelId: string) => readonly Omit<ProbeFinding, 'check'>[]
}>

const messages = [{ role: 'user', content: 'Say OK.' }]
const OUTPUT_MAX = 16
const TOOL_OUTPUT_MAX = 64
const ANSWER = { max_tokens: OUTPUT_MAX, messages }
const TOOLS = [{ name: 'look', description: 'Looks at a thing.', input_schema: { type: 'object', properties: { at: { type: 'string' } } } }]
/** A beta that the vendor has had for long. */
const BETA = 'interleaved-thinking-2025-05-14'
const NEW_VERSION = '2026-10-21'

const fine = (found: string): readonly Omit<ProbeFinding, 'check'>[] => [{ found, setting: '' }]
const needs = (found: string, setting: string): readonly Omit<ProbeFinding, 'check'>[] => [{ found, setting }]
const failed = (probed: Probed): string => (probed.kind === 'failed' ? probed.cause : 'an answer of another kind than was asked for')

/** Whether a failure belongs to the moment and says nothing of the server. */
const isPassing = (probed: Probed): boolean =>
  probed.kind === 'failed' && (probed.status === undefined || probed.status === 429 || probed.status >= 500)

function takes(probed: Probed, what: string, setting: string): readonly Omit<ProbeFinding, 'check'>[] {
  if (probed.kind !== 'failed') return fine(`takes ${what}`)
  return isPassing(probed) ? fine(failed(probed)) : needs(`refuses ${what}: ${probed.cause}`, setting)
}

/** The checks in their order. Where the first one gets no answer, the others are not made. */
export const CHECKS: readonly Check[] = [
  {
    check: 'whole answer',
    call: { path: '/v1/messages', body: ANSWER },
    outputTokensMax: OUTPUT_MAX,
    judge: (probed, modelId) =>
      probed.kind === 'message' ? [...usageIn(probed.message['usage']), ...echoIn(probed.message['model'], modelId)] : fine(failed(probed)),
  },
  {
    check: 'count_tokens',
    call: { path: '/v1/messages/count_tokens', body: { messages } },
    outputTokensMax: 0,
    judge: (probed) => {
      const tokens = probed.kind === 'message' ? probed.message['input_tokens'] : undefined
      if (typeof tokens === 'number' && tokens > 0) return fine(`counts ${tokens}`)
      return isPassing(probed) ? fine(failed(probed)) : needs(failed(probed), 'count_tokens = "estimate"')
    },
  },
  {
    check: 'stream',
    call: { path: '/v1/messages', body: { ...ANSWER, stream: true } },
    outputTokensMax: OUTPUT_MAX,
    judge: (probed) => (probed.kind === 'events' ? streamIn(probed.events) : fine(failed(probed))),
  },
  {
    check: 'tools',
    call: { path: '/v1/messages', body: { ...ANSWER, max_tokens: TOOL_OUTPUT_MAX, tools: TOOLS, tool_choice: { type: 'any' } } },
    outputTokensMax: TOOL_OUTPUT_MAX,
    judge: (probed) => {
      if (probed.kind !== 'message') return fine(failed(probed))
      const content: readonly unknown[] = Array.isArray(probed.message['content']) ? probed.message['content'] : []
      const calls = content.filter((block) => isObject(block) && block['type'] === 'tool_use').length
      return fine(`calls: ${calls}; stop_reason ${JSON.stringify(probed.message['stop_reason'] ?? null)}`)
    },
  },
  {
    check: 'versions',
    call: { path: '/v1/messages', body: ANSWER, version: NEW_VERSION },
    outputTokensMax: OUTPUT_MAX,
    judge: (probed) => takes(probed, NEW_VERSION, 'versions = "no"'),
  },
  {
    check: 'betas',
    call: { path: '/v1/messages', body: ANSWER, betas: BETA },
    outputTokensMax: OUTPUT_MAX,
    judge: (probed) => takes(probed, BETA, 'betas = "no"'),
  },
  {
    check: 'errors',
    call: { path: '/v1/messages', body: { max_tokens: OUTPUT_MAX } },
    outputTokensMax: OUTPUT_MAX,
    judge: (probed) => fine(probed.kind === 'failed' ? `without messages: ${probed.cause}` : 'answers a request without messages'),
  },
]

function usageIn(usage: unknown): readonly Omit<ProbeFinding, 'check'>[] {
  if (!isObject(usage)) return fine('tells no usage: it is estimated')
  const { input_tokens: input, output_tokens: output } = usage
  const caches = ['cache_read_input_tokens', 'cache_creation_input_tokens'].filter((name) => typeof usage[name] === 'number')
  return fine(`usage ${input} in, ${output} out; ${caches.length === 0 ? 'no cache counters' : caches.join(', ')}`)
}

const echoIn = (named: unknown, modelId: string): readonly Omit<ProbeFinding, 'check'>[] =>
  isSameModel(modelId, named)
    ? fine('answers with the model that was asked for')
    : needs(`answers with model ${JSON.stringify(named)}`, 'echo = "any"')

function streamIn(events: readonly JsonObject[]): readonly Omit<ProbeFinding, 'check'>[] {
  const start = events.find(({ type }) => type === 'message_start')?.['message']
  const usage = isObject(start) && isObject(start['usage']) ? start['usage'] : {}
  const end = events.findLast(({ type }) => type === 'message_delta')
  const isEarly = typeof usage['input_tokens'] === 'number' && usage['input_tokens'] > 0
  const isLate = isObject(end?.['usage']) && typeof end['usage']['output_tokens'] === 'number'
  const stopReason = isObject(end?.['delta']) ? end['delta']['stop_reason'] : undefined
  const missing = [
    ...(events.some(({ type }) => type === 'message_stop') ? [] : ['message_stop']),
    ...(typeof stopReason === 'string' ? [] : ['a stop reason']),
    ...(isLate ? [] : ['usage at the end']),
  ]
  const input = isEarly ? 'usage of the input at the beginning' : 'usage of the input only at the end'
  return fine(`${input}${missing.length === 0 ? '' : `; without ${missing.join(', ')}`}`)
}
