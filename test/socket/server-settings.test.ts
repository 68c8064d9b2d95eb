/**
 * Settings for servers of other makers: what of a client's request reaches them, and what follows where they answer with another model, in the native format or in chat.
 * Rules: native.md "Other servers"; pool.md "Failover".
 */

import { describe, expect, test } from 'bun:test'
import type { Echo } from '../../src/core/native/model-echo.ts'
import { nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { chatUpstream } from '../support/gateway.ts'
import { FORMATS, type Stage, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

const UPSTREAM_MODEL_ID = 'vendor-sonnet-1'
const USAGE = { input_tokens: 20, output_tokens: 9 }
const whole = (model: string) =>
  nativeMessage({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: 'Good morning' }],
    stop_reason: 'end_turn',
    usage: USAGE,
  })

const streamed = (model: string) =>
  nativeStream(
    ...textFrames('Good morning', { ...USAGE, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }, 9).map((frame) =>
      frame.replace(/"model":"[^"]*"/, `"model":"${model}"`),
    ),
  )

async function counted({ gateway }: Stage): Promise<number> {
  const text = await gateway.world.metrics.render()
  return Number(/^tollgate_upstream_other_model_total\{upstream="upstream-0"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

test('version and betas of a client are forwarded, unless the upstream is said to take none', async () => {
  const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'token-counting-2024-11-01' }
  for (const [settings, version, beta] of [
    [{}, '2026-10-21', 'token-counting-2024-11-01'],
    [{ forwardsVersions: false }, '2023-06-01', 'token-counting-2024-11-01'],
    [{ forwardsBetas: false }, '2026-10-21', undefined],
  ] as const) {
    await using stage = await startStage({ upstream: settings })
    stage.play(whole(UPSTREAM_MODEL_ID))
    expect((await stage.ask({}, { headers: { ...headers, 'x-api-key': stage.secret } })).status).toBe(200)
    const asked = stage.upstream.requests.at(-1)
    expect([asked?.header('anthropic-version'), asked?.header('anthropic-beta')]).toEqual([version, beta])
  }
})

test('an answer by another model is counted and told once a minute, and its client gets it', async () => {
  await using stage = await startStage({ upstream: { echo: 'alarm' } })
  let expected = 0
  for (const format of FORMATS)
    for (const stream of [false, true]) {
      stage.play(stream ? streamed('deepseek-chat') : whole('deepseek-chat'))
      const answer = await stage.ask({ format, stream })
      expect([format, stream, answer.status, (await answer.text()).includes('Good morning')]).toEqual([format, stream, 200, true])
      expect(await counted(stage)).toBe(++expected)
      expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', inputTokens: 20, outputTokens: 9 })
    }
  stage.play(whole(`${UPSTREAM_MODEL_ID}-20260301`))
  await (await stage.ask()).text()
  expect(await counted(stage)).toBe(expected)
  const alarms = stage.gateway.logLines().filter((line) => line['alarm'] === 'an upstream answers with another model')
  expect(alarms).toMatchObject([{ upstream: 'upstream-0', count: 1, asked: UPSTREAM_MODEL_ID, named: 'deepseek-chat' }])
})

test('where such an answer is to fail, the next upstream is asked, what the first cost is on record, and its client pays nothing for it', async () => {
  for (const format of FORMATS)
    for (const stream of [false, true]) {
      await using stage = await startStage({ upstream: { echo: 'fail' } })
      stage.play(stream ? streamed('deepseek-chat') : whole('deepseek-chat'))
      const answer = await stage.ask({ format, stream })
      expect([format, stream, answer.status]).toEqual([format, stream, 503])
      expect(await answer.text()).not.toContain('deepseek')
      expect(await stage.receiptOf(answer)).toBeUndefined()
      expect(stage.gateway.spendOf('key_1')).toMatchObject({ spentPicos: 0n })
      await until(() => stage.gateway.attempts().length > 0, 'the attempt')
      const told = stream ? {} : { inputTokens: 20, outputTokens: 9 }
      expect(stage.gateway.attempts()).toMatchObject([{ cause: 'other model', ...told }])
    }
})

test('where any model is right, none is counted', async () => {
  await using stage = await startStage({ upstream: { echo: 'any' } })
  stage.play(whole('deepseek-chat'))
  expect((await stage.ask()).status).toBe(200)
  expect(await counted(stage)).toBe(0)
})

describe('a server that speaks chat', () => {
  const chunk = (model: string, more: object): string => `data: ${JSON.stringify({ id: 'chatcmpl-1', model, ...more })}\n\n`
  const usage = { prompt_tokens: 20, completion_tokens: 9 }
  const choice = { message: { role: 'assistant', content: 'Good morning' }, finish_reason: 'stop' }
  const said = (model: string, stream: boolean) =>
    stream
      ? nativeStream(
          chunk(model, { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
          chunk(model, { choices: [{ index: 0, delta: { content: 'Good morning' } }] }),
          chunk(model, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
          chunk(model, { choices: [], usage }),
          'data: [DONE]\n\n',
        )
      : nativeMessage({ id: 'chatcmpl-1', model, choices: [choice], usage })
  const stageOf = (echo: Echo) => {
    const { upstream, ...options } = chatUpstream('')
    return startStage({ ...options, upstreams: [], upstream: { ...upstream, echo } })
  }
  const everyWay = FORMATS.flatMap((format) => [false, true].map((stream) => ({ format, stream })))

  test('is counted and told where it answers with another model, and its client gets the answer', async () => {
    await using stage = await stageOf('alarm')
    let expected = 0
    for (const way of everyWay) {
      stage.play(said('/models/qwen2.gguf', way.stream))
      const answer = await stage.ask(way)
      expect([way, answer.status, (await answer.text()).includes('Good morning')]).toEqual([way, 200, true])
      expect(await counted(stage)).toBe(++expected)
      expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', inputTokens: 20, outputTokens: 9 })
      for (const same of [UPSTREAM_MODEL_ID, `${UPSTREAM_MODEL_ID}-20260301`, '']) {
        stage.play(said(same, way.stream))
        await (await stage.ask(way)).text()
      }
      expect(await counted(stage)).toBe(expected)
    }
    const alarms = stage.gateway.logLines().filter((line) => line['alarm'] === 'an upstream answers with another model')
    expect(alarms).toMatchObject([{ upstream: 'upstream-0', count: 1, asked: UPSTREAM_MODEL_ID, named: '/models/qwen2.gguf' }])
  })

  test('fails where such an answer is to fail: its client pays nothing and sees no word of it', async () => {
    for (const way of everyWay) {
      await using stage = await stageOf('fail')
      stage.play(said('/models/qwen2.gguf', way.stream))
      const answer = await stage.ask(way)
      expect([way, answer.status]).toEqual([way, 503])
      expect(await answer.text()).not.toMatch(/qwen|Good morning/)
      expect(await stage.receiptOf(answer)).toBeUndefined()
      expect(stage.gateway.spendOf('key_1')).toMatchObject({ spentPicos: 0n })
      await until(() => stage.gateway.attempts().length > 0, 'the attempt')
      expect(stage.gateway.attempts()).toMatchObject([
        { cause: 'other model', ...(way.stream ? {} : { inputTokens: 20, outputTokens: 9 }) },
      ])
    }
  })

  test('may name any model where any is right', async () => {
    await using stage = await stageOf('any')
    for (const way of everyWay) {
      stage.play(said('/models/qwen2.gguf', way.stream))
      const answer = await stage.ask(way)
      expect([way, answer.status, (await answer.text()).includes('Good morning')]).toEqual([way, 200, true])
    }
    expect(await counted(stage)).toBe(0)
  })
})
