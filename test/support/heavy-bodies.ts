/**
 * Bodies that a client may send and that would hold the thread, and with it every other stream, if reading them took more than a few passes: as many members,
 * calls and parts as the bounds of requests.md "JSON bounds" let through, single strings of 32 MiB, and what is no JSON at all. Run as a program it measures
 * them, a line of JSON each: in a process of its own, since what a thousand other tests left in the heap is not the body's.
 */

import { parseBody } from '../../src/core/body.ts'
import type { Format } from '../../src/core/format.ts'
import { chatFormat } from '../../src/core/formats/chat/format.ts'
import { messagesFormat } from '../../src/core/formats/messages/format.ts'
import { responsesFormat } from '../../src/core/formats/responses/format.ts'
import { JSON_DEPTH_MAX, LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { sha256Hex } from '../../src/relay/read-context.ts'
import { GOLDEN_MODEL } from './golden.ts'
import { threadMsOf } from './thread-cpu.ts'

type Outcome = 'accepted' | 'refused'

export type HeavyBody = Readonly<{ name: string; outcome: Outcome; measure: () => Measured }>

export type Measured = Readonly<{ bytes: number; outcome: Outcome; message: string; heldMs: number; parseMs: number }>

/**
 * Against the time that `JSON.parse` takes of the same text in the same rounds, both of this thread alone, the best each: what else the machine does is not the
 * body's, and the first rounds also warm up what they run. Most need one or two.
 */
const TIMES_PARSE_MAX = 3
const MORE_MS_MAX = 50
const ROUNDS = 9

export const heldMsMax = ({ parseMs }: Pick<Measured, 'parseMs'>): number => TIMES_PARSE_MAX * parseMs + MORE_MS_MAX

export const HEAVY_BODIES: HeavyBody[] = []

type Json = Record<string, unknown>

const CONTEXT = { headers: new Headers(), find: () => GOLDEN_MODEL, recall: () => 'unknown' as const, sha256Hex }

/** How long the longer of the two turns holds the thread that the gateway reads a body in: its JSON, then what its format makes of it. */
function hold<Echo>(format: Format<Echo>, bytes: Uint8Array): Measured {
  const text = new TextDecoder().decode(bytes)
  let read: unknown
  let heldMs = Number.POSITIVE_INFINITY
  let parseMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    parseMs = Math.min(
      parseMs,
      threadMsOf(() => parsed(text)),
    )
    let body: ReturnType<typeof parseBody> | undefined
    const bodyMs = threadMsOf(() => {
      body = parseBody(bytes)
    })
    read = body
    const readMs = threadMsOf(() => {
      if (body !== undefined && !(body instanceof Refusal)) read = format.read(body, CONTEXT)
    })
    heldMs = Math.min(heldMs, Math.max(bodyMs, readMs))
    if (heldMs <= heldMsMax({ parseMs })) break
  }
  const refusal = read instanceof Refusal ? read : undefined
  return { bytes: bytes.byteLength, outcome: refusal ? 'refused' : 'accepted', message: refusal?.message ?? '', heldMs, parseMs }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function addBytes<Echo>(name: string, format: Format<Echo>, make: () => Uint8Array, outcome: Outcome): void {
  HEAVY_BODIES.push({ name: `${format.name}: ${name}`, outcome, measure: () => hold(format, make()) })
}

const bytesOf = (json: Json): Uint8Array => Buffer.from(JSON.stringify({ model: GOLDEN_MODEL.id, max_tokens: 10, ...json }))

function addRead<Echo>(name: string, format: Format<Echo>, make: () => Json, outcome: Outcome): void {
  addBytes(name, format, () => bytesOf(make()), outcome)
}

const times = <Value>(count: number, make: (index: number) => Value): Value[] => Array.from({ length: count }, (_, index) => make(index))
const LONG = 'x'.repeat(1_000_000)
const user = (content: unknown): Json => ({ role: 'user', content })
const marker = { cache_control: { type: 'ephemeral' } }
const chat = (messages: Json[], more: Json = {}): Json => ({ messages, ...more })

const chatCalls = (ids: readonly string[]): Json[] => [
  { role: 'assistant', tool_calls: ids.map((id) => ({ id, function: { name: 'f', arguments: '{}' } })) },
  ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'r' })),
]
const responsesCalls = (ids: readonly string[]): Json[] => [
  ...ids.map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })),
  ...ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'r' })),
]
const messagesCalls = (ids: readonly string[]): Json[] => [
  { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })) },
  { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'r' })) },
]

