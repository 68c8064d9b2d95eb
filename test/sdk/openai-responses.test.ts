/** The OpenAI SDK’s responses work with the gateway as with its vendor: helpers, tools, references, errors, and the price that it is shown. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import type { Response, ResponseInput, ResponseStreamEvent, ResponseUsage, Tool } from 'openai/resources/responses/responses'
import { z } from 'zod'
import { BREAKS, billableOf, type ClientGateway, errorOf, MODEL_ID, PARALLEL, startClientGateway, WEATHER } from './client-gateway.ts'

let site: ClientGateway
let client: OpenAI
beforeAll(async () => {
  site = await startClientGateway()
  client = new OpenAI({ apiKey: site.secret, baseURL: site.baseUrl, fetch: site.fetch })
})
afterAll(() => site.stop())

const model = MODEL_ID

const bill = (usage: ResponseUsage | null | undefined) => {
  if (usage === null || usage === undefined) throw new Error('no usage was shown')
  const { cached_tokens: cacheRead = 0, cache_write_tokens: cacheWrite = 0 } = usage.input_tokens_details as unknown as Record<
    string,
    number
  >
  expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
  return site.bill(billableOf({ prompt: usage.input_tokens, output: usage.output_tokens, cacheRead, cacheWrite }))
}

const TOOLS: Tool[] = [
  {
    type: 'function',
    name: 'add',
    strict: true,
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  },
  { type: 'function', name: 'weather', strict: false, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  { type: 'function', name: 'now', strict: false, parameters: null },
  { type: 'custom', name: 'patch', description: 'Takes free text' },
  { type: 'web_search' },
]

test('an answer has text, a status and usage', async () => {
  const answer = await client.responses.create({ model, instructions: 'Be brief', input: '[sim say=Good day]' })
  expect(answer).toMatchObject({ object: 'response', status: 'completed', output_text: 'Good day', error: null })
  bill(answer.usage)
  const cut = await client.responses.create({ model, input: '[sim tokens=60]', max_output_tokens: 20 })
  expect(cut).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  bill(cut.usage)
})

test('a stream tells the whole response in numbered events, the last with the usage', async () => {
  const events: ResponseStreamEvent[] = []
  for await (const event of await client.responses.create({ model, input: '[sim tokens=60]', stream: true })) events.push(event)
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
  expect([events[0]?.type, events.at(-1)?.type]).toEqual(['response.created', 'response.completed'])
  const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
  const last = events.at(-1)
  if (last?.type !== 'response.completed') throw new Error('no end')
  const item = last.response.output[0]
  expect(item?.type === 'message' && item.content).toMatchObject([{ type: 'output_text', text }])
  bill(last.response.usage)
})

test('the stream helper puts together what was streamed', async () => {
  const final = await client.responses.stream({ model, input: '[sim text="Zeile\\n😀"]' }).finalResponse()
  expect(final.output_text).toBe('Zeile\n😀')
  bill(final.usage)
})

/** What the functions were called with, and the outputs to send back. */
function work(answer: Response): { called: Record<string, unknown>; outputs: ResponseInput } {
  const called: Record<string, unknown> = {}
  const outputs = answer.output.flatMap((item): ResponseInput => {
    if (item.type === 'custom_tool_call') {
      called['patch'] = item.input
      return [{ type: 'custom_tool_call_output', call_id: item.call_id, output: 'patched' }]
    }
    if (item.type !== 'function_call') return []
    Object.assign(called, item.name === 'now' ? { now: JSON.parse(item.arguments) } : JSON.parse(item.arguments))
    return [{ type: 'function_call_output', call_id: item.call_id, output: `${item.name} is done` }]
  })
  return { called, outputs }
}

test('a loop of parallel calls completes, with the input repeated and with previous_response_id, streamed or whole', async () => {
  const prompt = `${PARALLEL} [sim tool=now] [sim tool=patch args={"input":"*** free\\ntext"}]`
  const ask = (body: { input: ResponseInput; previous_response_id?: string; store?: boolean }, isStream: boolean): Promise<Response> =>
    isStream
      ? client.responses.stream({ model, tools: TOOLS, ...body }).finalResponse()
      : Promise.resolve(client.responses.create({ model, tools: TOOLS, ...body }))
  for (const isStream of [false, true]) {
    for (const isRemembered of [false, true]) {
      const input: ResponseInput = [{ role: 'user', content: prompt }]
      const first = await ask({ input, store: isRemembered }, isStream)
      bill(first.usage)
      const { called, outputs } = work(first)
      expect(called).toEqual({ ...WEATHER, now: {}, patch: '*** free\ntext' })
      const next = isRemembered
        ? { input: outputs, previous_response_id: first.id }
        : { input: [...input, ...(first.output as ResponseInput), ...outputs], store: false }
      const second = await ask(next, isStream)
      expect(second.output_text).toContain('has read 4 tool results')
      bill(second.usage)
    }
  }
})

