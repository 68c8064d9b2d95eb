/** A chat request to its native body, case by case; pairs of whole requests are in test/requests. Rules: chat.md "Request", "Messages". */

import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { Refusal } from '../../../../src/core/refusal.ts'
import { accepted, C0, type Json, native, nativeText, read, refused, user } from './chat-call.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const calls = (...entries: [id: unknown, args?: unknown][]): Json => ({
  role: 'assistant',
  content: null,
  tool_calls: entries.map(([id, args]) => ({ id, type: 'function', function: { name: 'f', arguments: args ?? '{}' } })),
})
const result = (id: unknown, content: unknown = 'ok', more: Json = {}): Json => ({ role: 'tool', tool_call_id: id, content, ...more })
const system = (content: unknown, more: Json = {}): Json => ({ role: 'system', content, ...more })
const EPHEMERAL = { type: 'ephemeral' }
const F = { type: 'function', function: { name: 'f' } }

describe('system messages are hoisted and turns are what native accepts', () => {
  test('the smallest request', () => {
    expect(native({})).toEqual({
      model: 'stella-2-20260301',
      max_tokens: 16_000,
      messages: [{ role: 'user', content: 'hi' }],
    })
    const { version, betas, isStream, echo } = accepted(C0)
    expect([version, betas, isStream, echo.includesUsageChunk]).toEqual(['2023-06-01', '', false, false])
  })

  test('two system messages, wherever they stand', () => {
    const body = native({ messages: [system('A'), user('x'), system('B'), user('y')] })
    expect(body['system']).toBe('A\nB')
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'text', text: 'y' },
        ],
      },
    ])
  })

  test('a marker keeps system in blocks', () => {
    const developer = { role: 'developer', content: [{ type: 'text', text: 'A', cache_control: EPHEMERAL }] }
    expect(native({ messages: [developer, system('B'), user('x')] })['system']).toEqual([
      { type: 'text', text: 'A', cache_control: EPHEMERAL },
      { type: 'text', text: 'B' },
    ])
  })

  test('the last system message becomes the user turn when there is no other', () => {
    const alone = native({ messages: [system('Write a title')] })
    expect([alone['system'], alone['messages']]).toEqual([undefined, [{ role: 'user', content: 'Write a title' }]])
    const two = native({ messages: [system('Be terse'), { role: 'developer', content: 'Write a title' }] })
    expect([two['system'], two['messages']]).toEqual(['Be terse', [{ role: 'user', content: 'Write a title' }]])
  })

  test('what is not a conversation is refused with its path', () => {
    for (const messages of [[], undefined, null, 'hi', 5, {}]) expect(refused({ messages })).toStartWith('messages: ')
    expect(refused({ messages: [null] })).toStartWith('messages[0]: ')
    expect(refused({ messages: [{ content: 'x' }] })).toBe('messages[0].role: Field required')
    expect(refused({ messages: [{ role: 'critic', content: 'x' }] })).toStartWith('messages[0].role: ')
    expect(refused({ messages: [user(''), user('  \n')] })).toBe('messages: at least one message with content is required')
    for (const content of [null, undefined, 5, {}, true])
      expect(refused({ messages: [user(content)] })).toStartWith('messages[0].content: ')
    for (const content of [[5], [null], ['x'], [{}], [{ type: 'text' }], [{ type: 'text', text: 5 }], [{ type: 5 }]])
      expect(refused({ messages: [user(content)] })).toStartWith('messages[0].content[0]')
    expect(refused({ messages: [system([{ type: 'image_url', image_url: { url: 'https://x/y.png' } }]), user('x')] })).toBe(
      'messages[0].content[0]: image_url content is not supported in system messages',
    )
  })

  test('empty and blank assistant turns leave nothing behind', () => {
    const blocks = ['a', 'b'].map((text) => ({ type: 'text', text }))
    for (const content of ['', '  \n ', null, []]) {
      const { messages } = native({ messages: [user('a'), { role: 'assistant', content }, user('b')] })
      expect(messages).toEqual([{ role: 'user', content: blocks }])
    }
    expect(native({ messages: [user('a'), { role: 'assistant', content: 'Sure: ' }] })['messages'][1]).toEqual({
      role: 'assistant',
      content: 'Sure:',
    })
    expect(native({ messages: [user('a'), { role: 'assistant', content: '   ' }] })['messages']).toHaveLength(1)
  })

  test('a user turn is invented only for a model that rejects an assistant turn first', () => {
    const messages = [{ role: 'assistant', content: 'hello' }, user('x')]
    expect(native({ messages })['messages'][0]).toEqual({ role: 'assistant', content: 'hello' })
    expect(native({ messages }, ['assistant_first'])['messages']).toEqual([
      { role: 'user', content: '.' },
      { role: 'assistant', content: 'hello' },
      { role: 'user', content: 'x' },
    ])
  })

  test('names and refusals: a name is ignored, a refusal part is text', () => {
    const assistant = { role: 'assistant', name: 'bot', content: [{ type: 'refusal', refusal: 'No.' }] }
    expect(native({ messages: [{ ...user('a'), name: 'Ann' }, assistant, user('b')] })['messages'][1]).toEqual({
      role: 'assistant',
      content: 'No.',
    })
  })
})

