/** What a request reserves in the worst case, on all three formats. Rules: money.md "Holds". */

import { describe, expect, test } from 'bun:test'
import { fromBytes } from '../../../src/core/bytes/byte-string.ts'
import { membersOf } from '../../../src/core/bytes/json-scan.ts'
import type { Format } from '../../../src/core/format.ts'
import { chatFormat } from '../../../src/core/formats/chat/format.ts'
import { messagesFormat } from '../../../src/core/formats/messages/format.ts'
import { responsesFormat } from '../../../src/core/formats/responses/format.ts'
import { inputEstimate, NO_MEDIA } from '../../../src/core/input-estimate.ts'
import { type Picos, picos } from '../../../src/core/money.ts'
import { type Bounds, holdFor } from '../../../src/core/pricing.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { sha256Hex } from '../../../src/relay/read-context.ts'
import { GOLDEN_MODEL } from '../../support/golden.ts'

type Json = Record<string, unknown>

function read<Echo>(format: Format<Echo>, json: Json) {
  const bytes = Buffer.from(JSON.stringify({ model: GOLDEN_MODEL.id, ...json }))
  const body = { bytes, json: JSON.parse(bytes.toString()), members: membersOf(fromBytes(bytes)) }
  return format.read(body, { headers: new Headers(), find: () => GOLDEN_MODEL, recall: () => 'unknown' as const, sha256Hex })
}

function bounds<Echo>(format: Format<Echo>, json: Json): Bounds {
  const call = read(format, json)
  if (call instanceof Refusal) throw new Error(call.message)
  expect(call.bounds.bodyBytes).toBe(call.body.byteLength)
  return call.bounds
}

const messages = (json: Json): Bounds => bounds(messagesFormat, { max_tokens: 10, messages: [{ role: 'user', content: 'u' }], ...json })
const chat = (json: Json): Bounds => bounds(chatFormat, { messages: [{ role: 'user', content: 'u' }], ...json })
const responses = (json: Json): Bounds => bounds(responsesFormat, { input: 'u', ...json })
const said = (...content: Json[]): Json[] => [{ role: 'user', content }]
const text = (more: Json = {}): Json => ({ type: 'text', text: 't', ...more })
const EPHEMERAL = { cache_control: { type: 'ephemeral' } }
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const DATA = { type: 'base64', media_type: 'image/png', data: PNG }

describe('input whose tokens its bytes do not bound reserves the whole context window', () => {
  test('messages: what the upstream runs, fetches or sees; not what the client runs', () => {
    for (const json of [
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
      { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] },
      { messages: said({ type: 'image', source: DATA }) },
      { messages: said({ type: 'document', source: { type: 'text', data: 'a' } }) },
      { messages: said({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source: DATA }] }) },
      { messages: said({ type: 'hologram' }) },
    ])
      expect(messages(json).hasOpaqueInput, JSON.stringify(json)).toBe(true)
    for (const json of [
      {},
      { tools: [{ name: 'f', input_schema: {} }] },
      { tools: [{ type: 'bash_20250124', name: 'bash' }] },
      { tools: [{ type: 'computer_20250124', name: 'computer' }] },
      { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
      { messages: said(text()) },
    ])
      expect(messages(json).hasOpaqueInput, JSON.stringify(json)).toBe(false)
  })

  test('chat and responses: images, documents and links, also inside results', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
    const calls = [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] }]
    for (const list of [
      said(image),
      said({ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }),
      said({ type: 'document', source: { type: 'content', content: [text()] } }),
      [...calls, { role: 'tool', tool_call_id: 'c', content: [image] }],
    ])
      expect(chat({ messages: list }).hasOpaqueInput, JSON.stringify(list)).toBe(true)
    expect(responses({ input: said({ type: 'input_image', image_url: 'https://a.example/a.png' }) }).hasOpaqueInput).toBe(true)
    expect(chat({}).hasOpaqueInput || responses({ tools: [{ type: 'web_search' }] }).hasOpaqueInput).toBe(false)
  })
})

