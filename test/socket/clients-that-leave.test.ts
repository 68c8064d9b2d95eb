/** What a client that goes away pays, whenever it goes: what its upstream had begun to be paid for, exactly, and never what the upstream failed to give. */

import { afterAll, expect, test } from 'bun:test'
import type { FormatName } from '../../src/core/format.ts'
import { errorAnswer, frame, nativeMessage, nativeStream, type Script, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, type ReceiptRow, startTestGateway } from '../support/gateway.ts'
import { connectRaw, type RawConnection, rawRequest } from '../support/raw-client.ts'
import { FORMATS, startStage } from '../support/stage.ts'
import { startWatch, until } from '../support/until.ts'

const stage = await startStage({ timings: { leaverGraceMs: 60, firstEventWaitMs: 20 } })
const { gateway, upstream, play, askRaw } = stage
/** Waits for an answer's beginning no longer than a test can. */
const hasty = await startStage({ timings: { firstEventWaitMs: 20, leaverStartWaitMs: 100 } })
/** Its status waits for the first event longer than the test takes. */
const patient = await startStage({ timings: { firstEventWaitMs: 60_000 } })
/** Waits for final figures longer than a busy machine needs to see that a client has left. */
const lenient = await startStage({ timings: { leaverGraceMs: 60_000 } })
afterAll(() => Promise.all([stage.stop(), hasty.stop(), patient.stop(), lenient.stop()]))

/** Forty bytes of text: ten tokens by estimate. */
const [start = '', open = '', delta = '', close = '', stopReason = '', stop = ''] = textFrames(
  'Forty bytes of text, no more and no less',
  { input_tokens: 20, output_tokens: 1, cache_read_input_tokens: 7 },
  9,
)
const INPUT = 20n * 3_000_000n + 7n * 300_000n
const STALL = { stall: true } as const

const has =
  (text: string) =>
  (bytes: Uint8Array): boolean =>
    Buffer.from(bytes).includes(text)

/** FIN and RST. */
const DEPARTURES: readonly ((raw: RawConnection) => void)[] = [(raw) => raw.halfClose(), (raw) => raw.reset()]

/** Asks, waits for something of the answer, leaves; gives the receipts that came of it once the upstream is let go. */
async function leaving(
  format: FormatName,
  script: Script,
  seen: string | undefined,
  leave: (raw: RawConnection) => void,
): Promise<readonly ReceiptRow[]> {
  play(script)
  const index = upstream.requests.length
  return await stage.receiptsOf(async () => {
    const raw = await askRaw({ format, stream: true })
    const request = await upstream.arrival(index)
    if (seen !== undefined) await raw.until(has(seen))
    leave(raw)
    await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
    raw.reset()
  })
}

/** Until the gateway has seen that a client left, which it hears of in its next turn: it runs on the loop of this test. */
const TURNS_MS = 20

/** Moves after which the client may have left: it waits for the test's word. */
let gone = Promise.withResolvers<void>()
const onceGone = () => {
  gone = Promise.withResolvers()
  return { when: gone.promise } as const
}

test('who leaves before the answer began is waited for until it does, and pays the exact input', async () => {
  const begun = { outcome: 'leaver', usageSource: 'partial', inputTokens: 20, cacheReadTokens: 7, outputTokens: 1, waivedPicos: 0n }
  for (const format of FORMATS) {
    for (const leave of DEPARTURES) {
      for (const seen of [undefined, ': ok']) {
        for (const script of [
          () => [onceGone(), ...nativeStream(start, open, STALL)],
          () => nativeStream(onceGone(), start, STALL),
          // What is written by the time that the upstream is let go is not charged by estimate.
          () => nativeStream(onceGone(), start + open + delta + delta, STALL),
        ]) {
          const [receipt] = await leaving(format, script(), seen, (raw) => {
            leave(raw)
            setTimeout(() => gone.resolve(), TURNS_MS)
          })
          expect(receipt).toMatchObject({ ...begun, costPicos: INPUT + 15_000_000n })
        }
      }
    }
  }
})