const CALLS = 40_000
const DISTINCT = times(CALLS, (index) => `call_${index}`)
/** Cleaned and cut to length they are all alike, so that each needs a number of its own. */
const ALIKE = times(CALLS / 2, (index) => `${'a'.repeat(200)}${index}`)

for (const [name, ids] of [
  ['distinct ids', DISTINCT],
  ['one id', times(CALLS / 2, () => 'same')],
  ['no id', times(CALLS / 2, () => '')],
  ['long ids that differ at the end', ALIKE],
  ['ids that differ in what is cut off, each twice', ALIKE.slice(0, 10_000).flatMap((id) => [id, id])],
] as const) {
  addRead(`many tool calls and results, ${name}`, chatFormat, () => chat([user('u'), ...chatCalls(ids)]), 'accepted')
  addRead(`many tool calls and results, ${name}`, responsesFormat, () => ({ input: [user('u'), ...responsesCalls(ids)] }), 'accepted')
  addRead(`many tool calls and results, ${name}`, messagesFormat, () => ({ messages: [user('u'), ...messagesCalls(ids)] }), 'accepted')
}

const olderCalls = () => ({
  role: 'assistant',
  tool_calls: times(CALLS, (index) => ({ id: `c${index}`, function: { name: 'f', arguments: '{}' } })),
})
const olderResults = () => times(CALLS, () => ({ role: 'function', name: 'f', content: 'r' }))
addRead('many calls of one older function', chatFormat, () => chat([user('u'), olderCalls(), ...olderResults()]), 'accepted')

const tools = <Tool>(make: (name: string) => Tool): Tool[] => times(CALLS, (index) => make(`tool_${index}`))
const functions = () => tools((name) => ({ type: 'function', function: { name } }))
const flatFunctions = () => tools((name) => ({ type: 'function', name }))
const allowed = (list: unknown[]): Json => ({ type: 'allowed_tools', mode: 'auto', tools: list })
addRead('many tools', chatFormat, () => chat([user('u')], { tools: functions() }), 'accepted')
addRead('many tools', responsesFormat, () => ({ input: 'u', tools: flatFunctions() }), 'accepted')
addRead('many tools', messagesFormat, () => ({ messages: [user('u')], tools: tools((name) => ({ name, input_schema: {} })) }), 'accepted')
addRead('many allowed tools', chatFormat, () => chat([user('u')], { tools: functions(), tool_choice: allowed(functions()) }), 'accepted')
addRead(
  'many allowed tools',
  responsesFormat,
  () => ({ input: 'u', tools: flatFunctions(), tool_choice: allowed(flatFunctions()) }),
  'accepted',
)
addRead(
  'many tools of a namespace with a long name',
  responsesFormat,
  () => ({ input: 'u', tools: [{ type: 'namespace', name: LONG, tools: flatFunctions() }] }),
  'refused',
)
addRead(
  'many dropped tools and a long choice',
  responsesFormat,
  () => ({ input: 'u', tools: times(CALLS, () => ({ type: 'web_search' })), tool_choice: { type: LONG } }),
  'refused',
)

