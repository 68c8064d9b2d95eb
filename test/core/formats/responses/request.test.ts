/**
 * A responses request becomes the native body that means the same, or is refused by the name of its field. Rules: responses.md "Request", "Items".
 */

import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Forgotten } from '../../../../src/core/format.ts'
import { Refusal } from '../../../../src/core/refusal.ts'
import { expectGolden } from '../../../support/golden.ts'
import { startProcessorWatch } from '../../../support/until.ts'
import { inOnePiece } from '../../../support/written.ts'
import { nativeOf, read, readFine, refusalOf } from './calls.ts'

const REQUESTS = join(import.meta.dir, '../../../requests')
const PNG = 'data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUg=='
const user = (text: string) => ({ role: 'user', content: text })
const call = (id: string, more: object = {}) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}', ...more })
const output = (id: string, value: unknown = 'ok') => ({ type: 'function_call_output', call_id: id, output: value })
const FUNCTION = { type: 'function', name: 'f' }

test('recorded requests become the same native bodies', () => {
  const cases = readdirSync(REQUESTS).filter((name) => name.startsWith('responses-'))
  expect(cases.length).toBeGreaterThan(0)
  for (const name of cases) {
    const folder = join(REQUESTS, name)
    const json = JSON.parse(readFileSync(join(folder, 'responses.json'), 'utf8'))
    const native = nativeOf(json)
    if (process.env['GOLDEN'] === 'write') expectGolden(folder, 'native.json', `${JSON.stringify(native, null, 2)}\n`)
    else expect(native, name).toEqual(JSON.parse(readFileSync(join(folder, 'native.json'), 'utf8')))
  }
})

test('a text is one user turn; the version is ours, no beta is sent, the default bounds the output', () => {
  const { version, betas, bounds, isStream, body } = readFine({ input: 'hi' })
  expect({ version, betas, isStream }).toEqual({ version: '2023-06-01', betas: '', isStream: false })
  expect(JSON.parse(Buffer.from(body).toString('utf8'))).toEqual({
    model: 'stella-2-20260301',
    max_tokens: 16_000,
    messages: [{ role: 'user', content: 'hi' }],
  })
  expect(bounds).toEqual({
    bodyBytes: body.byteLength,
    hasOpaqueInput: false,
    passes: 0,
    serverToolUsesMax: 0,
    cacheWrites: 'none',
    outputTokensMax: 16_000,
    bytesPerToken: 4,
    inputEstimate: Math.floor(body.byteLength / 4),
  })
  expect(nativeOf({ stream: true })).toMatchObject({ stream: true, max_tokens: 32_000 })
})

test('instructions and leading system or developer items are the system prompt, in order', () => {
  const input = [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'B' }] },
    { role: 'system', content: 'C' },
    user('hi'),
  ]
  expect(nativeOf({ instructions: 'A', input })).toMatchObject({ system: 'A\nB\nC', messages: [user('hi')] })
  expect(nativeOf({ input: [{ role: 'developer', content: 'Write a title' }] })).toEqual({
    model: 'stella-2-20260301',
    max_tokens: 16_000,
    messages: [user('Write a title')],
  })
})

test('a tool turn is one assistant turn with the calls and one user turn with the results', () => {
  const input = [user('go'), call('call_1'), call('call_2', { arguments: '' }), output('call_2', 'two'), output('call_1', 'one')]
  expect(nativeOf({ input, tools: [FUNCTION] })['messages']).toEqual([
    user('go'),
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
        { type: 'tool_use', id: 'call_2', name: 'f', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_2', content: 'two' },
        { type: 'tool_result', tool_use_id: 'call_1', content: 'one' },
      ],
    },
  ])
})

const sealed = (model: string, block: object): string => Buffer.from(JSON.stringify({ v: 1, m: model, b: [block] })).toString('base64url')
const THINKING = { type: 'thinking', thinking: 'Hm, "é" 漢', signature: 'EqQB+/=' }

test('returned reasoning is the signed block itself, whatever the client did to its summary', () => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'edited' }], content: null }
  const input = [user('a'), { ...item, encrypted_content: sealed('stella-2', THINKING) }, { role: 'assistant', content: 'b' }, user('c')]
  expect(nativeOf({ input })['messages']).toEqual([
    user('a'),
    { role: 'assistant', content: [THINKING, { type: 'text', text: 'b' }] },
    user('c'),
  ])
})