test('an answer that does not begin within a minute of its leaver costs nothing, and its upstream is let go', async () => {
  for (const format of FORMATS) {
    for (const script of [[STALL], nativeStream(STALL)] as const) {
      const index = hasty.upstream.requests.length
      hasty.play(script)
      const receipts = await hasty.receiptsOf(async () => {
        const raw = await hasty.askRaw({ format, stream: true })
        const request = await hasty.upstream.arrival(index)
        raw.reset()
        await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
      })
      expect(receipts).toEqual([])
    }
  }
})

test('an upstream that fails for a client that has left before the answer began stays free, begun or not', async () => {
  const error = frame('error', { error: { type: 'overloaded_error', message: 'busy' } })
  for (const format of FORMATS) {
    const failures: readonly (readonly [script: () => Script, receipt?: object])[] = [
      [() => [onceGone(), ...errorAnswer(529, '')]],
      [() => [onceGone(), { reset: true }]],
      [() => nativeStream(onceGone(), error)],
      [() => nativeStream(onceGone(), start + error), { outcome: 'fault', costPicos: 0n, inputTokens: 20 }],
    ]
    for (const [script, receipt] of failures) {
      play(script())
      const index = upstream.requests.length
      const receipts = await stage.receiptsOf(async () => {
        const raw = await askRaw({ format, stream: true })
        await upstream.arrival(index)
        raw.reset()
        await Bun.sleep(TURNS_MS)
        gone.resolve()
        await gateway.idle()
      })
      expect(receipts).toMatchObject(receipt === undefined ? [] : [receipt])
      expect(receipts).toHaveLength(receipt === undefined ? 0 : 1)
    }
  }
})

test('an upstream that refuses us is named in the line of its request and alarms, though the client left before there was a status', async () => {
  for (const format of FORMATS) {
    patient.play([onceGone(), ...errorAnswer(401, '')])
    const index = patient.upstream.requests.length
    const lines = patient.gateway.logLines().length
    const raw = await patient.askRaw({ format, stream: true })
    await patient.upstream.arrival(index)
    raw.reset()
    await Bun.sleep(TURNS_MS)
    gone.resolve()
    await patient.gateway.idle()
    expect(patient.gateway.logLines().slice(lines)).toMatchObject([
      { alarm: 'upstream', key_id: expect.any(String), format, outcome: 'fault', upstream: expect.any(String), cause: 'status 401' },
    ])
  }
})

test('a client that left keeps its place among the key’s requests until the answer began', async () => {
  await using narrow = await startStage({ limits: { concurrentRequests: 1 }, timings: { firstEventWaitMs: 20 } })
  narrow.play(nativeStream(onceGone(), start, STALL))
  const raw = await narrow.askRaw({ stream: true })
  const request = await narrow.upstream.arrival(0)
  raw.reset()
  await Bun.sleep(TURNS_MS)
  expect((await narrow.ask({ stream: true })).status).toBe(429)
  gone.resolve()
  await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
  await narrow.gateway.idle()
  narrow.play(nativeStream(start, open, delta, close, stopReason, stop))
  await until(() => narrow.gateway.receipts().length === 1, 'the receipt')
  const next = await narrow.ask({ stream: true })
  expect([next.status, await next.text()]).toMatchObject([200, expect.stringContaining('Forty')])
})

test('a shutdown does not wait out the minute of a client that has left', async () => {
  await using closing = await startStage({ limits: { drainMs: 100 }, timings: { firstEventWaitMs: 20 } })
  closing.play([STALL])
  const raw = await closing.askRaw({ stream: true })
  await closing.upstream.arrival(0)
  raw.reset()
  await Bun.sleep(TURNS_MS)
  using watch = startWatch()
  await closing.gateway.drain()
  expect(watch.ms()).toBeLessThan(5_000)
  expect([closing.gateway.holds(), closing.gateway.receipts(), closing.gateway.verify()]).toEqual([[], [], []])
})

