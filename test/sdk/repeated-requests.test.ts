/**
 * The official SDKs send a request again when it takes them too long or its connection breaks; under an Idempotency-Key each retry joins the first one's answer. And
 * what sends that header, which is not what their options promise. Rules: requests.md "Joined answers".
 */

import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { MESSAGE, nativeMessage, nativeStream, type Script, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID } from '../support/gateway.ts'
import { startStage } from '../support/stage.ts'

const stage = await startStage()
const { upstream, play, gateway, secret } = stage
afterAll(() => stage.stop())

/** Longer than a client waits here, so that it gives up once at least. */
const PATIENCE_MS = 300

let sent: Headers[] = []
let replayed: (string | null)[] = []
let onSent: (count: number) => void = () => undefined
let onHead: () => void = () => undefined
const recording = (async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
  sent.push(new Headers(init?.headers))
  onSent(sent.length)
  const response = await fetch(input, init)
  replayed.push(response.headers.get('idempotency-replayed'))
  onHead()
  return response
}) as typeof fetch
beforeEach(() => {
  sent = []
  replayed = []
  onSent = () => undefined
  onHead = () => undefined
})

const openai = new OpenAI({ apiKey: secret, baseURL: `${gateway.url}/v1`, fetch: recording, timeout: PATIENCE_MS, maxRetries: 10 })
const anthropic = new Anthropic({
  apiKey: secret,
  authToken: null,
  baseURL: gateway.url,
  fetch: recording,
  timeout: PATIENCE_MS,
  maxRetries: 10,
})

const messages = [{ role: 'user' as const, content: 'Say hello.' }]
const named = () => ({ headers: { 'Idempotency-Key': crypto.randomUUID() } })

const ASKS: Readonly<Record<string, Readonly<{ stream: boolean; ask: () => Promise<string> }>>> = {
  'openai, chat completions': {
    stream: false,
    ask: async () => (await openai.chat.completions.create({ model: MODEL_ID, messages }, named())).choices[0]?.message.content ?? '',
  },
  'openai, a chat stream': {
    stream: true,
    ask: async () => {
      let text = ''
      for await (const chunk of await openai.chat.completions.create({ model: MODEL_ID, messages, stream: true }, named()))
        text += chunk.choices[0]?.delta.content ?? ''
      return text
    },
  },
  'openai, responses': {
    stream: false,
    ask: async () => (await openai.responses.create({ model: MODEL_ID, input: 'Say hello.' }, named())).output_text,
  },
  'openai, a responses stream': {
    stream: true,
    ask: async () => (await openai.responses.stream({ model: MODEL_ID, input: 'Say hello.' }, named()).finalResponse()).output_text,
  },
  'anthropic, messages': {
    stream: false,
    ask: async () => {
      const { content } = await anthropic.messages.create({ model: MODEL_ID, max_tokens: 100, messages }, named())
      return content[0]?.type === 'text' ? content[0].text : ''
    },
  },
  'anthropic, a stream': {
    stream: true,
    ask: () => anthropic.messages.stream({ model: MODEL_ID, max_tokens: 100, messages }, named()).finalText(),
  },
}

/** Answers when `open` is called, and not before. */
const late = (stream: boolean, gate: Promise<void>): Script => [
  { when: gate },
  ...(stream ? nativeStream(...textFrames('Good morning')) : nativeMessage(MESSAGE)),
]

describe('a retry joins the answer that runs', () => {
  for (const [name, { stream, ask }] of Object.entries(ASKS)) {
    test(`${name}: the client has its answer, made and charged once`, async () => {
      const gate = Promise.withResolvers<void>()
      play(late(stream, gate.promise))
      // The answer comes when a retry takes part in it: of a stream it has the head, of a whole answer it has given up waiting, too.
      if (stream) onHead = () => gate.resolve()
      else onSent = (count) => count === 3 && gate.resolve()
      const calls = upstream.requests.length
      const receipts = await stage.receiptsOf(async () => expect(await ask()).toBe('Good morning'))
      expect(receipts).toHaveLength(1)
      expect(upstream.requests.length - calls).toBe(1)
      expect(sent.length).toBeGreaterThan(1)
      expect(replayed.at(-1)).toBe('true')
      expect(new Set(sent.map((headers) => headers.get('idempotency-key'))).size).toBe(1)
    }, 30_000)
  }
})

test('the option `idempotencyKey` alone sends no header', async () => {
  play(nativeMessage(MESSAGE))
  await openai.chat.completions.create({ model: MODEL_ID, messages }, { idempotencyKey: 'mine' })
  await anthropic.messages.create({ model: MODEL_ID, max_tokens: 100, messages }, { idempotencyKey: 'mine' })
  expect(sent.map((headers) => headers.get('idempotency-key'))).toEqual([null, null])
  await gateway.idle()
})

test('`runTools` repeats the header on each step, which is another request: a 400 that names it, never a wrong answer', async () => {
  const use = { ...MESSAGE, content: [{ type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }], stop_reason: 'tool_use' }
  play((_, index) => nativeMessage(index === upstream.requests.length - 1 ? use : MESSAGE))
  const tools = [
    { type: 'function' as const, function: { name: 'now', description: '', parameters: { type: 'object' }, function: () => 'noon' } },
  ]
  const running = openai.chat.completions.runTools({ model: MODEL_ID, messages, tools }, named())
  await expect(running.finalContent()).rejects.toThrow('Idempotency-Key: was used with another request')
  await gateway.idle()
})
