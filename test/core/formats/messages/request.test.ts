/**
 * A native request goes on as the bytes that came, but for what must change; what cannot be answered is refused by the name of its field. Rules:
 * messages.md "Pass-through", "Refused fields", "Tenancy and price".
 */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Body } from '../../../../src/core/body.ts'
import { fromBytes } from '../../../../src/core/bytes/byte-string.ts'
import { membersOf } from '../../../../src/core/bytes/json-scan.ts'
import type { Model, Rejection } from '../../../../src/core/catalog.ts'
import type { Call } from '../../../../src/core/format.ts'
import { messagesFormat, readCountTokens } from '../../../../src/core/formats/messages/format.ts'
import type { MessagesEcho } from '../../../../src/core/formats/messages/request.ts'
import { Refusal } from '../../../../src/core/refusal.ts'
import { sha256Hex } from '../../../../src/relay/read-context.ts'
import { GOLDEN_MODEL } from '../../../support/golden.ts'
import { runs } from '../../../support/property-runs.ts'

/** `same` is known to the upstream by the same name, `stella-2` by another. */
const SAME: Model = { ...GOLDEN_MODEL, id: 'same', upstreamModel: 'same' }

function bodyOf(text: string): Body {
  const bytes = Buffer.from(text)
  return { bytes, json: JSON.parse(text), members: membersOf(fromBytes(bytes)) }
}

type Options = { headers?: Record<string, string>; model?: Model; rejects?: Rejection[] }

function read(body: unknown, options: Options = {}, reader = messagesFormat.read): Call<MessagesEcho> | Refusal {
  const model = { ...(options.model ?? SAME), rejects: new Set(options.rejects) }
  return reader(bodyOf(typeof body === 'string' ? body : JSON.stringify(body)), {
    headers: { get: (name) => options.headers?.[name] ?? null },
    find: (id) => (id === model.id ? model : undefined),
    recall: () => 'unknown' as const,
    sha256Hex,
  })
}

function accepted(body: unknown, options: Options = {}, reader = messagesFormat.read): Call<MessagesEcho> {
  const call = read(body, options, reader)
  if (call instanceof Refusal) throw new Error(`${JSON.stringify(body).slice(0, 200)} was refused: ${call.message}`)
  return call
}

function refusal(body: unknown, options: Options = {}): Refusal {
  const call = read(body, options)
  if (!(call instanceof Refusal)) throw new Error(`${JSON.stringify(body).slice(0, 200)} was accepted`)
  expect(call.row.status).toBe(400)
  return call
}

const sent = (body: unknown, options: Options = {}): string => Buffer.from(accepted(body, options).body).toString('utf8')

