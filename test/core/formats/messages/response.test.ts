/**
 * A complete native answer goes on as the bytes that came; only the model is named as the client knows it. Rules: messages.md "Pass-through", "What
 * an upstream forgets".
 */

import { describe, expect, test } from 'bun:test'
import type { Call } from '../../../../src/core/format.ts'
import { messagesFormat } from '../../../../src/core/formats/messages/format.ts'
import type { MessagesEcho } from '../../../../src/core/formats/messages/request.ts'
import { readMessage } from '../../../../src/core/native/message.ts'
import { finalUsage } from '../../../../src/core/native/observation.ts'
import { streamOfMessage } from '../../../../src/core/native/stream-of-message.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../../support/golden.ts'
import { inOnePiece } from '../../../support/written.ts'

const CALL: Call<MessagesEcho> = {
  model: GOLDEN_MODEL,
  isStream: false,
  body: new Uint8Array(),
  routing: { conversation: '', modelAt: 0 },
  bounds: GOLDEN_BOUNDS,
  version: '2023-06-01',
  betas: '',
  includesCost: false,
  isStored: true,
  echo: undefined,
}
const SAME_NAME = { ...CALL, model: { ...GOLDEN_MODEL, id: GOLDEN_MODEL.upstreamModel } }
const STAMP = { createdSeconds: 0, requestId: 'req_1' }

function message(text: string) {
  const read = readMessage(Buffer.from(text))
  if (read === undefined) throw new Error('not a message')
  return read
}

const answer = (text: string, call = CALL): string => Buffer.from(messagesFormat.respond(message(text), call, STAMP)).toString('utf8')

const WHOLE = `{ "model":"stella-2-20260301" ,"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"n":12345678901234567890,"x":1.0,"model":"stella-2-20260301"}}],
 "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":30,"service_tier":"standard"}}\n`

