/**
 * LiteLLM's proxy as an upstream, for real: it stands between two gateways, the second of which answers by the simulator, once over the native format and once
 * over chat completions. `.ci/litellm` installs it. Rules: native.md "Other servers", "Usage".
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { FORMATS, question } from '../support/stage.ts'
import { until } from '../support/until.ts'

const PROGRAM = process.env['TOLLGATE_TEST_LITELLM']
if (PROGRAM === undefined) console.warn('NOT TRIED: LiteLLM (.ci/litellm installs it and runs this file)')

const START_MS = 150_000
const WAYS = ['native', 'chat'] as const
const TEXT = 'All lights went out.'

let behind: TestGateway
let gateway: TestGateway
let secret: string
let proxy: ReturnType<typeof Bun.spawn> | undefined
let folder: string

const settings = (key: string): string =>
  [
    'model_list:',
    `  - { model_name: by-native, litellm_params: { model: anthropic/sonnet, api_base: "${behind.url}", api_key: "${key}" } }`,
    `  - { model_name: by-chat, litellm_params: { model: openai/sonnet, api_base: "${behind.url}/v1", api_key: "${key}" } }`,
    'general_settings: { master_key: sk-litellm }',
    'litellm_settings: { telemetry: false }',
  ].join('\n')

const isUp = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/health/liveliness`)).ok
  } catch {
    return false
  }
}

describe.skipIf(PROGRAM === undefined)('LiteLLM as an upstream', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-litellm-'))
    behind = await startTestGateway()
    const config = join(folder, 'litellm.yaml')
    writeFileSync(config, settings(await behind.createKey({ balanceUsd: '10' })))
    const port = freePort()
    const url = `http://127.0.0.1:${port}`
    const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True', NO_PROXY: '*', no_proxy: '*' }
    proxy = Bun.spawn([PROGRAM ?? '', '--config', config, '--host', '127.0.0.1', '--port', String(port)], {
      env,
      stdout: 'ignore',
      stderr: 'ignore',
    })
    const models = WAYS.map((way) => ({ id: way, upstreams: [{ name: 'upstream-0', model: `by-${way}` }] }))
    gateway = await startTestGateway({
      upstreams: [url],
      models,
      upstream: { apiKey: 'sk-litellm', countTokens: 'estimate', echo: 'fail' },
    })
    secret = await gateway.createKey({ balanceUsd: '10' })
    await until(() => isUp(url), 'the proxy to listen', START_MS)
  }, START_MS + 10_000)

  afterAll(async () => {
    proxy?.kill()
    await proxy?.exited
    await gateway.stop()
    await behind.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const way of WAYS)
    for (const format of FORMATS)
      for (const stream of [false, true])
        test(`${format}, ${stream ? 'streamed' : 'whole'}, over ${way}: the words arrive, and what is charged is what the server behind it counted`, async () => {
          const said = { text: `[sim text="${TEXT}" speed=0]` }
          const more = format === 'responses' ? { input: said.text } : { messages: [{ role: 'user', content: said.text }] }
          const asked = question({ format, stream, model: way, more })
          const before = behind.receipts().length
          const answer = await gateway.post(asked.path, secret, asked.body)
          const text = await answer.text()
          expect([answer.status, stream || text.includes(TEXT)]).toEqual([200, true])
          if (stream) expect(text.replaceAll(/\\"|"/g, '')).toMatch(/All|lights/)
          await gateway.idle()
          await behind.idle()
          const [ours, theirs] = [gateway.receipts().at(-1), behind.receipts().at(-1)]
          expect(behind.receipts()).toHaveLength(before + 1)
          expect(ours).toMatchObject({
            outcome: 'complete',
            usageSource: 'final',
            inputTokens: theirs?.inputTokens,
            outputTokens: theirs?.outputTokens,
          })
          expect(gateway.verify()).toEqual([])
        })

  test('a call of a tool arrives whole, whichever way it went', async () => {
    const tools = [{ name: 'look', input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } }]
    for (const way of WAYS) {
      const messages = [{ role: 'user', content: '[sim tool=look args={"at":"sky"} speed=0]' }]
      const answer = await gateway.post('/v1/messages', secret, { model: way, max_tokens: 400, tools, messages })
      const { content, stop_reason } = (await answer.json()) as { content: { type: string }[]; stop_reason: string }
      expect([stop_reason, content.find(({ type }) => type === 'tool_use')]).toEqual([
        'tool_use',
        expect.objectContaining({ name: 'look', input: { at: 'sky' } }),
      ])
    }
  })
})
