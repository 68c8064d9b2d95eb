/** Bodies that a client may send within the bounds of product.md "Requests" and that would stall the process if reading them took more than linear time. */

import { expect, test } from 'bun:test'
import type { Body } from '../../../src/core/body.ts'
import { fromBytes } from '../../../src/core/byte-string.ts'
import type { Format } from '../../../src/core/format.ts'
import { chatFormat } from '../../../src/core/formats/chat/format.ts'
import { messagesFormat } from '../../../src/core/formats/messages/format.ts'
import { responsesFormat } from '../../../src/core/formats/responses/format.ts'
import { scanJson } from '../../../src/core/json-scan.ts'
import { JSON_DEPTH_MAX, LIMITS } from '../../../src/core/limits.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { GOLDEN_MODEL } from '../../support/golden.ts'

/** Linear reading takes 0.1–0.6 s of it; the quadratic ways that this guards against took from 10 s to hours. */
const MS_MAX = 3_000

type Json = Record<string, unknown>

/** The time to read a body, once it stands in memory; that the body itself is within the bounds is part of the test. */
function readMs<Echo>(format: Format<Echo>, json: Json): { ms: number; read: unknown } {
  const bytes = Buffer.from(JSON.stringify({ model: GOLDEN_MODEL.id, max_tokens: 10, ...json }))
  expect(bytes.byteLength).toBeLessThanOrEqual(LIMITS.bodyBytes)
  const start = performance.now()
  const scanned = scanJson(fromBytes(bytes))
  if (typeof scanned === 'string') throw new Error(scanned)
  const body: Body = { bytes, json: JSON.parse(bytes.toString()), members: scanned.members }
  const context = { headers: new Headers(), find: () => GOLDEN_MODEL, recall: () => undefined }
  const read = format.read(body, context)
  return { ms: performance.now() - start, read }
}