const alternating = (count: number): Json[] => times(count, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' }))
/** As many as the bounds let through. */
const mostMessages = () => alternating(199_990)
const mostParts = () => times(165_000, () => ({ type: 'text', text: 'a' }))
for (const format of [chatFormat, messagesFormat]) {
  addRead('many messages', format as Format<unknown>, () => chat(mostMessages()), 'accepted')
  addRead('many messages of one role', format as Format<unknown>, () => chat(times(199_990, () => user('a'))), 'accepted')
  addRead('many parts', format as Format<unknown>, () => chat([user(mostParts())]), 'accepted')
}
addRead('many messages', responsesFormat, () => ({ input: mostMessages() }), 'accepted')
addRead('many parts', responsesFormat, () => ({ input: [user(mostParts())] }), 'accepted')
addRead('many parts of a system message', chatFormat, () => chat([{ role: 'system', content: mostParts() }, user('u')]), 'accepted')
addRead(
  'many parts of a system message',
  responsesFormat,
  () => ({ input: [{ role: 'system', content: mostParts() }, user('u')] }),
  'accepted',
)
addRead('many parts of an answer', chatFormat, () => chat([user('u'), { role: 'assistant', content: mostParts() }, user('u')]), 'accepted')

const markedParts = () => times(90_000, () => ({ type: 'text', text: 'a', ...marker }))
addRead('many cache markers', chatFormat, () => chat([user(markedParts())]), 'refused')
addRead('many cache markers', responsesFormat, () => ({ input: [user(markedParts())] }), 'refused')
addRead('many cache markers', messagesFormat, () => ({ messages: [user(markedParts())] }), 'refused')
addRead(
  'many blank marked parts',
  chatFormat,
  () => chat([user([...times(90_000, () => ({ type: 'text', text: ' ', ...marker })), { type: 'text', text: 'a' }])]),
  'accepted',
)

const LONG_IDS = times(10, (index) => `${LONG}${index}`)
addRead('long ids', chatFormat, () => chat([user('u'), ...chatCalls(LONG_IDS)]), 'accepted')
addRead('long ids', responsesFormat, () => ({ input: [user('u'), ...responsesCalls(LONG_IDS)] }), 'accepted')
addRead('long ids', messagesFormat, () => ({ messages: [user('u'), ...messagesCalls(LONG_IDS)] }), 'accepted')
addRead('a long id without a result', chatFormat, () => chat([user('u'), ...chatCalls([LONG]).slice(0, 1)]), 'refused')
addRead('a long id without a result', responsesFormat, () => ({ input: [user('u'), ...responsesCalls([LONG]).slice(0, 1)] }), 'refused')
addRead('a long name of a user', chatFormat, () => chat([user('u')], { user: LONG.repeat(30) }), 'accepted')
addRead(
  'a long namespace in the history',
  responsesFormat,
  () => ({
    input: [user('u'), ...responsesCalls(['c']).map((item) => ({ ...item, namespace: LONG.repeat(15) }))],
  }),
  'accepted',
)
addRead('a long name without case', messagesFormat, () => ({ messages: [user('u')], [LONG]: 1, tool_choice: LONG }), 'refused')
addRead(
  'many fields',
  messagesFormat,
  () => ({ messages: [user('u')], ...Object.fromEntries(times(200_000, (index) => [`f${index}`, 1])) }),
  'accepted',
)

/** `levels` brackets of the body are open around the innermost value. */
function nested(levels: number): unknown {
  let value: unknown = 'a'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
const DEEP = { deep: nested(JSON_DEPTH_MAX - 10) }
addRead(
  'deep tool input',
  chatFormat,
  () => chat([user('u'), ...chatCalls(['c'])], { metadata: DEEP, response_format: { type: 'json_schema', json_schema: { schema: DEEP } } }),
  'accepted',
)
addRead(
  'deep tool input',
  responsesFormat,
  () => ({ input: 'u', metadata: DEEP, tools: [{ type: 'function', name: 'f', parameters: DEEP }] }),
  'accepted',
)
let block: Json = { type: 'text', text: 'a' }
for (let level = 0; level < (JSON_DEPTH_MAX - 8) / 2; level++) block = { type: 'tool_result', tool_use_id: 'c', content: [block] }
addRead('many deep blocks', messagesFormat, () => ({ messages: [user(times(1_700, () => block))] }), 'accepted')

const dataUrls = (url: string): Json => user([{ type: 'file', file: { file_data: url, filename: 'a.txt' } }])
addRead('a data URL with many parameters', chatFormat, () => chat([dataUrls(`data:${';'.repeat(30_000_000)},a`)]), 'refused')
addRead('a data URL with many escapes', chatFormat, () => chat([dataUrls(`data:text/plain,${'%41'.repeat(10_000_000)}`)]), 'accepted')
addRead('base64 of padding', chatFormat, () => chat([dataUrls('='.repeat(30_000_000))]), 'refused')

for (const [format, make] of [
  [chatFormat, chat],
  [messagesFormat, chat],
  [responsesFormat, (input: Json[]): Json => ({ input })],
] as const) {
  const read = (name: string, messages: () => Json[], outcome: Outcome): void =>
    addRead(name, format as Format<unknown>, () => make(messages()), outcome)
  read('240,000 messages', () => alternating(240_000), 'refused')
  read(
    'many messages of one part',
    () => times(90_000, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text: 'a' }] })),
    'accepted',
  )
  read('28 MB of escaped line ends', () => [user(`a${'\n'.repeat(14_000_000)}`)], 'accepted')
  read('28 MB of escaped quotes', () => [user('"'.repeat(14_000_000))], 'accepted')
  read('28 MB of backslashes', () => [user('\\'.repeat(14_000_000))], 'accepted')
  read('escapes by number', () => [user('\u0001'.repeat(4_600_000))], 'accepted')
  read('one string of 32 MB', () => [user('x'.repeat(32_000_000))], 'accepted')
  read('one string of 30 MB that is not ASCII', () => [user('é'.repeat(15_000_000))], 'accepted')
  read('one string of 30 MB of the larger characters', () => [user('😀'.repeat(7_500_000))], 'accepted')
}