describe('a complete answer', () => {
  test('goes on as the same bytes when nothing has to change', () => {
    const whole = message(WHOLE)
    expect(messagesFormat.respond(whole, SAME_NAME, STAMP)).toBe(whole.bytes)
  })

  test('names the model as the client does, and changes no other byte', () => {
    expect(answer(WHOLE)).toBe(WHOLE.replace('"stella-2-20260301"', '"stella-2"'))
  })

  test('does not tell the upstream’s name for the model in its usage either, and leaves content alone that has the same word', () => {
    const upstreamModel = '"stella-2-20260301"'
    const counters = '"input_tokens":5,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0'
    const usage = `{${counters},"iterations":[{"type":"message","model": ${upstreamModel},"input_tokens":5,"output_tokens":7}]}`
    const content = `[{"type":"tool_use","id":"t","name":"f","input":{"model":${upstreamModel}}}]`
    const text = (name: string): string =>
      `{"type":"message","model":${name},"content":${content},"stop_reason":"tool_use","usage":${usage.replace(upstreamModel, name)}}`
    expect(answer(text(upstreamModel))).toBe(text('"stella-2"'))
  })

  test('names the model as the client does also where the upstream has the same name for it and answers with a snapshot of it', () => {
    const call = { ...CALL, model: { ...GOLDEN_MODEL, upstreamModel: GOLDEN_MODEL.id } }
    const snapshot = '"stella-2-20260301"'
    const usage = '"usage":{"input_tokens":5,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0'
    const text = (name: string): string =>
      `{"type":"message","model":${name},"content":[{"type":"text","text":${snapshot}}],"stop_reason":"end_turn",${usage},"iterations":[{"model":${name}}]}}`
    expect(answer(text(snapshot), call)).toBe(text('"stella-2"'))
    const whole = message(text('"stella-2"'))
    expect(messagesFormat.respond(whole, call, STAMP)).toBe(whole.bytes)
  })

  test('keeps the name of another model in its usage: an advisor is not what the client asked for', () => {
    const advisor = '"iterations":[{"type":"advisor_message","model":"opal-1"},{"type":"message","model":"stella-2-20260301"}]'
    const text = `{"type":"message","model":"stella-2-20260301","content":[],"stop_reason":"end_turn","usage":{${advisor}}}`
    expect(JSON.parse(answer(text)).usage.iterations).toMatchObject([{ model: 'opal-1' }, { model: 'stella-2' }])
  })

  test('names no other model in the blocks that tell of a fallback, nor in the usage of it, and leaves the same words elsewhere alone', () => {
    const text = (model: string, to: string): string =>
      `{"type":"message","model":${model},"content":[ {"type":"text","text":"\\"opal-1-20260301\\" [,]{"} ,{"from":{"model": ${model}},"type":"fallback","to":{"x":1,"model":${to}} },{"type":"tool_use","id":"t","name":"f","input":{"to":{"model":"opal-1-20260301"}}}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"iterations":[{"type":"fallback_message","model":${to}}]}}`
    expect(answer(text('"stella-2-20260301"', '"opal-1-20260301"'))).toBe(text('"stella-2"', '"stella-2"'))
    const bare = '{"type":"message","content":[{"type":"fallback","from":"stella-2-20260301","to":"opal-1"}],"stop_reason":"end_turn"}'
    expect(JSON.parse(answer(bare)).content).toEqual([{ type: 'fallback', from: 'stella-2', to: 'stella-2' }])
  })

  test('gets the counters that the upstream left out', () => {
    const start = '{"type":"message","content":[],"stop_reason":"end_turn"'
    expect(answer(`${start},"usage":{"input_tokens":5,"output_tokens":7}}`)).toBe(
      `${start},"usage":{"input_tokens":5,"output_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`,
    )
    const nulls = '"cache_creation_input_tokens":null,"cache_read_input_tokens":null'
    expect(answer(`${start},"usage":{"input_tokens":5,"output_tokens":7,${nulls}}}`)).toContain(nulls.replaceAll('null', '0'))
  })

  test('shows the estimate that is billed when the upstream reported nothing', () => {
    const content = '{"type":"message","content":[{"type":"text","text":"twelve bytes"}],"stop_reason":"end_turn"'
    for (const usage of ['', ',"usage":null', ',"usage":{}', ',"usage":{"input_tokens":-5,"output_tokens":1e99}']) {
      const text = `${content}${usage}}`
      const shown = JSON.parse(answer(text)).usage
      const { usage: billed, isEstimated } = finalUsage(message(text).observation, GOLDEN_BOUNDS)
      expect(isEstimated).toBe(true)
      expect(shown).toMatchObject({ input_tokens: billed.input, output_tokens: billed.output })
      expect(shown).toMatchObject({ input_tokens: 100, output_tokens: 3, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 })
    }
  })
})

test('what is not a native message is not read as one: HTML, a cut body, another object, broken UTF-8', () => {
  for (const text of ['<html>', '{"type":"message","content":[', '{}', '[]', '{"type":"message"}', 'null'])
    expect(readMessage(Buffer.from(text))).toBeUndefined()
  expect(readMessage(Buffer.from([0x7b, 0xff, 0x7d]))).toBeUndefined()
})

test('an answer in one piece to a stream request becomes the stream that it would have been, numbers letter by letter', () => {
  const whole = message(`\ufeff${WHOLE}`)
  const stream = streamOfMessage(whole)
  const transcoder = messagesFormat.transcoder(CALL, STAMP)
  const { now, last } = transcoder.push(stream)
  expect(inOnePiece(now).toString()).toContain('"partial_json":"{\\"n\\":12345678901234567890,\\"x\\":1.0,')
  expect(inOnePiece(last).toString()).toContain('message_stop')
  expect(finalUsage(transcoder.observation, GOLDEN_BOUNDS)).toEqual(finalUsage(whole.observation, GOLDEN_BOUNDS))
  expect(transcoder.observation.stopReason).toBe('tool_use')
})