describe('tool calls and results', () => {
  const last = (messages: Json[], tools: unknown = [F]): Json => native({ tools, messages: [user('go'), ...messages] })['messages']

  test('results are paired by id and come first', () => {
    const turns = last([calls(['a', '{"x":1}'], ['b', '']), result('b', 'B'), result('a', 'A'), user('ok')])
    expect(turns[1].content).toEqual([
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      { type: 'tool_use', id: 'b', name: 'f', input: {} },
    ])
    expect(turns[2].content).toEqual([
      { type: 'tool_result', tool_use_id: 'b', content: 'B' },
      { type: 'tool_result', tool_use_id: 'a', content: 'A' },
      { type: 'text', text: 'ok' },
    ])
  })

  test('user text between results stands after them', () => {
    const turns = last([calls(['a'], ['b']), result('a'), user('mid'), result('b')])
    expect(turns[2].content.map((block: Json) => block['tool_use_id'] ?? block['text'])).toEqual(['a', 'b', 'mid'])
  })

  test('arguments that are not a JSON object are kept, never dropped', () => {
    const input = (args: unknown): Json => last([calls(['a', args]), result('a')])[1].content[0].input
    expect(input('not json')).toEqual({ _raw_arguments: 'not json' })
    expect(input('{"a":')).toEqual({ _raw_arguments: '{"a":' })
    expect(input('[1,2]')).toEqual({ value: [1, 2] })
    expect(input('5')).toEqual({ value: 5 })
    expect(input('null')).toEqual({ value: null })
    expect(input('  ')).toEqual({})
    const withoutArguments = { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f' } }] }
    expect(last([withoutArguments, result('a')])[1].content[0].input).toEqual({})
    expect(input({ already: 'parsed' })).toEqual({ already: 'parsed' })
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    expect(input(deep)).toEqual({ _raw_arguments: deep })
    const busy = `[${'0,'.repeat(600_000)}0]`
    const inputs = last([calls(['a', busy], ['b', busy], ['c', '{"x":1}']), result('a'), result('b'), result('c')])[1].content
    expect(inputs.map((block: Json) => Object.keys(block['input']))).toEqual([['value'], ['_raw_arguments'], ['_raw_arguments']])
  })

  test('numbers in arguments keep their letters', () => {
    const text = nativeText({ tools: [F], messages: [user('go'), calls(['a', '{"id":12345678901234567890,"f":1.0}']), result('a')] })
    expect(text).toContain('{"id":12345678901234567890,"f":1.0}')
    expect(nativeText({ messages: [user('go'), calls(['a', '12345678901234567890']), result('a')] })).toContain(
      '{"value":12345678901234567890}',
    )
  })

  test('names like __proto__ are data', () => {
    const text = nativeText({ messages: [user('go'), calls(['a', '{"__proto__":{"x":1},"constructor":2}']), result('a')] })
    expect(text).toContain('{"__proto__":{"x":1},"constructor":2}')
    expect(({} as Json)['x']).toBeUndefined()
    expect(nativeText({ messages: [user('go'), calls(['a', '{"\ud800":1}']), result('a')] })).toContain('{"\\ud800":1}')
  })

  test('ids become valid and unique, and stay paired', () => {
    const ids = (messages: Json[]): string[] =>
      (last(messages) as unknown as Json[]).flatMap(({ content }: Json) =>
        (Array.isArray(content) ? content : []).map((b: Json) => b['id'] ?? b['tool_use_id']),
      )
    expect(ids([calls(['functions.f:0']), result('functions.f:0')])).toEqual(['functions_f_0', 'functions_f_0'])
    expect(ids([calls(['a.b'], ['a:b']), result('a:b'), result('a.b')])).toEqual(['a_b', 'a_b_2', 'a_b_2', 'a_b'])
    expect(ids([calls(['call_1']), result('call_1'), calls(['call_1']), result('call_1')])).toEqual([
      'call_1',
      'call_1',
      'call_1_2',
      'call_1_2',
    ])
    for (const id of ['', undefined, null]) {
      const [call = '', answer] = ids([calls([id]), result('')])
      expect(call).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(answer).toBe(call)
    }
    const long = 'x'.repeat(300)
    const [first = '', , second = ''] = ids([calls([long]), result(long), calls([long]), result(long)])
    expect([first.length, second.length <= 128, first === second]).toEqual([128, true, false])
    const [one, two, three, four] = ids([calls([''], ['']), result('', '1'), result('', '2')])
    expect([one, two]).toEqual([three, four])
  })

  test('a result without a call and a call without a result are refused with their message', () => {
    expect(refused({ messages: [user('go'), calls(['a']), result('zzz')] })).toBe('messages[2].tool_call_id: no matching tool call')
    expect(refused({ messages: [user('go'), result('a')] })).toBe('messages[1].tool_call_id: no matching tool call')
    expect(refused({ messages: [user('go'), calls(['a'], ['b']), result('a'), user('x')] })).toBe(
      'messages[1]: tool call "b" has no result',
    )
    expect(refused({ messages: [user('go'), calls(['a'])] })).toBe('messages[1]: tool call "a" has no result')
    const next = { role: 'assistant', content: 'done' }
    expect(refused({ messages: [user('go'), calls(['a']), user('x'), next, result('a')] })).toBe('messages[1]: tool call "a" has no result')
    expect(refused({ messages: [user('go'), calls(['a']), result('a'), next, result('a')] })).toBe(
      'messages[4].tool_call_id: no matching tool call',
    )
  })

  test('what a result holds', () => {
    const results = (...messages: Json[]): Json[] => last([calls(['a']), ...messages])[2].content
    expect(results(result('a', '1'), result('a', '2'))).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: '2' }])
    const parts = [
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    ]
    expect(results(result('a', parts))[0]?.['content']).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
    ])
    expect(results(result('a', 'boom', { is_error: true }))[0]).toEqual({
      type: 'tool_result',
      tool_use_id: 'a',
      content: 'boom',
      is_error: true,
    })
    for (const empty of ['', ' ', null, undefined, [], [{ type: 'text', text: '' }]])
      expect(results({ role: 'tool', tool_call_id: 'a', content: empty })).toEqual([{ type: 'tool_result', tool_use_id: 'a' }])
    const markedPart = [{ type: 'text', text: 'x', cache_control: EPHEMERAL }]
    expect(results(result('a', markedPart))[0]).toEqual({
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'text', text: 'x' }],
      cache_control: EPHEMERAL,
    })
  })

  test('legacy functions', () => {
    const fields = {
      functions: [{ name: 'f', parameters: { type: 'object', properties: {} } }],
      function_call: { name: 'f' },
      messages: [
        user('go'),
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"x":1}' } },
        { role: 'function', name: 'f', content: 'one' },
      ],
    }
    const body = native(fields)
    expect(body['tools']).toEqual([{ name: 'f', input_schema: { type: 'object', properties: {} } }])
    expect(body['tool_choice']).toEqual({ type: 'tool', name: 'f', disable_parallel_tool_use: true })
    const [
      ,
      {
        content: [use],
      },
      {
        content: [answer],
      },
    ] = body['messages']
    expect([use.input, use.id, answer.content]).toEqual([{ x: 1 }, answer.tool_use_id, 'one'])
    expect(accepted({ ...C0, ...fields }).echo.isLegacy).toBe(true)
    expect(refused({ functions: fields.functions, function_call: { name: 'zzz' } })).toBe(
      'function_call: tool "zzz" is not defined in tools',
    )
    expect(accepted({ ...C0, tools: [F], functions: fields.functions }).echo.isLegacy).toBe(false)
  })

  test('malformed calls are refused with their path, and odd names of old calls are cleaned', () => {
    const bad = (entry: unknown): string => refused({ messages: [user('go'), { role: 'assistant', tool_calls: [entry] }] })
    for (const entry of [null, 5, {}, { type: 'function' }, { type: 'custom' }, { type: 'x' }, { function: {} }, { function: { name: 5 } }])
      expect(bad(entry)).toStartWith('messages[1].tool_calls[0]')
    expect(refused({ messages: [user('go'), { role: 'assistant', tool_calls: 'x' }] })).toStartWith('messages[1].tool_calls: ')
    const odd = { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'ns.f', arguments: '' } }] }
    expect(last([odd, result('a')])[1].content[0].name).toBe('ns_f')
  })

  test('native parts of clients that keep native history pass, paired like all others', () => {
    const use = { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } }
    const answer = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'A' }], cache_control: EPHEMERAL }
    const turns = last([
      { role: 'assistant', content: [{ type: 'text', text: 'ok' }, use] },
      user([{ type: 'text', text: 'then' }, answer]),
    ])
    expect(turns[1].content).toEqual([{ type: 'text', text: 'ok' }, use])
    expect(turns[2].content).toEqual([answer, { type: 'text', text: 'then' }])
    const repeated = last([{ ...calls(['a', '{"x":1}']), content: [use] }, result('a')])
    expect(repeated[1].content).toEqual([use])
  })
})