const N0 = { model: 'same', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
const TOOLS = {
  tools: [
    { name: 'f', input_schema: { type: 'object' } },
    { name: 'g', input_schema: { type: 'object' } },
  ],
}

describe('the bytes that reach the upstream', () => {
  const odd =
    '\n{ "messages" :[{"role":"user","content":"caf\\u00e9 \\"tool_choice\\":\\"auto\\" 漢"}] ,"max_tokens":10,\t"model":"same", "x":{"a":1.0,"b":12345678901234567890 }}\r\n'

  test('nothing to change: the very same bytes object', () => {
    const body = bodyOf(odd)
    const call = messagesFormat.read(body, { headers: new Headers(), find: () => SAME, recall: () => 'unknown' as const, sha256Hex })
    expect((call as Call<MessagesEcho>).body).toBe(body.bytes)
  })

  test('only the values of model and tool_choice differ', () => {
    const tools = '"tools":[{"name":"f","note":"\\u00e9","n":1.0}],'
    const text = odd.replace('"max_tokens"', `${tools}"tool_choice" : "required" ,"max_tokens"`)
    expect(sent(text)).toBe(text.replace('"required"', '{"type":"any"}'))
    const renamed = text.replace('"same"', '"stella-2"')
    expect(sent(renamed, { model: GOLDEN_MODEL })).toBe(
      renamed.replace('"required"', '{"type":"any"}').replace('"stella-2"', '"stella-2-20260301"'),
    )
  })

  test('a native tool_choice keeps its bytes, whatever its spacing and order', () => {
    for (const choice of ['{ "name":"f" , "type": "tool","disable_parallel_tool_use":true}', '{"type":"auto"}', '{"type" : "none"}']) {
      const text = `{"tool_choice":${choice},${JSON.stringify({ ...N0, ...TOOLS }).slice(1)}`
      expect(sent(text)).toBe(text)
    }
  })

  test('a tool_choice that means nothing is removed with its comma, wherever it stands', () => {
    const rest = JSON.stringify(N0).slice(1, -1)
    for (const choice of ['null', '"auto"', '{"type":"none"}']) {
      expect(sent(`{"tool_choice":${choice},${rest}}`)).toBe(`{${rest}}`)
      expect(sent(`{${rest}, "tool_choice" : ${choice}}`)).toBe(`{${rest}}`)
      expect(sent(`{"a":1 ,\n"tool_choice":${choice} , ${rest}}`)).toBe(`{"a":1 , ${rest}}`)
    }
  })

  test('of a repeated name only the last occurrence is sent, so every parser reads what was checked', () => {
    const rest = JSON.stringify(N0).slice(1, -1)
    expect(sent(`{"model":"other",${rest}}`)).toBe(`{${rest}}`)
    expect(sent(`{"speed":"fast","x":1,"x":2, "speed":null,${rest},"x":3}`)).toBe(`{ "speed":null,${rest},"x":3}`)
    expect(refusal(`{${rest},"model":"other"}`).name).toBe('modelUnavailable')
    expect(refusal(`{"speed":null,${rest},"speed":"fast"}`).message).toBe('speed is not supported by this service')
    expect(refusal(`{${rest},"\\u0073peed":"fast"}`).message).toBe('speed is not supported by this service')
  })

  test('a model that cannot be forced gets the named tool alone, numbers letter by letter', () => {
    const text = JSON.stringify({ ...N0, tool_choice: { type: 'tool', name: 'g' } }).replace(
      '{',
      '{"tools":[{"name":"f"},{"name":"g","input_schema":{"type":"object","maximum":12345678901234567890,"minimum":1.0}}],',
    )
    const out = sent(text, { rejects: ['forced_tool_choice'] })
    expect(out).toContain('"tools":[{"name":"g","input_schema":{"type":"object","maximum":12345678901234567890,"minimum":1.0}}]')
    expect(JSON.parse(out).tool_choice).toEqual({ type: 'auto' })
    expect(sent({ ...N0, ...TOOLS, tool_choice: { type: 'any' } }, { rejects: ['forced_tool_choice'] })).toBe(
      JSON.stringify({ ...N0, ...TOOLS, tool_choice: { type: 'auto' } }),
    )
  })

  test('whatever the members, the upstream parses what we checked, and untouched values keep their bytes', () => {
    const name = fc.constantFrom('a', 'b', 'tool_choice', 'x"y', 'é')
    const member = fc.tuple(name, fc.jsonValue(), fc.constantFrom('', ' ', '\n\t'))
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), fc.boolean(), fc.nat(8), (members, hasTools, at) => {
        const extra = members.map(([key, value, space]) => `${space}${JSON.stringify(key)}${space}:${JSON.stringify(value)}${space}`)
        const given = Object.entries({ ...N0, model: 'stella-2', ...(hasTools ? TOOLS : {}) }).map(
          ([k, v]) => `"${k}":${JSON.stringify(v)}`,
        )
        const text = `{${[...extra.slice(0, at), ...given, ...extra.slice(at)].join(',')}}`
        const call = read(text, { model: GOLDEN_MODEL })
        if (call instanceof Refusal) return expect(call.message).toMatch(/^(tool_choice|cache_control)/)
        const out = Buffer.from(call.body).toString('utf8')
        const { tool_choice: _before, ...before } = JSON.parse(text)
        const { tool_choice: _after, ...after } = JSON.parse(out)
        expect(after).toEqual({ ...before, model: 'stella-2-20260301' })
        const names = membersOf(fromBytes(call.body)).map((m) => m.name)
        expect(new Set(names).size).toBe(names.length)
      }),
      { numRuns: runs(500) },
    )
  })
})