describe('input that the upstream may read several times is reserved for as often', () => {
  const search = (more: Json = {}): Json => ({ type: 'web_search_20250305', name: 'web_search', ...more })
  const fetches = (more: Json = {}): Json => ({ type: 'web_fetch_20250910', name: 'web_fetch', ...more })
  const work = (json: Json): [number, number] => {
    const { passes, serverToolUsesMax } = messages(json)
    return [passes, serverToolUsesMax]
  }

  test('passes: the uses that a tool names, five where it names none, one for context management, ten at most', () => {
    expect(work({})).toEqual([0, 0])
    expect(
      work({
        tools: [
          { name: 'f', input_schema: {} },
          { type: 'bash_20250124', name: 'bash' },
        ],
      }),
    ).toEqual([0, 0])
    expect(work({ tools: [search({ max_uses: 3 })] })).toEqual([3, 3])
    expect(work({ tools: [search({ max_uses: 3 }), fetches({ max_uses: 1 })] })).toEqual([4, 4])
    expect(work({ tools: [search()] })).toEqual([5, 5])
    for (const nonsense of [-1, 1.5, '3', null, {}]) expect(work({ tools: [search({ max_uses: nonsense })] })).toEqual([5, 5])
    expect(work({ tools: [search({ max_uses: 0 })] })).toEqual([0, 0])
    expect(work({ tools: [search({ max_uses: 8 }), fetches()] })).toEqual([10, 13])
    expect(work({ tools: [search({ max_uses: 1e9 })] })).toEqual([10, 10_000])
    expect(work({ context_management: { edits: [] } })).toEqual([1, 0])
    expect(work({ compaction: {} })).toEqual([1, 0])
    expect(work({ context_management: { edits: [{ type: 'compact_20260112' }] }, compaction: {} })).toEqual([1, 0])
    expect(work({ context_management: null })).toEqual([0, 0])
    expect(work({ tools: [search({ max_uses: 2 })], context_management: {} })).toEqual([3, 2])
    expect(work({ tools: [{ type: 'advisor_20260301', name: 'advisor', max_uses: 2 }] })).toEqual([2, 2])
    const servers = [{ type: 'url', url: 'https://a.example', name: 'a' }]
    expect(work({ mcp_servers: servers })).toEqual([5, 5])
    expect(work({ mcp_servers: servers, tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] })).toEqual([5, 5])
    expect(work({ mcp_servers: [] })).toEqual([0, 0])
  })

  test('the hold is input × (1 + passes) + output + uses × price', () => {
    const rates = { ...GOLDEN_MODEL.rates, serverToolUse: picos(10_000_000_000n) }
    const hold = (json: Json): Picos => holdFor(messages(json), { rates, levels: [] }, 200_000)
    expect(hold({ tools: [search({ max_uses: 3 })] })).toBe(picos(4n * 200_000n * 3_000_000n + 10n * 15_000_000n + 3n * 10_000_000_000n))
    const managed = { context_management: { edits: [] } }
    const { bodyBytes } = messages(managed)
    expect(hold(managed)).toBe(picos(2n * BigInt(bodyBytes) * 3_000_000n + 10n * 15_000_000n))
  })

  test('chat and responses have no tools of the upstream', () => {
    for (const { passes, serverToolUsesMax } of [chat({}), responses({ tools: [{ type: 'web_search' }] })])
      expect([passes, serverToolUsesMax]).toEqual([0, 0])
  })
})

describe('cache writes are reserved at the dearest rate that the request asks for', () => {
  test('messages: on tools, system, messages, nested and on the body itself', () => {
    expect(messages({}).cacheWrites).toBe('none')
    for (const [marker, writes] of [
      [EPHEMERAL, '5m'],
      [HOUR, '1h'],
      [{ cache_control: { type: 'ephemeral', ttl: '2h' } }, '1h'],
    ] as const)
      for (const json of [
        marker,
        { system: [text(marker)] },
        { tools: [{ name: 'f', input_schema: {}, ...marker }] },
        { messages: said(text(marker)) },
        { messages: said({ type: 'tool_result', tool_use_id: 'a', content: [text(marker)] }) },
      ])
        expect(messages(json).cacheWrites, JSON.stringify(json)).toBe(writes)
  })

  test('chat and responses: written by the client, or set by us where it only signals caching', () => {
    for (const read of [chat, responses]) {
      expect(read({}).cacheWrites).toBe('none')
      expect(read(EPHEMERAL).cacheWrites).toBe('5m')
      expect(read(HOUR).cacheWrites).toBe('1h')
      expect(read({ prompt_cache_key: 'k' }).cacheWrites).toBe('5m')
      expect(read({ prompt_cache_key: 'k', ...HOUR }).cacheWrites).toBe('1h')
    }
    expect(chat({ messages: said(text(EPHEMERAL), text(HOUR)) }).cacheWrites).toBe('1h')
    expect(chat({ tools: [{ type: 'function', function: { name: 'f' }, ...HOUR }] }).cacheWrites).toBe('1h')
  })

  test('chat: a marker inside a document is not forwarded, since it would be paid uncounted; nor is a file of somebody', () => {
    const document = (block: Json): Json => ({ messages: said({ type: 'document', source: { type: 'content', content: [block] } }) })
    const call = read(chatFormat, document(text(HOUR)))
    if (call instanceof Refusal) throw new Error(call.message)
    expect(call.bounds.cacheWrites).toBe('none')
    expect(Buffer.from(call.body).toString()).not.toContain('cache_control')
    expect(read(chatFormat, document({ type: 'image', source: { type: 'file', file_id: 'file_1' } }))).toBeInstanceOf(Refusal)
    expect(read(chatFormat, { messages: said({ type: 'image', source: { ...DATA, file_id: 'file_1' } }) })).toBeInstanceOf(Refusal)
  })
})

