/** The AI SDK with each of its providers works with the gateway as with their vendors, and pays what it is shown, whichever format the upstream speaks. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, type LanguageModel, type LanguageModelUsage, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { BREAKS, billableOf, type ClientGateway, errorOf, MODEL_ID, PARALLEL, startClientGateway, WEATHER } from './client-gateway.ts'

// It warns that it does not know our model; the warnings are about its own defaults.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

let site: ClientGateway

const settings = (apiKey: string) => ({ apiKey, baseURL: site.baseUrl, fetch: site.fetch })

const PROVIDERS: Record<string, (apiKey: string) => LanguageModel> = {
  'openai responses': (apiKey) => createOpenAI(settings(apiKey))(MODEL_ID),
  'openai chat': (apiKey) => createOpenAI(settings(apiKey)).chat(MODEL_ID),
  anthropic: (apiKey) => createAnthropic(settings(apiKey))(MODEL_ID),
  'openai-compatible': (apiKey) =>
    createOpenAICompatible({ name: 'tollgate', supportsStructuredOutputs: true, ...settings(apiKey) })(MODEL_ID),
}

const bill = ({ inputTokens, outputTokens, inputTokenDetails }: LanguageModelUsage) => {
  if (inputTokens === undefined || outputTokens === undefined) throw new Error('no usage was shown')
  const { cacheReadTokens: cacheRead = 0, cacheWriteTokens: cacheWrite = 0, noCacheTokens } = inputTokenDetails
  const billed = billableOf({ prompt: inputTokens, output: outputTokens, cacheRead, cacheWrite })
  expect(noCacheTokens).toBe(billed.input ?? -1)
  site.bill(billed)
}

const toolsInto = (called: Record<string, unknown>) => ({
  add: tool({
    description: 'Adds',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: (args) => {
      Object.assign(called, args)
      return args.a + args.b
    },
  }),
  weather: tool({
    description: 'Tells the weather',
    inputSchema: z.object({ city: z.string() }),
    execute: (args) => {
      Object.assign(called, args)
      return { sky: 'sunny' }
    },
  }),
  now: tool({
    description: 'Tells the time',
    inputSchema: z.object({}),
    execute: () => {
      called['now'] = true
      return 'noon'
    },
  }),
})

describe.each(['native', 'chat'] as const)('before an upstream that speaks %s', (speaks) => {
  beforeAll(async () => {
    site = await startClientGateway(speaks)
  })
  afterAll(() => site.stop())

  for (const [name, modelOf] of Object.entries(PROVIDERS)) {
    describe(name, () => {
      const model = (): LanguageModel => modelOf(site.secret)

      test('text and usage, whole and streamed', async () => {
        const whole = await generateText({ model: model(), prompt: '[sim say=Good day]' })
        expect([whole.text, whole.finishReason]).toEqual(['Good day', 'stop'])
        bill(whole.usage)
        const streamed = streamText({ model: model(), prompt: '[sim text="Zeile\\n😀"]' })
        expect(await streamed.text).toBe('Zeile\n😀')
        expect(await streamed.finishReason).toBe('stop')
        bill(await streamed.usage)
      })

      test('a loop of parallel tool calls completes, whole and streamed', async () => {
        for (const isStream of [false, true]) {
          const called: Record<string, unknown> = {}
          const request = { model: model(), prompt: `${PARALLEL} [sim tool=now]`, tools: toolsInto(called), stopWhen: isStepCount(5) }
          const result = isStream ? streamText(request) : await generateText(request)
          const [text, steps] = [await result.text, await result.steps]
          expect(called).toEqual({ ...WEATHER, now: true })
          expect(text).toContain('has read 3 tool results')
          expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
          for (const { usage } of steps) bill(usage)
        }
      })

      test('structured output fits its schema', async () => {
        const schema = z.object({ name: z.string(), sizes: z.array(z.number()), isReal: z.boolean() })
        const whole = await generateText({ model: model(), prompt: 'Fill it', output: Output.object({ schema }) })
        expect(schema.safeParse(whole.output).success).toBe(true)
        bill(whole.usage)
        const streamed = streamText({ model: model(), prompt: 'Fill it', output: Output.object({ schema }) })
        expect(schema.safeParse(await streamed.output).success).toBe(true)
        bill(await streamed.usage)
      })

      test('a refusal is an APICallError with our text; a 503 is retried', async () => {
        const wrong = await errorOf(generateText({ model: modelOf(site.wrongSecret), prompt: 'Hi' }))
        expect(APICallError.isInstance(wrong) && [wrong.statusCode, wrong.message]).toEqual([401, 'Invalid API key'])
        const poor = await errorOf(generateText({ model: modelOf(site.poorSecret), prompt: 'Hi', maxRetries: 0 }))
        expect(poor.message).toContain('Insufficient balance on this API key. Top up: ')
        const before = site.sent.length
        const answer = await generateText({ model: model(), prompt: `For ${name} [sim error=529 times=2]` })
        expect(site.sent.slice(before).map(({ status }) => status)).toEqual([503, 503, 200])
        bill(answer.usage)
      })

      test('a stream that breaks shows an error and costs nothing', async () => {
        for (const fault of [BREAKS, '[sim cut after=3]']) {
          const errors: unknown[] = []
          const parts: string[] = []
          const result = streamText({
            model: model(),
            prompt: `[sim tokens=60] ${fault}`,
            maxRetries: 0,
            onError: ({ error }) => {
              errors.push(error)
            },
          })
          for await (const part of result.fullStream) parts.push(part.type)
          expect(parts).toContain('error')
          expect(errors).toHaveLength(1)
        }
      })
    })
  }

  test('the balance fell by exactly what this client was shown', () => site.audit())
})