describe('what is refused with 400 names the field', () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ model: undefined }, 'model: Field required'],
    [{ model: null }, 'model: Field required'],
    [{ model: '' }, 'model: Field required'],
    [{ model: 5 }, 'model: Input should be a valid string'],
    [{ model: 'nope' }, 'Model nope is not available on this API key'],
    [{ messages: undefined }, 'messages: Field required'],
    [{ messages: 'hi' }, 'messages: Input should be a valid array'],
    [{ messages: [] }, 'messages: at least one message is required'],
    [{ messages: ['hi'] }, 'messages.0: Input should be a valid object'],
    [{ messages: [N0.messages[0], { role: 'tool', content: 'x' }] }, 'messages.1.role: '],
    [{ messages: [{ content: 'x' }] }, 'messages.0.role: Field required'],
    [{ messages: [{ role: 'user' }] }, 'messages.0.content: Field required'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages.0.content: '],
    [{ max_tokens: undefined }, 'max_tokens: Field required'],
    [{ max_tokens: null }, 'max_tokens: Field required'],
    [{ max_tokens: '10' }, 'max_tokens: Input should be a valid integer'],
    [{ max_tokens: 1.5 }, 'max_tokens: Input should be a valid integer'],
    [{ max_tokens: -1 }, 'max_tokens: '],
    [{ temperature: 1.01 }, 'temperature: Input should be between 0 and 1'],
    [{ temperature: '1' }, 'temperature: '],
    [{ top_p: -0.1 }, 'top_p: '],
    [{ top_k: 1.5 }, 'top_k: Input should be a valid integer'],
    [{ stop_sequences: 'END' }, 'stop_sequences: Input should be a valid array'],
    [{ stop_sequences: [1] }, 'stop_sequences.0: '],
    [{ system: { text: 'x' } }, 'system: Input should be a string or an array of text blocks'],
    [{ stream: 'true' }, 'stream: Input should be a valid boolean'],
    [{ tools: {} }, 'tools: Input should be a valid array'],
    [{ tools: ['f'] }, 'tools.0: Input should be a valid object'],
    [{ tool_choice: 5 }, 'tool_choice: '],
    [{ ...TOOLS, tool_choice: 'zzz' }, 'tool_choice: tool "zzz" is not defined in tools'],
    [{ ...TOOLS, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }, 'tool_choice: '],
    [{ cache_control: { type: 'persistent' } }, 'cache_control.type: Input should be "ephemeral"'],
    [{ cache_control: 'ephemeral' }, 'cache_control: '],
    [{ Model: 'other' }, 'Model: Unknown field; did you mean model?'],
  ]
  for (const [change, message] of cases)
    test(JSON.stringify(change), () => {
      expect(refusal({ ...N0, ...change }).message).toStartWith(message)
    })

  test('null is as absent for everything optional', () => {
    const nulls = {
      temperature: null,
      top_p: null,
      top_k: null,
      stop_sequences: null,
      system: null,
      stream: null,
      tools: null,
      thread: null,
    }
    accepted({ ...N0, ...nulls, cache_control: null, container: null, speed: null, fallbacks: null })
  })

  test('max_tokens 0 warms a cache and is forwarded', () => {
    expect(accepted({ ...N0, max_tokens: 0 }).bounds.outputTokensMax).toBe(0)
  })
})

test('what we do not know passes: fields, block types, system messages, betas', () => {
  const body = {
    ...N0,
    future_field: { a: [1] },
    thinking: { type: 'adaptive' },
    messages: [
      { role: 'user', content: [{ type: 'hologram', shape: 'cube' }] },
      { role: 'system', output_config: { effort: 'low' } },
      { role: 'system', content: 'Be brief.', output_config: {} },
    ],
  }
  expect(sent(body, { headers: { 'anthropic-beta': 'never-heard-2031-01-01' } })).toBe(JSON.stringify(body))
})

