/**
 * Chat requests that go on to servers of the same format: the client's bytes, but for the fields that are ours, and no field that changes price, model, account or
 * template. Rules: openai.md "Chat requests"; requests.md "Exact bytes".
 */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseBody } from '../../../../../src/core/body.ts'
import type { Model } from '../../../../../src/core/catalog.ts'
import type { ChatDialect } from '../../../../../src/core/chat-dialect.ts'
import type { Call } from '../../../../../src/core/format.ts'
import { chatFormat } from '../../../../../src/core/formats/chat/format.ts'
import { REFUSED_FIELDS } from '../../../../../src/core/formats/chat/pass/fields.ts'
import { Refusal } from '../../../../../src/core/refusal.ts'
import { sha256Hex } from '../../../../../src/relay/read-context.ts'
import { runs } from '../../../../support/property-runs.ts'
import type { Json } from '../chat-call.ts'
import { CHAT_DIALECT, CHAT_MODEL } from '../reverse/recordings.ts'

function read(text: string, dialect: Partial<ChatDialect> = {}, more: Partial<Model> = {}): Call<unknown> | Refusal {
  const body = parseBody(Buffer.from(text))
  if (body instanceof Refusal) throw new Error(body.message)
  const model = { ...CHAT_MODEL, chat: [{ ...CHAT_DIALECT, ...dialect }], ...more }
  return chatFormat.read(body, {
    headers: new Headers(),
    find: (id) => (id === model.id ? model : undefined),
    recall: () => 'unknown',
    sha256Hex,
  })
}

function sent(text: string, dialect: Partial<ChatDialect> = {}, more: Partial<Model> = {}): string {
  const call = read(text, dialect, more)
  if (call instanceof Refusal) throw new Error(call.message)
  return Buffer.from(call.chat?.[0]?.body ?? []).toString('utf8')
}

const MESSAGES = '"messages":[{"role":"user","content":"h\\u0069 漢"}]'
const withFields = (fields: string): string => `{"model":"stella-2",${MESSAGES}${fields === '' ? '' : `,${fields}`}}`
const OURS = '"model":"stella-2-20260301","max_tokens":16000'

describe('the client’s bytes go on', () => {
  test('letter by letter, but for the name of the model and what is held for the answer', () => {
    expect(sent(withFields('"seed":1.0,"temperature":1.50'))).toBe(`{${OURS},${MESSAGES},"seed":1.0,"temperature":1.50}`)
  })

  test('every field of the format', () => {
    const fields =
      '"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"auto","parallel_tool_calls":false,' +
      '"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{}}},"stop":["a"],"seed":1,"temperature":2,' +
      '"top_p":0.5,"presence_penalty":1,"frequency_penalty":1,"logprobs":true,"top_logprobs":2,"logit_bias":{"5":1},' +
      '"reasoning_effort":"low","verbosity":"low","modalities":["text"],"user":"u","metadata":{"a":"b"}'
    expect(sent(withFields(fields))).toBe(`{${OURS},${MESSAGES},${fields}}`)
  })

  test('without caps of the client’s own, and with the held one in the server’s field', () => {
    expect(sent(withFields('"max_tokens":5,"max_completion_tokens":7,"n":3'), { maxTokensField: 'max_completion_tokens' })).toBe(
      `{"model":"stella-2-20260301","max_completion_tokens":7,${MESSAGES}}`,
    )
    expect(sent(withFields('"max_tokens":5'))).toContain('"max_tokens":5')
  })

  test('with our own wish for usage in the place of the client’s', () => {
    expect(sent(withFields('"stream":true,"stream_options":{"include_usage":false,"x":1}'))).toBe(
      `{"model":"stella-2-20260301","max_tokens":32000,"stream_options":{"include_usage":true},${MESSAGES},"stream":true}`,
    )
    expect(sent(withFields('"stream":true'), { streamUsage: false })).not.toContain('stream_options')
  })

  test('of a repeated name the last, which is the one that was checked', () => {
    expect(sent(`{"model":"other","seed":1,"model":"stella-2",${MESSAGES},"seed":2}`)).toBe(`{${OURS},${MESSAGES},"seed":2}`)
  })

  test('without a choice among tools that there are not', () => {
    expect(sent(withFields('"tools":[],"tool_choice":"auto","parallel_tool_calls":true'))).toBe(`{${OURS},${MESSAGES}}`)
  })

  test('without fields that are not of the format, unless the settings pass them', () => {
    expect(sent(withFields('"top_k":5,"guided_json":{}'))).toBe(`{${OURS},${MESSAGES}}`)
    expect(sent(withFields('"top_k":5,"guided_json":{}'), { passFields: ['top_k'] })).toBe(`{${OURS},${MESSAGES},"top_k":5}`)
    expect(sent(withFields('"seed":5'), { dropFields: ['seed'] })).toBe(`{${OURS},${MESSAGES}}`)
  })

  test('with what a model refuses left out', () => {
    const fields =
      '"temperature":1,"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":true'
    const rejects = new Set(['sampling', 'effort', 'parallel_tools'] as const)
    expect(sent(withFields(fields), {}, { rejects })).toBe(`{${OURS},${MESSAGES},"tools":[{"type":"function","function":{"name":"f"}}]}`)
  })

  test('so that the pool can name the model otherwise', () => {
    const call = read(`{"seed":1,"model":"stella-2",${MESSAGES}}`)
    if (call instanceof Refusal) throw new Error(call.message)
    const [{ body, modelAt } = { body: new Uint8Array(), modelAt: 0 }] = call.chat ?? []
    expect(Buffer.from(body.subarray(modelAt)).toString()).toStartWith('"stella-2-20260301",')
  })
})

