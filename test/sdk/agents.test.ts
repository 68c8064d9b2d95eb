/** An agent of the OpenAI Agents SDK works with the gateway as with its vendor, and pays what it is shown. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool, type Usage } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { BREAKS, billableOf, type ClientGateway, errorOf, MODEL_ID, PARALLEL, startClientGateway, WEATHER } from './client-gateway.ts'

setTracingDisabled(true)

let site: ClientGateway
beforeAll(async () => {
  site = await startClientGateway()
})
afterAll(() => site.stop())

const runnerFor = (apiKey: string, useResponses = true): Runner => {
  const openAIClient = new OpenAI({ apiKey, baseURL: site.baseUrl, fetch: site.fetch })
  return new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses }), tracingDisabled: true })
}

const agent = new Agent({ name: 'Helper', instructions: 'Be brief', model: MODEL_ID })

/** The details of this client are a list, one record a request. */
const bill = (usage: Usage) => {
  const sumOf = (name: string) => usage.inputTokensDetails.reduce((sum, details) => sum + (details[name] ?? 0), 0)
  site.bill(
    billableOf({
      prompt: usage.inputTokens,
      output: usage.outputTokens,
      cacheRead: sumOf('cached_tokens'),
      cacheWrite: sumOf('cache_write_tokens'),
    }),
  )
}

test('two turns of text on responses and on chat, whole and streamed', async () => {
  for (const useResponses of [true, false]) {
    const runner = runnerFor(site.secret, useResponses)
    const first = await runner.run(agent, '[sim say=Good day]')
    expect(first.finalOutput).toBe('Good day')
    bill(first.runContext.usage)
    const second = await runner.run(agent, [...first.history, { role: 'user', content: '[sim text="Zeile\\n😀"]' }], { stream: true })
    let text = ''
    for await (const event of second) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') text += event.data.delta
    }
    await second.completed
    expect([text, second.finalOutput]).toEqual(['Zeile\n😀', 'Zeile\n😀'])
    bill(second.runContext.usage)
  }
})

test('a loop of parallel calls completes, whole and streamed, with thinking before it', async () => {
  for (const isStream of [false, true]) {
    const called: Record<string, unknown> = {}
    const add = tool({
      name: 'add',
      description: 'Adds',
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: (args) => {
        Object.assign(called, args)
        return String(args.a + args.b)
      },
    })
    const weather = tool({
      name: 'weather',
      description: 'Tells the weather',
      parameters: z.object({ city: z.string() }),
      execute: (args) => {
        Object.assign(called, args)
        return 'sunny'
      },
    })
    const worker = agent.clone({
      tools: [add, weather],
      modelSettings: { parallelToolCalls: true, reasoning: { effort: 'high', summary: 'auto' }, store: false },
    })
    const runner = runnerFor(site.secret)
    const result = isStream ? await runner.run(worker, PARALLEL, { stream: true }) : await runner.run(worker, PARALLEL)
    if ('completed' in result) await result.completed
    expect(called).toEqual(WEATHER)
    expect(String(result.finalOutput)).toContain('has read 2 tool results')
    expect(result.runContext.usage.requests).toBe(2)
    bill(result.runContext.usage)
  }
})

test('structured output fits its schema', async () => {
  const outputType = z.object({ name: z.string(), sizes: z.array(z.number()), isReal: z.boolean() })
  const result = await runnerFor(site.secret).run(new Agent({ name: 'Filler', model: MODEL_ID, outputType }), 'Fill it')
  expect(outputType.safeParse(result.finalOutput).success).toBe(true)
  bill(result.runContext.usage)
})

test('what must not be retried is sent once; a 503 is retried', async () => {
  for (const [secret, message] of [
    [site.wrongSecret, 'Invalid API key'],
    [site.poorSecret, 'Insufficient balance on this API key'],
  ] as const) {
    const before = site.sent.length
    expect((await errorOf(runnerFor(secret).run(agent, 'Hi'))).message).toContain(message)
    expect(site.sent).toHaveLength(before + 1)
  }
  const before = site.sent.length
  const result = await runnerFor(site.secret).run(agent, 'Please [sim error=529 times=2]')
  expect(site.sent.slice(before).map(({ status }) => status)).toEqual([503, 503, 200])
  bill(result.runContext.usage)
})

test('a stream that breaks throws and costs nothing', async () => {
  for (const useResponses of [true, false]) {
    for (const fault of [BREAKS, '[sim cut after=3]']) {
      const follow = async (): Promise<void> => {
        const result = await runnerFor(site.secret, useResponses).run(agent, `[sim tokens=60] ${fault}`, { stream: true })
        for await (const event of result) expect(event.type).toBeString()
        await result.completed
      }
      await errorOf(follow())
    }
  }
})

test('the balance fell by exactly what this client was shown', () => site.audit())
