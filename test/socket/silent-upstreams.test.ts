/** An upstream that takes a stream's request and says nothing keeps nobody waiting until the total limit. Rules: faults.md "Time limits". */

import { afterAll, expect, test } from 'bun:test'
import { EVENT_STREAM, frame, head, nativeStream, type Script, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { endOf, FORMATS, startStage } from '../support/stage.ts'

const never = new Promise<void>(() => undefined)
const SILENCES: Readonly<Record<string, Script>> = {
  'nothing at all': [{ when: never }],
  'a head': [head(200, { ...EVENT_STREAM, 'transfer-encoding': 'chunked' }), { when: never }],
  'a head and pings': nativeStream(frame('ping', {}), { when: never }),
}
const NAMES = Object.keys(SILENCES)

const second = await startFakeUpstream({
  answer: () => nativeStream(...textFrames('Good morning', { input_tokens: 20, output_tokens: 1 }, 9)),
})
// Of each silence and format a model of its own, since the breaker of one must not be that of the next.
const models = [...NAMES.keys()].flatMap((silence) =>
  FORMATS.map((format) => ({
    id: `${format}-${silence}`,
    upstreams: [
      { name: 'upstream-0', model: `${format}-${silence}-first` },
      { name: 'upstream-1', model: `${format}-${silence}-second` },
    ],
  })),
)
const stage = await startStage({
  upstreams: [second.url],
  models: [{ upstreams: [{ name: 'upstream-0', model: 'vendor-sonnet-1' }] }, ...models],
  // Long enough for the second upstream, which shares a busy machine with all others.
  limits: { firstEventTimeoutMs: 1_000 },
  timings: { firstEventWaitMs: 60 },
})
afterAll(async () => {
  await stage.stop()
  second.stop()
})

for (const [index, [name, script]] of Object.entries(SILENCES).entries()) {
  test(`after ${name} the next upstream is asked, though the client has its status`, async () => {
    for (const format of FORMATS) {
      stage.play(script)
      const answer = await stage.ask({ format, stream: true, model: `${format}-${index}` })
      expect(answer.status).toBe(200)
      expect(endOf(format, await answer.text())).toBe('complete')
      const receipt = await stage.receiptOf(answer)
      expect(receipt).toMatchObject({ outcome: 'complete', outputTokens: 9, upstream: { name: 'upstream-1' } })
      expect(stage.gateway.receipts().filter(({ requestId }) => requestId === receipt?.requestId)).toHaveLength(1)
    }
  })
}

test('where no other is left the silence is an error inside the stream, and costs nothing', async () => {
  for (const format of FORMATS) {
    stage.play([{ when: never }])
    const answer = await stage.ask({ format, stream: true })
    expect(endOf(format, await answer.text())).toMatchObject({ type: 'server_error', message: 'Service timed out; retry later' })
    expect(await stage.receiptOf(answer)).toBeUndefined()
  }
  expect(stage.gateway.verify()).toEqual([])
})
