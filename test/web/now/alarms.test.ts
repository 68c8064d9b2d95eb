/** Every alarm of the code has words that say what to do, and what stands at this moment is among them, the urgent first. Rules: pages.md "Alarms of the console". */

import { expect, test } from 'bun:test'
import { alarmsNow, LOG_ALARMS } from '../../../src/web/now/alarms.ts'
import type { NowDocument } from '../../../src/web/now/document.ts'

const WELL: Omit<NowDocument, 'alarms'> = {
  at: '2026-11-22T00:00:00.000Z',
  version: '0.1.0',
  uptime_s: 1,
  is_draining: false,
  is_simulated: false,
  requests: { in_flight: 0, streams: 0, ended: 0, last_second: 0, refused: 0, refusals: [] },
  first_byte: { answers: 0, p50_ms: null, p99_ms: null },
  calls: { answered: 0, failed: 0, retried: 0 },
  upstreams: [
    { name: 'north', is_out: false, in_flight: 1, waiting: 0, breaker: 'closed', broken: [], first_event_ms: null, slow: [] },
    { name: 'south', is_out: false, in_flight: 0, waiting: 0, breaker: 'closed', broken: [], first_event_ms: null, slow: [] },
  ],
  ledger: {
    is_writable: true,
    is_sound: true,
    commit_p50_ms: 1,
    commit_p99_ms: 3,
    group_size: 1,
    spill_bytes: 0,
    wal_bytes: 4_000_000,
    holds: 0,
    held_usd: '0',
    differences: [],
    promise: '',
  },
  today: { requests: 0, charged_usd: '0', waived_usd: '0', estimated_usd: '0', cache_lost_usd: '0', thinking_lost: 0 },
  process: { memory_bytes: 1, descriptors: 10, descriptors_max: 1_000, disk_free_bytes: 5e9, disk_bytes: 1e10 },
}
const [NORTH, SOUTH] = WELL.upstreams
const ids = (now: Partial<NowDocument>): readonly string[] => alarmsNow({ ...WELL, ...now }, []).map(({ id }) => id)

test('each alarm that the code tells has words of its own', async () => {
  const told = new Set(['upstream'])
  for await (const path of new Bun.Glob('src/**/*.ts').scan('.'))
    for (const [, what = ''] of (await Bun.file(path).text()).matchAll(/\balarm\(\s*'([^']+)'/g)) told.add(what)
  expect(told.size).toBeGreaterThan(10)
  expect(Object.keys(LOG_ALARMS).toSorted()).toEqual([...told].toSorted())
})

test('a gateway that is well raises nothing; what does not hold is named, the urgent first', () => {
  expect(ids({})).toEqual([])
  if (NORTH === undefined || SOUTH === undefined) throw new Error('two upstreams are needed')
  const { ledger, process } = WELL
  expect(ids({ ledger: { ...ledger, is_writable: false, spill_bytes: 9, is_sound: false } })).toEqual(['damaged', 'unwritable', 'spill'])
  expect(ids({ ledger: { ...ledger, wal_bytes: 3e8, commit_p99_ms: 501 } })).toEqual(['wal', 'slowCommits'])
  expect(ids({ ledger: { ...ledger, differences: ['prices: x on a (lane 0); y on b (lane 1)'] } })).toEqual(['differ'])
  expect(ids({ upstreams: [{ ...NORTH, is_out: true }, SOUTH] })).toEqual(['out north'])
  expect(ids({ upstreams: [{ ...NORTH, breaker: 'open', broken: ['large'] }, SOUTH] })).toEqual(['broken north'])
  expect(
    ids({
      upstreams: [
        { ...NORTH, waiting: 2 },
        { ...SOUTH, is_out: true },
      ],
    }),
  ).toEqual(['waiting north', 'out south'])
  expect(ids({ upstreams: [{ ...NORTH, is_out: true }] })).toEqual(['noneLeft', 'out north'])
  expect(ids({ process: { ...process, descriptors: 801 } })).toEqual(['descriptors'])
  expect(ids({ process: { ...process, disk_free_bytes: 5e8 } })).toEqual(['disk'])
  expect(ids({ is_draining: true, is_simulated: true })).toEqual(['draining', 'simulator'])
})

test('what the log told more than an hour ago is shown and no more urgent', () => {
  const lastAt = Date.parse(WELL.at) - 3_600_000
  const urgent = (at: number) =>
    alarmsNow(WELL, [{ what: 'ledger', count: 1, firstAt: at, lastAt: at, detail: '' }]).map(({ is_urgent }) => is_urgent)
  expect([urgent(lastAt + 1), urgent(lastAt)]).toEqual([[true], [false]])
})

test('what is not known raises nothing', () => {
  const process = { memory_bytes: 1, descriptors: null, descriptors_max: null, disk_free_bytes: null, disk_bytes: null }
  expect(ids({ process, ledger: { ...WELL.ledger, wal_bytes: null, commit_p99_ms: null } })).toEqual([])
})

test('what the log told stands with its count and times, also where nobody has words for it', () => {
  const shown = alarmsNow(WELL, [
    { what: 'ledger', count: 3, firstAt: 0, lastAt: Date.parse(WELL.at), detail: 'fault: x' },
    { what: 'something new', count: 1, firstAt: 0, lastAt: 0, detail: '' },
  ])
  expect(shown).toMatchObject([
    {
      id: 'ledger',
      is_urgent: true,
      count: 3,
      first_at: '1970-01-01T00:00:00.000Z',
      last_at: WELL.at,
      detail: 'fault: x',
    },
    { title: 'something new', todo: 'Read the log line of this time.' },
  ])
})
