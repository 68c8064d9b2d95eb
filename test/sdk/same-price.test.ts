/** One prompt has one price, whichever format and transport a client chose. Rules: translation.md "Parity". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type ClientGateway, MODEL_ID, startClientGateway } from './client-gateway.ts'

let site: ClientGateway
beforeAll(async () => {
  site = await startClientGateway()
})
afterAll(() => site.stop())

test('the same prompt costs the same to the last picodollar on messages, chat and responses, streamed or whole', async () => {
  const openai = new OpenAI({ apiKey: site.secret, baseURL: site.baseUrl, fetch: site.fetch })
  const anthropic = new Anthropic({ apiKey: site.secret, authToken: null, baseURL: site.url, fetch: site.fetch })
  const prompts = ['[sim say=Good day]', 'Ünïcode 😀 and a question? [sim tokens=37]', '[sim text="a\\nb"]']
  for (const content of prompts) {
    const messages = [{ role: 'user' as const, content }]
    await anthropic.messages.create({ model: MODEL_ID, max_tokens: 500, messages })
    await anthropic.messages.stream({ model: MODEL_ID, max_tokens: 500, messages }).finalMessage()
    await openai.chat.completions.create({ model: MODEL_ID, max_tokens: 500, messages })
    await openai.chat.completions.stream({ model: MODEL_ID, max_tokens: 500, messages }).finalChatCompletion()
    await openai.responses.create({ model: MODEL_ID, max_output_tokens: 500, input: content })
    await openai.responses.stream({ model: MODEL_ID, max_output_tokens: 500, input: content }).finalResponse()
  }
  await site.gateway.idle()
  const receipts = site.gateway.receipts()
  expect(receipts).toHaveLength(prompts.length * 6)
  for (const [index] of prompts.entries()) {
    const costs = receipts.slice(index * 6, index * 6 + 6).map(({ costPicos }) => costPicos)
    expect(costs[0]).toBeGreaterThan(0n)
    expect(new Set(costs)).toEqual(new Set([costs[0]!]))
  }
  expect(site.gateway.verify()).toEqual([])
})
