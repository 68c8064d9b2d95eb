/** Who asks for it is told what an answer cost, exactly and in its usage; nobody else is. Rules: requests.md "Cost of an answer". */

import { afterAll, expect, test } from 'bun:test'
import type { FormatName } from '../../src/core/format.ts'
import { toExactUsdText, toUsd } from '../../src/core/money.ts'
import { nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { eventsOf, FORMATS, startStage } from '../support/stage.ts'

const stage = await startStage()
const { gateway, play } = stage
afterAll(() => stage.stop())

const USAGE = { input_tokens: 7, cache_read_input_tokens: 11, cache_creation_input_tokens: 13, output_tokens: 5 }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'Good morning' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
}

type Json = Record<string, unknown>
/** Every object called `usage` in an answer, at any depth. */
function usagesIn(value: unknown): readonly Json[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(name === 'usage' && typeof inner === 'object' && inner !== null ? [inner as Json] : []),
    ...usagesIn(inner),
  ])
}
const usagesOf = (text: string, stream: boolean): readonly Json[] =>
  stream ? eventsOf(text).flatMap(({ data }) => usagesIn(data)) : usagesIn(JSON.parse(text))

const ask = (format: FormatName, stream: boolean, cost: string | undefined, more: Json = {}): Promise<Response> =>
  stage.ask({ format, stream, more }, { headers: { authorization: `Bearer ${stage.secret}`, ...(cost && { 'x-include-cost': cost }) } })

for (const format of FORMATS) {
  for (const stream of [true, false]) {
    test(`${format}, ${stream ? 'a stream' : 'one piece'}: its last usage says what its receipt says, only where it was asked for`, async () => {
      play(stream ? nativeStream(...textFrames('Good morning', USAGE)) : nativeMessage(MESSAGE))
      // From a mebibyte on a request is read on a thread.
      const long = { [format === 'responses' ? 'instructions' : 'system']: 'x'.repeat(1_100_000) }
      for (const more of format === 'chat' ? [{}, { stream_options: { include_usage: true } }] : [{}, long]) {
        const answer = await ask(format, stream, 'true', more)
        const usages = usagesOf(await answer.text(), stream)
        const receipt = await stage.receiptOf(answer)
        const cost = receipt?.costPicos ?? (0n as never)
        expect(cost).toBeGreaterThan(0n)
        expect(usages.at(-1)).toMatchObject({ cost_usd: toUsd(cost), cost_usd_exact: toExactUsdText(cost) })
        for (const usage of usages.slice(0, -1)) expect(usage).not.toContainKey('cost_usd')
      }
      for (const cost of [undefined, 'false', '1']) {
        const text = await (await ask(format, stream, cost)).text()
        expect(text).not.toContain('cost_usd')
      }
      await gateway.idle()
    })
  }
}

test('where the upstream told nothing the estimate that was charged is shown', async () => {
  const [start = '', open = '', delta = '', close = ''] = textFrames('Good morning', {})
  const silent = 'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
  play(nativeStream(start, open, delta, close, silent, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'))
  for (const format of FORMATS) {
    const answer = await ask(format, true, 'true')
    const usage = usagesOf(await answer.text(), true).at(-1)
    const receipt = await stage.receiptOf(answer)
    expect(receipt?.basis).toBe('estimated')
    expect(usage).toMatchObject({ cost_usd_exact: toExactUsdText(receipt?.costPicos ?? (0n as never)) })
  }
})

test('a last message_delta that is held for its cost does not keep the text before it', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const frames = textFrames('Good morning')
  play(nativeStream(...frames.slice(0, -1), { when: gate }, ...frames.slice(-1)))
  const raw = await stage.askRaw({ stream: true }, { 'x-include-cost': 'true' })
  await raw.until((received) => Buffer.from(received).includes('content_block_stop'))
  expect(Buffer.from(raw.received()).includes('message_delta')).toBe(false)
  open()
  const { text } = await raw.response()
  expect(
    eventsOf(text)
      .map(({ event }) => event)
      .slice(-2),
  ).toEqual(['message_delta', 'message_stop'])
  await gateway.idle()
})
