/**
 * A model behind Bedrock's InvokeModel is sold as any other: three formats, whole and streamed, billed exactly, its errors by the table. The simulator speaks the
 * door. Rules: native.md "Binary frames"; faults.md "Before the first byte", "In a stream".
 */

import { afterAll, expect, test } from 'bun:test'
import { makeSimulatedDoor } from '../../src/simulator/doors/door.ts'
import { startTestGateway } from '../support/gateway.ts'
import { FORMATS, question } from '../support/stage.ts'

const TEXT = 'All lights went out.'
const ID = 'us.anthropic.claude-haiku-4-5-20251001-v1:0'

const simulator = makeSimulatedDoor({ kind: 'bedrock-invoke', tokensPerSecond: 0, apiKey: 'bedrock-key' })
const asked: string[] = []
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch(request) {
    asked.push(new URL(request.url).pathname)
    return simulator(request)
  },
})
const gateway = await startTestGateway({
  upstreams: [server.url.href.slice(0, -1)],
  models: [{ upstreams: [{ name: 'upstream-0', model: ID }] }],
  upstream: {
    door: { kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined },
    apiKey: 'bedrock-key',
    auth: 'bearer',
    echo: 'fail',
  },
})
const secret = await gateway.createKey({ balanceUsd: '100' })
afterAll(async () => {
  await gateway.stop()
  await server.stop(true)
})

const ask = (format: (typeof FORMATS)[number], stream: boolean, prompt: string) => {
  const { path, body } = question({
    format,
    stream,
    more: format === 'responses' ? { input: prompt } : { messages: [{ role: 'user', content: prompt }] },
  })
  return gateway.post(path, secret, body)
}

const differences = async (): Promise<boolean> =>
  (await gateway.world.metrics.render()).includes('tollgate_upstream_count_differences_total{')

test('all formats are answered, whole and streamed, and billed exactly; what the door adds shows nowhere', async () => {
  for (const format of FORMATS)
    for (const stream of [false, true]) {
      const answer = await ask(format, stream, `[sim text="${TEXT}"]`)
      const text = await answer.text()
      expect([format, stream, answer.status, text.includes('All')]).toEqual([format, stream, 200, true])
      expect(text).not.toMatch(/amazon|bedrock/)
      await gateway.idle()
      expect(gateway.receipts().at(-1)).toMatchObject({ outcome: 'complete', usageSource: 'final', outputTokens: 5 })
      expect(asked.at(-1)).toBe(`/model/${encodeURIComponent(ID).replace('%3A', ':')}/${stream ? 'invoke-with-response-stream' : 'invoke'}`)
    }
  expect(gateway.verify()).toEqual([])
  expect(await differences()).toBe(false)
})

test('tokens are counted there', async () => {
  const counted = await gateway.post('/v1/messages/count_tokens', secret, {
    model: 'sonnet',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  expect([counted.status, await counted.json()]).toEqual([200, { input_tokens: expect.any(Number) }])
  expect(asked.at(-1)).toMatch(/^\/model\/anthropic\..*\/count-tokens$/)
})

test('an error before the first byte, as the first frame and inside a stream is its row of the table', async () => {
  for (const [status, whole, message] of [
    [400, 400, 'max_tokens: too many'],
    [429, 503, 'Temporary provider issue on our side, retry in a minute'],
    [500, 502, 'Service temporarily unavailable; retry later'],
    [529, 503, 'Temporary provider issue on our side, retry in a minute'],
  ] as const) {
    const error = `[sim error=${status} message="max_tokens: too many"`
    for (const stream of [false, true]) {
      const answer = await ask('messages', stream, `${error}]`)
      expect([status, stream, answer.status]).toEqual([status, stream, whole])
      expect(await answer.json()).toMatchObject({ error: { message } })
    }
    const late = await (await ask('messages', true, `${error} after=2] [sim tokens=40]`)).text()
    expect(late).toContain('event: content_block_delta')
    expect(late).toContain(`"message":"${message}"`)
    expect(late.match(/event: error/g)).toHaveLength(1)
  }
})

test('a stream that is cut or reset ends in one error, and costs nothing', async () => {
  for (const fault of ['cut after=2', 'reset after=2']) {
    const text = await (await ask('messages', true, `[sim ${fault}] [sim tokens=40]`)).text()
    expect([fault, text.match(/event: error/g)?.length]).toEqual([fault, 1])
    await gateway.idle()
    expect(gateway.receipts().at(-1)).toMatchObject({ outcome: 'fault', costPicos: 0n })
  }
})
