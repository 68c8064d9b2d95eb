/** `tollgate upstreams list|out|in`: asked of the running gateway, written down as an act of whoever asks. Rules: pool.md "Taking one out"; operator.md "Audit". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Wheel } from '../../src/core/wheel.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { listenOnOperatorSocket, socketPathOf } from '../../src/operator/operator-socket.ts'
import { UpstreamPool } from '../../src/upstream/pool.ts'
import { NOW, startThread, Workplace } from './run.ts'

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
  const events = { called: nothing, retried: nothing, placed: nothing, changed: nothing }
  pool = new UpstreamPool({ wheel: new Wheel(), now: () => NOW, monotonicMs: () => 0, random: () => 0.5, events })
  const upstream = { call: () => Promise.reject(new Error('nobody is asked')) }
  pool.configure(['north', 'south'].map((name, priority) => ({ name, priority, weight: 2, maxConcurrent: 9, upstream })))
  const line = pool.members()[0]?.line('large')
  line?.breaker.failed(0, { kind: 'dead' })
  pool.members()[0]?.line('small').pace.began(120)
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