test('a forgotten previous response is refused with what to do instead', async () => {
  const first = await client.responses.create({ model, input: 'Hi', store: false })
  bill(first.usage)
  const error = await errorOf(client.responses.create({ model, input: 'And?', previous_response_id: first.id }))
  expect(error).toBeInstanceOf(OpenAI.BadRequestError)
  expect(error.message).toContain('send the full input')
})

test('reasoning is shown as a summary and goes back with its signature', async () => {
  const input: ResponseInput = [{ role: 'user', content: 'Hm [sim thinking]' }]
  const reasoning = { effort: 'high', summary: 'auto' } as const
  const include: ['reasoning.encrypted_content'] = ['reasoning.encrypted_content']
  const first = await client.responses.stream({ model, input, reasoning, include, store: false }).finalResponse()
  bill(first.usage)
  const thought = first.output[0]
  if (thought?.type !== 'reasoning') throw new Error('no reasoning item')
  expect(thought.summary[0]?.text).toContain('pretends to think')
  expect(thought.encrypted_content).toBeString()
  expect(first.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  const again: ResponseInput = [...input, ...(first.output as ResponseInput), { role: 'user', content: '[sim say=And on]' }]
  const second = await client.responses.create({ model, input: again, reasoning, include, store: false })
  expect(second.output_text).toBe('And on')
  expect(second.usage?.input_tokens).toBeGreaterThan((first.usage?.input_tokens ?? 0) + (first.usage?.output_tokens ?? 0) - 5)
  bill(second.usage)
})

test('structured output parses', async () => {
  const shape = z.object({ name: z.string(), sizes: z.array(z.number()), isReal: z.boolean() })
  const answer = await client.responses.parse({ model, input: 'Fill it', text: { format: zodTextFormat(shape, 'thing') } })
  expect(shape.safeParse(answer.output_parsed).success).toBe(true)
  bill(answer.usage)
})

test('what must not be retried is sent once', async () => {
  const cases = [
    { apiKey: site.wrongSecret, kind: OpenAI.AuthenticationError, body: {} },
    { apiKey: site.poorSecret, kind: OpenAI.RateLimitError, body: {} },
    { apiKey: site.secret, kind: OpenAI.BadRequestError, body: { model: 'no-such' } },
    { apiKey: site.secret, kind: OpenAI.BadRequestError, body: { background: true } },
    { apiKey: site.secret, kind: OpenAI.BadRequestError, body: { conversation: 'conv_1' } },
  ]
  for (const { apiKey, kind, body } of cases) {
    const before = site.sent.length
    const other = new OpenAI({ apiKey, baseURL: site.baseUrl, fetch: site.fetch, maxRetries: 3 })
    expect(await errorOf(other.responses.create({ model, input: 'Hi', ...body, stream: false }))).toBeInstanceOf(kind)
    expect(site.sent).toHaveLength(before + 1)
  }
})

test('a 503 is retried until it is answered, and costs once', async () => {
  const before = site.sent.length
  const answer = await client.responses.create({ model, input: '[sim error=529 times=2] [sim say=At last]' })
  expect(site.sent.slice(before).map(({ status }) => status)).toEqual([503, 503, 200])
  expect(answer.output_text).toBe('At last')
  bill(answer.usage)
})

test('a stream that breaks ends in response.failed with the reason, and costs nothing', async () => {
  for (const fault of [BREAKS, '[sim cut after=3]']) {
    const input = `[sim tokens=60] ${fault}`
    const types: string[] = []
    for await (const event of await client.responses.create({ model, input, stream: true })) {
      types.push(event.type)
      if (event.type === 'response.failed') expect(event.response.error?.message).toMatch(/retry/)
    }
    expect(types.at(-1)).toBe('response.failed')
    const final = await client.responses
      .stream({ model, input })
      .finalResponse()
      .catch((error: unknown) => error)
    expect(final instanceof Error || (final as Response).status === 'failed').toBe(true)
  }
})

test('the balance fell by exactly what this client was shown', () => site.audit())
