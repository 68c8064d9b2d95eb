/**
 * What the simulator says: an answer of the native grammar that does what the prompt and the tools ask, the same each time. Rules: native.md
 * "Answer"; faults.md "Simulator".
 */

import { expect, test } from 'bun:test'
import { jsonHint } from '../../src/core/formats/translate/json-mode.ts'
import { tokensOf } from '../../src/simulator/tokens.ts'
import { ask, askStream, assistant, deltasOf, messageOf, quick, READ, requestOf, typesOf, user, WRITE } from './ask.ts'

const TOOLS = { tools: [WRITE, READ] }

test('an answer names the simulator, echoes the prompt, and echoes any model name', async () => {
  const message = await ask(quick(), 'How high is the tower?', { model: 'whatever-9' })
  expect(message.content[0]?.text).toContain('Tollgate simulator')
  expect(message.content[0]?.text).toContain('How high is the tower?')
  expect(message).toMatchObject({ type: 'message', role: 'assistant', model: 'whatever-9', stop_reason: 'end_turn', stop_sequence: null })
  expect(message.id).toStartWith('msg_sim')
})

test('the same seed and the same requests give the same bytes, another seed other ids', async () => {
  const body = { model: 'm', max_tokens: 500, stream: true, messages: [user('go [sim tools=2]')], ...TOOLS }
  const run = async (seed: number): Promise<string> => {
    const simulator = quick(seed)
    const texts = [await simulator(requestOf(body)), await simulator(requestOf(body))].map((response) => response.text())
    return (await Promise.all(texts)).join('')
  }
  expect(await run(7)).toBe(await run(7))
  expect(await run(8)).not.toBe(await run(7))
  const ids = [...(await run(7)).matchAll(/toolu_sim[0-9a-f]+/g)].map(([id]) => id)
  expect(new Set(ids).size).toBe(4)
})

test('a stream follows the native grammar and adds up to the same message as without stream', async () => {
  for (const prompt of ['Hi', 'Hi [sim thinking]', 'Hi [sim tools=3]', 'Hi [sim say=漢字 👩‍👩‍👧 "quoted" \\ done]']) {
    const events = await askStream(quick(), prompt, TOOLS)
    const types = typesOf(events).filter((type) => type !== 'ping')
    const grammar = /^message_start( content_block_start( content_block_delta)+ content_block_stop)+ message_delta message_stop$/
    expect(types.join(' ')).toMatch(grammar)
    expect(typesOf(events)).toContain('ping')
    const whole = await ask(quick(), prompt, TOOLS)
    expect(messageOf(events).content as unknown).toEqual(whole.content)
    expect(messageOf(events).stop_reason).toBe(whole.stop_reason)
    expect(messageOf(events).usage['output_tokens']).toBe(whole.usage['output_tokens']!)
    expect(JSON.stringify(events[0])).toContain('"output_tokens":1')
  }
})

test('frames have the key order of a native upstream', async () => {
  const response = await quick()(requestOf({ model: 'm', max_tokens: 100, stream: true, messages: [user('[sim say=Hello]')] }))
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  const text = await response.text()
  expect(text).toContain(
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
  )
  expect(text).toContain(
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n',
  )
  expect(text).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
})

test('tools are called when the prompt directs it, in parallel, with fragments that begin empty', async () => {
  const events = await askStream(
    quick(),
    'Do it [sim tool=Write args={"file_path":"/tmp/a.txt","content":"h]i}","mode":"new"}] [sim tool=read]',
    TOOLS,
  )
  const { content, stop_reason } = messageOf(events)
  expect(stop_reason).toBe('tool_use')
  expect(content.map(({ type, name, input }) => ({ type, name, input }))).toEqual([
    { type: 'text', name: undefined, input: undefined },
    { type: 'tool_use', name: 'Write', input: { file_path: '/tmp/a.txt', content: 'h]i}', mode: 'new' } },
    { type: 'tool_use', name: 'Read', input: { path: 'simulated path' } },
  ])
  const pieces = deltasOf(events).filter(({ type }) => type === 'input_json_delta')
  expect(pieces[0]).toEqual({ type: 'input_json_delta', partial_json: '' })
  expect(pieces.length).toBeGreaterThan(6)
})

