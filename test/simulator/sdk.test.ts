/** The vendor’s own client takes the simulator for its vendor. Rules: faults.md "Simulator". */

import { afterAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import { WRITE } from './ask.ts'

const server = Bun.serve({ port: 0, fetch: makeSimulator({ tokensPerSecond: 0 }) })
afterAll(() => server.stop(true))

const client = new Anthropic({ apiKey: 'sk-any', baseURL: server.url.origin, maxRetries: 0 })
const base = { model: 'any-model', max_tokens: 2_000 }
const tool = WRITE as Anthropic.Tool

test('the official client creates, streams and counts', async () => {
  const message = await client.messages.create({ ...base, messages: [{ role: 'user', content: 'Hi' }] })
  expect(message.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('Tollgate simulator') })
  const stream = client.messages.stream({ ...base, messages: [{ role: 'user', content: 'Hi [sim thinking]' }] })
  let text = ''
  stream.on('text', (piece) => {
    text += piece
  })
  const final = await stream.finalMessage()
  expect(final.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
  expect(final.content[1]).toMatchObject({ text })
  expect(final.usage.output_tokens).toBeGreaterThan(20)
  expect((await client.messages.countTokens({ model: 'm', messages: [{ role: 'user', content: '12345678' }] })).input_tokens).toBe(5)
})

test('the official client completes a tool loop that writes a file', async () => {
  const files = new Map<string, string>()
  const prompt = 'Write it [sim tool=Write args={"file_path":"/tmp/a.txt","content":"hi","mode":"new"}] [sim tool=Write]'
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }]
  for (let turn = 0; turn < 5; turn++) {
    const answer = await client.messages.stream({ ...base, messages, tools: [tool] }).finalMessage()
    messages.push({ role: 'assistant', content: answer.content })
    if (answer.stop_reason !== 'tool_use') break
    const calls = answer.content.filter((block) => block.type === 'tool_use')
    for (const { input } of calls) files.set((input as Record<string, string>)['file_path']!, (input as Record<string, string>)['content']!)
    messages.push({ role: 'user', content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `wrote ${id}` })) })
  }
  expect(Object.fromEntries(files)).toEqual({ '/tmp/a.txt': 'hi', 'simulated file_path': 'simulated content' })
  expect(messages).toHaveLength(4)
  expect(JSON.stringify(messages[3])).toContain('has read 2 tool results')
})

test('the official client sees faults as its own error classes, and its retries get through', async () => {
  // A plain promise: the client's own kind only settles once it is awaited.
  const create = async (prompt: string, options = {}): Promise<Anthropic.Message> =>
    await client.messages.create({ ...base, messages: [{ role: 'user', content: prompt }] }, options)
  await expect(create('[sim error=429]')).rejects.toBeInstanceOf(Anthropic.RateLimitError)
  await expect(create('[sim toolong]')).rejects.toBeInstanceOf(Anthropic.BadRequestError)
  expect((await create('[sim error=529 times=1 retry_after=0]', { maxRetries: 1 })).stop_reason).toBe('end_turn')
  const streamed = client.messages.stream({ ...base, messages: [{ role: 'user', content: '[sim error=529 after=3]' }] })
  await expect(streamed.finalMessage()).rejects.toThrow('overloaded')
})

test('a client that leaves stops the answer behind the port', async () => {
  let slept = 0
  const isOver = Promise.withResolvers<void>()
  const clock = {
    nowMs: () => performance.now(),
    sleep: async (_: number, signal: AbortSignal) => {
      slept++
      if (!signal.aborted) await Promise.race([Bun.sleep(5), new Promise((resolve) => signal.addEventListener('abort', resolve))])
      if (signal.aborted) isOver.resolve()
    },
  }
  const slow = Bun.serve({ port: 0, fetch: makeSimulator({ tokensPerSecond: 1, clock }) })
  const leave = new AbortController()
  const body = JSON.stringify({ ...base, stream: true, messages: [{ role: 'user', content: '[sim tokens=2000]' }] })
  const response = await fetch(`${slow.url.origin}/v1/messages`, { method: 'POST', body, signal: leave.signal })
  await response.body!.getReader().read()
  leave.abort()
  await isOver.promise
  const sleptThen = slept
  await Bun.sleep(30)
  expect(slept).toBe(sleptThen)
  await slow.stop(true)
})
