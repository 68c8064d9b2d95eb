/** A client sees the end of its answer only when the ledger has it. Rules: money.md "Settle"; requests.md "Terminal events". */

import { afterAll, beforeEach, expect, test } from 'bun:test'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { endOf, eventsOf, FORMATS, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

/** The ledger's settles wait here until they are let through, or are refused as by a full disk. */
let gate = Promise.withResolvers<void>()
/** Its holds wait, once granted, for this. */
let holdGate: Promise<void> | undefined
let holds = 0
let settles = 0
let isBroken = false

const delayed = (ledger: Ledger): Ledger => ({
  hold: async (request) => {
    const answer = await ledger.hold(request)
    holds++
    await holdGate
    return answer
  },
  checkpoint: (...args) => ledger.checkpoint(...args),
  settle: async (settlement) => {
    settles++
    await gate.promise
    if (!isBroken) return ledger.settle(settlement)
    ledger.void(settlement.requestId)
    return 'unavailable'
  },
  void: (...args) => ledger.void(...args),
  findKey: (hash) => ledger.findKey(hash),
  foreignHeads: () => ledger.foreignHeads(),
  keyBalanceOf: (keyId) => ledger.keyBalanceOf(keyId),
  keyBalanceNow: (keyId) => ledger.keyBalanceNow(keyId),
  findIdempotency: (keyId, headerHash) => ledger.findIdempotency(keyId, headerHash),
  findToken: (tokenHash) => ledger.findToken(tokenHash),
  isUsedUp: (keyId) => ledger.isUsedUp(keyId),
  operate: (operation) => ledger.operate(operation),
  onKeyChange: (listener) => ledger.onKeyChange(listener),
  onImport: (listener) => ledger.onImport(listener),
  holds: () => ledger.holds(),
  isWritable: () => ledger.isWritable(),
  mayAdmit: () => ledger.mayAdmit(),
  isSound: () => ledger.isSound(),
  close: () => ledger.close(),
})

const stage = await startStage({ wrapLedger: delayed })
const { gateway, play, ask, askRaw } = stage
afterAll(() => {
  gate.resolve()
  return stage.stop()
})
beforeEach(() => {
  gate = Promise.withResolvers()
  settles = 0
  isBroken = false
})

const frames = textFrames('Good morning', { input_tokens: 20, output_tokens: 1 }, 9)
const ENDS = {
  messages: ['message_stop'],
  chat: ['"finish_reason":"stop"', '"usage":{', '[DONE]'],
  responses: ['response.completed'],
} as const

test('the end of a stream waits for the ledger, its content does not, also when both came in one piece', async () => {
  for (const native of [nativeStream(...frames), nativeStream(frames.join(''))]) {
    for (const format of FORMATS) {
      gate = Promise.withResolvers()
      settles = 0
      play(native)
      const raw = await askRaw({ format, stream: true })
      await raw.until((bytes) => Buffer.from(bytes).includes('Good morning'))
      await until(() => settles > 0, 'the settle')
      const before = Buffer.from(raw.received()).toString()
      for (const end of ENDS[format]) expect([format, end, before.includes(end)]).toEqual([format, end, false])
      expect(gateway.holds()).toHaveLength(1)
      gate.resolve()
      const answer = await raw.response()
      expect(answer.isComplete).toBe(true)
      for (const end of ENDS[format]) expect([format, end, answer.text.includes(end)]).toEqual([format, end, true])
      expect(endOf(format, answer.text)).toBe('complete')
      expect(await stage.receiptOf(answer.header('x-request-id') ?? '')).toMatchObject({ outcome: 'complete', outputTokens: 9 })
      raw.reset()
    }
  }
})

test('a chat stream with a usage chunk holds that back, too', async () => {
  play(nativeStream(...frames))
  const raw = await askRaw({ format: 'chat', stream: true, more: { stream_options: { include_usage: true } } })
  await until(() => settles > 0, 'the settle')
  expect(Buffer.from(raw.received()).toString()).not.toContain('prompt_tokens')
  gate.resolve()
  const { text } = await raw.response()
  expect(eventsOf(text).filter(({ data }) => data['usage'] !== undefined && data['usage'] !== null)).toHaveLength(1)
  raw.reset()
})

test('a whole answer waits for the ledger', async () => {
  const usage = { input_tokens: 20, output_tokens: 9 }
  play(nativeMessage({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage }))
  for (const format of FORMATS) {
    gate = Promise.withResolvers()
    settles = 0
    const raw = await askRaw({ format })
    await until(() => settles > 0, 'the settle')
    expect(raw.received()).toHaveLength(0)
    gate.resolve()
    expect((await raw.response()).status).toBe(200)
    raw.reset()
  }
})

test('an answer that the ledger cannot keep ends with an error instead of its end, and costs nothing', async () => {
  isBroken = true
  gate.resolve()
  play(nativeStream(...frames))
  const { spentPicos } = gateway.spendOf('key_1')
  for (const format of FORMATS) {
    const answer = await ask({ format, stream: true })
    const text = await answer.text()
    expect(text).toContain('Good morning')
    expect(endOf(format, text)).toEqual({ type: 'server_error', message: 'Service temporarily unavailable; retry later' })
    expect(await stage.receiptOf(answer)).toBeUndefined()
  }
  const usage = { input_tokens: 20, output_tokens: 9 }
  play(nativeMessage({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage }))
  for (const format of FORMATS) {
    const answer = await ask({ format })
    expect([format, answer.status]).toEqual([format, 503])
    expect(await stage.receiptOf(answer)).toBeUndefined()
  }
  expect(gateway.spendOf('key_1')).toEqual({ spentPicos, heldPicos: 0n })
})

test('an answer of the responses format that was not kept cannot be referred to', async () => {
  isBroken = true
  gate.resolve()
  play(nativeStream(...frames.map((frame) => frame.replace('msg_1', 'msg_unkept'))))
  const text = await (await ask({ format: 'responses', stream: true })).text()
  const id = /"id":"(resp_[^"]+)"/.exec(text)?.[1]
  isBroken = false
  const next = await ask({ format: 'responses', stream: true, more: { previous_response_id: id } })
  expect([id === undefined, next.status]).toEqual([false, 400])
  await next.text()
})

test('who leaves while the hold is being made holds nothing soon after, and the upstream is not called', async () => {
  gate.resolve()
  const before = stage.upstream.requests.length
  play(nativeStream(...frames.slice(0, 3), { stall: true }))
  for (const format of FORMATS) {
    const { promise, resolve } = Promise.withResolvers<void>()
    holdGate = promise
    holds = 0
    const receipts = await stage.receiptsOf(async () => {
      const raw = await askRaw({ format, stream: true })
      await until(() => holds > 0, 'the hold')
      raw.reset()
      // The gateway learns of it while it waits for the ledger.
      await Bun.sleep(30)
      resolve()
    })
    expect(receipts).toEqual([])
  }
  holdGate = undefined
  expect(stage.upstream.requests.slice(before)).toEqual([])
})