test('tool_choice decides before the prompt does', async () => {
  const names = async (prompt: string, tool_choice: object): Promise<unknown[]> =>
    (await ask(quick(), prompt, { ...TOOLS, tool_choice })).content.map(({ type, name }) => name ?? type)
  expect(await names('Hi', { type: 'auto' })).toEqual(['text'])
  expect(await names('Hi', { type: 'any' })).toEqual(['Write'])
  expect(await names('Hi', { type: 'tool', name: 'Read' })).toEqual(['Read'])
  expect(await names('Hi [sim tools=2]', { type: 'none' })).toEqual(['text'])
  expect(await names('Hi [sim tools=2]', { type: 'auto' })).toEqual(['text', 'Write', 'Read'])
  expect(await names('Hi [sim tools=2]', { type: 'auto', disable_parallel_tool_use: true })).toEqual(['text', 'Write'])
})

const loop = (prompt: string, after: object[] = []): object[] => [
  user(prompt),
  assistant([{ type: 'tool_use', id: 'toolu_1', name: 'Write', input: {} }]),
  user([
    {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'text', text: 'File written [sim error=500]<system-reminder>9 left</system-reminder>' }],
    },
    ...after,
  ]),
]

test('after tool results the answer closes the task: no directive of the earlier prompt fires again, nor one inside a result', async () => {
  const prompt = 'go [sim tool=Write]'
  const afters = [[], [{ type: 'text', text: '<system-reminder>[sim error=500]</system-reminder>' }], [{ type: 'text', text: prompt }]]
  for (const after of afters) {
    const message = await ask(quick(), '', { messages: loop(prompt, after), ...TOOLS })
    expect(message.stop_reason).toBe('end_turn')
    expect(message.content).toHaveLength(1)
    expect(message.content[0]?.text).toContain('Write returned “File written [sim error=500]”')
  }
  const forced = await ask(quick(), '', { messages: loop(prompt), ...TOOLS, tool_choice: { type: 'any' } })
  expect(forced.stop_reason).toBe('end_turn')
  const next = await ask(quick(), '', { messages: loop(prompt), ...TOOLS, tool_choice: { type: 'tool', name: 'Read' } })
  expect(next.content[0]).toMatchObject({ type: 'tool_use', name: 'Read' })
})

test('a new directive beside tool results counts', async () => {
  const message = await ask(quick(), '', {
    messages: loop('go [sim tool=Write]', [{ type: 'text', text: 'and [sim tool=Read]' }]),
    ...TOOLS,
  })
  expect(message.content.at(-1)).toMatchObject({ name: 'Read' })
})

test('directives count only in the newest words of the user', async () => {
  const quiet = [
    { messages: [user('Hi')], system: '[sim say=no]' },
    { messages: [user([{ type: 'text', text: '<system-reminder>x [sim say=no]</system-reminder>Hi' }])] },
    { messages: [user('[sim say=no]'), assistant('ok'), user('Hi')] },
    { messages: [user('Hi'), { role: 'system', content: '[sim say=no]' }] },
    { messages: [user('Hi [sim say=no]'), assistant('No')] },
  ]
  for (const fields of quiet) expect((await ask(quick(), '', fields)).content[0]?.text).toContain('Tollgate simulator')
  const loud = [user('[sim say=old]'), assistant('ok'), user('Hi'), { role: 'system', content: 'x' }, user('[sim say=yes]')]
  expect((await ask(quick(), '', { messages: loud })).content[0]?.text).toBe('yes')
})

test('thinking comes first with its signature; omitted thinking is billed but not shown', async () => {
  for (const thinking of [{ type: 'adaptive' }, { type: 'enabled', budget_tokens: 1024 }]) {
    const { content, usage } = messageOf(await askStream(quick(), 'Hi', { thinking }))
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'text'])
    expect(content[0]?.['thinking']).toContain('simulator')
    expect(content[0]?.['signature']).not.toBe('')
    expect(JSON.stringify(usage)).toContain(`"thinking_tokens":${tokensOf(String(content[0]?.['thinking']))}`)
  }
  const omitted = await askStream(quick(), 'Hi', { thinking: { type: 'adaptive', display: 'omitted' } })
  expect(deltasOf(omitted)[0]?.['type']).toBe('signature_delta')
  expect(deltasOf(omitted).some(({ type }) => type === 'thinking_delta')).toBe(false)
  expect(messageOf(omitted).usage['output_tokens']).toBeGreaterThan(tokensOf(String(messageOf(omitted).content[1]?.['text'])))
  expect((await ask(quick(), 'Hi [sim thinking]')).content[0]?.type).toBe('thinking')
  expect((await ask(quick(), 'Hi', { thinking: { type: 'disabled' } })).content[0]?.type).toBe('text')
})

