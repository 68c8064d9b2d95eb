/** `tollgate upstreams list|out|in`: asked of the running gateway, written down as an act of whoever asks. Rules: pool.md "Taking one out"; operator.md "Audit", "Processes". */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { TimerWheel } from '../../src/core/timer-wheel.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
import { UpstreamPool } from '../../src/upstream/pool.ts'
import { SiblingPlace } from '../support/sibling.ts'
import { startThread } from '../support/threads.ts'
import { NOW, Workplace } from './run.ts'

type List = { data: { name: string; out: unknown }[] }

let place: Workplace
let ledger: Ledger
let pool: UpstreamPool
let socket: { close(): void }
beforeEach(async () => {
  place = new Workplace()
  const opened = await openLedger({ path: place.ledgerPath, create: true, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  ledger = opened.ledger
  const nothing = (): void => undefined
  const events = {
    called: nothing,
    retried: nothing,
    placed: nothing,
    changed: nothing,
    otherModel: nothing,
    countDiffers: nothing,
    betasRefused: nothing,
    thinkingLost: nothing,
  }
  pool = new UpstreamPool({ wheel: new TimerWheel(), now: () => NOW, monotonicMs: () => 0, random: () => 0.5, events })
  const upstream = { call: () => Promise.reject(new Error('nobody is asked')) }
  pool.configure(['north', 'south'].map((name, priority) => ({ name, priority, weight: 2, maxConcurrent: 9, upstream })))
  const line = pool.members()[0]?.model('large')
  line?.breaker.failed(0, 'dead')
  pool.members()[0]?.model('small').pace.began(120)
  Object.assign(pool.members()[0] ?? {}, { lastFailure: { cause: 'status 529', model: 'large', at: NOW } })
  pool.members()[0]?.turns.enter('acc_1')
  socket = listenOnOperatorSocket(socketPathOf(place.ledgerPath), ledger, { upstreams: pool })
})
afterEach(async () => {
  socket.close()
  await ledger.close()
  place.remove()
})

test('the list says of each upstream what runs and waits, and of each of its models how it does', async () => {
  expect((await place.json<List>('upstreams', 'list')).data).toEqual([
    {
      name: 'north',
      priority: 0,
      weight: 2,
      in_flight: 1,
      waiting: 0,
      out: null,
      last_failure: { cause: 'status 529', model: 'large', at: new Date(NOW).toISOString() },
      models: [
        { model: 'large', breaker: 'open', probe_in_ms: expect.any(Number), first_event_ms: 0, share: 1 },
        { model: 'small', breaker: 'closed', probe_in_ms: null, first_event_ms: 120, share: 1 },
      ],
    },
    { name: 'south', priority: 1, weight: 2, in_flight: 0, waiting: 0, out: null, last_failure: null, models: [] },
  ] as never)
  const { out } = await place.run('upstreams', 'list')
  expect(out).toMatch(/^north +in +0 +2 +1 +0 +large +open, 0\.9 s +- +1$/m)
  expect(out).toMatch(/^ +small +closed +120 ms +1$/m)
  expect(out).toMatch(/^south +in +1 +2 +0 +0 +- +- +- +-$/m)
})

test('out and in are done once, have their lines in the audit log, and say what they mean', async () => {
  const taken = await place.run('upstreams', 'out', 'north', '--reason', 'vendor maintenance')
  expect(taken.out).toBe('north is out: 1 calls run on to their end, none begins. It stays out over SIGHUP, not over a restart.\n')
  expect(pool.members().map(({ isOut }) => isOut)).toEqual([true, false])
  const out = { by: expect.stringMatching(/^os:./), reason: 'vendor maintenance', since: new Date(NOW).toISOString() }
  expect((await place.json<List>('upstreams', 'list')).data).toMatchObject([{ name: 'north', out }, { out: null }])
  expect((await place.run('upstreams', 'list')).out).toMatch(/^north +out by os:.+: vendor maintenance +0 /m)
  place.now += 1_000
  expect((await place.run('upstreams', 'out', 'north')).out).toBe('north was out already.\n')
  expect((await place.run('upstreams', 'out', 'south')).out).toContain('No upstream is left: requests are 503.')
  expect(await place.json('upstreams', 'in', 'south')).toEqual({ name: 'south', is_out: false, already: false, in_flight: 0, left: 1 })
  expect((await place.run('upstreams', 'in', 'north')).out).toBe('north takes calls again.\n')
  expect(pool.members().map(({ isOut }) => isOut)).toEqual([false, false])
  const audit = await place.json<{ data: unknown[] }>('audit', 'list')
  expect(audit.data).toMatchObject([
    { action: 'setUpstreamOut', target: 'north', address: 'socket', before: { isOut: true }, after: { isOut: false } },
    { target: 'south', after: { isOut: false } },
    { target: 'south', after: { isOut: true } },
    { target: 'north', actor: out.by, reason: 'vendor maintenance', before: { isOut: false }, after: { isOut: true } },
  ])
})

test('an unknown name is refused with those that there are, and what the ledger cannot write down is not done', async () => {
  expect(await place.run('upstreams', 'out', 'west')).toMatchObject({
    code: 2,
    err: 'tollgate: there is no upstream "west"; there are north, south\n',
  })
  await ledger.close()
  expect(await place.run('upstreams', 'out', 'north')).toMatchObject({ code: 3, out: '' })
  expect(pool.members().map(({ isOut }) => isOut)).toEqual([false, false])
})

test('without a gateway there is nobody to ask', async () => {
  socket.close()
  for (const argv of [['list'], ['out', 'north'], ['in', 'north']])
    expect(await place.run('upstreams', ...argv)).toMatchObject({ code: 3, err: expect.stringContaining('no gateway runs') })
})

describe('several processes on Postgres', () => {
  let several: SiblingPlace
  beforeEach(() => {
    several = new SiblingPlace()
    place.env = { LEDGER_URL: 'postgres://me@nowhere/toll' }
    place.write('tollgate.toml', `[ledger]\nurl_env = "LEDGER_URL"\npath = ${JSON.stringify(several.place.path)}\n`)
  })
  afterEach(() => several.remove())

  test('the list names the process of each line, and what is of one upstream stands together', async () => {
    const first = await several.begin(1, { running: 3 })
    await several.begin(2)
    first.pool.takeOut('north', { by: 'os:she', reason: '', at: NOW })
    const { data } = await place.json<List>('upstreams', 'list')
    expect(data).toMatchObject([
      { process: 'web/1', pid: 1, name: 'north', in_flight: 3, out: { by: 'os:she' } },
      { process: 'web/2', pid: 2, name: 'north', in_flight: 0, out: null },
      { process: 'web/1', pid: 1, name: 'south' },
      { process: 'web/2', pid: 2, name: 'south' },
    ] as never)
    const { code, out } = await place.run('upstreams', 'list')
    expect([code, out.split('\n')[0]]).toEqual([0, expect.stringMatching(/^PROCESS +UPSTREAM +STATE /)])
    expect(out).toMatch(/^web\/1 \(1\) +north +out by os:she +0 +1 +3 /m)
    expect(out).toMatch(/^web\/2 \(2\) +north +in +0 +1 +0 /m)
  })

  test('one process alone is listed and told as on a file', async () => {
    await several.begin(1)
    expect(Object.keys((await place.json<List>('upstreams', 'list')).data[0] ?? {})[0]).toBe('name')
    expect((await place.run('upstreams', 'list')).out).toStartWith('UPSTREAM ')
    const done = { name: 'north', is_out: true, already: false, in_flight: 0, left: 1 }
    expect(await place.json('upstreams', 'out', 'north')).toEqual(done)
  })

  test('out and in say in how many processes, and are one act of the audit log', async () => {
    await several.begin(1, { running: 2 })
    await several.begin(2, { running: 1 })
    const { code, out } = await place.run('upstreams', 'out', 'north', '--reason', 'maintenance')
    expect(code).toBe(0)
    expect(out).toStartWith('north is out in 2 processes: 3 calls run on to their end, none begins.')
    expect(out).toContain('not over a restart of all')
    expect((await place.run('upstreams', 'out', 'north')).out).toBe('north was out in 2 processes already.\n')
    const done = { name: 'north', is_out: false, already: false, in_flight: 3, left: 2, processes: 2, unanswered: [] }
    expect(await place.json('upstreams', 'in', 'north')).toEqual(done)
    expect(several.audit.map(({ reason }) => reason)).toEqual(['maintenance', ''])
  })

  test('who does not answer is named, and the exit code says that it is not done everywhere', async () => {
    await several.begin(1)
    several.pretend(2)
    const listed = await place.run('upstreams', 'list')
    expect(listed).toMatchObject({ code: 1, err: 'tollgate: process 2 did not answer: how its upstreams do is missing\n' })
    expect(listed.out).toMatch(/^web\/1 \(1\) +north +in /m)
    const taken = await place.run('upstreams', 'out', 'north', '--json')
    expect(taken).toMatchObject({ code: 1, err: 'tollgate: process 2 did not answer: north may be in there still\n' })
    expect(JSON.parse(taken.out)).toMatchObject({ already: false, processes: 1, unanswered: [2] })
  })

  test('where none runs here that is said', async () => {
    expect(await place.run('upstreams', 'list')).toMatchObject({ code: 3, err: expect.stringContaining('runs here') })
    expect(await place.run('upstreams', 'in', 'north')).toMatchObject({ code: 3, err: expect.stringContaining('runs here') })
  })
})
