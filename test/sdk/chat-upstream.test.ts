/**
 * The vendors' own clients before an upstream that speaks chat, in each of its manners: text, thinking that goes back, tools, structured outputs, and a bill to the picodollar.
 * Rules: openai.md "Blocks", "Thinking", "Usage", "Chat answers".
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { CHAT_DIALECTS } from '../../src/simulator/chat-dialects.ts'
import { type ClientGateway, MODEL_ID, startClientGateway } from './client-gateway.ts'

let site: ClientGateway
let openai: OpenAI
let anthropic: Anthropic
beforeAll(async () => {
  site = await startClientGateway('chat')
  openai = new OpenAI({ apiKey: site.secret, baseURL: site.baseUrl, fetch: site.fetch })
  anthropic = new Anthropic({ apiKey: site.secret, authToken: null, baseURL: site.url, fetch: site.fetch })
})
afterAll(() => site.stop())

/** What the receipts say, in the order of the requests. */
async function charged(from: number) {
  await site.gateway.idle()
  return site.gateway.receipts().slice(from)
}

describe.each(CHAT_DIALECTS.map((name) => [name] as const))('an upstream that speaks as %s', (dialect) => {
  const PROMPT = `[sim thinking text="Zeile 漢 \\"q\\"\\n😀 and more words" dialect=${dialect}]`
  const messages = [{ role: 'user' as const, content: PROMPT }]
  const TEXT = 'Zeile 漢 "q"\n😀 and more words'

  test('all three formats say the same text, whole and streamed, and cost the same', async () => {
    const before = site.gateway.receipts().length
    const native = await anthropic.messages.create({ model: MODEL_ID, max_tokens: 500, messages })
    const nativeStream = await anthropic.messages.stream({ model: MODEL_ID, max_tokens: 500, messages }).finalMessage()
    for (const { content, stop_reason } of [native, nativeStream]) {
      expect(content.map(({ type }) => type)).toEqual(['thinking', 'text'])
      expect([content.at(-1), stop_reason]).toMatchObject([{ text: TEXT }, 'end_turn'])
    }
    const chat = await openai.chat.completions.create({ model: MODEL_ID, max_tokens: 500, messages })
    const chatStream = await openai.chat.completions.stream({ model: MODEL_ID, max_tokens: 500, messages }).finalChatCompletion()
    for (const { choices, model } of [chat, chatStream])
      expect([choices[0]?.message.content, choices[0]?.finish_reason, model]).toEqual([TEXT, 'stop', MODEL_ID])
    const responses = await openai.responses.create({ model: MODEL_ID, max_output_tokens: 500, input: PROMPT })
    const responsesStream = await openai.responses.stream({ model: MODEL_ID, max_output_tokens: 500, input: PROMPT }).finalResponse()
    expect([responses.output_text, responsesStream.output_text]).toEqual([TEXT, TEXT])
    const receipts = await charged(before)
    expect(receipts).toHaveLength(6)
    const isEstimated = dialect === 'bedrock'
    expect(new Set(receipts.map(({ usageSource }) => usageSource))).toEqual(new Set([isEstimated ? 'estimated' : 'final']))
    if (!isEstimated) expect(new Set(receipts.map(({ costPicos }) => costPicos)).size).toBe(1)
    expect(site.gateway.verify()).toEqual([])
  })

  test('a tool loop ends, with parallel calls and the thinking that came before them', async () => {
    const add = betaZodTool({
      name: 'add',
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => String(a + b),
    })
    const prompt = `Both [sim thinking dialect=${dialect}] [sim tool=add args={"a":2,"b":3}] [sim tool=add args={"a":5,"b":7}]`
    const runner = anthropic.beta.messages.toolRunner({
      model: MODEL_ID,
      max_tokens: 2_000,
      messages: [{ role: 'user', content: prompt }],
      tools: [add],
      stream: true,
    })
    const final = await runner.runUntilDone()
    expect(final.content.at(-1)).toMatchObject({ type: 'text' })
    expect(JSON.stringify(final.content)).toContain('has read 2 tool results')
    const results: number[] = []
    const chat = openai.chat.completions.runTools({
      model: MODEL_ID,
      stream: true,
      messages: [{ role: 'user', content: prompt }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'add',
            description: 'Adds',
            parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
            parse: JSON.parse,
            function: ({ a, b }: { a: number; b: number }) => {
              results.push(a + b)
              return String(a + b)
            },
          },
        },
      ],
    })
    expect(await chat.finalContent()).toContain('has read 2 tool results')
    expect(results).toEqual([5, 12])
  })
})

test('structured outputs of both vendors fit their schema', async () => {
  const schema = z.object({ name: z.string(), sizes: z.array(z.number()), isReal: z.boolean() })
  const chat = await openai.chat.completions.parse({
    model: MODEL_ID,
    messages: [{ role: 'user', content: 'Fill it' }],
    response_format: zodResponseFormat(schema, 'filled'),
  })
  expect(schema.safeParse(chat.choices[0]?.message.parsed).success).toBe(true)
  const responses = await openai.responses.parse({ model: MODEL_ID, input: 'Fill it', text: { format: zodTextFormat(schema, 'filled') } })
  expect(schema.safeParse(responses.output_parsed).success).toBe(true)
  const native = await anthropic.messages.create({
    model: MODEL_ID,
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Fill it' }],
    output_config: { format: { type: 'json_schema', schema: z.toJSONSchema(schema) as { [name: string]: unknown } } },
  })
  const [block] = native.content
  expect(schema.safeParse(JSON.parse(block?.type === 'text' ? block.text : '')).success).toBe(true)
})

test('counting tokens is 404, since no such server has it', async () => {
  const counting = anthropic.messages.countTokens({ model: MODEL_ID, messages: [{ role: 'user', content: 'Hi' }] })
  expect(
    await counting.then(
      () => 200,
      ({ status }) => status,
    ),
  ).toBe(404)
})