test('max_tokens and stop_sequences end the answer where they say', async () => {
  const cut = await ask(quick(), '[sim tokens=100]', { max_tokens: 9 })
  expect(cut).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 9 } })
  expect(cut.content[0]?.text).toHaveLength(36)
  const stopped = await ask(quick(), '[sim say=one two three four]', { stop_sequences: ['four', 'two'] })
  expect(stopped).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'two', content: [{ type: 'text', text: 'one ' }] })
  const never = await ask(quick(), '[sim say=one two three four]', { stop_sequences: ['four'], max_tokens: 2 })
  expect(never).toMatchObject({ stop_reason: 'max_tokens', content: [{ text: 'one two ' }] })
  for (const prompt of ['Hi', '[sim tool]']) {
    const warm = await ask(quick(), prompt, { max_tokens: 0, ...TOOLS })
    expect(warm).toMatchObject({ stop_reason: 'max_tokens', content: [], usage: { output_tokens: 0 } })
  }
  const tool = await askStream(quick(), '[sim tool args={"file_path":"/tmp/very/long/path","content":"x"}]', {
    ...TOOLS,
    max_tokens: 6,
    tool_choice: { type: 'any' },
  })
  expect(
    deltasOf(tool)
      .map((delta) => delta['partial_json'])
      .join(''),
  ).toHaveLength(24)
  expect(JSON.stringify(tool.at(-2))).toContain('"stop_reason":"max_tokens"')
})

test('every stop reason can be had', async () => {
  for (const reason of [
    'end_turn',
    'max_tokens',
    'tool_use',
    'pause_turn',
    'refusal',
    'model_context_window_exceeded',
    'compaction',
    'new_one',
  ]) {
    expect((await ask(quick(), `Hi [sim stop=${reason}]`)).stop_reason).toBe(reason)
    expect(messageOf(await askStream(quick(), `Hi [sim stop=${reason}]`)).stop_reason).toBe(reason)
  }
  expect(await ask(quick(), '[sim stop=stop_sequence]', { stop_sequences: ['###'] })).toMatchObject({ stop_sequence: '###' })
  expect(await ask(quick(), '[sim stop=null]')).toMatchObject({ stop_reason: null })
  expect(await ask(quick(), '[sim stop=refusal]')).toMatchObject({ content: [] })
})

test('a request for JSON gets an object that fits its schema', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' }, age: { type: 'integer' } }, required: ['city', 'age'] }
  const requests = [
    { output_config: { format: { type: 'json_schema', schema } } },
    { system: `Be kind. Respond with a single valid JSON object that conforms to this JSON Schema: ${JSON.stringify(schema)}` },
    {
      system: [
        { type: 'text', text: 'You may return nothing.' },
        { type: 'text', text: `Answer only with a JSON object. Schema:\n${JSON.stringify(schema)}\nNo prose.` },
      ],
    },
  ]
  for (const fields of requests)
    expect(JSON.parse((await ask(quick(), 'Hi', fields)).content[0]!.text!)).toEqual({ city: 'simulated city', age: 1 })
  const hint = jsonHint({ kind: 'schema', schema })
  expect(JSON.parse((await ask(quick(), 'Hi', { system: hint })).content[0]!.text!)).toEqual({ city: 'simulated city', age: 1 })
  const free = await ask(quick(), 'Hi there', { system: 'Respond with a single valid JSON object and nothing else.' })
  expect(JSON.parse(free.content[0]!.text!)).toEqual({ simulator: 'Tollgate', prompt: 'Hi there' })
  const prose = await ask(quick(), 'Hi', { system: 'Tools take a JSON object.' })
  expect(prose.content[0]?.text).toContain('Tollgate simulator')
})
