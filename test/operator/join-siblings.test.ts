/** A process that begins beside others has out what they have out, and the later word counts. Rules: pool.md "Taking one out"; operator.md "Processes". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { orderThroughSockets } from '../../src/operator/ask-gateways.ts'
import { orderEverywhere } from '../../src/operator/order-everywhere.ts'
import { socketPathFor, socketPathOf, socketsOf } from '../../src/operator/socket-files.ts'
import { SiblingPlace } from '../support/sibling.ts'

let place: SiblingPlace
beforeEach(() => {
  place = new SiblingPlace()
})
afterEach(() => place.remove())

const act = { actor: 'os:me', address: 'socket', reason: 'broken' }
const report = (name: string, out: object | null) => ({
  name,
  priority: 0,
  weight: 1,
  running: 0,
  waiting: 0,
  out,
  lastFailure: null,
  models: [],
})

test('it begins with what is out, by whom and why as the latest says, also where only one of them has it out', async () => {
  const first = await place.begin(1)
  const second = await place.begin(2)
  await orderEverywhere(place.place, { upstream: 'north', isOut: true, isNoted: false, act, now: 5 })
  first.pool.takeOut('south', { by: 'os:she', reason: 'slow', at: 9 })
  second.pool.takeOut('north', { by: 'os:she', reason: 'dead', at: 9 })
  const third = await place.begin(3)
  const out = { by: 'os:she', at: 9 }
  expect(third.pool.reports()).toMatchObject([
    { name: 'north', out: { ...out, reason: 'dead' } },
    { name: 'south', out: { ...out, reason: 'slow' } },
  ])
  expect(place.notices).toEqual(Array.from({ length: 2 }, () => 'an upstream is out, as it is in the other processes'))
  expect(place.audit).toHaveLength(1)
})

test('the last of them hands it on, and where all have ended it is forgotten', async () => {
  const first = await place.begin(1)
  first.pool.takeOut('north', { by: 'os:she', reason: '', at: 1 })
  const second = await place.begin(2)
  first.close()
  const third = await place.begin(3)
  expect(third.outs()).toEqual(['north'])
  second.close()
  third.close()
  expect((await place.begin(4)).outs()).toEqual([])
})

test('of an upstream that it does not have it says nothing', async () => {
  const first = await place.begin(1)
  first.pool.takeOut('north', { by: 'os:she', reason: '', at: 1 })
  const second = await place.begin(2, { upstreams: ['south'] })
  expect(second.outs()).toEqual([])
  expect(place.notices).toEqual([])
})

test('an order that comes while it asks counts after what the others say', async () => {
  const { promise: mayAnswer, resolve } = Promise.withResolvers<void>()
  const old = JSON.stringify({ node: 'web/1', reports: [report('north', { by: 'os:she', reason: '', at: 1 })] })
  const asked = Promise.withResolvers<void>()
  place.pretend(1, async () => {
    asked.resolve()
    await mayAnswer
    return old
  })
  const beginning = place.begin(2)
  await asked.promise
  const [own] = socketsOf(place.place).filter(({ pid }) => pid === 2)
  if (own === undefined) throw new Error('it does not listen before it asks')
  const ordered = orderThroughSockets([own], { upstream: 'north', isOut: false, isNoted: true, act, now: 7 })
  await Bun.sleep(50)
  resolve()
  expect(await ordered).toMatchObject([{ said: { result: 'done', isNew: true } }])
  expect((await beginning).outs()).toEqual([])
})

test('one that hangs keeps it from its beginning for a moment, and is named', async () => {
  place.pretend(1)
  await place.begin(2)
  expect(place.notices).toEqual(['another process of this place did not say which upstreams are out'])
})

test('sockets of the dead are taken away; those of the living are for their owner only and stay', async () => {
  const dead = place.leaveDead(1)
  expect(statSync(dead).isSocket()).toBeTrue()
  await place.begin(2)
  await place.begin(3)
  expect(existsSync(dead)).toBeFalse()
  expect(socketsOf(place.place).map(({ path, pid }) => [pid, statSync(path).mode & 0o777])).toEqual([
    [2, 0o600],
    [3, 0o600],
  ])
})

test('each process has a name of its own on Postgres, within what the kernel takes, and on a file each relay, beside the process that writes', () => {
  const file = { kind: 'sqlite', path: '/srv/tollgate.db' } as const
  expect(socketPathFor(file, 77)).toBe(socketPathOf(file.path))
  expect(socketPathFor({ ...file, part: 'ledger process' }, 77)).toBe(socketPathOf(file.path))
  expect(socketPathFor({ ...file, part: 'relay' }, 77)).toBe('/srv/tollgate.db.77.sock')
  const shared = { kind: 'postgres', path: '/srv/tollgate.db' } as const
  expect(socketPathFor(shared, 77)).toBe('/srv/tollgate.db.77.sock')
  for (let length = 1; length < 200; length++) {
    const path = `/${'x'.repeat(length)}/t.db`
    const names = [1, 4_194_304].map((pid) => socketPathFor({ kind: 'postgres', path }, pid))
    expect(new Set(names).size).toBe(2)
    for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(104)
  }
})

test('sockets of another ledger beside it are none of its', async () => {
  await place.begin(1)
  for (const path of [`${place.place.path}2`, place.place.path.replace('.db', '.dc')])
    expect(socketsOf({ kind: 'postgres', path })).toEqual([])
  expect(socketsOf({ kind: 'sqlite', path: `${place.place.path}2` })).toEqual([])
  expect(socketsOf({ kind: 'postgres', path: place.place.path.slice(0, -1) })).toEqual([])
})
