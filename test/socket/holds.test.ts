/** What is reserved while a request runs, as the ledger keeps it, and what is said of one that cost more. */

import { afterAll, expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { usd } from '../support/ledger.ts'
import { FORMATS, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'
import { makeTestModel } from '../support/world.ts'

const rates = { ...makeTestModel().rates, serverToolUse: usd('0.01') }
const stage = await startStage({ models: [{ rates }] })
const { gateway, play } = stage
afterAll(() => stage.stop())

const frames = textFrames('Good morning', { input_tokens: 20, output_tokens: 1 }, 9)
const WINDOW = 200_000n * 3_000_000n
const OUTPUT = 32n * 15_000_000n

test('tools of the upstream reserve the window once more for each use, and the uses', async () => {
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const plain = { name: 'look', input_schema: { type: 'object' } }
  for (const [tools, amount] of [
    [[{ ...search, max_uses: 2 }, plain], 3n * WINDOW + OUTPUT + 2n * usd('0.01')],
    [[search], 6n * WINDOW + OUTPUT + 5n * usd('0.01')],
    [[{ ...search, max_uses: 40 }], 11n * WINDOW + OUTPUT + 40n * usd('0.01')],
  ] as const) {
    const goOn = Promise.withResolvers<void>()
    play(nativeStream(...frames.slice(0, 3), { when: goOn.promise }, ...frames.slice(3)))
    const answer = await stage.ask({ stream: true, more: { tools } })
    expect(gateway.holds().map(({ amountPicos }) => amountPicos)).toEqual([picos(amount)])
    goOn.resolve()
    await answer.text()
    await gateway.idle()
  }
})

test('context management reserves the body twice and no window', async () => {
  const goOn = Promise.withResolvers<void>()
  const more = { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } }
  play(nativeStream(...frames.slice(0, 3), { when: goOn.promise }, ...frames.slice(3)))
  const answer = await stage.ask({ stream: true, more })
  const sent = stage.upstream.requests.at(-1)?.body.byteLength ?? 0
  expect(gateway.holds().map(({ amountPicos }) => amountPicos)).toEqual([picos(2n * BigInt(sent) * 3_000_000n + OUTPUT)])
  goOn.resolve()
  await answer.text()
  await gateway.idle()
})

test('a receipt above its hold is counted and its log line says by how much; one within it is not', async () => {
  const usage = { input_tokens: 20, output_tokens: 10_000 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage }
  const counted = async (): Promise<number> => {
    const lines = (await gateway.world.metrics.render()).split('\n').filter((line) => line.startsWith('tollgate_cost_over_hold_total{'))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  for (const [index, format] of FORMATS.entries()) {
    play(nativeMessage(message))
    const answer = await stage.ask({ format })
    const receipt = await stage.receiptOf(answer)
    const sent = stage.upstream.requests.at(-1)?.body.byteLength ?? 0
    const hold = BigInt(sent) * 3_000_000n + OUTPUT
    const id = answer.headers.get('x-request-id')
    const lineOf = (): Readonly<Record<string, unknown>> | undefined => gateway.logLines().find((line) => line['request_id'] === id)
    await until(() => lineOf() !== undefined, 'the log line')
    expect(lineOf()).toHaveProperty('cost_over_hold_usd')
    expect([format, receipt?.costPicos]).toEqual([format, usd('0.15006')])
    expect(usd(String(lineOf()?.['cost_over_hold_usd']))).toBe(picos(usd('0.15006') - hold))
    expect(await counted()).toBe(index + 1)
    play(nativeMessage({ ...message, usage: { ...usage, output_tokens: 9 } }))
    const within = await stage.ask({ format })
    await stage.receiptOf(within)
    expect(await counted()).toBe(index + 1)
  }
})