describe('images and files', () => {
  const part = (content: Json): Json => native({ messages: [user([{ type: 'text', text: 'see' }, content])] })['messages'][0].content[1]
  const wrong = (content: Json): string => refused({ messages: [user([{ type: 'text', text: 'see' }, content])] })
  const image = (url: unknown): Json => ({ type: 'image_url', image_url: { url, detail: 'high' } })
  const file = (fields: Json): Json => ({ type: 'file', file: fields })
  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  test('the media type is what the bytes say, and base64 is cleaned', () => {
    const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
    expect(part(image(`data:image/jpeg;charset=utf-8;base64,${PNG}`))).toEqual(png)
    expect(part(image(`data:image/jpg;base64,${PNG}`))).toEqual(png)
    expect(part(image(`DATA:;BASE64,${PNG.slice(0, 8)}\n ${PNG.slice(8)}`))).toEqual(png)
    expect(part(image(`data:image/png;base64,${PNG.replaceAll('=', '')}`))).toEqual(png)
    expect(part(image(`data:image/png;base64,${PNG.replaceAll('=', '%3D')}`))).toEqual(png)
    const kinds: [string, string][] = [
      ['\xff\xd8\xff\xe0', 'image/jpeg'],
      ['GIF89a', 'image/gif'],
      ['RIFF\x10\x00\x00\x00WEBPVP8 \xfb\xff\xfe', 'image/webp'],
    ]
    for (const [head, type] of kinds) {
      const bytes = Buffer.from(head, 'latin1')
      expect(part(image(`data:;base64,${bytes.toString('base64url')}`))['source']).toEqual({
        type: 'base64',
        media_type: type,
        data: bytes.toString('base64'),
      })
      const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      expect(part(image(`data:${type},${percent}`))['source'].data).toBe(bytes.toString('base64'))
    }
  })

  test('links are sources, anything else is refused', () => {
    expect(part(image('https://x/y.png'))).toEqual({ type: 'image', source: { type: 'url', url: 'https://x/y.png' } })
    expect(part({ type: 'image_url', image_url: 'http://x/y.png' })['source']).toEqual({ type: 'url', url: 'http://x/y.png' })
    expect(wrong(image('data:image/svg+xml;base64,PHN2Zy'))).toBe('messages[0].content[1].image_url.url: unsupported image type')
    for (const url of ['file:///etc/passwd', 'ftp://x', '', 'x', 'data:', 'data:image/png;base64,!!!', 'data:image/png;base64,A', 5, null])
      expect(wrong(image(url))).toStartWith('messages[0].content[1].image_url.url: ')
  })

  test('PDFs and text files are documents', () => {
    const pdf = base64('%PDF-1.7 x')
    const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }
    expect(part(file({ file_data: `data:application/pdf;base64,${pdf}` }))).toEqual(document)
    expect(part(file({ file_data: pdf, filename: 'a.pdf' }))).toEqual({ ...document, title: 'a.pdf' })
    expect(part(image(`data:application/pdf;base64,${pdf}`))).toEqual(document)
    const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'héé' } }
    expect(part(file({ file_data: `data:text/markdown;base64,${base64('héé')}` }))).toEqual(text)
    expect(part(file({ file_data: base64('héé'), filename: 'a.csv' }))).toEqual({ ...text, title: 'a.csv' })
    expect(part(file({ file_data: 'data:text/plain,h%C3%A9%C3%A9' }))).toEqual(text)
    expect(part(file({ file_data: `data:;base64,${PNG}`, filename: 'a.png' }))['type']).toBe('image')
    expect(part(file({ file_url: 'https://x/a.pdf' }))).toEqual({ type: 'document', source: { type: 'url', url: 'https://x/a.pdf' } })
  })

  test('parts that native has no block for are refused, never lost', () => {
    expect(wrong({ type: 'input_audio', input_audio: {} })).toBe(
      'messages[0].content[1]: input_audio content is not supported in user messages',
    )
    expect(wrong(file({ file_id: 'file-1' }))).toBe('messages[0].content[1].file.file_id: file_id is not supported; send file_data')
    expect(wrong({ type: 'video' })).toStartWith('messages[0].content[1]: video ')
    expect(wrong(file({}))).toBe('messages[0].content[1].file.file_data: Field required')
    for (const file_data of ['%%%', '', 'data:text/plain;base64,!', base64('plain'), `data:text/plain;base64,${base64('\n')}`, 5])
      expect(wrong(file({ file_data }))).toStartWith('messages[0].content[1].file.file_data: ')
    expect(wrong(file({ file_data: `data:text/plain;base64,${Buffer.from([0xff, 0xfe]).toString('base64')}` }))).toContain('UTF-8')
    expect(wrong({ type: 'image', source: { type: 'file', file_id: 'file_1' } })).toStartWith('messages[0].content[1].source.type: ')
    expect(wrong({ type: 'document', source: { type: 'url', url: 'file:///x' } })).toStartWith('messages[0].content[1].source.url: ')
  })

  test('a native image passes, and what is not text makes the whole context window the bound', () => {
    const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
    expect(part(block)).toEqual(block)
    const bounds = (content: Json[]) => accepted({ ...C0, messages: [user(content)] }).bounds
    expect(bounds([image('https://x/y.png')]).hasOpaqueInput).toBe(true)
    expect(bounds([file({ file_data: base64('%PDF-1.7') })]).hasOpaqueInput).toBe(true)
    expect(bounds([{ type: 'text', text: 'x' }]).hasOpaqueInput).toBe(false)
    const inResult = [user('go'), calls(['a']), result('a', [image('https://x/y.png')])]
    expect(accepted({ ...C0, messages: inResult }).bounds.hasOpaqueInput).toBe(true)
  })
})

