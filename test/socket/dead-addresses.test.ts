/** An address that says nothing costs one request the time to connect, and the next ones nothing; one that refuses costs nobody anything. Rules: pool.md "Breaker". */

import { afterAll, describe, expect, test } from 'bun:test'
import { nativeStream, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { startFullListener } from '../support/full-listener.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { question } from '../support/stage.ts'
import { startWatch } from '../support/until.ts'

const CONNECT_MS = 150
/** Where nobody should wait for it: sixty connections that are made at once need their time on a busy machine. */
const LONG_CONNECT_MS = 10_000
const well = await startFakeUpstream({ answer: () => nativeStream(...textFrames('Good morning')) })
const full = await startFullListener()
const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
const refusing = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
refusing.stop(true)
const gateways: TestGateway[] = []
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()))
  well.stop()
  full.stop()
  silent.stop(true)
})

async function before(upstreams: readonly string[], connectTimeoutMs = CONNECT_MS) {
  const gateway = await startTestGateway({ upstreams, upstream: { connectTimeoutMs, transport: 'socket' } })
  gateways.push(gateway)
  const secret = await gateway.createKey({ balanceUsd: '1000' })
  /** `waitedMs`: without what others took from the machine meanwhile. */
  const ask = async (): Promise<Readonly<{ status: number; tookMs: number; waitedMs: number }>> => {
    const { path, body } = question({ stream: true })
    const startedMs = performance.now()
    using watch = startWatch()
    const answer = await gateway.post(path, secret, body)
    const text = await answer.text()
    if (answer.status === 200) expect(text).toContain('message_stop')
    return { status: answer.status, tookMs: performance.now() - startedMs, waitedMs: watch.ms() }
  }
  const metric = async (line: string): Promise<number> =>
    Number(
      (await gateway.world.metrics.render())
        .split('\n')
        .find((one) => one.startsWith(line))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  const timeouts = (): Promise<number> => metric('tollgate_upstream_attempts_total{upstream="upstream-0",result="connect timeout"}')
  return { gateway, ask, metric, timeouts }
}

const DEAD = {
  'whose packets are dropped': `http://127.0.0.1:${full.port}`,
  'that never ends the handshake of TLS': `https://127.0.0.1:${silent.port}`,
}

describe('an address', () => {
  for (const [what, url] of Object.entries(DEAD)) {
    test(`${what}: the first request waits for it once and is answered elsewhere, the next one waits for nothing`, async () => {
      const { ask, timeouts } = await before([url, well.url])
      const first = await ask()
      expect(first.status).toBe(200)
      expect([first.tookMs > CONNECT_MS - 10, first.waitedMs < CONNECT_MS + 1_000]).toEqual([true, true])
      // Whoever waits for it leaves a time-out.
      expect([(await ask()).status, await timeouts()]).toEqual([200, 1])
    })

    test(`${what}, alone: one request is 502 after the time to connect, the next at once`, async () => {
      const { gateway, ask, timeouts } = await before([url])
      const first = await ask()
      expect([first.tookMs > CONNECT_MS - 10, first.waitedMs < CONNECT_MS + 1_000]).toEqual([true, true])
      expect([first.status, (await ask()).status, await timeouts()]).toEqual([502, 502, 1])
      expect([gateway.holds(), gateway.receipts(), gateway.attempts()]).toEqual([[], [], []])
    })
  }
})

test('sixty requests that an address refuses at once are all answered elsewhere: what was never sent costs no budget', async () => {
  const { gateway, ask, metric } = await before([`http://127.0.0.1:${refusing.port}`, well.url], LONG_CONNECT_MS)
  const answers = await Promise.all(Array.from({ length: 60 }, ask))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
  expect(await metric('tollgate_upstream_retries_total{how="retried"}')).toBeGreaterThan(3)
  expect(await metric('tollgate_upstream_retries_total{how="budget spent"}')).toBe(0)
  expect(gateway.attempts()).toEqual([])
})