test('what belongs to another tenant or costs another price is refused', () => {
  const source = { type: 'file', file_id: 'file_1' }
  const inContent = (block: unknown): Record<string, unknown> => ({ messages: [{ role: 'user', content: [block] }] })
  const cases: [Record<string, unknown>, string][] = [
    [{ container: 'c' }, 'container '],
    [{ container: { skills: [] } }, 'container '],
    [{ speed: 'fast' }, 'speed '],
    [{ inference_geo: 'us' }, 'inference_geo '],
    [{ service_tier: 'priority' }, 'service_tier '],
    [{ fallbacks: [{ model: 'other' }] }, 'fallbacks '],
    [{ fallback_credit_token: 't' }, 'fallback_credit_token '],
    [{ workspace_id: 'w' }, 'workspace_id '],
    [{ user_profile_id: 'u' }, 'user_profile_id '],
    [{ billing_policy: {} }, 'billing_policy '],
    [{ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'dearer' }] }, 'tools.0.model '],
    [inContent({ type: 'image', source }), 'messages.0.content.0.source: file '],
    [inContent({ type: 'tool_result', content: [{ type: 'document', source }] }), 'messages.0.content.0.content.0.source: file '],
    [inContent({ type: 'container_upload', file_id: 'f' }), 'messages.0.content.0: container_upload '],
    [{ system: [{ type: 'document', source }] }, 'system.0.source: file '],
  ]
  for (const [change, field] of cases) expect(refusal({ ...N0, ...change }).message).toBe(`${field}is not supported by this service`)
  for (const thread of ['thread', 'threads'])
    expect(refusal({ ...N0, [thread]: {} })).toMatchObject({ name: 'threadUnsupported', errorCode: 'thread_unsupported_request' })
  accepted({ ...N0, speed: 'standard', service_tier: 'auto', fallbacks: [], diagnostics: { previous_message_id: 'msg_1' } })
  accepted({ ...N0, ...inContent({ type: 'tool_use', id: 't', name: 'f', input: { source, cache_control: 5 } }) })
})

describe('cache breakpoints', () => {
  const cache_control = { type: 'ephemeral' }
  const text = { type: 'text', text: 'x', cache_control }

  test('at most four, wherever they stand', () => {
    const nested = { type: 'tool_result', tool_use_id: 't', content: [text] }
    const places = {
      cache_control,
      system: [text],
      tools: [{ name: 'f', cache_control }],
      messages: [{ role: 'user', content: [nested, { ...text, cache_control: null }] }],
    }
    accepted({ ...N0, ...places })
    const fifth = { ...N0, ...places, messages: [...places.messages, { role: 'assistant', content: [text] }] }
    expect(refusal(fifth).message).toBe('cache_control: A maximum of 4 blocks with cache_control may be provided. Found 5.')
  })

  test('a marker of another type is refused where it stands', () => {
    const message = { role: 'user', content: [{ type: 'tool_result', content: [{ ...text, cache_control: { type: 'forever' } }] }] }
    expect(refusal({ ...N0, messages: [message] }).message).toStartWith('messages.0.content.0.content.0.cache_control.type: ')
    expect(refusal({ ...N0, tools: [{ name: 'f', cache_control: true }] }).message).toStartWith('tools.0.cache_control: ')
  })

  test('the hold reserves for the dearest write that is asked for', () => {
    const writes = (...ttls: (string | undefined)[]): string =>
      accepted({ ...N0, system: ttls.map((ttl) => ({ ...text, cache_control: { type: 'ephemeral', ttl } })) }).bounds.cacheWrites
    expect([writes(), writes(undefined), writes('5m'), writes('5m', '1h'), writes('1d')]).toEqual(['none', '5m', '5m', '1h', '1h'])
  })
})

test('bounds: outgoing bytes, the capped output, and input that bytes do not bound', () => {
  const bounds = (change: object): Call<MessagesEcho>['bounds'] => accepted({ ...N0, ...change }).bounds
  expect(bounds({})).toEqual({
    bodyBytes: JSON.stringify(N0).length,
    hasOpaqueInput: false,
    passes: 0,
    serverToolUsesMax: 0,
    cacheWrites: 'none',
    outputTokensMax: 10,
    bytesPerToken: 4,
    inputEstimate: Math.floor(JSON.stringify(N0).length / 4),
  })
  expect(bounds({ max_tokens: 1_000_000 }).outputTokensMax).toBe(64_000)
  const renamed = accepted({ ...N0, model: 'stella-2' }, { model: GOLDEN_MODEL })
  expect(renamed.bounds.bodyBytes).toBe(renamed.body.byteLength)
  const content = (block: object): object => ({ messages: [{ role: 'user', content: [block] }] })
  const opaque: object[] = [
    content({ type: 'image', source: { type: 'url', url: 'https://x.example' } }),
    content({ type: 'document', source: { type: 'base64', data: '' } }),
    content({ type: 'tool_result', content: [{ type: 'image', source: { type: 'base64', data: '' } }] }),
    content({ type: 'hologram' }),
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    { mcp_servers: [{ url: 'https://x.example' }] },
  ]
  for (const change of opaque) expect(bounds(change).hasOpaqueInput).toBe(true)
  const plain: object[] = [TOOLS, { tools: [{ type: 'bash_20250124', name: 'bash' }] }, { system: [{ type: 'text', text: 'x' }] }]
  plain.push(content({ type: 'tool_result', content: [{ type: 'text', text: 'x' }] }))
  for (const change of plain) expect(bounds(change).hasOpaqueInput).toBe(false)
})