describe('numbers and switches', () => {
  test('temperature 0 … 2, capped at 1', () => {
    for (const [asked, sent] of [
      [0, 0],
      [1.7, 1],
      [2, 1],
      [0.3, 0.3],
    ])
      expect(native({ temperature: asked })['temperature']).toBe(sent)
    for (const asked of [2.1, -1, '0.5', [], {}]) expect(refused({ temperature: asked })).toStartWith('temperature: ')
    for (const asked of [1.1, -1, '0.5']) expect(refused({ top_p: asked })).toStartWith('top_p: ')
    for (const asked of [-1, 1.5, 'x']) expect(refused({ top_k: asked })).toStartWith('top_k: ')
    expect(native({ temperature: null, top_p: null, top_k: 5 })).toMatchObject({ top_k: 5 })
  })

  test('one of temperature and top_p, none for a model that rejects sampling', () => {
    const sampling = (fields: Json, rejects: string[] = []): Json => {
      const { temperature, top_p, top_k } = native(fields, rejects)
      return { temperature, top_p, top_k }
    }
    expect(sampling({ temperature: 0.3, top_p: 1 })).toEqual({ temperature: 0.3 })
    expect(sampling({ temperature: 1, top_p: 0.5 })).toEqual({ top_p: 0.5 })
    expect(sampling({ temperature: 0.3, top_p: 0.5 })).toEqual({ temperature: 0.3 })
    expect(sampling({ top_p: 0.5 })).toEqual({ top_p: 0.5 })
    expect(sampling({ temperature: 0.2, top_p: 0.9, top_k: 4 }, ['sampling'])).toEqual({})
  })

  test('stop sequences', () => {
    const stop = (value: unknown): unknown => native({ stop: value })['stop_sequences']
    expect(stop('END')).toEqual(['END'])
    expect(stop(['a', ' ', 'a', ''])).toEqual(['a'])
    for (const none of [['\n'], null, undefined, [], '']) expect(stop(none)).toBeUndefined()
    for (const bad of [[1], 5, {}, [null]]) expect(refused({ stop: bad })).toStartWith('stop: ')
  })

  test('max_tokens: the newer name first, a default, never above the model', () => {
    const max = (fields: Json): number => native(fields)['max_tokens']
    expect(max({ max_tokens: 50, max_completion_tokens: 70 })).toBe(70)
    expect(max({ max_tokens: null })).toBe(16_000)
    expect(max({ stream: true })).toBe(32_000)
    expect(max({ max_tokens: 1e9 })).toBe(64_000)
    expect(native({ stream: true }, [], { maxOutputTokens: 4096 })['max_tokens']).toBe(4096)
    for (const field of ['max_tokens', 'max_completion_tokens'])
      for (const bad of [0, -1, 1.5, '5', [], true]) expect(refused({ [field]: bad })).toStartWith(`${field}: `)
    expect(accepted({ ...C0, max_tokens: 1e9 }).bounds.outputTokensMax).toBe(64_000)
  })

  test('n, seed and the like are taken and go no further', () => {
    const body = native({
      n: 3,
      logprobs: true,
      top_logprobs: 5,
      seed: 1,
      logit_bias: {},
      service_tier: 'priority',
      store: true,
      metadata: { a: 'b' },
      frequency_penalty: 1,
      modalities: ['text'],
      whatever: { x: 1 },
    })
    expect(Object.keys(body)).toEqual(['model', 'max_tokens', 'messages'])
    for (const n of [0, -1, 1.5, '2']) expect(refused({ n })).toStartWith('n: ')
  })

  test('stream and its options', () => {
    const call = accepted({ ...C0, stream: true, stream_options: { include_usage: true } })
    expect([call.isStream, call.echo.includesUsageChunk, JSON.parse(Buffer.from(call.body).toString())['stream']]).toEqual([
      true,
      true,
      true,
    ])
    for (const stream_options of [null, {}, { include_usage: false }, { include_usage: 1 }])
      expect(accepted({ ...C0, stream: true, stream_options }).echo.includesUsageChunk).toBe(false)
    expect(native({ stream: null })['stream']).toBeUndefined()
    expect(refused({ stream: 'yes' })).toStartWith('stream: ')
    expect(refused({ stream_options: 5 })).toStartWith('stream_options: ')
    expect(refused({ parallel_tool_calls: 'no' })).toStartWith('parallel_tool_calls: ')
  })

  test('the user id: as it is, or hashed when native would refuse its length', () => {
    const id = (fields: Json): unknown => native(fields)['metadata']?.user_id
    const long = 'ü'.repeat(300)
    expect(id({ user: 'u-7' })).toBe('u-7')
    expect(id({ user: 'u-7', safety_identifier: 's' })).toBe('s')
    expect(id({ metadata: { user_id: 'm' } })).toBe('m')
    expect(id({ user: long })).toBe(createHash('sha256').update(long).digest('hex'))
    for (const user of ['', null, 5, ' ']) expect(id({ user })).toBeUndefined()
  })

  test('a lone surrogate stays valid JSON', () => {
    expect(nativeText({ messages: [user('\ud800')] })).toContain('"\\ud800"')
  })

  test('the model is looked up after the shape and before the translation', () => {
    const message = (json: unknown): string | undefined => (read(json) as Refusal).message
    expect(message({ model: 'x', messages: [] })).toStartWith('messages: ')
    expect(message({ model: 'x', messages: [user([{ type: 'video' }])] })).toBe('Model x is not available on this API key')
    for (const model of [undefined, null, '']) expect(message({ ...C0, model })).toBe('model: Field required')
    expect(message({ ...C0, model: 5 })).toBe('model: Input should be a valid string')
  })
})

