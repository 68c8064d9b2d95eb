/** The history of nodes that share a ledger: rows of all nodes are added, what is written twice is there once, long spans are read in small parts. Rules: pages.md "History". */

import { expect, setDefaultTimeout } from 'bun:test'
import { HistoryRecorder } from '../../src/core/history/recorder.ts'
import { spanOf } from '../../src/core/history/series.ts'
import { PostgresHistory } from '../../src/history/postgres-store.ts'
import type { HistoryEvent } from '../../src/history/store.ts'
import { postgresPeople } from '../../src/people/postgres/postgres-people.ts'
import { postgres, postgresTest } from '../support/postgres.ts'

setDefaultTimeout(60_000)

const NOW = Date.UTC(2026, 10, 27, 12)

async function world() {
  const people = postgresPeople(await postgres().createDatabase())
  const events: HistoryEvent[] = []
  let asked = 0
  const store = (now = NOW) =>
    new PostgresHistory({
      ask: (text, given) => {
        asked++
        return people.ask(text, given)
      },
      now: () => now,
      onEvent: (event) => events.push(event),
    })
  return { people, events, store, asked: () => asked }
}

postgresTest('nodes that begin at once make the tables once, and their rows are added', async () => {
  const { people, events, store } = await world()
  const nodes = ['a', 'b', 'c'].map((boot) => ({ recorder: new HistoryRecorder({ boot, now: () => NOW }), own: store() }))
  for (const { recorder } of nodes) {
    recorder.ended({ model: 'm', upstream: 'east', accountId: 'acc_1', firstByteMs: 40, durationMs: 90 })
    recorder.ended({ refusal: 'keyInvalid', durationMs: 1 })
  }
  for (let round = 0; round < 2; round++)
    for (const isWritten of await Promise.all(nodes.map(({ recorder, own }) => own.write(recorder.writer, recorder.take(), false))))
      if (round === 1) expect(isWritten).toBe(true)
  const found = await store().read({ span: spanOf(NOW - 600_000, NOW + 60_000, NOW), by: 'upstream' })
  expect(found?.lines.map(({ name, requests }) => [name, requests.reduce((a, b) => a + b, 0)])).toEqual([
    ['east', 3],
    ['none', 3],
  ])
  expect(found?.all.refusals).toEqual({ keyInvalid: (found?.all.requests ?? []).map((count) => count / 2) })
  expect(found?.accounts).toEqual([
    { account: '', requests: 3, refused: 3 },
    { account: 'acc_1', requests: 3, refused: 0 },
  ])
  expect(Math.abs((found?.all.first_byte.find(({ p50_ms }) => p50_ms !== null)?.p50_ms ?? 0) / 40 - 1)).toBeLessThan(0.05)
  expect(events).toEqual([])
  await people.close()
})

postgresTest('a span of many rows is read in parts, and none is read twice', async () => {
  const { people, store, asked } = await world()
  const own = store()
  let now = NOW
  const recorder = new HistoryRecorder({ boot: 'a', now: () => now })
  for (let minute = 0; minute < 130; minute++) {
    for (let model = 0; model < 5; model++) recorder.ended({ model: `m${model}`, durationMs: 1 })
    now += 60_000
  }
  expect(await own.write(recorder.writer, recorder.take(), true)).toBe(true)
  const before = asked()
  const found = await own.read({ span: spanOf(NOW, now, now), by: 'model' })
  expect(found?.all.requests.reduce((a, b) => a + b, 0)).toBe(650)
  expect(asked() - before).toBeGreaterThan(4)
  await people.close()
})

postgresTest('refusals and first bytes of all nodes are added, read in parts, up to as many rows as an answer has', async () => {
  const { people, store, asked } = await world()
  const hour = Math.floor(NOW / 3_600_000)
  for (const boot of ['a', 'b']) {
    const recorder = new HistoryRecorder({ boot, now: () => NOW })
    for (let model = 0; model < 150; model++) recorder.ended({ model: `m${model}`, upstream: 'east', firstByteMs: 40, durationMs: 90 })
    recorder.ended({ refusal: 'keyInvalid', durationMs: 1 })
    expect(await store().write(recorder.writer, recorder.take(), false)).toBe(true)
  }
  const before = asked()
  const question = { fromHour: hour, toHour: hour, by: ['upstream'], step: 'hour', measure: 'refusals', only: {}, isFile: true } as const
  const read = await store().traffic(question)
  expect(read?.found).toMatchObject({
    total: { requests: 302, refused: 2 },
    groups: [
      { ids: ['(none)'], requests: 2, refused: 2, p50_ms: null },
      { ids: ['east'], requests: 300, refused: 0 },
    ],
    rows: [expect.stringContaining('"requests":300')],
  })
  expect(read?.writers.map(({ writer }) => writer)).toEqual(['a', 'b'])
  expect(asked() - before).toBeGreaterThan(2)
  await people.close()
})

postgresTest('minutes older than two days go, hours stay; a database that is away costs a gap', async () => {
  const { people, store, events } = await world()
  const recorder = new HistoryRecorder({ boot: 'a', now: () => NOW })
  recorder.ended({ durationMs: 1 })
  expect(await store().write(recorder.writer, recorder.take(), false)).toBe(true)
  const later = NOW + 3 * 86_400_000
  const own = store(later)
  expect(await own.write(recorder.writer, [], false)).toBe(true)
  const at = async (step: 60 | 3_600) =>
    (
      await own.read({ span: { from: NOW / 1_000 - 3_600, to: NOW / 1_000 + 3_600, step, partS: 3_600 }, by: 'model' })
    )?.all.requests.reduce((a, b) => a + b, 0)
  expect([await at(60), await at(3_600)]).toEqual([0, 1])
  await people.close()
  expect(await own.write(recorder.writer, [], false)).toBe(false)
  expect(await own.read({ span: spanOf(NOW, later, later), by: 'model' })).toBeUndefined()
  expect(events.length).toBe(2)
})