function refused(fields: string, more: Partial<Model> = {}): string {
  const refusal = read(withFields(fields), {}, more)
  if (!(refusal instanceof Refusal)) throw new Error('accepted')
  expect(refusal.row.status).toBe(400)
  return refusal.message
}

test.each([...REFUSED_FIELDS])(
  'a field that changes price, model, account or template is refused by its name, also where the settings pass it: %s',
  (name) => {
    const refusal = read(withFields(`"${name}":["x"]`), { passFields: [name] })
    expect(refusal instanceof Refusal ? refusal.message : 'accepted').toStartWith(`${name}: `)
  },
)

test.each(['"service_tier":"auto"', '"store":false', '"best_of":1', '"audio":null', '"models":null'])(
  'a value that changes nothing is left out: %s',
  (field) => {
    expect(sent(withFields(field))).toBe(`{${OURS},${MESSAGES}}`)
  },
)

test('what would be paid at another rate, or is another account’s, is refused by its place', () => {
  expect(refused('"modalities":["audio"]')).toStartWith('modalities: ')
  expect(refused('"tools":[{"type":"web_search"}]')).toStartWith('tools[0].type: ')
  expect(refused('"tools":[5]')).toStartWith('tools[0]: ')
  const part = (json: string): string => `"messages":[{"role":"user","content":[{"type":"text","text":"a"},${json}]}]`
  expect(refused(part('{"type":"file","file":{"file_id":"file-1"}}'))).toStartWith('messages[0].content[1].file.file_id: ')
  expect(refused(part('{"type":"input_audio","input_audio":{}}'))).toStartWith('messages[0].content[1]: ')
  const image = part('{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}')
  expect(refused(image, { rejects: new Set(['images']) })).toStartWith('messages[0].content[1]: ')
  const file = part('{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}')
  expect(refused(file, { rejects: new Set(['documents']) })).toStartWith('messages[0].content[1]: ')
})

test('what is held is bounded by the bytes that are sent, and by the window where an image may hold more', () => {
  const bounds = (text: string): Json => {
    const call = read(text)
    if (call instanceof Refusal) throw new Error(call.message)
    return { ...call.bounds, sent: call.chat?.[0]?.body.byteLength }
  }
  const plain = bounds(withFields('"max_tokens":9'))
  expect(plain).toMatchObject({ bodyBytes: plain['sent'], hasOpaqueInput: false, outputTokensMax: 9, passes: 0, serverToolUsesMax: 0 })
  const image = '"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]'
  expect(bounds(withFields(image))['hasOpaqueInput']).toBe(true)
})

test('whatever a client sends, what goes on is JSON without a field that is not passed, and names the model once', () => {
  const name = fc.constantFrom(
    'seed',
    'n',
    'store',
    'model',
    'top_k',
    'max_tokens',
    'stop',
    '__proto__',
    'Model',
    'stream_options',
    'user',
    'a"b\n',
  )
  const members = fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 2 })), { maxLength: 8 })
  fc.assert(
    fc.property(members, fc.boolean(), (given, isFront) => {
      const extra = given.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
      const base = ['"model":"stella-2"', MESSAGES]
      const call = read(`{${(isFront ? [...extra, ...base] : [...base, ...extra, ...base]).join(' , ')}}`)
      if (call instanceof Refusal) return true
      const text = Buffer.from(call.chat?.[0]?.body ?? []).toString('utf8')
      const names = Object.keys(JSON.parse(text))
      const known = new Set(['model', 'max_tokens', 'messages', 'seed', 'stop', 'user', 'stream'])
      return names.every((key) => known.has(key)) && text.split('"stella-2-20260301"').length === 2
    }),
    { numRuns: runs(200) },
  )
})
