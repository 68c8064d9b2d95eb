/** What an upstream's 400 repeats of a request may sound like our account: nobody takes a model from others by it. Rules: faults.md "Whose mistake a 400 is"; pool.md "Busy". */

import { afterAll, expect, test } from 'bun:test'
import { errorAnswer, nativeMessage, type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts'
import { question, startStage } from '../support/stage.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'Good morning' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 3 },
}
/** As the vendor says it: the field's name and the id are the customer's, and stand without quotes. */
const FIELD = 'your account: Extra inputs are not permitted'
const PAIR = 'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: credits. Each needs its result.'
const answer = (request: RecordedRequest) => {
  const { 'your account': field, system } = request.json() as Record<string, unknown>
  const message = field === undefined ? system : FIELD
  return typeof message === 'string'
    ? errorAnswer(400, { type: 'error', error: { type: 'invalid_request_error', message } })
    : [{ delayMs: 50 }, ...nativeMessage(MESSAGE)]
}
const second = await startFakeUpstream({ answer })
const stage = await startStage({ upstreams: [second.url] })
stage.play(answer)
afterAll(async () => {
  await stage.stop()
  second.stop()
})

test('a field and an id that are named like our account put no upstream out for another account', async () => {
  const neighbour = await stage.gateway.createKey({ balanceUsd: '10' })
  const { path, body } = question({})
  for (const more of [{ 'your account': 1 }, { system: PAIR }]) {
    for (let time = 0; time < 3; time++) await stage.ask({ more })
    const answers = await Promise.all(Array.from({ length: 6 }, () => stage.gateway.post(path, neighbour, body)))
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
  }
})
