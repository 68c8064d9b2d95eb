/** The Anthropic SDK works with the gateway as with its vendor: helpers, tools, errors, retries, and the price that it is shown. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { z } from 'zod'
import { errorAnswer, nativeMessage } from '../support/fake-upstream.ts'
import { startStage } from '../support/stage.ts'
import { BREAKS, type ClientGateway, errorOf, MODEL_ID, PARALLEL, startClientGateway, WEATHER } from './client-gateway.ts'

let site: ClientGateway
let client: Anthropic
beforeAll(async () => {
  site = await startClientGateway()
  client = clientWith(site.secret)
})
afterAll(() => site.stop())

const clientWith = (secret: string, maxRetries = 2): Anthropic =>
  new Anthropic({ apiKey: secret, authToken: null, baseURL: site.url, fetch: site.fetch, maxRetries })

const ask = (content: Anthropic.MessageParam['content']) => ({
  model: MODEL_ID,
  max_tokens: 4_096,
  messages: [{ role: 'user' as const, content }],
})

const bill = (usage: Anthropic.Usage | Anthropic.Beta.BetaUsage) =>
  site.bill({
    input: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: usage.cache_read_input_tokens ?? 0,
    cacheWrite5m: (usage.cache_creation_input_tokens ?? 0) - (usage.cache_creation?.ephemeral_1h_input_tokens ?? 0),
    cacheWrite1h: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
  })

test('an answer has text, the public model, usage and the id of its receipt', async () => {
  const { data, request_id } = await client.messages.create(ask('[sim say=Good day]')).withResponse()
  expect(data).toMatchObject({ type: 'message', role: 'assistant', model: MODEL_ID, stop_reason: 'end_turn' })
  expect(data.content).toMatchObject([{ type: 'text', text: 'Good day' }])
  const cost = bill(data.usage)
  await site.gateway.idle()
  expect(site.gateway.receipts().at(-1)).toMatchObject({ requestId: request_id ?? '', costPicos: cost })
})

test('a stream, raw and in the helper, gives the text and the final usage', async () => {
  const stream = client.messages.stream(ask('[sim text="Zeile\\n😀"]'))
  let text = ''
  stream.on('text', (piece) => {
    text += piece
  })
  const final = await stream.finalMessage()
  expect([text, final.model]).toEqual(['Zeile\n😀', MODEL_ID])
  bill(final.usage)
  const types: string[] = []
  let [input, output] = [0, 0]
  for await (const event of await client.messages.create({ ...ask('[sim tokens=60]'), stream: true })) {
    types.push(event.type)
    if (event.type === 'message_start') input = event.message.usage.input_tokens
    if (event.type === 'message_delta') output = event.usage.output_tokens
  }
  expect([types[0], types.at(-1)]).toEqual(['message_start', 'message_stop'])
  site.bill({ input, output })
})

test('the tool runner completes a loop of parallel calls, streamed or whole', async () => {
  for (const isStream of [false, true]) {
    const called: Record<string, unknown> = {}
    const note = (args: Record<string, unknown>, result: string): string => {
      Object.assign(called, args)
      return result
    }
    const tools = [
      betaZodTool({
        name: 'add',
        description: 'Adds',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        run: (args) => note(args, '5'),
      }),
      betaZodTool({
        name: 'weather',
        description: 'Tells',
        inputSchema: z.object({ city: z.string() }),
        run: (args) => note(args, 'sunny'),
      }),
      betaZodTool({ name: 'now', description: 'Tells', inputSchema: z.object({}), run: () => note({ now: true }, 'noon') }),
    ]
    const request = { ...ask(`${PARALLEL} [sim tool=now]`), tools }
    const turns: Anthropic.Beta.BetaMessage[] = []
    if (isStream) {
      for await (const stream of client.beta.messages.toolRunner({ ...request, stream: true })) turns.push(await stream.finalMessage())
    } else {
      for await (const message of client.beta.messages.toolRunner(request)) turns.push(message)
    }
    expect(called).toEqual({ ...WEATHER, now: true })
    expect(turns.map(({ stop_reason }) => stop_reason)).toEqual(['tool_use', 'end_turn'])
    expect(JSON.stringify(turns[1]?.content)).toContain('has read 3 tool results')
    for (const { usage } of turns) bill(usage)
  }
})

test('thinking and its signature come through and may be sent back', async () => {
  const request = { ...ask('Hm'), thinking: { type: 'enabled', budget_tokens: 1_024 } as const }
  const first = await client.messages.stream(request).finalMessage()
  expect(first.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
  bill(first.usage)
  const messages = [
    ...request.messages,
    { role: 'assistant' as const, content: first.content },
    { role: 'user' as const, content: '[sim say=On]' },
  ]
  const second = await client.messages.create({ ...request, messages })
  expect(second.content.at(-1)).toMatchObject({ text: 'On' })
  bill(second.usage)
})

test('cache writes of both lifetimes and cache reads are paid as shown', async () => {
  const block = (text: string, ttl: '5m' | '1h') => ({ type: 'text' as const, text, cache_control: { type: 'ephemeral' as const, ttl } })
  const content = [block('A preamble for an hour. '.repeat(300), '1h'), block('And for minutes. '.repeat(300), '5m')]
  const first = await client.messages.create(ask(content))
  expect(first.usage.cache_creation?.ephemeral_1h_input_tokens).toBeGreaterThan(1_000)
  expect(first.usage.cache_creation?.ephemeral_5m_input_tokens).toBeGreaterThan(1_000)
  const second = await client.messages.create(ask(content))
  expect(second.usage.cache_read_input_tokens).toBe(first.usage.cache_creation_input_tokens)
  expect(bill(second.usage)).toBeLessThan(bill(first.usage))
})

test('structured output parses', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, size: { type: 'integer' } },
    required: ['name', 'size'],
    additionalProperties: false,
  }
  const answer = await client.messages.create({ ...ask('Fill it'), output_config: { format: { type: 'json_schema', schema } } })
  const [block] = answer.content
  const parsed = z.object({ name: z.string(), size: z.int() }).safeParse(JSON.parse(block?.type === 'text' ? block.text : ''))
  expect(parsed.success).toBe(true)
  bill(answer.usage)
})

test('counting tokens and listing models are free', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: MODEL_ID, messages: [{ role: 'user', content: '12345678' }] })
  expect(input_tokens).toBe(5)
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  expect(ids).toEqual([MODEL_ID])
  expect(
    await clientWith(site.poorSecret).messages.countTokens({ model: MODEL_ID, messages: [{ role: 'user', content: 'Hi' }] }),
  ).toBeDefined()
})

test('what must not be retried is sent once and is the SDK’s own class of error', async () => {
  const cases = [
    { apiKey: site.wrongSecret, kind: Anthropic.AuthenticationError, message: 'Invalid API key' },
    { apiKey: site.poorSecret, kind: Anthropic.RateLimitError, message: 'Insufficient balance on this API key. Top up: ' },
    { apiKey: site.secret, model: 'no-such', kind: Anthropic.BadRequestError, message: 'Model no-such is not available on this API key' },
    { apiKey: site.secret, prompt: '[sim toolong]', kind: Anthropic.BadRequestError, message: 'prompt is too long: ' },
  ]
  for (const { apiKey, model = MODEL_ID, prompt = 'Hi', kind, message } of cases) {
    for (const stream of [false, true]) {
      const before = site.sent.length
      const error = await errorOf(clientWith(apiKey, 3).messages.create({ ...ask(prompt), model, stream }))
      expect(error).toBeInstanceOf(kind)
      expect(error.message).toContain(message)
      expect(error['requestID']).toMatch(/^req_/)
      expect(site.sent).toHaveLength(before + 1)
    }
  }
})

test('a 503 is retried until it is answered, and costs once', async () => {
  const before = site.sent.length
  const answer = await client.messages.create(ask('[sim error=529 times=2] [sim say=At last]'))
  expect(site.sent.slice(before).map(({ status }) => status)).toEqual([503, 503, 200])
  bill(answer.usage)
  expect(await errorOf(clientWith(site.secret, 1).messages.create(ask('[sim error=500]')))).toBeInstanceOf(Anthropic.InternalServerError)
})

test('a stream that breaks throws, raw and in the helper, and costs nothing', async () => {
  for (const fault of [BREAKS, '[sim cut after=3]']) {
    const prompt = `[sim tokens=60] ${fault}`
    const raw = async (): Promise<void> => {
      for await (const event of await client.messages.create({ ...ask(prompt), stream: true })) expect(event.type).not.toBe('message_stop')
    }
    expect((await errorOf(raw())).message).toContain('retry')
    expect((await errorOf(client.messages.stream(ask(prompt)).finalMessage())).message).toContain('retry')
  }
})

test('the balance fell by exactly what this client was shown', () => site.audit())

test('a 400 whose details name its kind is the typed error that the SDK has for it', async () => {
  const stage = await startStage()
  try {
    const details = { error_code: 'image_dimensions_too_large', hint: 'internal' }
    stage.play(
      errorAnswer(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'messages.0.content.0.image.source: too many pixels', details },
      }),
    )
    const direct = new Anthropic({ apiKey: stage.secret, authToken: null, baseURL: stage.gateway.url, maxRetries: 0 })
    for (const asked of [() => direct.messages.create(ask('x')), () => direct.messages.stream(ask('x')).finalMessage()]) {
      const error = await asked().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Anthropic.ImageDimensionsTooLargeError)
      expect((error as InstanceType<typeof Anthropic.APIError>).error).toEqual({
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'messages.0.content.0.image.source: too many pixels',
          details: { error_code: 'image_dimensions_too_large' },
        },
      })
    }
  } finally {
    await stage.stop()
  }
})

test('an upstream that answers a request for a stream in one piece is read as a stream: text and input come in deltas', async () => {
  const stage = await startStage()
  try {
    const usage = { input_tokens: 10, output_tokens: 5 }
    const content = [
      { type: 'text', text: 'Good morning' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
    ]
    stage.play(nativeMessage({ id: 'msg_1', type: 'message', role: 'assistant', model: 'x', content, stop_reason: 'tool_use', usage }))
    const direct = new Anthropic({ apiKey: stage.secret, authToken: null, baseURL: stage.gateway.url, maxRetries: 0 })
    const stream = direct.messages.stream(ask('x'))
    const seen = { text: '', input: '' }
    stream.on('text', (piece) => {
      seen.text += piece
    })
    stream.on('inputJson', (piece) => {
      seen.input += piece
    })
    const final = await stream.finalMessage()
    expect(seen).toEqual({ text: 'Good morning', input: '{"city":"Rome"}' })
    expect(final.content).toMatchObject(content)
    expect(final.usage).toMatchObject(usage)
    const texts = await Promise.all(
      (['chat', 'responses'] as const).map(async (format) => (await stage.ask({ format, stream: true })).text()),
    )
    expect(texts[0]).toContain('"delta":{"content":"Good morning"}')
    expect(texts[1]).toContain('"type":"response.output_text.delta"')
    expect(texts[1]).toContain('"delta":"Good morning"')
  } finally {
    await stage.stop()
  }
})