test('a stream holds the memory of its body only until the upstream answers', async () => {
  const memory = gateway.bodies
  for (const format of FORMATS) {
    play(nativeStream(onceGone(), start, STALL))
    const raw = await askRaw({ format, stream: true })
    await upstream.arrival(upstream.requests.length - 1)
    await raw.until(has(': ok'))
    gone.resolve()
    await raw.until(has('\n\n'))
    await until(() => memory.bytes === 0, 'the memory of the body')
    expect([format, gateway.holds().length]).toEqual([format, 1])
    raw.reset()
    await gateway.idle()
  }
})

test('who leaves after the beginning pays the exact input and what was delivered, marked as an estimate', async () => {
  for (const format of FORMATS) {
    for (const leave of DEPARTURES) {
      const [begun] = await leaving(format, nativeStream(start, STALL), '\n\n', leave)
      expect(begun).toMatchObject({ outcome: 'leaver', costPicos: INPUT + 15_000_000n, waivedPicos: 0n, inputTokens: 20, outputTokens: 1 })
      const [middle] = await leaving(format, nativeStream(start, open, delta, STALL), 'Forty', leave)
      expect(middle).toMatchObject({
        outcome: 'leaver',
        usageSource: 'estimated',
        inputTokens: 20,
        cacheReadTokens: 7,
        outputTokens: 10,
        costPicos: INPUT + 10n * 15_000_000n,
      })
    }
  }
})

test('what the upstream writes after the client has left is not charged by estimate', async () => {
  const more = Array.from({ length: 10 }, () => [{ delayMs: 4 }, delta]).flat()
  for (const format of FORMATS) {
    const raw = await (async () => {
      play(nativeStream(start, open, delta, onceGone(), ...more, STALL))
      return await askRaw({ format, stream: true })
    })()
    const [receipt] = await stage.receiptsOf(async () => {
      await raw.until(has('Forty'))
      raw.reset()
      setTimeout(() => gone.resolve(), TURNS_MS)
    })
    expect(receipt?.outputTokens).toBe(10)
  }
})

test('who leaves after the final figures pays exactly those, also when they arrive within the grace', async () => {
  const exact = { outcome: 'leaver', usageSource: 'final', inputTokens: 20, outputTokens: 9, costPicos: INPUT + 9n * 15_000_000n }
  for (const format of FORMATS) {
    for (const leave of DEPARTURES) {
      const [after] = await leaving(format, nativeStream(start, open, delta, close, stopReason, STALL), 'no less', leave)
      expect(after).toMatchObject(exact)
    }
    lenient.play(nativeStream(start, open, delta, onceGone(), close, stopReason, stop))
    const [within] = await lenient.receiptsOf(async () => {
      const raw = await lenient.askRaw({ format, stream: true })
      await raw.until(has('Forty'))
      raw.reset()
      setTimeout(() => gone.resolve(), TURNS_MS)
    })
    expect(within).toMatchObject(exact)
  }
})

test('who leaves after the end has a complete receipt', async () => {
  play(nativeStream(start, open, delta, close, stopReason, stop))
  for (const format of FORMATS) {
    for (const leave of DEPARTURES) {
      const receipts = await stage.receiptsOf(async () => {
        const raw = await askRaw({ format, stream: true })
        await raw.until(has('\r\n0\r\n\r\n'))
        leave(raw)
      })
      expect(receipts).toHaveLength(1)
      expect(receipts[0]).toMatchObject({ outcome: 'complete', usageSource: 'final', costPicos: INPUT + 9n * 15_000_000n })
    }
  }
})

