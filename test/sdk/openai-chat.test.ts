/** The OpenAI SDK’s chat completions work with the gateway as with its vendor: helpers, tools, errors, retries, and the price that it is shown. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { BREAKS, billableOf, type ClientGateway, errorOf, MODEL_ID, PARALLEL, startClientGateway, WEATHER } from './client-gateway.ts'

let site: ClientGateway
let client: OpenAI
beforeAll(async () => {
  site = await startClientGateway()
  client = new OpenAI({ apiKey: site.secret, baseURL: site.baseUrl, fetch: site.fetch })
})
afterAll(() => site.stop())

const ask = (content: string) => ({ model: MODEL_ID, messages: [{ role: 'user' as const, content }] })

const bill = (usage: OpenAI.CompletionUsage | null | undefined) => {
  if (usage === null || usage === undefined) throw new Error('no usage was shown')
  const { cached_tokens: cacheRead = 0, cache_write_tokens: cacheWrite = 0 } = { ...usage.prompt_tokens_details } as Record<string, number>
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
  return site.bill(billableOf({ prompt: usage.prompt_tokens, output: usage.completion_tokens, cacheRead, cacheWrite }))
}

test('an answer has text, a finish reason, usage and the id of its receipt', async () => {
  const { data, response } = await client.chat.completions.create(ask('[sim say=Good day]')).withResponse()
  expect(data.choices).toMatchObject([{ index: 0, message: { role: 'assistant', content: 'Good day' }, finish_reason: 'stop' }])
  expect([data.object, data.model]).toEqual(['chat.completion', MODEL_ID])
  const cost = bill(data.usage)
  await site.gateway.idle()
  const receipt = site.gateway.receipts().at(-1)
  expect(receipt).toMatchObject({ requestId: response.headers.get('x-request-id') ?? '', costPicos: cost })
})

test('a stream shows its usage once, on the finish chunk or, when asked for, on a chunk of its own', async () => {
  for (const includesUsage of [false, true]) {
    const stream = await client.chat.completions.create({
      ...ask('[sim tokens=60]'),
      stream: true,
      ...(includesUsage ? { stream_options: { include_usage: true } } : {}),
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const withUsage = chunks.filter(({ usage }) => usage !== null && usage !== undefined)
    expect(withUsage).toHaveLength(1)
    expect(withUsage[0]).toBe(chunks.at(-1)!)
    expect(withUsage[0]?.choices).toHaveLength(includesUsage ? 0 : 1)
    expect(chunks.flatMap(({ choices }) => choices).filter(({ finish_reason }) => finish_reason !== null)).toHaveLength(1)
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    bill(withUsage[0]?.usage)
  }
})

test('the stream helper puts text and usage together', async () => {
  const stream = client.chat.completions.stream({ ...ask('[sim text="Zeile\\n😀"]'), stream_options: { include_usage: true } })
  let text = ''
  stream.on('content', (delta) => {
    text += delta
  })
  const final = await stream.finalChatCompletion()
  expect([text, final.choices[0]?.message.content]).toEqual(['Zeile\n😀', 'Zeile\n😀'])
  bill(final.usage)
})

const TOOLS = (called: Record<string, unknown>) => [
  {
    type: 'function' as const,
    function: {
      name: 'add',
      description: 'Adds two numbers',
      parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
      parse: (text: string) => JSON.parse(text) as { a: number; b: number },
      function: (args: { a: number; b: number }) => {
        Object.assign(called, args)
        return String(args.a + args.b)
      },
    },
  },
  {
    type: 'function' as const,
    function: {
      name: 'weather',
      description: 'Tells the weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      parse: (text: string) => JSON.parse(text) as { city: string },
      function: (args: { city: string }) => {
        Object.assign(called, args)
        return 'sunny'
      },
    },
  },
  {
    type: 'function' as const,
    function: {
      name: 'now',
      description: 'Tells the time',
      parameters: { type: 'object', properties: {} },
      parse: (text: string) => JSON.parse(text) as Record<string, never>,
      function: () => {
        called['now'] = true
        return 'noon'
      },
    },
  },
]

test('runTools completes a loop of parallel calls, streamed or whole', async () => {
  for (const isStream of [false, true]) {
    const called: Record<string, unknown> = {}
    const runner = isStream
      ? client.chat.completions.runTools({
          ...ask(`${PARALLEL} [sim tool=now]`),
          stream: true,
          stream_options: { include_usage: true },
          tools: TOOLS(called),
        })
      : client.chat.completions.runTools({ ...ask(`${PARALLEL} [sim tool=now]`), tools: TOOLS(called) })
    const text = await runner.finalContent()
    expect(called).toEqual({ ...WEATHER, now: true })
    expect(text).toContain('has read 3 tool results')
    const turns = runner.allChatCompletions()
    expect(turns.map(({ choices }) => choices[0]?.finish_reason)).toEqual(['tool_calls', 'stop'])
    for (const { usage } of turns) bill(usage)
  }
})

test('structured output parses, with a schema and with json_object', async () => {
  const shape = z.object({ name: z.string(), sizes: z.array(z.number()), isReal: z.boolean() })
  const parsed = await client.chat.completions.parse({ ...ask('Fill it'), response_format: zodResponseFormat(shape, 'thing') })
  expect(shape.safeParse(parsed.choices[0]?.message.parsed).success).toBe(true)
  bill(parsed.usage)
  const streamed = client.chat.completions.stream({
    ...ask('Fill it'),
    response_format: zodResponseFormat(shape, 'thing'),
    stream_options: { include_usage: true },
  })
  const final = await streamed.finalChatCompletion()
  expect(shape.safeParse(final.choices[0]?.message.parsed).success).toBe(true)
  bill(final.usage)
  const object = await client.chat.completions.create({ ...ask('Any'), response_format: { type: 'json_object' } })
  expect(JSON.parse(object.choices[0]?.message.content ?? '')).toBeObject()
  bill(object.usage)
})

test('thinking arrives beside the text and may be sent back', async () => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hm [sim thinking]' }]
  const first = await client.chat.completions.create({ model: MODEL_ID, messages, reasoning_effort: 'high' })
  expect(first.choices[0]!.message).toHaveProperty('reasoning_content', expect.stringContaining('pretends to think'))
  bill(first.usage)
  messages.push(first.choices[0]!.message, { role: 'user', content: '[sim say=And on]' })
  const second = await client.chat.completions.create({ model: MODEL_ID, messages, reasoning_effort: 'high' })
  expect(second.choices[0]?.message.content).toBe('And on')
  bill(second.usage)
})

test('cached input is shown and paid as cached', async () => {
  const content = [{ type: 'text' as const, text: 'A long preamble. '.repeat(400), cache_control: { type: 'ephemeral' } }]
  const read: number[] = []
  const costs: bigint[] = []
  for (const _ of [1, 2]) {
    const answer = await client.chat.completions.create({ model: MODEL_ID, messages: [{ role: 'user', content }] })
    read.push(answer.usage?.prompt_tokens_details?.cached_tokens ?? 0)
    costs.push(bill(answer.usage))
  }
  expect(read[0]).toBe(0)
  expect(read[1]).toBeGreaterThan(1_000)
  expect(costs[1]).toBeLessThan(costs[0]!)
})

test('what must not be retried is sent once and is the SDK’s own class of error', async () => {
  const cases = [
    { apiKey: site.wrongSecret, kind: OpenAI.AuthenticationError, message: 'Invalid API key' },
    { apiKey: site.poorSecret, kind: OpenAI.RateLimitError, message: 'Insufficient balance on this API key. Top up: ' },
    { apiKey: site.secret, model: 'no-such', kind: OpenAI.BadRequestError, message: 'Model no-such is not available on this API key' },
    { apiKey: site.secret, prompt: '[sim toolong]', kind: OpenAI.BadRequestError, message: 'prompt is too long: ' },
  ]
  for (const { apiKey, model = MODEL_ID, prompt = 'Hi', kind, message } of cases) {
    for (const stream of [false, true]) {
      const before = site.sent.length
      const other = new OpenAI({ apiKey, baseURL: site.baseUrl, fetch: site.fetch, maxRetries: 3 })
      const error = await errorOf(other.chat.completions.create({ ...ask(prompt), model, stream }))
      expect(error).toBeInstanceOf(kind)
      expect(error.message).toContain(message)
      expect(site.sent).toHaveLength(before + 1)
    }
  }
  const poor = new OpenAI({ apiKey: site.poorSecret, baseURL: site.baseUrl, fetch: site.fetch })
  expect(await errorOf(poor.chat.completions.create(ask('Hi')))).toMatchObject({ code: 'insufficient_quota', type: 'insufficient_balance' })
})

test('a 503 is retried until it is answered, and costs once', async () => {
  const before = site.sent.length
  const answer = await client.chat.completions.create(ask('[sim error=529 times=2] [sim say=At last]'))
  expect(site.sent.slice(before).map(({ status }) => status)).toEqual([503, 503, 200])
  expect(answer.choices[0]?.message.content).toBe('At last')
  bill(answer.usage)
  const error = await errorOf(client.chat.completions.create(ask('[sim error=500]'), { maxRetries: 1 }))
  expect(error).toBeInstanceOf(OpenAI.InternalServerError)
})

test('a stream that breaks throws, raw and in the helper, and costs nothing', async () => {
  for (const fault of [BREAKS, '[sim cut after=3]', '[sim malformed after=3] [sim cut after=4]']) {
    const raw = async (): Promise<string> => {
      let text = ''
      const stream = await client.chat.completions.create({ ...ask(`[sim tokens=60] ${fault}`), stream: true })
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      return text
    }
    expect(await errorOf(raw())).toBeInstanceOf(OpenAI.APIError)
    expect(await errorOf(client.chat.completions.stream(ask(`[sim tokens=60] ${fault}`)).finalChatCompletion())).toBeInstanceOf(
      OpenAI.APIError,
    )
  }
})

test('the models are listed', async () => {
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  expect(ids).toEqual([MODEL_ID])
})

test('the balance fell by exactly what this client was shown', () => site.audit())
