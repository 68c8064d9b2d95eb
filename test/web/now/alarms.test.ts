/** Every alarm of the code has words that say what to do, and what stands at this moment is among them, the urgent first. Rules: pages.md "Alarms of the console". */

import { expect, test } from 'bun:test'
import { incidentWords } from '../../../src/web/console/pages/now.words.ts'
import { alarmsNow, LOG_ALARMS } from '../../../src/web/now/alarms.ts'
import type { NowDocument } from '../../../src/web/now/document.ts'
import { FirstSeen } from '../../../src/web/now/standing.ts'

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
    {
      name: 'north',
      out: null,
      in_flight: 1,
      waiting: 0,
      breaker: 'closed',
      broken: [],
      last_failure: null,
      first_event_ms: null,
      slow: [],
    },
    {
      name: 'south',
      out: null,
      in_flight: 0,
      waiting: 0,
      breaker: 'closed',
      broken: [],
      last_failure: null,
      first_event_ms: null,
      slow: [],
    },
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
const OUT = { since: '2026-11-21T23:00:00.000Z', by: 'person:ann@example.com', reason: 'vendor maintenance' }
const ids = (now: Partial<NowDocument>): readonly string[] => alarmsNow({ ...WELL, ...now }, [], new FirstSeen()).map(({ id }) => id)

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
  expect(ids({ upstreams: [{ ...NORTH, out: OUT }, SOUTH] })).toEqual(['out north'])
  expect(ids({ upstreams: [{ ...NORTH, breaker: 'open', broken: ['large'] }, SOUTH] })).toEqual(['broken north'])
  expect(
    ids({
      upstreams: [
        { ...NORTH, waiting: 2 },
        { ...SOUTH, out: OUT },
      ],
    }),
  ).toEqual(['waiting north', 'out south'])
  expect(ids({ upstreams: [{ ...NORTH, out: OUT }] })).toEqual(['noneLeft', 'out north'])
  expect(ids({ process: { ...process, descriptors: 801 } })).toEqual(['descriptors'])
  expect(ids({ process: { ...process, disk_free_bytes: 5e8 } })).toEqual(['disk'])
  expect(ids({ is_draining: true, is_simulated: true })).toEqual(['draining', 'simulator'])
})

test('an upstream that was taken out says since when, by whom, why and where it is put back', () => {
  if (NORTH === undefined || SOUTH === undefined) throw new Error('two upstreams are needed')
  const told = (upstreams: NowDocument['upstreams']) =>
    alarmsNow({ ...WELL, upstreams }, [], new FirstSeen()).map((one) => incidentWords(one, String))
  expect(told([{ ...NORTH, out: OUT }, SOUTH])).toEqual([
    'north is out since 2026-11-21T23:00:00.000Z, taken out by ann@example.com: vendor maintenance; one call still runs there',
  ])
  expect(told([{ ...NORTH, out: { ...OUT, by: 'os:root', reason: '' } }, SOUTH])).toEqual([
    'north is out since 2026-11-21T23:00:00.000Z, taken out by os:root; one call still runs there',
  ])
  // None is left since the last one went.
  const later = '2026-11-21T23:30:00.000Z'
  const [gone, ...outs] = alarmsNow(
    {
      ...WELL,
      upstreams: [
        { ...NORTH, out: { ...OUT, since: later } },
        { ...SOUTH, out: OUT },
      ],
    },
    [],
    new FirstSeen(),
  )
  expect([gone, ...outs].map((one) => [one?.id, one?.first_at, one?.may_be_older, one?.page?.path])).toEqual([
    ['noneLeft', later, false, '/console/upstreams'],
    ['out north', later, false, '/console/upstreams'],
    ['out south', OUT.since, false, '/console/upstreams'],
  ])
})

test('a breaker that is not closed says what failed last', () => {
  if (NORTH === undefined) throw new Error('an upstream is needed')
  const last_failure = { cause: 'status 500', model: 'large', at: WELL.at }
  const broken = { ...NORTH, breaker: 'open' as const, broken: ['large', 'small'], last_failure }
  expect(alarmsNow({ ...WELL, upstreams: [broken] }, [], new FirstSeen())).toMatchObject([
    { id: 'broken north', detail: 'large, small; last failure: status 500, large' },
  ])
})

test('what nothing dates stands since the first of the looks that followed each other, and may be older', () => {
  const seen = new FirstSeen()
  const start = Date.parse(WELL.at)
  const since = (second: number, isWritable = false) =>
    alarmsNow(
      { ...WELL, at: new Date(start + second * 1_000).toISOString(), ledger: { ...WELL.ledger, is_writable: isWritable } },
      [],
      seen,
    ).map(({ first_at, may_be_older }) => [(Date.parse(first_at) - start) / 1_000, may_be_older])
  expect([since(0), since(1), since(11), since(12, true), since(13), since(14)]).toEqual([
    [[0, true]],
    [[0, true]],
    [[0, true]],
    [],
    [[13, true]],
    [[13, true]],
  ])
  // Nobody looked for longer: whether it stood all the time is not known.
  expect(since(24.1)).toEqual([[24.1, true]])
  const [simulator] = alarmsNow({ ...WELL, is_simulated: true, uptime_s: 60 }, [], seen)
  expect([simulator?.first_at, simulator?.may_be_older]).toEqual(['2026-11-21T23:59:00.000Z', false])
})

test('an incident is a sentence: what stands has since when, what the log told how often and when', () => {
  const told = (count: number) =>
    alarmsNow(WELL, [{ what: 'history', count, firstAt: 0, lastAt: 60_000, detail: 'fault: x' }], new FirstSeen()).map((one) =>
      incidentWords(one, (iso) => iso.slice(11, 16)),
    )
  expect([...told(1), ...told(3)]).toEqual([
    'The charts may get a gap, once, 00:01: fault: x',
    'The charts may get a gap, 3 times since 00:00, last 00:01: fault: x',
  ])
  const [stands] = alarmsNow({ ...WELL, is_draining: true }, [], new FirstSeen())
  expect(stands && incidentWords(stands, (iso) => iso.slice(11, 16))).toBe('The gateway shuts down, seen since 00:00')
})

test('what the log told more than an hour ago is shown and no more urgent', () => {
  const lastAt = Date.parse(WELL.at) - 3_600_000
  const urgent = (at: number) =>
    alarmsNow(WELL, [{ what: 'ledger', count: 1, firstAt: at, lastAt: at, detail: '' }], new FirstSeen()).map(({ is_urgent }) => is_urgent)
  expect([urgent(lastAt + 1), urgent(lastAt)]).toEqual([[true], [false]])
})

test('what is not known raises nothing', () => {
  const process = { memory_bytes: 1, descriptors: null, descriptors_max: null, disk_free_bytes: null, disk_bytes: null }
  expect(ids({ process, ledger: { ...WELL.ledger, wal_bytes: null, commit_p99_ms: null } })).toEqual([])
})

test('what the log told stands with its count and times, also where nobody has words for it', () => {
  const shown = alarmsNow(
    WELL,
    [
      { what: 'ledger', count: 3, firstAt: 0, lastAt: Date.parse(WELL.at), detail: 'fault: x' },
      { what: 'something new', count: 1, firstAt: 0, lastAt: 0, detail: '' },
    ],
    new FirstSeen(),
  )
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
