/**
 * An upstream that is taken out is out in every process of the place, by one act with one line in the audit log, and who does not answer is named.
 * Rules: pool.md "Taking one out"; operator.md "Processes", "Audit".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Act, Operation } from '../../src/ledger/operation.ts'
import { listenForLines } from '../../src/operator/line-socket.ts'
import { orderEverywhere } from '../../src/operator/order-everywhere.ts'
import { orderFromWithin } from '../../src/operator/order-from-within.ts'
import { type SocketPlace, socketPathFor } from '../../src/operator/socket-files.ts'
import { SiblingPlace, WAITS } from '../support/sibling.ts'

let place: SiblingPlace
beforeEach(() => {
  place = new SiblingPlace()
})
afterEach(() => place.remove())

const ACT = { actor: 'os:me', address: 'socket', reason: 'broken' }
const order = (isOut: boolean, upstream = 'north', now = 5) =>
  orderEverywhere(place.place, { upstream, isOut, isNoted: false, act: ACT, now }, { waits: WAITS })

test('all have it out, the calls that run are summed, and the log has one line of who did it', async () => {
  const all = [await place.begin(1, { running: 2 }), await place.begin(2), await place.begin(3, { running: 5 })]
  expect(await order(true)).toEqual({ result: 'done', isNew: true, running: 7, left: 1, count: 3, places: 3, silent: [] })
  expect(all.map(({ outs }) => outs())).toEqual([['north'], ['north'], ['north']])
  const operation = { kind: 'setUpstreamOut', upstream: 'north', isOut: true, now: 5 }
  expect(place.audit).toEqual([{ pid: 1, operation, actor: expect.stringMatching(/^os:./), reason: 'broken' }] as never)
  const bys = all.map(({ pool }) => pool.reports()[0]?.out)
  expect(bys.map((out) => out?.reason)).toEqual(['broken', 'broken', 'broken'])
  expect(await order(true)).toMatchObject({ result: 'done', isNew: false, places: 3 })
  expect(await order(false)).toMatchObject({ result: 'done', isNew: true, left: 2 })
  expect(all.flatMap(({ outs }) => outs())).toEqual([])
  expect(place.audit.map(({ pid }) => pid)).toEqual([1, 1])
})

test('it was so already only where it was in all of them', async () => {
  const [first, second] = [await place.begin(1), await place.begin(2)]
  first.pool.takeOut('north', { by: 'os:she', reason: '', at: 1 })
  expect(await order(true)).toMatchObject({ isNew: true })
  expect(second.outs()).toEqual(['north'])
  expect(place.audit.map(({ pid }) => pid)).toEqual([2])
})

test('what is left is said of the one with the least', async () => {
  await place.begin(1)
  const poor = await place.begin(2)
  poor.pool.takeOut('south', { by: 'os:she', reason: '', at: 1 })
  expect(await order(true)).toMatchObject({ left: 0 })
})

test('one that cannot write the line is told by one that can; where none can, none has it out', async () => {
  const fenced = await place.begin(1, { canWrite: false })
  expect(await order(true)).toEqual({ result: 'unavailable' })
  expect(fenced.outs()).toEqual([])
  const other = await place.begin(2)
  expect(await order(true)).toMatchObject({ result: 'done', places: 2, silent: [] })
  expect([fenced.outs(), other.outs()]).toEqual([['north'], ['north']])
  expect(place.audit.map(({ pid }) => pid)).toEqual([2])
})

test('one that begins while the line is written has it out as well', async () => {
  const first = await place.begin(1)
  let late = first
  place.beforeWrite = async () => {
    late = await place.begin(2)
    place.beforeWrite = () => Promise.resolve()
  }
  expect(await order(true)).toMatchObject({ result: 'done', places: 2 })
  expect([first.outs(), late.outs()]).toEqual([['north'], ['north']])
  expect(place.audit).toHaveLength(1)
})

test('one that does not answer is named and keeps none of the others from it', async () => {
  place.pretend(1)
  const other = await place.begin(2)
  expect(await order(true)).toMatchObject({ result: 'done', count: 2, places: 1, silent: [{ pid: 1 }] })
  expect(other.outs()).toEqual(['north'])
})

test('one that hangs only when it is to write is no reason for a second line, unless another can', async () => {
  const reports =
    '{"node":"web/1","reports":[{"name":"north","priority":0,"weight":1,"running":0,"waiting":0,"out":null,"lastFailure":null,"models":[]}]}'
  const asked: string[] = []
  place.pretend(1, (line) => {
    asked.push(line)
    return line.startsWith('upstreams ') ? Promise.resolve(reports) : new Promise(() => undefined)
  })
  expect(await order(true)).toEqual({ result: 'unavailable' })
  expect(asked.filter((line) => line.startsWith('upstream '))).toHaveLength(1)
})

test('who has ended is not missed, and who has no such upstream has nothing to take out', async () => {
  place.leaveDead(1)
  await place.begin(2, { upstreams: ['south'] })
  const third = await place.begin(3)
  expect(await order(true)).toMatchObject({ result: 'done', count: 2, places: 1, silent: [] })
  expect(third.outs()).toEqual(['north'])
  expect(await order(true, 'west')).toMatchObject({ result: 'refused', problem: expect.stringContaining('no upstream "west"') })
})

test('one that ends over the question is not missed either', async () => {
  const close = place.pretend(1, (line) => {
    if (line.startsWith('upstream ')) close()
    return line.startsWith('upstream ') ? new Promise(() => undefined) : Promise.resolve('{"node":"web/1","reports":[]}')
  })
  await place.begin(2)
  expect(await order(true)).toMatchObject({ result: 'done', count: 1, places: 1, silent: [] })
})

test('where all have ended there is nobody to ask', async () => {
  const only = await place.begin(1)
  only.close()
  expect(await order(true)).toBe('absent')
})

test('an order from within is one act of the person who gave it, in all of them', async () => {
  const own = await place.begin(2)
  const all = [await place.begin(1, { running: 2 }), own, await place.begin(3, { running: 1 })]
  const ledger = {
    operate: (operation: Operation, { actor = '', reason = '' }: Partial<Act> = {}) => {
      place.audit.push({ pid: 2, operation, actor, reason })
      return Promise.resolve({ result: 'done' as const })
    },
  }
  const act = { actor: 'person:ops@example.com', address: '10.0.0.1', reason: 'broken' }
  const within = (isOut: boolean) =>
    orderFromWithin(place.place, { upstream: 'north', isOut, act, now: 5 }, { upstreams: own.pool, ledger, pid: 2, waits: WAITS })
  expect(await within(true)).toEqual({ result: 'done', isNew: true, running: 3, left: 1, count: 3, places: 3, silent: [] })
  expect(all.map(({ pool }) => pool.reports()[0]?.out?.by)).toEqual(Array.from({ length: 3 }, () => act.actor))
  expect(await within(true)).toMatchObject({ isNew: false, places: 3 })
  all[2]?.pool.putBack('north')
  expect(await within(true)).toMatchObject({ isNew: true })
  expect(all.map(({ outs }) => outs())).toEqual([['north'], ['north'], ['north']])
  expect(place.audit.map(({ pid, actor }) => [pid, actor])).toEqual([
    [2, act.actor],
    [2, act.actor],
  ])
  place.pretend(4)
  expect(await within(false)).toMatchObject({ isNew: true, count: 4, places: 3, silent: [{ pid: 4 }] })
  expect(all.flatMap(({ outs }) => outs())).toEqual([])
})

test('an order from within that cannot be written down is done nowhere', async () => {
  const [own, other] = [await place.begin(1), await place.begin(2)]
  const ledger = { operate: () => Promise.resolve({ result: 'unavailable' as const }) }
  const wish = { upstream: 'north', isOut: true, act: ACT, now: 5 }
  expect(await orderFromWithin(place.place, wish, { upstreams: own.pool, ledger, pid: 1 })).toEqual({ result: 'unavailable' })
  expect([own.outs(), other.outs()]).toEqual([[], []])
})

test('the ledger process of relays, which calls no upstream, is told and not counted', async () => {
  const onFile: SocketPlace = { kind: 'sqlite', path: place.place.path }
  const told: (number | null)[] = []
  const listenAs = (pid: number | null) =>
    listenForLines(
      socketPathFor(pid === null ? onFile : { ...onFile, part: 'relay' }, pid ?? 0),
      (line) => {
        if (line.startsWith('upstreams ')) return Promise.resolve(REPORTS)
        told.push(pid)
        return Promise.resolve('{"result":"done","isNew":true,"running":2,"left":1}')
      },
      () => undefined,
    )
  const servers = [null, 1, 2].map(listenAs)
  try {
    const wish = { upstream: 'north', isOut: true, isNoted: false, act: ACT, now: 5 }
    expect(await orderEverywhere(onFile, wish, { waits: WAITS })).toMatchObject({ result: 'done', count: 2, places: 2, silent: [] })
    expect(new Set(told)).toEqual(new Set([null, 1, 2]))
  } finally {
    for (const server of servers) server.stop(true)
  }
})

const REPORTS =
  '{"node":null,"reports":[{"name":"north","priority":0,"weight":1,"running":0,"waiting":0,"out":null,"lastFailure":null,"models":[]}]}'
