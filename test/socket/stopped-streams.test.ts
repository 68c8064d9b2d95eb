/**
 * Streams that the operator stops: by a key, by an account, by a shutdown, with the right price. Rules: money.md "Charges"; operator.md "Shutdown".
 */

import { afterAll, expect, test } from 'bun:test'
import type { FormatName } from '../../src/core/format.ts'
import { endlessStream, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { endOf, FORMATS, startStage } from '../support/stage.ts'
import { startWatch, until, untilStill } from '../support/until.ts'

const stage = await startStage()
const { gateway, play, askRaw, upstream } = stage
afterAll(() => stage.stop())

const TEXT = 'Forty bytes of text, no more and no less'
const [start = '', open = '', delta = '', ...rest] = textFrames(TEXT, { input_tokens: 20, output_tokens: 1 }, 9)
const STALL = { stall: true } as const
const PRICE = 20n * 3_000_000n + 10n * 15_000_000n
const hasText = (bytes: Uint8Array): boolean => Buffer.from(bytes).includes('Forty')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const UNAVAILABLE = { type: 'server_error', message: 'Service temporarily unavailable; retry later' }

test('a key that is disabled loses its running streams within a second: the error of the format, charged as far as they came', async () => {
  const secret = await gateway.createKey({ id: 'key_disabled' })
  play(nativeStream(start, open, delta, STALL))
  const streams = await Promise.all(FORMATS.map((format) => askRaw({ format, stream: true }, bearer(secret))))
  using bystander = await askRaw({ stream: true })
  await Promise.all([...streams, bystander].map((raw) => raw.until(hasText)))
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_disabled', isActive: false, now: Date.now() })
  using watch = startWatch()
  for (const [index, format] of FORMATS.entries()) {
    const answer = await streams[index]?.response()
    const type = format === 'responses' ? 'server_error' : 'authentication_error'
    expect([format, endOf(format, answer?.text ?? '')]).toMatchObject([format, { message: 'API key is disabled' }])
    if (format !== 'responses') expect(endOf(format, answer?.text ?? '')).toMatchObject({ type })
  }
  expect(watch.ms()).toBeLessThan(1_000)
  await until(() => gateway.holds().length === 1, 'the three settles')
  const receipts = gateway.receipts().filter(({ keyId }) => keyId === 'key_disabled')
  expect(receipts).toHaveLength(FORMATS.length)
  for (const receipt of receipts) expect(receipt).toMatchObject({ outcome: 'cut', costPicos: PRICE, waivedPicos: 0n })
  expect(bystander.isClosed()).toBe(false)
})

test('a disabled key loses also the streams that wait for the upstream, and those that nobody reads', async () => {
  const secret = await gateway.createKey({ id: 'key_early' })
  play([STALL])
  const index = upstream.requests.length
  using waiting = await askRaw({ stream: true }, bearer(secret))
  await upstream.arrival(index)
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_early', isActive: false, now: Date.now() })
  expect((await waiting.response()).status).toBe(401)
  await gateway.idle()
  const other = await gateway.createKey({ id: 'key_unread' })
  play(endlessStream(start, open, delta.replace(TEXT, TEXT.repeat(2_000))))
  using unread = await askRaw({ stream: true }, bearer(other))
  unread.pause()
  const request = await upstream.arrival(index + 1)
  await untilStill(() => request.sentBytes, 'nobody reads')
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_unread', isActive: false, now: Date.now() })
  await gateway.idle()
  expect(gateway.receipts().find(({ keyId }) => keyId === 'key_unread')).toMatchObject({ outcome: 'cut', outputTokens: 32 })
})

test('a used-up limit or balance refuses the next request and cuts none that runs', async () => {
  const usage = { input_tokens: 20, output_tokens: 10_000 }
  const dear = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage }
  for (const [index, format] of FORMATS.entries()) {
    for (const funds of [{ limitUsd: '0.01' }, { balanceUsd: '0.01' }]) {
      const id = `key_${Object.keys(funds)[0]}${index}`
      const secret = await gateway.createKey({ id, ...funds })
      const goOn = Promise.withResolvers<void>()
      play(nativeStream(start, open, delta, { when: goOn.promise }, ...rest))
      using running = await askRaw({ format, stream: true }, bearer(secret))
      await running.until(hasText)
      play(nativeMessage(dear))
      using last = await askRaw({}, bearer(secret))
      expect((await last.response()).status).toBe(200)
      using refused = await askRaw({ format, stream: true }, bearer(secret))
      expect((await refused.response()).json()).toMatchObject({ error: { type: 'insufficient_balance' } })
      goOn.resolve()
      const answer = await running.response()
      expect([format, endOf(format, answer.text)]).toEqual([format, 'complete'])
      const receipt = await stage.receiptOf(answer.header('x-request-id') ?? '')
      expect(receipt).toMatchObject({ outcome: 'complete', inputTokens: 20, outputTokens: 9 })
      expect(gateway.spendOf(id).heldPicos).toBe(0n)
    }
  }
})

test('a shutdown lets streams finish, ends the late ones with an error, waived, and leaves no hold', async () => {
  const drainIn = async (format: FormatName): Promise<void> => {
    await using closing = await startStage({ limits: { drainMs: 3_000 } })
    const goOn = Promise.withResolvers<void>()
    closing.play((_, index) =>
      index === 0 ? nativeStream(start, open, delta, { when: goOn.promise }, ...rest) : nativeStream(start, open, delta, STALL),
    )
    const quick = await closing.askRaw({ format, stream: true })
    await quick.until(hasText)
    const late = await closing.askRaw({ format, stream: true })
    await late.until(hasText)
    const drained = closing.gateway.drain()
    goOn.resolve()
    const [finished, cut] = await Promise.all([quick.response(), late.response()])
    expect([format, endOf(format, finished.text), endOf(format, cut.text)]).toEqual([format, 'complete', UNAVAILABLE])
    await drained
    expect(closing.gateway.holds()).toEqual([])
    expect(closing.gateway.verify()).toEqual([])
    expect(closing.gateway.receipts()).toMatchObject([
      { outcome: 'complete', waivedPicos: 0n },
      { outcome: 'drain', waivedPicos: PRICE },
    ])
  }
  await Promise.all(FORMATS.map(drainIn))
})

test('a shutdown waits for whole answers, also those whose client has left, and refuses what comes later', async () => {
  await using closing = await startStage({ limits: { drainMs: 60_000 } })
  const goOn = Promise.withResolvers<void>()
  const usage = { input_tokens: 20, output_tokens: 9 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage }
  closing.play([{ when: goOn.promise }, ...nativeMessage(message)])
  const asking = closing.ask()
  const gone = await closing.askRaw()
  await closing.upstream.arrival(1)
  gone.reset()
  const drained = closing.gateway.drain()
  // That it has left is heard in the next turn.
  await Bun.sleep(20)
  goOn.resolve()
  expect((await asking).status).toBe(200)
  await drained
  expect(
    closing.gateway
      .receipts()
      .map(({ outcome, costPicos }) => `${outcome} ${costPicos}`)
      .sort(),
  ).toEqual(['complete 195000000', 'leaver 195000000'])
  expect(closing.gateway.holds()).toEqual([])
})
