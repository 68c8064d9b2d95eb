/**
 * Requests at once never pass the limit of a key or the balance of an account, and leave no hold behind. Rules: keys.md "Rate limits"; money.md
 * "Holds".
 */

import { afterAll, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

const stage = await startStage({ limits: { concurrentRequests: 200 } })
const { gateway, play, askRaw, upstream } = stage
afterAll(() => stage.stop())

const [start = '', ...rest] = textFrames('Hi', { input_tokens: 20, output_tokens: 1 }, 9)
const STALL = { stall: true } as const
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

test('a key has so many requests at once, and the next is let in as soon as one has ended', async () => {
  await using narrow = await startStage({ limits: { concurrentRequests: 2 } })
  narrow.play(nativeStream(start, STALL))
  const running = [await narrow.askRaw({ stream: true }), await narrow.askRaw({ stream: true })]
  await Promise.all(running.map((raw) => raw.until((bytes) => Buffer.from(bytes).includes('message_start'))))
  const refused = await narrow.ask({ stream: true })
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    { error: { type: 'rate_limit_error', message: 'Rate limit exceeded; retry later' } },
  ])
  expect(narrow.gateway.holds()).toHaveLength(2)
  running[0]?.reset()
  await until(() => narrow.gateway.holds().length === 1, 'the leaver to be settled')
  narrow.play(nativeStream(start, ...rest))
  const next = await narrow.ask({ stream: true })
  expect(next.status).toBe(200)
  await next.text()
  running[1]?.reset()
  await narrow.gateway.idle()
  for (const question of [{ stream: true }, {}, { model: 'nobody' }, { more: { max_tokens: 'many' } }])
    for (let n = 0; n < 3; n++) {
      const answer = await narrow.ask(question)
      expect(answer.status).not.toBe(429)
      await answer.text()
    }
})

test('a balance that running requests hold is a reason to wait, one that is used up is not', async () => {
  const secret = await gateway.createKey({ id: 'key_thin', balanceUsd: '0.0001' })
  play(nativeStream(start, STALL))
  const running = await askRaw({ stream: true }, bearer(secret))
  await running.until((bytes) => Buffer.from(bytes).includes('message_start'))
  const waiting = await askRaw({ stream: true }, bearer(secret))
  const told = await waiting.response()
  expect([told.status, told.header('retry-after'), told.header('x-should-retry')]).toEqual([429, '1', undefined])
  expect(told.json()).toMatchObject({ error: { type: 'rate_limit_error' } })
  running.reset()
  await gateway.idle()
  const usage = { input_tokens: 20, output_tokens: 9 }
  play(nativeMessage({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn', usage }))
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) statuses.push((await (await askRaw({}, bearer(secret))).response()).status)
  expect(statuses).toEqual([200, 429, 429])
  const last = await (await askRaw({}, bearer(secret))).response()
  expect(last.header('x-should-retry')).toBe('false')
  expect(last.json()).toMatchObject({ error: { type: 'insufficient_balance', code: 'insufficient_quota' } })
})

test('of a hundred requests at once on a balance for ten, ten are let in, and every cent is accounted for', async () => {
  play(nativeStream(start, STALL))
  const probe = await askRaw({ stream: true })
  await probe.until((bytes) => Buffer.from(bytes).includes('message_start'))
  const [hold] = gateway.holds()
  probe.reset()
  await gateway.idle()
  const amountPicos = hold?.amountPicos ?? 0n
  // USD with six decimals: rounded up, so that the tenth still fits and the eleventh does not.
  const micros = (10n * amountPicos) / 1_000_000n
  const secret = await gateway.createKey({ id: 'key_ten', balanceUsd: `0.${String(micros).padStart(6, '0')}` })
  const before = upstream.requests.length
  const clients = await Promise.all(Array.from({ length: 100 }, () => askRaw({ stream: true }, bearer(secret))))
  const answers = await Promise.all(
    clients.map(async (raw) => {
      const bytes = await raw.until(
        (some) => Buffer.from(some).includes('message_start') || Buffer.from(some).includes('rate_limit_error'),
        20_000,
      )
      return Buffer.from(bytes).toString().slice(9, 12)
    }),
  )
  expect(answers.filter((status) => status === '200')).toHaveLength(10)
  expect(answers.filter((status) => status === '429')).toHaveLength(90)
  expect(upstream.requests.length - before).toBe(10)
  expect(gateway.spendOf('key_ten').heldPicos).toBe(10n * amountPicos)
  const metrics = await gateway.world.metrics.render()
  expect(metrics).toContain('\ntollgate_holds 10\n')
  expect(Number(/\ntollgate_held_usd (\S+)\n/.exec(metrics)?.[1])).toBeCloseTo(Number(10n * amountPicos) / 1e12, 6)
  const receipts = await stage.receiptsOf(async () => {
    for (const raw of clients) raw.reset()
    await gateway.idle()
  })
  expect(receipts).toHaveLength(10)
  const after = await gateway.world.metrics.render()
  expect(Number(/\ntollgate_ledger_commit_seconds_count (\d+)\n/.exec(after)?.[1])).toBeGreaterThan(0)
  expect(Number(/\ntollgate_ledger_wal_bytes (\d+)\n/.exec(after)?.[1])).toBe(statSync(`${gateway.ledgerPath}-wal`).size)
  expect(after).toContain('\ntollgate_spill_bytes 0\n')
  const spentPicos = receipts.reduce((sum, { costPicos }) => sum + costPicos, 0n)
  expect([spentPicos, gateway.spendOf('key_ten')]).toEqual([10n * (20n * 3_000_000n + 15_000_000n), { spentPicos, heldPicos: 0n }])
}, 180_000)