describe('tools', () => {
  const schema = (parameters: unknown): unknown =>
    native({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })['tools'][0].input_schema

  test('schemas keep every key and become objects', () => {
    for (const empty of [undefined, null, {}]) expect(schema(empty)).toEqual({ type: 'object', properties: {} })
    expect(schema({ properties: { a: {} } })).toEqual({ type: 'object', properties: { a: {} } })
    const rich = { type: 'object', $defs: { x: {} }, additionalProperties: false, anyOf: [{}], $schema: 'https://x', required: [] }
    expect(schema(rich)).toEqual(rich)
    expect(refused({ tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'string' } } }] })).toBe(
      'tools[0].function.parameters.type: Input should be object',
    )
  })

  test('descriptions, strict, cache_control, custom and native tools', () => {
    const one = (tool: Json): Json => native({ tools: [tool] })['tools'][0]
    const input_schema = { type: 'object', properties: {} }
    for (const description of ['', null, undefined])
      expect(one({ type: 'function', function: { name: 'f', description, strict: true } })).toEqual({ name: 'f', input_schema })
    expect(one({ ...F, cache_control: EPHEMERAL })).toEqual({ name: 'f', input_schema, cache_control: EPHEMERAL })
    expect(one({ function: { name: 'f', cache_control: EPHEMERAL } })).toEqual({ name: 'f', input_schema, cache_control: EPHEMERAL })
    const custom = {
      name: 'patch',
      description: 'Edits',
      format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
    }
    expect(one({ type: 'custom', custom })).toEqual({
      name: 'patch',
      description: 'Edits\n\nThe input must match this lark grammar:\nstart: "x"',
      input_schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
    })
    expect([...accepted({ ...C0, tools: [{ type: 'custom', custom }, F] }).echo.customTools]).toEqual(['patch'])
    const nativeTool = { name: 'n', description: 'N', input_schema: { type: 'object' }, eager_input_streaming: true }
    expect(one(nativeTool)).toEqual(nativeTool)
  })

  test('malformed tools are refused with their path', () => {
    for (const tool of [null, 5, {}, { type: 'web_search' }, { type: 'function' }, { type: 'function', function: { name: 'a b' } }])
      expect(refused({ tools: [F, tool] })).toStartWith('tools[1]')
    expect(refused({ tools: [F, F] })).toBe('tools: tool names must be unique, "f" is not')
    expect(refused({ tools: 'x' })).toBe('tools: Input should be a valid array')
    expect(refused({ tools: [{ type: 'function', function: { name: 'f', description: 5 } }] })).toStartWith(
      'tools[0].function.description: ',
    )
  })

  test('no tools: no choice; but history with tool blocks needs definitions', () => {
    expect(Object.keys(native({ tools: [], tool_choice: 'auto' }))).toEqual(['model', 'max_tokens', 'messages'])
    const history = { messages: [user('go'), calls(['a']), result('a')] }
    for (const more of [{}, { tools: [] }, { tool_choice: 'auto' }])
      expect(native({ ...history, ...more })).toMatchObject({
        tools: [{ name: 'f', input_schema: { type: 'object' } }],
        tool_choice: { type: 'none' },
      })
  })

  test('a model that rejects tools, or a choice, gets none', () => {
    expect(native({ tools: [F], tool_choice: 'auto' }, ['tools'])).not.toHaveProperty('tools')
    const free = native({ tools: [F], tool_choice: 'required' }, ['tool_choice'])
    expect([free['tools'].length, free['tool_choice']]).toEqual([1, undefined])
    expect(native({ tools: [F], tool_choice: 'none' }, ['tool_choice'])).not.toHaveProperty('tools')
    const two = [F, { type: 'function', function: { name: 'g' } }]
    expect(native({ tools: two, tool_choice: 'g' }, ['tool_choice'])['tools'].map(({ name }: Json) => name)).toEqual(['g'])
  })
})