test('reasoning that is foreign, of another model, or not an envelope is dropped', () => {
  const foreign = [
    undefined,
    null,
    7,
    '',
    'gAAAAABo',
    sealed('another', THINKING),
    sealed('stella-2', { type: 'text', text: 'x' }),
    sealed('stella-2', { type: 'thinking', thinking: 'x', signature: '' }),
    sealed('stella-2', THINKING).slice(0, 30),
    Buffer.from('[]').toString('base64url'),
    Buffer.from('{"v":1,"m":"stella-2","b":{}}').toString('base64url'),
  ]
  for (const encrypted_content of foreign) {
    const input = [user('a'), { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content }, user('b')]
    expect(nativeOf({ input })['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  }
})

test('a custom tool is an object with one text, in tools and in history', () => {
  const tools = [
    { type: 'custom', name: 'apply_patch', description: 'Edits', format: { type: 'grammar', syntax: 'lark', definition: 'start: x' } },
  ]
  const input = [
    user('go'),
    { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: '*** Begin\n"x"' },
    { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' },
  ]
  const native = nativeOf({ tools, input })
  expect(native['tools']).toMatchObject([
    { name: 'apply_patch', description: expect.stringContaining('start: x'), input_schema: { required: ['input'] } },
  ])
  expect(native['messages']).toMatchObject([
    {},
    { content: [{ type: 'tool_use', id: 'c1', name: 'apply_patch', input: { input: '*** Begin\n"x"' } }] },
    { content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'done' }] },
  ])
})

const NAMESPACE = { type: 'namespace', name: 'agents', description: '', tools: [{ type: 'function', name: 'spawn' }] }

test('a namespaced tool goes up under one name, the same in tools, history and choice', () => {
  const input = [user('go'), call('c1', { name: 'spawn', namespace: 'agents' }), output('c1')]
  const native = nativeOf({ tools: [NAMESPACE, FUNCTION], input, tool_choice: { type: 'function', name: 'spawn', namespace: 'agents' } })
  expect((native['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(['agents__spawn', 'f'])
  expect(native['messages']).toMatchObject([{}, { content: [{ name: 'agents__spawn' }] }, {}])
  expect(native['tool_choice']).toEqual({ type: 'tool', name: 'agents__spawn' })
  expect(readFine({ tools: [NAMESPACE] }).echo.tools.get('agents__spawn')).toEqual({ kind: 'function', name: 'spawn', namespace: 'agents' })
})

test('a namespace whose joined name native would refuse gets a name of its own that stays the same', () => {
  for (const name of ['a.b', 'x'.repeat(127)]) {
    const tools = [{ ...NAMESPACE, name }]
    const [first] = nativeOf({ tools })['tools'] as { name: string }[]
    expect(first?.name).toMatch(/^[A-Za-z0-9_-]{1,128}$/)
    const history = [user('go'), call('c1', { name: 'spawn', namespace: name }), output('c1')]
    expect(nativeOf({ tools, input: history })['messages']).toMatchObject([{}, { content: [{ name: String(first?.name) }] }, {}])
    expect(nativeOf({ input: history })['messages']).toMatchObject([{}, { content: [{ name: String(first?.name) }] }, {}])
  }
})

test('what would live on our side is refused by name', () => {
  expect(refusalOf({ conversation: 'conv_1' })).toStartWith('conversation: ')
  expect(refusalOf({ background: true })).toBe('background: background responses are not supported')
  expect(refusalOf({ prompt: { id: 'pmpt_1' } })).toStartWith('prompt: ')
  expect(refusalOf({ previous_response_id: 'resp_1' })).toBe('previous_response_id: not found; send the full input (store: false)')
  const gone = (why: Forgotten): string => refusalOf({ previous_response_id: 'resp_1' }, { recall: () => why })
  expect(gone('expired')).toBe(
    'previous_response_id: answers are kept for 60 minutes, and this one is older; send the full input (store: false)',
  )
  expect(gone('crowded')).toBe(
    'previous_response_id: is no longer kept: its room was needed for later answers; send the full input (store: false)',
  )
  expect(refusalOf({ previous_response_id: 5 })).toStartWith('previous_response_id: ')
  for (const fine of [
    { conversation: null },
    { background: false },
    { background: null },
    { prompt: null },
    { previous_response_id: null },
  ])
    readFine(fine)
})

test('references resolve from what was remembered; unknown ones are refused, unknown reasoning is dropped', () => {
  const known = new Map<string, readonly unknown[]>([
    ['msg_1', [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] }]],
    ['resp_1', [{ role: 'developer', content: 'S' }, user('a'), { role: 'assistant', content: 'b' }]],
  ])
  const options = { recall: (id: string) => known.get(id) ?? ('unknown' as const) }
  const expected = [user('a'), { role: 'assistant', content: 'b' }, user('c')]
  for (const reference of [{ type: 'item_reference', id: 'msg_1' }, { id: 'msg_1' }, { type: null, id: 'msg_1' }]) {
    const native = nativeOf({ input: [user('a'), { type: 'item_reference', id: 'rs_1' }, reference, user('c')] }, options)
    expect(native['messages']).toEqual(expected)
  }
  const again = Array.from({ length: 3 }, () => ({ type: 'item_reference', id: 'msg_1' }))
  expect(nativeOf({ input: [user('a'), ...again, user('c')] }, options)['messages']).toEqual(expected)
  const continued = nativeOf({ previous_response_id: 'resp_1', instructions: 'I', input: 'c' }, options)
  expect(continued).toMatchObject({ system: 'I\nS', messages: expected })
  expect(refusalOf({ input: [{ type: 'item_reference', id: 'msg_2' }] }, options)).toBe(
    'input.0: item_reference "msg_2" cannot be resolved; send the full input (store: false)',
  )
  const { remembered } = readFine({ previous_response_id: 'resp_1', input: 'c' }, options).echo
  expect(remembered?.map(({ json }) => JSON.parse(inOnePiece(json).toString()))).toEqual([
    ...(known.get('resp_1') ?? []),
    { type: 'message', role: 'user', content: 'c' },
  ])
  expect(readFine({ input: 'c', store: false }).echo.remembered).toBeUndefined()
  expect(readFine({ input: 'c'.repeat(9_000_000) }).echo.remembered).toBeUndefined()
  const itemsOf = (length: number): object[] => Array.from({ length }, () => ({ role: 'user', content: 'c' }))
  expect(readFine({ input: itemsOf(3_000) }).echo.remembered).toHaveLength(3_000)
  expect(readFine({ input: itemsOf(3_001) }).echo.remembered).toBeUndefined()
})

test('hosted tools are left out without an error; a choice of one of them is free', () => {
  const hosted = [
    'web_search',
    'web_search_preview',
    'file_search',
    'code_interpreter',
    'mcp',
    'image_generation',
    'tool_search',
    'local_shell',
    'shell',
    'apply_patch',
    'computer_use_preview',
    'banana',
  ]
  for (const type of hosted) {
    const alone = nativeOf({ tools: [{ type }], tool_choice: 'auto' })
    expect([alone['tools'], alone['tool_choice']]).toEqual([undefined, undefined])
    const among = nativeOf({ tools: [{ type }, FUNCTION], tool_choice: { type } })
    expect(among).toMatchObject({ tools: [{ name: 'f' }], tool_choice: { type: 'auto' } })
    expect(readFine({ tools: [{ type }, FUNCTION], tool_choice: { type } }).echo.fields.tool_choice).toBe('auto')
  }
})

test('a tool result may hold text, images and documents', () => {
  const parts = [
    { type: 'input_text', text: 'see' },
    { type: 'input_image', image_url: PNG },
    { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${Buffer.from('%PDF-1.7').toString('base64')}` },
  ]
  const { body, bounds } = readFine({ tools: [FUNCTION], input: [user('go'), call('c1'), output('c1', parts)] })
  const { messages } = JSON.parse(Buffer.from(body).toString('utf8'))
  expect(messages[2].content[0].content.map(({ type }: { type: string }) => type)).toEqual(['text', 'image', 'document'])
  expect(messages[2].content[0].content[1].source.media_type).toBe('image/png')
  expect(bounds.hasOpaqueInput).toBe(true)
})

test('system and developer items after the start stay where they are, as marked user text', () => {
  const input = [{ role: 'system', content: 'S' }, user('a'), { role: 'developer', content: 'Be brief.' }]
  expect(nativeOf({ input })).toMatchObject({
    system: 'S',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: '<system-reminder>\nBe brief.\n</system-reminder>' },
        ],
      },
    ],
  })
})

test('an input that says nothing is refused', () => {
  for (const input of [undefined, null, []]) expect(refusalOf({ input })).toBe('input: Field required')
  for (const input of [5, true, {}]) expect(refusalOf({ input })).toBe('input: Input should be a valid string or array')
  for (const input of ['', ' \n', [user('')], [{ type: 'web_search_call', id: 'ws_1' }]]) {
    expect(refusalOf({ input })).toBe('input: at least one message with content is required')
  }
})

test('JSON formats are a hint in the system prompt, never a native setting', () => {
  const object = nativeOf({ instructions: 'A', text: { format: { type: 'json_object' } } })
  expect(object['system']).toStartWith('A\nRespond with a single valid JSON object')
  const schema = nativeOf({ text: { format: { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object', title: 'Cat' } } } })
  expect(schema['system']).toContain('"title":"Cat"')
  expect(schema['output_config']).toBeUndefined()
  for (const text of [{}, { format: { type: 'text' }, verbosity: 'low' }, null]) expect(nativeOf({ text })['system']).toBeUndefined()
})

test('items of a history that only other providers could use are dropped, or refused where a result would be lost', () => {
  const dropped = [
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'mcp_call',
    'mcp_list_tools',
    'compaction',
    'tool_search_call',
    'tool_search_output',
    'additional_tools',
    'program',
    'program_output',
  ]
  for (const type of dropped) expect(nativeOf({ input: [user('a'), { type, id: 'x' }] })['messages']).toEqual([user('a')])
  const refused = [
    'local_shell_call',
    'local_shell_call_output',
    'shell_call',
    'apply_patch_call',
    'computer_call',
    'compaction_trigger',
    'banana',
  ]
  for (const type of refused)
    expect(refusalOf({ input: [user('a'), { type, call_id: 'x' }] })).toBe(`input.1.type: "${type}" is not supported`)
})

test('malformed fields are refused and named', () => {
  const cases: readonly [Record<string, unknown>, string][] = [
    [{ model: undefined }, 'model: Field required'],
    [{ model: 5 }, 'model: Input should be a valid string'],
    [{ model: 'other' }, 'Model other is not available on this API key'],
    [{ stream: 'yes' }, 'stream: '],
    [{ max_output_tokens: 0 }, 'max_output_tokens: '],
    [{ max_output_tokens: 1.5 }, 'max_output_tokens: '],
    [{ temperature: 2.1 }, 'temperature: '],
    [{ temperature: '1' }, 'temperature: '],
    [{ top_p: 1.1 }, 'top_p: '],
    [{ parallel_tool_calls: 1 }, 'parallel_tool_calls: '],
    [{ instructions: 5 }, 'instructions: '],
    [{ text: 'json' }, 'text: '],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type: '],
    [{ reasoning: 'high' }, 'reasoning: '],
    [{ reasoning: { effort: 'extreme' } }, 'reasoning.effort: '],
    [{ tools: {} }, 'tools: '],
    [{ tools: [5] }, 'tools.0: '],
    [{ tools: [{ name: 'f' }] }, 'tools.0.type: '],
    [{ tools: [{ type: 'function' }] }, 'tools.0.name: '],
    [{ tools: [{ type: 'function', name: 'a b' }] }, 'tools.0.name: '],
    [{ tools: [FUNCTION, FUNCTION] }, 'tools: '],
    [{ tools: [{ type: 'namespace', name: 'n' }] }, 'tools.0: '],
    [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }] }, 'tools.0.tools.0.name: '],
    [{ tools: [{ ...FUNCTION, parameters: { type: 'string' } }] }, 'tools.0.parameters.type: '],
    [{ input: [null] }, 'input.0: '],
    [{ input: [{}] }, 'input.0.type: '],
    [{ input: [{ role: 'critic', content: 'x' }] }, 'input.0.role: '],
    [{ input: [{ type: 'message', content: 'x' }] }, 'input.0.role: '],
    [{ input: [{ role: 'user' }] }, 'input.0.content: '],
    [{ input: [{ role: 'user', content: 5 }] }, 'input.0.content: '],
    [{ input: [{ role: 'user', content: ['x'] }] }, 'input.0.content.0: '],
    [{ input: [{ role: 'user', content: [{ text: 'x' }] }] }, 'input.0.content.0.type: '],
    [{ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input.0.content.0.text: '],
    [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'input.0.content.0.type: '],
    [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input.0.content.0.image_url: '],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }] }, 'input.0.content.0.image_url: '],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] }, 'input.0.content.0.file_id: '],
    [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] }, 'input.0.content.0.file_id: '],
    [{ input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: PNG }] }] }, 'input.0.content.0.type: '],
    [{ input: [{ role: 'system', content: [{ type: 'input_image', image_url: PNG }] }, user('a')] }, 'input.0.content.0.type: '],
    [{ input: [user('a'), call('c1', { name: undefined }), output('c1')] }, 'input.1.name: '],
    [{ input: [user('a'), call('c1', { call_id: 5 }), output('c1')] }, 'input.1.call_id: '],
    [{ input: [user('a'), call('c1'), output('c1', 5)] }, 'input.2.output: '],
    [{ input: [user('a'), output('c1')] }, 'input.1.call_id: no matching tool call'],
    [{ input: [user('a'), call('c1')] }, 'input.1: tool call "c1" has no result'],
  ]
  for (const [json, message] of cases) expect(refusalOf(json)).toStartWith(message)
})

test('sampling, effort, user and caching are translated as on chat', () => {
  expect(nativeOf({ temperature: 1.7, max_output_tokens: 1_000_000_000 })).toMatchObject({ temperature: 1, max_tokens: 64_000 })
  expect(nativeOf({ temperature: 0.2 }, { model: { rejects: new Set(['sampling']) } })['temperature']).toBeUndefined()
  expect(nativeOf({ reasoning: { effort: 'high' } })).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })
  for (const reasoning of [null, {}, { summary: 'auto' }, { effort: null }]) expect(nativeOf({ reasoning })['thinking']).toBeUndefined()
  expect(nativeOf({ user: 'u', safety_identifier: 's' })['metadata']).toEqual({ user_id: 's' })
  const cached = nativeOf({ instructions: 'A', prompt_cache_key: 'k' })
  expect(JSON.stringify(cached).match(/cache_control/g)).toHaveLength(2)
  const marked = [{ role: 'user', content: [{ type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } }] }]
  expect(readFine({ input: marked }).bounds.cacheWrites).toBe('5m')
  const five = Array.from({ length: 5 }, (_, index) => ({ type: 'input_text', text: `${index}`, cache_control: { type: 'ephemeral' } }))
  expect(refusalOf({ input: [{ role: 'user', content: five }] })).toContain(
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  )
  const ignored = {
    truncation: 'auto',
    service_tier: 'flex',
    top_logprobs: 5,
    max_tool_calls: 2,
    client_metadata: {},
    include: ['x'],
    unknown: 1,
  }
  expect(nativeOf(ignored)).toEqual(nativeOf({}))
})

test('the response repeats what the request decided, in the shapes of this format', () => {
  const { fields } = readFine({
    temperature: 1.5,
    top_p: 0.5,
    parallel_tool_calls: false,
    metadata: { a: 'b' },
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    max_output_tokens: 50,
    prompt_cache_key: 'k',
    user: 'u',
    safety_identifier: 's',
  }).echo
  expect(fields).toMatchObject({
    temperature: 1.5,
    top_p: 0.5,
    parallel_tool_calls: false,
    metadata: { a: 'b' },
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    max_output_tokens: 50,
    prompt_cache_key: 'k',
    user: 'u',
    safety_identifier: 's',
    tool_choice: 'auto',
  })
  const tools = [FUNCTION, { type: 'custom', name: 'p' }]
  const choices: readonly [unknown, unknown][] = [
    ['none', 'none'],
    ['required', 'required'],
    ['any', 'required'],
    ['f', { type: 'function', name: 'f' }],
    [
      { type: 'tool', name: 'f' },
      { type: 'function', name: 'f' },
    ],
    [
      { type: 'custom', name: 'p' },
      { type: 'custom', name: 'p' },
    ],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    ],
  ]
  for (const [tool_choice, shown] of choices) expect(readFine({ tools, tool_choice }).echo.fields.tool_choice).toEqual(shown)
})

const F_AND_G = [FUNCTION, { type: 'function', name: 'g' }]

test('tool_choice in every shape', () => {
  const cases: readonly [request: Record<string, unknown>, expected: unknown][] = [
    [{ tool_choice: 'auto' }, { type: 'auto' }],
    [{ tool_choice: 'required' }, { type: 'any' }],
    [{ tool_choice: 'any' }, { type: 'any' }],
    [{ tool_choice: { type: 'required' } }, { type: 'any' }],
    [{ tool_choice: 'none' }, { type: 'none' }],
    [{ tool_choice: { type: 'none', disable_parallel_tool_use: true } }, { type: 'none' }],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, { type: 'tool', name: 'f' }],
    [{ tool_choice: { type: 'function', name: 'f' } }, { type: 'tool', name: 'f' }],
    [
      { tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true } },
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    ],
    [{ tool_choice: { type: 'tool', name: 'zzz' } }, 'tool_choice: tool "zzz" is not defined in tools'],
    [{ tool_choice: 'f' }, { type: 'tool', name: 'f' }],
    [{ tool_choice: 'zzz' }, 'tool_choice: tool "zzz" is not defined in tools'],
    [{ tools: [], tool_choice: 'auto' }, undefined],
    [{ tools: [], tool_choice: { type: 'tool', name: 'f' } }, 'tool_choice: tool "f" is not defined in tools'],
    ...[5, [], {}, { type: 'tool' }, { type: 'banana' }].map((tool_choice): [Record<string, unknown>, unknown] => [
      { tool_choice },
      'tool_choice: ',
    ]),
    [{ parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [{ parallel_tool_calls: false, tool_choice: 'none' }, { type: 'none' }],
    [{ parallel_tool_calls: true, tool_choice: 'required' }, { type: 'any' }],
    [{ tool_choice: null }, undefined],
  ]
  for (const [request, expected] of cases) {
    const json = { tools: F_AND_G, ...request }
    if (typeof expected === 'string') expect(refusalOf(json), JSON.stringify(request)).toStartWith(expected)
    else expect(nativeOf(json)['tool_choice'], JSON.stringify(request)).toEqual(expected)
  }
})

test('a subset and a model that cannot be forced keep only the tools that may be used', () => {
  for (const tools of [[{ type: 'function', name: 'g' }], [{ name: 'g' }]]) {
    expect(nativeOf({ tools: F_AND_G, tool_choice: { type: 'allowed_tools', mode: 'required', tools } })).toMatchObject({
      tools: [{ name: 'g' }],
      tool_choice: { type: 'any' },
    })
  }
  const subset = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'spawn', namespace: 'agents' }] }
  expect((nativeOf({ tools: [NAMESPACE, ...F_AND_G], tool_choice: subset })['tools'] as object[]).length).toBe(1)
  const weak = { model: { rejects: new Set(['forced_tool_choice'] as const) } }
  const forced = nativeOf({ tools: F_AND_G, tool_choice: { type: 'function', name: 'f' } }, weak)
  expect([(forced['tools'] as { name: string }[]).map(({ name }) => name), forced['tool_choice']]).toEqual([['f'], { type: 'auto' }])
})

test('a history with thousands of calls to tools that were not declared is read in time', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => index)
  const tools = many.map((index) => ({ type: 'namespace', name: `n${index}`, tools: [{ type: 'function', name: `f${index}` }] }))
  const input = [user('go'), ...many.flatMap((index) => [call(`c${index}`, { name: `g${index}` }), output(`c${index}`)])]
  const spentMs = startProcessorWatch()
  expect((nativeOf({ tools, input })['tools'] as object[]).length).toBe(5_000)
  expect(spentMs()).toBeLessThan(2_000)
})

test('no JSON body throws; it is a call or a refusal with status 400', () => {
  const word = fc.constantFrom(
    'message',
    'user',
    'developer',
    'function_call',
    'function_call_output',
    'reasoning',
    'function',
    'namespace',
    'input_text',
    'input_image',
    'f',
    'c1',
    PNG,
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, word, fc.jsonValue({ maxDepth: 1 }), fc.array(tie('value'), { maxLength: 4 }), tie('object')),
    object: fc.dictionary(
      fc.constantFrom(
        'type',
        'role',
        'content',
        'name',
        'namespace',
        'call_id',
        'arguments',
        'output',
        'tools',
        'id',
        'text',
        'image_url',
        'file_data',
        'encrypted_content',
        'format',
        'effort',
        'parameters',
        'cache_control',
        '__proto__',
      ),
      tie('value'),
      { maxKeys: 6 },
    ),
  }))
  const field = fc.constantFrom(
    'input',
    'tools',
    'tool_choice',
    'instructions',
    'text',
    'reasoning',
    'metadata',
    'previous_response_id',
    'user',
    'store',
    'stream',
    'model',
  )
  fc.assert(
    fc.property(fc.dictionary(field, value, { maxKeys: 6 }), (json) => {
      const known = JSON.parse(JSON.stringify({ model: 'stella-2', input: 'hi', ...json }))
      const result = read(known)
      if (result instanceof Refusal) expect(result.row.status).toBe(400)
      else expect(JSON.parse(Buffer.from(result.body).toString('utf8')).model).toBe('stella-2-20260301')
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 1_000) },
  )
})