describe('headers', () => {
  const version = (headers: Record<string, string>, rejects: Rejection[] = []): string => accepted(N0, { headers, rejects }).version
  const betas = (value: string, options: Options = {}): string => accepted(N0, { ...options, headers: { 'anthropic-beta': value } }).betas

  test('the version: a date goes on, none means 2023-06-01, anything else is refused by name', () => {
    expect(version({})).toBe('2023-06-01')
    expect(version({ 'anthropic-version': '2026-10-21' })).toBe('2026-10-21')
    expect(version({ 'vendor-version': '2026-10-21' })).toBe('2026-10-21')
    expect(version({ 'anthropic-version': '2026-10-21' }, ['versions'])).toBe('2023-06-01')
    for (const name of ['anthropic-version', 'vendor-version'])
      for (const value of ['banana', '2023-6-1', '2023-06-01T00:00'])
        expect(refusal(N0, { headers: { [name]: value } }).message).toBe(`${name}: "${value}" is not a valid version`)
  })

  test('betas: joined, trimmed, once each, in order', () => {
    expect(betas('a,b, b, c')).toBe('a,b,c')
    expect(betas('')).toBe('')
    expect(betas(' , x y,ü,ok-2025-01-01,')).toBe('ok-2025-01-01')
    expect(betas('fast-mode-2026-02-01,server-side-fallback-2026-01-01,context-1m-2025-08-07,ok')).toBe('ok')
    expect(betas('context-1m-2025-08-07', { model: { ...SAME, contextWindow: 1_000_000 } })).toBe('context-1m-2025-08-07')
    expect(betas('a,b', { rejects: ['betas'] })).toBe('')
  })

  test('a value that no header can carry is refused', () => {
    for (const value of ['a\r\nx-api-key: k', 'a\nb', '漢', 'a\u0000'])
      expect(refusal(N0, { headers: { 'anthropic-beta': value } }).message).toStartWith('anthropic-beta: ')
  })
})

test('count_tokens: the same checks without what only an answer needs', () => {
  const { max_tokens: _maxTokens, ...counted } = N0
  const call = accepted({ ...counted, model: 'stella-2' }, { model: GOLDEN_MODEL }, readCountTokens)
  expect(JSON.parse(Buffer.from(call.body).toString())).toEqual({ ...counted, model: 'stella-2-20260301' })
  expect(call).toMatchObject({ isStream: false, version: '2023-06-01', bounds: { outputTokensMax: 0 } })
  for (const change of [{ messages: [] }, { model: 'nope' }, { container: 'c' }, { tool_choice: 5 }])
    expect(read({ ...counted, ...change }, {}, readCountTokens)).toBeInstanceOf(Refusal)
})

test('any JSON object is read or refused with 400, never thrown', () => {
  const field = fc.constantFrom(
    'model',
    'messages',
    'max_tokens',
    'system',
    'tools',
    'tool_choice',
    'stream',
    'cache_control',
    'content',
    'source',
  )
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('same', 10, true), fc.array(fc.dictionary(field, fc.jsonValue(), { maxKeys: 4 })))
  fc.assert(
    fc.property(fc.dictionary(field, value), fc.boolean(), (drawn, isBase) => {
      const call = read(isBase ? { ...N0, ...drawn } : drawn)
      if (call instanceof Refusal) expect(call.row.status).toBe(400)
      else expect(JSON.parse(Buffer.from(call.body).toString())).toBeObject()
    }),
    { numRuns: runs(1000) },
  )
}, 180_000)
