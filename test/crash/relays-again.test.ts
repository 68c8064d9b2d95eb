/**
 * Sets of `serve --processes N` on one file, one after another, as an upgrade on SQLite is: the old one ends before the next begins, whatever number each has and however it ended. And
 * a ledger process that stood still. Rules: processes.md "Relays", "Death"; operator.md "Upgrade".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { until } from '../support/until.ts'
import { type GatewayProcess, type Key, Place } from './process.ts'
import { expectBooked, isAlive, isHolding, Load, linesOf, pidOf } from './relay-load.ts'

setDefaultTimeout(240_000)

let place: Place
let key: Key
beforeEach(async () => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n[limits]\nrequests_per_minute = 100000\n')
  key = await place.createKey()
})
afterEach(() => place.remove())

const serve = (count: number): Promise<GatewayProcess> => place.serve({ args: ['--processes', String(count)] })
/** What a set leaves beside the ledger when it has ended. */
const leftovers = (): readonly string[] =>
  readdirSync(dirname(place.ledgerPath)).filter((name) => /\.(?:sock|relays|pages|taken)$|-.*\.spill$/.test(name))

test('one set is replaced by another under load, with more or fewer relays or none: no stream is cut, and all of it is charged once', async () => {
  const seen = new Set<string>()
  for (const count of [3, 1, 2]) {
    const gateway = await serve(count)
    const load = new Load(gateway.url, key.key)
    const running = load.run(12)
    await until(() => load.whole.size > 20, 'clients are answered')
    gateway.signal('SIGTERM')
    await gateway.said('"draining"')
    load.isOver = true
    await running
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect([count, load.cut]).toEqual([count, 0])
    expect([count, leftovers()]).toEqual([count, []])
    for (const id of load.whole) seen.add(id)
    expectBooked(place, seen)
  }
  await place.verify()
})

test('after all processes of a set were killed at once the next one has what clients saw, holds nothing of theirs, and goes on', async () => {
  const seen = new Set<string>()
  for (const count of [3, 2, 1, 3]) {
    const gateway = await serve(count)
    const load = new Load(gateway.url, key.key)
    const running = load.run(12)
    await until(() => load.whole.size > 10, 'clients are answered')
    const pids = count === 1 ? [] : Array.from({ length: count + 1 }, (_, index) => pidOf(gateway, index))
    gateway.signal('SIGKILL')
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    load.isOver = true
    await Promise.all([running, gateway.exited])
    await until(() => !pids.some(isAlive), 'they are gone')
    for (const id of load.whole) seen.add(id)
  }
  const gateway = await serve(2)
  expect(await isHolding(place)).toBe(false)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, seen)
  await place.verify()
})

/** Until relays keep the ends of streams, and clients have these ends, although the ledger process says nothing. */
async function keptByRelays(gateway: GatewayProcess, { whole: { size: seen }, whole }: Load): Promise<void> {
  await until(() => linesOf(gateway).some(({ fault = '' }) => fault.includes('keeps the ends of requests')), 'relays keep ends')
  await until(() => whole.size > seen, 'clients have their ends')
}

/** Longer than it waits for a relay of which it hears nothing. */
const STOOD_STILL_MS = 12_000

test('a ledger process that stood still takes none of its relays for silent: they admit nothing meanwhile, cut no stream, and go on with it', async () => {
  const gateway = await serve(2)
  const load = new Load(gateway.url, key.key)
  const running = load.run(8)
  await until(() => load.whole.size > 10, 'clients are answered')
  const pids = [0, 1, 2].map((index) => pidOf(gateway, index))
  const relays = linesOf(gateway).flatMap(({ notice, operator_url }) => (notice === 'listening' ? [operator_url] : []))
  const areReady = (): Promise<boolean[]> => Promise.all(relays.map(async (url) => (await fetch(`${url}/readyz`)).ok))
  process.kill(pids[0] ?? 0, 'SIGSTOP')
  try {
    const stoodStill = Bun.sleep(STOOD_STILL_MS)
    await until(async () => !(await areReady()).includes(true), 'nothing new is admitted')
    await keptByRelays(gateway, load)
    await stoodStill
    const late = new Load(gateway.url, key.key)
    await Promise.all([late.run(4), until(() => late.refused.length > 4, 'new requests are refused').finally(() => (late.isOver = true))])
    expect([late.whole.size, late.broken, new Set(late.refused)]).toEqual([0, 0, new Set([503])])
  } finally {
    process.kill(pids[0] ?? 0, 'SIGCONT')
  }
  const seen = load.whole.size
  await until(() => load.whole.size > seen + 20, 'clients are answered again')
  load.isOver = true
  await running
  await until(async () => !(await isHolding(place)), 'nothing is held')
  expect([0, 1, 2].map((index) => pidOf(gateway, index))).toEqual(pids)
  expect(linesOf(gateway).filter(({ fault = '' }) => fault.includes('is not heard of'))).toEqual([])
  expect(load.cut).toBe(0)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, load.whole)
  await place.verify()
})

test('a ledger process that is killed while it stands still, and after relays have kept ends, leaves each charged once', async () => {
  const gateway = await serve(2)
  const load = new Load(gateway.url, key.key)
  const running = load.run(8)
  await until(() => load.whole.size > 10, 'clients are answered')
  const pid = pidOf(gateway, 0)
  process.kill(pid, 'SIGSTOP')
  await keptByRelays(gateway, load)
  process.kill(pid, 'SIGKILL')
  const seen = load.whole.size
  await until(() => load.whole.size > seen + 20, 'clients are answered again')
  load.isOver = true
  await running
  await until(async () => !(await isHolding(place)), 'nothing is held')
  expect(load.cut).toBe(0)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expect(leftovers()).toEqual([])
  expectBooked(place, load.whole)
  await place.verify()
})

test('relays that end while the ledger process stands still do not wait for it, and what they kept is charged by the next set', async () => {
  const gateway = await serve(2)
  const load = new Load(gateway.url, key.key)
  const running = load.run(8)
  await until(() => load.whole.size > 10, 'clients are answered')
  const [main = 0, ...relays] = [0, 1, 2].map((index) => pidOf(gateway, index))
  process.kill(main, 'SIGSTOP')
  gateway.signal('SIGTERM')
  load.isOver = true
  await running
  await until(() => !relays.some(isAlive), 'the relays have ended')
  process.kill(main, 'SIGKILL')
  await gateway.exited
  const again = await serve(2)
  expect(await isHolding(place)).toBe(false)
  again.signal('SIGTERM')
  expect(await again.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, load.whole)
  await place.verify()
})