const mostText = () => 'x'.repeat(32_000_000)
addRead('a user of 32 MB', chatFormat, () => chat([user('u')], { user: mostText() }), 'accepted')
addRead('a user in metadata of 32 MB', chatFormat, () => chat([user('u')], { metadata: { user_id: mostText() } }), 'accepted')
addRead('a user in metadata of 32 MB', messagesFormat, () => chat([user('u')], { metadata: { user_id: mostText() } }), 'accepted')
addRead('a safety identifier of 32 MB', responsesFormat, () => ({ input: 'u', safety_identifier: mostText() }), 'accepted')
const namedTool = (name: string): Json => ({ type: 'namespace', name: 'n', tools: [{ type: 'function', name }] })
addRead('a tool name of 32 MB', responsesFormat, () => ({ input: 'u', tools: [namedTool(mostText())] }), 'accepted')
const argued = (text: string): Json => {
  const [call, ...results] = chatCalls(['c'])
  const calls = [{ id: 'c', function: { name: 'f', arguments: text } }]
  return chat([user('u'), { ...call, tool_calls: calls }, ...results])
}
addRead('arguments with a string of 30 MB', chatFormat, () => argued(JSON.stringify({ a: 'x'.repeat(30_000_000) })), 'accepted')
addRead('arguments that are no JSON', chatFormat, () => argued('x'.repeat(30_000_000)), 'accepted')
addRead(
  'arguments of many arrays',
  chatFormat,
  () =>
    argued(
      `{"a":[${times(120_000, () => nested(100))
        .map((value) => JSON.stringify(value))
        .join(',')}]}`,
    ),
  'accepted',
)
addRead('arguments full of escapes', chatFormat, () => argued(JSON.stringify({ a: '"'.repeat(7_000_000) })), 'accepted')
const sealed = () =>
  Buffer.from(`{"v":1,"m":"m","b":[${times(100_000, () => '['.repeat(100) + ']'.repeat(100)).join(',')}]}`).toString('base64url')
addRead(
  'a sealed() thought of many arrays',
  responsesFormat,
  () => ({ input: [user('u'), { type: 'reasoning', encrypted_content: sealed() }] }),
  'accepted',
)
const picture = () => `data:image/png;base64,iVBORw0KGgo${'A'.repeat(30_000_001)}`
addRead('a large picture', chatFormat, () => chat([user([{ type: 'image_url', image_url: { url: picture() } }])]), 'accepted')
addRead('a large text as base64', chatFormat, () => chat([dataUrls(`data:text/plain;base64,${'QUFB'.repeat(7_500_000)}`)]), 'accepted')

const full =
  (fill: string): (() => Uint8Array) =>
  () =>
    Buffer.alloc(LIMITS.bodyBytes, fill)
const deepArrays = () => `{"x":[${times(113_000, () => '['.repeat(126) + ']'.repeat(126)).join(',')}]}`
addBytes('14.4 million nested arrays', messagesFormat, () => Buffer.from(deepArrays()), 'refused')
for (const fill of ['x', ' ', '1', '"', '\\', 'x"', '" ', ']', '[]', '{}', '\xff', 'é'])
  addBytes(`nothing but ${JSON.stringify(fill)}`, messagesFormat, full(fill), 'refused')
for (const fill of ['1', ' ', '\\\\', '"" '])
  addBytes(
    `an object, then nothing but ${JSON.stringify(fill)}`,
    messagesFormat,
    () => Buffer.from(`{"x":"${fill.repeat(33_000_000 / fill.length)}`),
    'refused',
  )

if (import.meta.main) {
  for (const { name, measure } of HEAVY_BODIES) {
    Bun.gc(true)
    process.stdout.write(`${JSON.stringify({ name, ...measure() })}\n`)
  }
}