function expectRead<Echo>(name: string, format: Format<Echo>, json: Json, outcome: 'accepted' | 'refused'): void {
  test(`${format.name}: ${name}`, () => {
    const { ms, read } = readMs(format, json)
    expect(read instanceof Refusal ? 'refused' : 'accepted', read instanceof Refusal ? read.message.slice(0, 500) : '').toBe(outcome)
    if (read instanceof Refusal) expect(read.message.length).toBeLessThan(2_000)
    expect(ms).toBeLessThan(MS_MAX)
  })
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

const CALLS = 60_000
const DISTINCT = times(CALLS, (index) => `call_${index}`)
/** Cleaned and cut to length they are all alike, so that each needs a number of its own. */
const ALIKE = times(CALLS / 2, (index) => `${'a'.repeat(200)}${index}`)

for (const [name, ids] of [
  ['distinct ids', DISTINCT],
  ['one id', times(CALLS, () => 'same')],
  ['no id', times(CALLS, () => '')],
  ['long ids that differ at the end', ALIKE],
  ['ids that differ in what is cut off, each twice', ALIKE.slice(0, 15_000).flatMap((id) => [id, id])],
] as const) {
  expectRead(`many tool calls and results, ${name}`, chatFormat, chat([user('u'), ...chatCalls(ids)]), 'accepted')
  expectRead(`many tool calls and results, ${name}`, responsesFormat, { input: [user('u'), ...responsesCalls(ids)] }, 'accepted')
  expectRead(`many tool calls and results, ${name}`, messagesFormat, { messages: [user('u'), ...messagesCalls(ids)] }, 'accepted')
}

test('chat: many calls of one older function are answered in order, in linear time', () => {
  const call = { role: 'assistant', tool_calls: times(CALLS, (index) => ({ id: `c${index}`, function: { name: 'f', arguments: '{}' } })) }
  const results = times(CALLS, () => ({ role: 'function', name: 'f', content: 'r' }))
  const { ms, read } = readMs(chatFormat, chat([user('u'), call, ...results]))
  expect(read).not.toBeInstanceOf(Refusal)
  expect(ms).toBeLessThan(MS_MAX)
})

const tools = <Tool>(make: (name: string) => Tool): Tool[] => times(CALLS, (index) => make(`tool_${index}`))
const functions = tools((name) => ({ type: 'function', function: { name } }))
const flatFunctions = tools((name) => ({ type: 'function', name }))
const allowed = (list: unknown[]): Json => ({ type: 'allowed_tools', mode: 'auto', tools: list })
expectRead('many tools', chatFormat, chat([user('u')], { tools: functions }), 'accepted')
expectRead('many tools', responsesFormat, { input: 'u', tools: flatFunctions }, 'accepted')
expectRead('many tools', messagesFormat, { messages: [user('u')], tools: tools((name) => ({ name, input_schema: {} })) }, 'accepted')
expectRead('many allowed tools', chatFormat, chat([user('u')], { tools: functions, tool_choice: allowed(functions) }), 'accepted')
expectRead('many allowed tools', responsesFormat, { input: 'u', tools: flatFunctions, tool_choice: allowed(flatFunctions) }, 'accepted')
expectRead(
  'many tools of a namespace with a long name',
  responsesFormat,
  { input: 'u', tools: [{ type: 'namespace', name: LONG, tools: flatFunctions }] },
  'refused',
)
expectRead(
  'many dropped tools and a long choice',
  responsesFormat,
  { input: 'u', tools: times(CALLS, () => ({ type: 'web_search' })), tool_choice: { type: LONG } },
  'refused',
)

const MESSAGES = times(100_000, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' }))
const PARTS = times(200_000, () => ({ type: 'text', text: 'a' }))
for (const format of [chatFormat, messagesFormat]) {
  expectRead('many messages', format as Format<unknown>, chat(MESSAGES), 'accepted')
  expectRead('many messages of one role', format as Format<unknown>, chat(times(100_000, () => user('a'))), 'accepted')
  expectRead('many parts', format as Format<unknown>, chat([user(PARTS)]), 'accepted')
}
expectRead('many messages', responsesFormat, { input: MESSAGES }, 'accepted')
expectRead('many parts', responsesFormat, { input: [user(PARTS)] }, 'accepted')
expectRead('many parts of a system message', chatFormat, chat([{ role: 'system', content: PARTS }, user('u')]), 'accepted')
expectRead('many parts of a system message', responsesFormat, { input: [{ role: 'system', content: PARTS }, user('u')] }, 'accepted')
expectRead('many parts of an answer', chatFormat, chat([user('u'), { role: 'assistant', content: PARTS }, user('u')]), 'accepted')

const MARKED = times(100_000, () => ({ type: 'text', text: 'a', ...marker }))
expectRead('many cache markers', chatFormat, chat([user(MARKED)]), 'refused')
expectRead('many cache markers', responsesFormat, { input: [user(MARKED)] }, 'refused')
expectRead('many cache markers', messagesFormat, { messages: [user(MARKED)] }, 'refused')
expectRead(
  'many blank marked parts',
  chatFormat,
  chat([user([...times(100_000, () => ({ type: 'text', text: ' ', ...marker })), { type: 'text', text: 'a' }])]),
  'accepted',
)

const LONG_IDS = times(10, (index) => `${LONG}${index}`)
expectRead('long ids', chatFormat, chat([user('u'), ...chatCalls(LONG_IDS)]), 'accepted')
expectRead('long ids', responsesFormat, { input: [user('u'), ...responsesCalls(LONG_IDS)] }, 'accepted')
expectRead('long ids', messagesFormat, { messages: [user('u'), ...messagesCalls(LONG_IDS)] }, 'accepted')
expectRead('a long id without a result', chatFormat, chat([user('u'), ...chatCalls([LONG]).slice(0, 1)]), 'refused')
expectRead('a long id without a result', responsesFormat, { input: [user('u'), ...responsesCalls([LONG]).slice(0, 1)] }, 'refused')
expectRead('a long name of a user', chatFormat, chat([user('u')], { user: LONG.repeat(30) }), 'accepted')
expectRead(
  'a long namespace in the history',
  responsesFormat,
  {
    input: [user('u'), ...responsesCalls(['c']).map((item) => ({ ...item, namespace: LONG.repeat(15) }))],
  },
  'accepted',
)
expectRead('a long name without case', messagesFormat, { messages: [user('u')], [LONG]: 1, tool_choice: LONG }, 'refused')
expectRead(
  'many fields',
  messagesFormat,
  { messages: [user('u')], ...Object.fromEntries(times(200_000, (index) => [`f${index}`, 1])) },
  'accepted',
)

/** `levels` brackets of the body are open around the innermost value. */
function nested(levels: number): unknown {
  let value: unknown = 'a'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
const DEEP = { deep: nested(JSON_DEPTH_MAX - 10) }
expectRead(
  'deep tool input',
  chatFormat,
  chat([user('u'), ...chatCalls(['c'])], { metadata: DEEP, response_format: { type: 'json_schema', json_schema: { schema: DEEP } } }),
  'accepted',
)
expectRead(
  'deep tool input',
  responsesFormat,
  { input: 'u', metadata: DEEP, tools: [{ type: 'function', name: 'f', parameters: DEEP }] },
  'accepted',
)
let block: Json = { type: 'text', text: 'a' }
for (let level = 0; level < (JSON_DEPTH_MAX - 8) / 2; level++) block = { type: 'tool_result', tool_use_id: 'c', content: [block] }
expectRead('many deep blocks', messagesFormat, { messages: [user(times(2_500, () => block))] }, 'accepted')

const dataUrls = (url: string): Json => user([{ type: 'file', file: { file_data: url, filename: 'a.txt' } }])
expectRead('a data URL with many parameters', chatFormat, chat([dataUrls(`data:${';'.repeat(30_000_000)},a`)]), 'refused')
expectRead('a data URL with many escapes', chatFormat, chat([dataUrls(`data:text/plain,${'%41'.repeat(10_000_000)}`)]), 'accepted')
expectRead('base64 of padding', chatFormat, chat([dataUrls('='.repeat(30_000_000))]), 'refused')
