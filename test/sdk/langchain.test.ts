/** LangChain with each of its models works with the gateway as with their vendors, and pays what it is shown. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { BREAKS, billableOf, type ClientGateway, errorOf, MODEL_ID, PARALLEL, startClientGateway, WEATHER } from './client-gateway.ts'

let site: ClientGateway
beforeAll(async () => {
  site = await startClientGateway()
})
afterAll(() => site.stop())

type Client = BaseChatModel & Pick<ChatOpenAI, 'bindTools'>
type Options = Readonly<{ maxRetries?: number; streaming?: boolean }>

const openAi = (apiKey: string, useResponsesApi: boolean, options: Options): Client =>
  new ChatOpenAI({
    model: MODEL_ID,
    apiKey,
    useResponsesApi,
    streamUsage: true,
    ...options,
    configuration: { baseURL: site.baseUrl, fetch: site.fetch },
  })

const CLIENTS: Record<string, (apiKey: string, options?: Options) => Client> = {
  'openai chat': (apiKey, options = {}) => openAi(apiKey, false, options),
  'openai responses': (apiKey, options = {}) => openAi(apiKey, true, options),
  anthropic: (apiKey, options = {}) =>
    new ChatAnthropic({
      model: MODEL_ID,
      apiKey,
      anthropicApiUrl: site.url,
      maxTokens: 4_096,
      ...options,
      clientOptions: { fetch: site.fetch },
    }) as unknown as Client,
}

/** In a stream the anthropic package adds what `message_start` counts of the output, one token here, to the total that `message_delta` brings. */
const billStreamed = (name: string, usage: UsageMetadata | undefined) =>
  bill(usage && name === 'anthropic' ? { ...usage, output_tokens: usage.output_tokens - 1 } : usage)

const bill = (usage: UsageMetadata | undefined) => {
  if (usage === undefined) throw new Error('no usage was shown')
  const { cache_read: cacheRead = 0, cache_creation: cacheWrite = 0 } = usage.input_token_details ?? {}
  site.bill(billableOf({ prompt: usage.input_tokens, output: usage.output_tokens, cacheRead, cacheWrite }))
}

async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined
  for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk)
  if (whole === undefined) throw new Error('an empty stream')
  return whole
}

const TOOLS = [
  tool(({ a, b }) => String(a + b), { name: 'add', description: 'Adds', schema: z.object({ a: z.number(), b: z.number() }) }),
  tool(() => 'sunny', { name: 'weather', description: 'Tells the weather', schema: z.object({ city: z.string() }) }),
  tool(() => 'noon', { name: 'now', description: 'Tells the time', schema: z.object({}) }),
]

for (const [name, clientOf] of Object.entries(CLIENTS)) {
  describe(name, () => {
    test('text and usage, whole and streamed', async () => {
      const whole = await clientOf(site.secret).invoke('[sim say=Good day]')
      expect(whole.text).toBe('Good day')
      bill((whole as AIMessage).usage_metadata)
      const streamed = await gather(await clientOf(site.secret).stream('[sim text="Zeile\\n😀"]'))
      expect(streamed.text).toBe('Zeile\n😀')
      billStreamed(name, streamed.usage_metadata)
    })

    test('a loop of parallel tool calls completes, whole and streamed', async () => {
      for (const isStream of [false, true]) {
        const bound = clientOf(site.secret).bindTools(TOOLS)
        const pay = (usage: UsageMetadata | undefined) => (isStream ? billStreamed(name, usage) : bill(usage))
        const ask = async (messages: BaseMessage[]): Promise<AIMessage> =>
          isStream ? await gather(await bound.stream(messages)) : ((await bound.invoke(messages)) as AIMessage)
        const messages: BaseMessage[] = [new HumanMessage(`${PARALLEL} [sim tool=now]`)]
        const first = await ask(messages)
        pay(first.usage_metadata)
        const calls = first.tool_calls ?? []
        expect(calls.map((call) => call.name)).toEqual(['add', 'weather', 'now'])
        expect(Object.assign({}, ...calls.map(({ args }) => args))).toEqual(WEATHER)
        messages.push(first, ...calls.map((call) => new ToolMessage({ content: 'done', tool_call_id: call.id ?? '' })))
        const second = await ask(messages)
        expect(second.text).toContain('has read 3 tool results')
        pay(second.usage_metadata)
      }
    })

    test('structured output fits its schema', async () => {
      const schema = z.object({ name: z.string(), sizes: z.array(z.number()), isReal: z.boolean() })
      const methods = name === 'anthropic' ? (['functionCalling'] as const) : (['functionCalling', 'jsonSchema'] as const)
      for (const method of methods) {
        const { raw, parsed } = await clientOf(site.secret).withStructuredOutput(schema, { method, includeRaw: true }).invoke('Fill it')
        expect(schema.safeParse(parsed).success).toBe(true)
        bill((raw as AIMessage).usage_metadata)
      }
    })

    test('what must not be retried is sent once', async () => {
      for (const [secret, message] of [
        [site.wrongSecret, 'Invalid API key'],
        [site.poorSecret, 'Insufficient balance on this API key'],
      ] as const) {
        const before = site.sent.length
        expect((await errorOf(clientOf(secret).invoke('Hi'))).message).toContain(message)
        expect(site.sent).toHaveLength(before + 1)
      }
    })

    test('a stream that breaks is no whole answer and costs nothing', async () => {
      for (const fault of [BREAKS, '[sim cut after=3]']) {
        const follow = async (): Promise<AIMessageChunk> =>
          gather(await clientOf(site.secret, { maxRetries: 0 }).stream(`[sim tokens=60] ${fault}`))
        // On responses this client passes over `response.failed`; that the answer has no status and no usage is all that it shows.
        if (name === 'openai responses') {
          const partial = await follow()
          expect([partial.usage_metadata, partial.response_metadata['status']]).toEqual([undefined, undefined])
        } else await errorOf(follow())
      }
    })
  })
}

test('a 503 is retried until it is answered, and costs once', async () => {
  const answers = Object.entries(CLIENTS).map(async ([name, clientOf]) => {
    const prompt = `For ${name} [sim error=529 times=1]`
    const answer = (await clientOf(site.secret, { maxRetries: 1 }).invoke(prompt)) as AIMessage
    const statuses = site.sent.filter(({ body }) => JSON.stringify(body).includes(prompt)).map(({ status }) => status)
    expect(statuses).toEqual([503, 200])
    bill(answer.usage_metadata)
  })
  await Promise.all(answers)
}, 180_000)

test('the balance fell by exactly what this client was shown', () => site.audit())
