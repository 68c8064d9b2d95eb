/** Protects what every load rests on: the generator counts what the upstream sends, in one piece and as streams, finishes what it began, and names a wrong answer. */

import { afterAll, expect, test } from 'bun:test'
import type { Job } from '../../bench/load/generator.ts'
import { startGenerator, startServer } from '../../bench/load/processes.ts'
import { IN_ONE_PIECE } from '../../bench/load/wire.ts'

const upstream = await startServer('upstream.ts', '0')
const passthrough = await startServer('passthrough.ts', `http://127.0.0.1:${upstream.port}/v1/messages`)
const generator = await startGenerator()
afterAll(() => Promise.all([generator.stop(), passthrough.stop(), upstream.stop()]))

const job = (port: number, more: Partial<Job>): Job => ({
  target: { host: '127.0.0.1', port, path: '/v1/chat/completions', headers: {} },
  plan: IN_ONE_PIECE,
  bodyBytes: 0,
  connections: 3,
  rampMs: 0,
  warmMs: 20,
  windowMs: 100,
  lags: true,
  watch: [],
  drainMs: 20_000,
  ...more,
})

test('answers in one piece, straight from the upstream and through the passthrough', async () => {
  for (const port of [upstream.port, passthrough.port]) {
    const seen = await generator.run(job(port, {}))
    expect(seen).toMatchObject({ failures: 0, events: 0 })
    expect(seen.total.answers).toBeGreaterThanOrEqual(seen.answers)
    expect(seen.total.answers).toBeGreaterThanOrEqual(3)
  }
})

test('streams are whole: every event of every one, paced or as fast as they can be read', async () => {
  for (const plan of [
    { events: 30, perWrite: 1, everyMs: 5 },
    { events: 400, perWrite: 8, everyMs: 0 },
  ]) {
    const seen = await generator.run(job(passthrough.port, { plan }))
    expect(seen).toMatchObject({ failures: 0, failure: '' })
    expect(seen.total.events).toBe(seen.total.answers * plan.events)
    expect(seen.total.answers).toBeGreaterThanOrEqual(3)
  }
})

test('a body that no socket takes at once arrives whole', async () => {
  const seen = await generator.run(job(upstream.port, { bodyBytes: 8_000_000, connections: 1 }))
  expect(seen).toMatchObject({ failures: 0, failure: '' })
  expect(seen.total.answers).toBeGreaterThanOrEqual(1)
})

test('an answer of another status, or with other events than asked for, or without the last one, is a failure with its words', async () => {
  const refusing = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{"error":"too many"}', { status: 429 }) })
  const silent = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}') })
  const error = 'data: {"error":{"type":"server_error"},"type":"error"}\nevent: error\n\n'
  const broken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('data: {"delta":"~1"}\n\n'.repeat(5) + error) })
  const plan = { events: 5, perWrite: 1, everyMs: 5 }
  const seen = [
    await generator.run(job(refusing.port ?? 0, {})),
    await generator.run(job(silent.port ?? 0, { plan })),
    await generator.run(job(broken.port ?? 0, { plan })),
  ]
  await Promise.all([refusing, silent, broken].map((server) => server.stop(true)))
  expect(seen.map(({ failures }) => failures > 0)).toEqual([true, true, true])
  expect(seen[0]?.failure).toContain('429')
  expect(seen[0]?.failure).toContain('too many')
  expect(seen[1]?.failure).toContain('200 with 0 events')
  expect(seen[2]?.failure).toMatch(/200 with 5 events: .*server_error/s)
})