describe('tool_choice', () => {
  const tools = [F, { type: 'function', function: { name: 'g' } }]
  const choice = (tool_choice: unknown, more: Json = {}, rejects: string[] = []): unknown =>
    native({ tools, tool_choice, ...more }, rejects)['tool_choice']

  test.each([
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    ['any', { type: 'any' }],
    [{ type: 'required' }, { type: 'any' }],
    ['none', { type: 'none' }],
    [{ type: 'none', disable_parallel_tool_use: true }, { type: 'none' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'function', name: 'f' },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    ],
    ['f', { type: 'tool', name: 'f' }],
    [null, undefined],
  ])('%j', (given, expected) => {
    expect(choice(given)).toEqual(expected)
  })

  test('what cannot be chosen is refused', () => {
    for (const bad of [{ type: 'tool', name: 'zzz' }, 'zzz', 5, [], {}, { type: 'tool' }, { type: 'banana' }])
      expect(refused({ tools, tool_choice: bad })).toStartWith('tool_choice: ')
    expect(refused({ tool_choice: { type: 'tool', name: 'f' } })).toStartWith('tool_choice: ')
  })

  test('parallel_tool_calls', () => {
    expect(choice(undefined, { parallel_tool_calls: false })).toEqual({ type: 'auto', disable_parallel_tool_use: true })
    expect(choice('none', { parallel_tool_calls: false })).toEqual({ type: 'none' })
    expect(choice('required', { parallel_tool_calls: true })).toEqual({ type: 'any' })
  })

  test('a subset, and a model that cannot be forced', () => {
    const subset = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] } }
    const body = native({ tools, tool_choice: subset })
    expect([body['tools'].map(({ name }: Json) => name), body['tool_choice']]).toEqual([['g'], { type: 'any' }])
    const unforced = native({ tools, tool_choice: { type: 'function', function: { name: 'f' } } }, ['forced_tool_choice'])
    expect([unforced['tools'].map(({ name }: Json) => name), unforced['tool_choice']]).toEqual([['f'], { type: 'auto' }])
  })
})