test('a client that leaves a whole answer leaves it running: it is finished and charged exactly', async () => {
  const usage = { input_tokens: 20, output_tokens: 9 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'x'.repeat(400) }], usage }
  for (const format of FORMATS) {
    for (const leave of DEPARTURES) {
      play([onceGone(), ...nativeMessage({ ...message, stop_reason: 'end_turn' })])
      const index = upstream.requests.length
      const receipts = await stage.receiptsOf(async () => {
        const raw = await askRaw({ format })
        await upstream.arrival(index)
        leave(raw)
        setTimeout(() => gone.resolve(), TURNS_MS)
      })
      expect(receipts).toHaveLength(1)
      expect(receipts[0]).toMatchObject({ usageSource: 'final', outcome: 'leaver', inputTokens: 20, outputTokens: 9 })
      expect(upstream.requests[index]?.abortedAtMs).toBeUndefined()
    }
  }
})

test('a client that leaves while its body is still coming costs nothing and holds nothing', async () => {
  const before = upstream.requests.length
  const receipts = await stage.receiptsOf(async () => {
    const raw = await askRaw({ stream: true }, { 'content-length': '5000' })
    await Bun.sleep(TURNS_MS)
    raw.reset()
    await Bun.sleep(TURNS_MS)
  })
  expect([receipts, upstream.requests.length]).toEqual([[], before])
})

test('a connection answers again after an error and after a stream', async () => {
  const raw = await askRaw({ model: 'nobody' })
  expect((await raw.response()).status).toBe(400)
  play(nativeStream(start, open, delta, close, stopReason, stop))
  const body = JSON.stringify({ model: 'sonnet', max_tokens: 8, stream: true, messages: [{ role: 'user', content: 'Hi' }] })
  const request = `POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: ${stage.secret}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  for (let n = 0; n < 3; n++) {
    await raw.send(request)
    const answer = await raw.response()
    expect([answer.status, answer.isComplete, answer.text.endsWith('{"type":"message_stop"}\n\n')]).toEqual([200, true, true])
  }
  raw.reset()
})

test('200 streams dropped at once are all settled, and the gateway goes on', async () => {
  const secret = await gateway.createKey({ id: 'key_storm', balanceUsd: '1000' })
  play(nativeStream(start, open, delta, STALL))
  const receipts = await stage.receiptsOf(async () => {
    const clients = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        askRaw({ format: FORMATS[index % 3] ?? 'chat', stream: true }, { authorization: `Bearer ${secret}` }),
      ),
    )
    await Promise.all(clients.map((raw) => raw.until(has('Forty'))))
    for (const raw of clients) raw.reset()
    await gateway.idle()
  })
  expect(receipts).toHaveLength(200)
  expect(new Set(receipts.map(({ outcome, costPicos }) => `${outcome} ${costPicos}`))).toEqual(
    new Set([`leaver ${INPUT + 10n * 15_000_000n}`]),
  )
  expect(gateway.spendOf('key_storm')).toEqual({ spentPicos: 200n * (INPUT + 10n * 15_000_000n), heldPicos: 0n })
  await until(() => upstream.connectionsOpened() - upstream.connectionsClosed() < 10, 'the upstream connections to close')
  play(nativeStream(start, open, delta, close, stopReason, stop))
  expect((await (await stage.ask({ stream: true })).text()).endsWith('{"type":"message_stop"}\n\n')).toBe(true)
  expect(gateway.logLines().filter(({ alarm }) => alarm !== undefined)).toEqual([])
}, 180_000)

test('the embedded simulator is let go like any upstream', async () => {
  await using simulated = await startTestGateway({ timings: { leaverGraceMs: 20 } })
  const secret = await simulated.createKey()
  const body = { model: MODEL_ID, max_tokens: 4_000, stream: true, messages: [{ role: 'user', content: 'Tell me a long story, please.' }] }
  const raw = await connectRaw(simulated.url)
  await raw.send(rawRequest('POST', '/v1/messages', { 'x-api-key': secret }, JSON.stringify(body)))
  await raw.until(has('content_block_delta'))
  raw.reset()
  await simulated.idle()
  expect(simulated.receipts()).toMatchObject([{ outcome: 'leaver', waivedPicos: 0n }])
  expect(simulated.verify()).toEqual([])
})