test('the output is bounded by what was asked and by the model; a cache warm-up reserves its input alone', () => {
  const { rates, contextWindow, maxOutputTokens } = GOLDEN_MODEL
  expect(messages({ max_tokens: 1e9 }).outputTokensMax).toBe(maxOutputTokens)
  expect(chat({ max_completion_tokens: 1e9 }).outputTokensMax).toBe(maxOutputTokens)
  expect(responses({ max_output_tokens: 7 }).outputTokensMax).toBe(7)
  const warmUp = messages({ max_tokens: 0, ...EPHEMERAL })
  expect(warmUp.outputTokensMax).toBe(0)
  expect(holdFor(warmUp, GOLDEN_MODEL, contextWindow)).toBe((BigInt(warmUp.bodyBytes) * rates.cacheWrite5m) as typeof rates.input)
  for (const [format, json] of [
    [chatFormat, { messages: said(text()), max_tokens: 0 }],
    [responsesFormat, { input: 'u', max_output_tokens: 0 }],
  ] as const)
    expect(read(format as Format<unknown>, json)).toBeInstanceOf(Refusal)
})

describe('where the upstream gives no figure the input is taken for', () => {
  const image = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: PNG.replace('==', 'AA') + 'A'.repeat(2_000_000) },
  }
  const paper = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x'.repeat(26_000) } }
  const link = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }
  const mediaBytes = (...parts: readonly (typeof image)[]): number => parts.reduce((sum, { source }) => sum + source.data.length, 0)

  test('its bytes by the bytes of a token, on all formats', () => {
    for (const one of [messages({ system: 's'.repeat(4_000) }), chat({}), responses({ input: 'i'.repeat(999) })])
      expect(one.inputEstimate).toBe(Math.floor(one.bodyBytes / 4))
  })

  test('media by their number, never by their base64, wherever they stand', () => {
    const nested = { type: 'tool_result', tool_use_id: 'a', content: [image, text()] }
    for (const [content, parts, bytes] of [
      [[image, text()], 1, mediaBytes(image)],
      [[image, image, link], 3, mediaBytes(image, image)],
      [[nested], 1, mediaBytes(image)],
      [[paper], 5, mediaBytes(paper)],
      [[{ type: 'document', source: { type: 'content', content: [image, text()] } }], 1, mediaBytes(image)],
      [[{ type: 'document', source: { type: 'text', data: 'a'.repeat(400) } }], 0, 0],
    ] as const) {
      const { bodyBytes, inputEstimate } = messages({ messages: said(...content) })
      expect(inputEstimate).toBe(Math.floor((bodyBytes - bytes) / 4) + parts * 1_600)
    }
    const url = `data:image/png;base64,${image.source.data}`
    const shownTo = chat({ messages: said(text(), { type: 'image_url', image_url: { url } }) })
    expect(shownTo.inputEstimate).toBe(Math.floor((shownTo.bodyBytes - image.source.data.length) / 4) + 1_600)
    const part = { type: 'input_image', image_url: url }
    const called = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    const returned = responses({
      input: [{ role: 'user', content: 'Hi' }, called, { type: 'function_call_output', call_id: 'c', output: [part] }],
    })
    expect(returned.inputEstimate).toBe(Math.floor((returned.bodyBytes - image.source.data.length) / 4) + 1_600)
    const seen = responses({ input: [{ role: 'user', content: [part] }] })
    expect(seen.inputEstimate).toBe(Math.floor((seen.bodyBytes - image.source.data.length) / 4) + 1_600)
  })

  test('never more than the context window, nor more than is held', () => {
    expect(messages({ messages: said(...Array.from({ length: 200 }, () => link)) }).inputEstimate).toBe(GOLDEN_MODEL.contextWindow)
    expect(messages({ system: 's'.repeat(2_000_000) }).inputEstimate).toBe(GOLDEN_MODEL.contextWindow)
    const own = { ...GOLDEN_MODEL, bytesPerToken: 0.5 }
    expect(inputEstimate({ bodyBytes: 100, media: NO_MEDIA, isBounded: true }, own)).toBe(100)
  })
})