describe('JSON modes are hints in the system prompt', () => {
  test('json_object', () => {
    const fields = { response_format: { type: 'json_object' } }
    const without = native(fields)
    expect(without['system']).toContain('JSON object')
    expect([without['messages'], without['tools']]).toEqual([[{ role: 'user', content: 'hi' }], undefined])
    expect(native({ ...fields, messages: [system('A'), user('x')] })['system']).toMatch(/^A\nRespond with/)
    const blocks = native({ ...fields, messages: [system('A', { cache_control: EPHEMERAL }), user('x')] })['system']
    expect(blocks.map(({ cache_control }: Json) => cache_control)).toEqual([EPHEMERAL, undefined])
    expect(native({ response_format: { type: 'text' } })['system']).toBeUndefined()
  })

  test('json_schema: the schema in the hint, never enforced', () => {
    const json_schema = { name: 'x', strict: true, schema: { type: 'object', properties: { a: { type: 'integer' } } } }
    const body = native({ response_format: { type: 'json_schema', json_schema } })
    expect(body['system']).toContain(JSON.stringify(json_schema.schema))
    expect(body['output_config']).toBeUndefined()
    for (const bad of [5, {}, { type: 'xml' }, { type: 'json_schema' }])
      expect(refused({ response_format: bad })).toStartWith('response_format')
  })
})

describe('thinking follows the effort as far as the model can', () => {
  const MANUAL = ['adaptive_thinking']
  const thinking = (fields: Json, rejects: string[] = []): Json => {
    const { thinking, output_config, temperature } = native(fields, rejects)
    return { thinking, output_config, temperature }
  }

  test('manual models get a budget, never above four fifths of max_tokens', () => {
    expect(thinking({ reasoning_effort: 'low', max_tokens: 8000, temperature: 0.5 }, MANUAL)).toEqual({
      thinking: { type: 'enabled', budget_tokens: 2048 },
    })
    expect(thinking({ reasoning_effort: 'low', max_tokens: 1000, temperature: 0.5 }, MANUAL)).toEqual({ temperature: 0.5 })
    expect(thinking({ reasoning_effort: 'max', max_tokens: 10_000 }, MANUAL)['thinking'].budget_tokens).toBe(8000)
    expect(thinking({ reasoning: { max_tokens: 5000 } })['thinking']).toEqual({ type: 'enabled', budget_tokens: 5000 })
  })

  test('adaptive models get the effort', () => {
    const adaptive = { type: 'adaptive', display: 'summarized' }
    expect(thinking({ reasoning_effort: 'high', temperature: 0.5 })).toEqual({ thinking: adaptive, output_config: { effort: 'high' } })
    expect(thinking({ reasoning_effort: 'minimal' })['output_config']).toEqual({ effort: 'low' })
    expect(thinking({ reasoning: { effort: 'xhigh' } })['output_config']).toEqual({ effort: 'xhigh' })
    expect(thinking({ reasoning_effort: 'xhigh' }, ['xhigh_effort'])['output_config']).toEqual({ effort: 'max' })
    expect(thinking({ reasoning_effort: 'high' }, ['effort'])).toEqual({ thinking: adaptive })
    expect(thinking({ reasoning: { max_tokens: 5000 } }, ['manual_thinking'])).toEqual({ thinking: adaptive })
    expect(thinking({ reasoning_effort: 'high' }, ['manual_thinking', 'adaptive_thinking'])).toEqual({})
  })

  test('effort none: the first way of not thinking that the model accepts', () => {
    const none = { reasoning_effort: 'none', temperature: 0.5 }
    expect(thinking(none)).toEqual({ thinking: { type: 'disabled' }, temperature: 0.5 })
    expect(thinking(none, ['disabled_thinking'])['thinking']).toEqual({ type: 'between_tools' })
    expect(thinking(none, ['disabled_thinking', 'between_tools_thinking'])).toEqual({ output_config: { effort: 'low' }, temperature: 0.5 })
    expect(thinking(none, MANUAL)).toEqual({ temperature: 0.5 })
    for (const effort of ['great', 5, {}]) expect(refused({ reasoning_effort: effort })).toStartWith('reasoning_effort: ')
    expect(thinking({ reasoning_effort: null })).toEqual({})
  })

  test('manual thinking yields to a forced choice and to history without its thinking', () => {
    const forced = native({ reasoning_effort: 'high', tools: [F], tool_choice: 'required' }, MANUAL)
    expect([forced['tool_choice'], forced['thinking']]).toEqual([{ type: 'any' }, undefined])
    const loop = (assistant: Json): Json =>
      native({ reasoning_effort: 'high', tools: [F], messages: [user('go'), assistant, result('a')] }, MANUAL)
    expect(loop(calls(['a']))['thinking']).toBeUndefined()
    const block = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const signed: Json[] = [
      { thinking_blocks: [block] },
      { reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'sig' }] },
      { content: [block, { type: 'text', text: 'so' }] },
    ]
    for (const more of signed) {
      const body = loop({ ...calls(['a']), ...more })
      expect(body['thinking']).toEqual({ type: 'enabled', budget_tokens: 12_800 })
      expect(body['messages'][1].content[0]).toEqual(block)
    }
    const unsigned = loop({ ...calls(['a']), reasoning_content: 'hm', thinking_blocks: [{ type: 'thinking', thinking: 'hm' }] })
    expect([unsigned['thinking'], unsigned['messages'][1].content.length]).toEqual([undefined, 1])
  })

  test('a native thinking object passes, as far as the model can', () => {
    expect(thinking({ thinking: { type: 'enabled', budget_tokens: 4000 } })['thinking']).toEqual({ type: 'enabled', budget_tokens: 4000 })
    expect(thinking({ thinking: { type: 'enabled', budget_tokens: 4000 } }, ['manual_thinking'])['thinking']).toEqual({
      type: 'adaptive',
      display: 'summarized',
    })
    expect(thinking({ thinking: { type: 'adaptive', display: 'omitted' } })['thinking']).toEqual({ type: 'adaptive', display: 'omitted' })
    expect(thinking({ thinking: { type: 'disabled' } })['thinking']).toEqual({ type: 'disabled' })
    for (const bad of [5, {}, { type: 'much' }, { type: 'enabled', budget_tokens: 'x' }])
      expect(refused({ thinking: bad })).toStartWith('thinking')
  })
})

describe('prompt caching', () => {
  test('a marker on a message goes to its last block', () => {
    const content = native({ messages: [{ ...user('x'), cache_control: { type: 'ephemeral', ttl: '1h', scope: 'x' } }] })['messages'][0]
      .content
    expect(content).toEqual([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }])
    const turns = native({ messages: [user('go'), { ...calls(['a'], ['b']), cache_control: EPHEMERAL }, result('a'), result('b')] })[
      'messages'
    ]
    expect(turns[1].content.map(({ cache_control }: Json) => cache_control)).toEqual([undefined, EPHEMERAL])
  })

  test('a marker on dropped text moves to the block before it', () => {
    const parts = [
      { type: 'text', text: 'x' },
      { type: 'text', text: ' ', cache_control: EPHEMERAL },
    ]
    expect(native({ messages: [user(parts)] })['messages'][0].content).toEqual([{ type: 'text', text: 'x', cache_control: EPHEMERAL }])
    const explicit = [{ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }]
    expect(native({ messages: [user(explicit)] })['messages'][0].content[0].cache_control).toEqual(EPHEMERAL)
  })

  test('more than four markers, and markers of another kind', () => {
    const parts = Array.from({ length: 5 }, (_, index) => ({ type: 'text', text: `${index}`, cache_control: EPHEMERAL }))
    expect(refused({ messages: [user(parts)] })).toContain('A maximum of 4 blocks with cache_control may be provided. Found 5.')
    for (const cache_control of [5, { type: 'forever' }, { type: 'ephemeral', ttl: '1d' }])
      expect(refused({ messages: [user([{ type: 'text', text: 'x', cache_control }])] })).toStartWith(
        'messages[0].content[0].cache_control',
      )
  })

  test('a client that signals caching without marking gets two markers', () => {
    const count = (body: Json): number => JSON.stringify(body).split('cache_control').length - 1
    for (const field of ['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention']) {
      const body = native({ [field]: 'x', messages: [system('A'), system('B'), user('x'), { role: 'assistant', content: 'y' }, user('z')] })
      expect(body['system'].map(({ cache_control }: Json) => cache_control)).toEqual([undefined, EPHEMERAL])
      expect(body['messages'][2].content).toEqual([{ type: 'text', text: 'z', cache_control: EPHEMERAL }])
      expect(count(body)).toBe(2)
    }
    expect(native({ prompt_cache_key: 'x', tools: [F] })['tools'][0].cache_control).toEqual(EPHEMERAL)
    expect(count(native({ prompt_cache_key: 'x', messages: [system('A'), { ...user('x'), cache_control: EPHEMERAL }] }))).toBe(1)
    expect(count(native({ messages: [system('A'), user('x')] }))).toBe(0)
    expect(native({ cache_control: EPHEMERAL })['messages'][0].content[0].cache_control).toEqual(EPHEMERAL)
  })

  test('the bounds know the dearest write', () => {
    const writes = (cache_control: unknown) => accepted({ ...C0, messages: [{ ...user('x'), cache_control }] }).bounds.cacheWrites
    expect([writes(undefined), writes(EPHEMERAL), writes({ type: 'ephemeral', ttl: '1h' })]).toEqual(['none', '5m', '1h'])
    const call = accepted(C0)
    expect(call.bounds.bodyBytes).toBe(call.body.byteLength)
  })
})
