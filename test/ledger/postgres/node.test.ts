/** Protects nodes.md "Lanes and leases", "Fencing", "Take-over": who may write is told by Postgres' clock alone, and a node that may not knows it first. */

import { describe, expect } from 'bun:test'
import { asking, freshLedger, INSERT_CHECKPOINT, makeNode, throughPort } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { tcpProxy } from '../../support/tcp-proxy.ts'
import { startWatch, until } from '../../support/until.ts'

const MINUTES_MS = 60_000
type Row = Readonly<{ lane: bigint; name: string; boot_number: bigint; epoch: bigint; beat_at: bigint; lease_until: bigint }>

describe('lanes', () => {
  postgresTest('each node has a lane of its own, ten that begin at once too', async () => {
    const url = await freshLedger()
    const nodes = Array.from({ length: 10 }, () => makeNode(url, { termMs: 10_000, limitMs: 5_000 }))
    const lanes = await Promise.all(nodes.map(async ({ node }) => (await node.join()).lane))
    expect(lanes.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await Promise.all(nodes.map(({ close }) => close()))
  })

  postgresTest('a lane is free at once after a clean end, with what was leased to it, and the lowest one is taken next', async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const [a, b, c] = [makeNode(url, { termMs: 10_000 }), makeNode(url, { termMs: 10_000 }), makeNode(url, { termMs: 10_000 })]
    const first = await a.node.join()
    await b.node.join()
    await outside.ask('INSERT INTO leases VALUES (1, 0, 5), (1, 1, 6)')
    await outside.ask('INSERT INTO key_leases VALUES (1, 0, 5), (1, 1, 6)')
    await a.node.leave()
    expect(a.node.mayAdmit()).toBe(false)
    expect(await outside.ask<{ lane: bigint }>('SELECT lane FROM leases UNION ALL SELECT lane FROM key_leases')).toEqual([
      { lane: 1n },
      { lane: 1n },
    ])
    const next = await c.node.join()
    expect(next.lane).toBe(0)
    expect(next.boot).not.toBe(first.boot)
    expect(next.epoch).toBeGreaterThan(first.epoch)
    await Promise.all([b.close(), c.close(), outside.close()])
  })

  postgresTest('a registration whose answer was lost is the same one when it is asked again', async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const register = (): Promise<Record<string, bigint>[]> =>
      outside.ask("SELECT own_lane, own_boot, own_epoch FROM register_node('n', 'boot', 1000)")
    const once = await register()
    expect(await register()).toEqual(once)
    expect(await outside.ask('SELECT lane FROM nodes')).toEqual([{ lane: 0n }])
    await outside.close()
  })
})

describe('leases', () => {
  postgresTest('a node that renews keeps its lane, for many terms', async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const a = makeNode(url, { termMs: 800 })
    const identity = await a.node.join()
    const endMs = performance.now() + 3_000
    while (performance.now() < endMs) {
      expect(await outside.ask<{ count: bigint }>('SELECT fence_expired(0) AS count')).toEqual([{ count: 0n }])
      await Bun.sleep(50)
    }
    expect(a.node.mayAdmit()).toBe(true)
    expect(a.node.identity).toEqual(identity)
    expect(a.told.fenced).toBe(0)
    await Promise.all([a.close(), outside.close()])
  })

  postgresTest('half a term after the last renewal was sent it admits nothing, long before its lease is over', async () => {
    const url = await freshLedger()
    const proxy = await tcpProxy(postgres().port)
    const outside = asking(url)
    const a = makeNode(throughPort(url, proxy.port), { termMs: 4_000, limitMs: 1_000 })
    await a.node.join()
    await until(
      async () =>
        (await outside.ask<{ lease_until: bigint; beat_at: bigint; started_at: bigint }>('SELECT * FROM nodes')).some(
          (row) => row.beat_at > row.started_at,
        ),
      'a renewal',
    )
    proxy.part()
    using watch = startWatch()
    await until(() => !a.node.mayAdmit(), 'it admits nothing')
    expect(watch.ms()).toBeLessThan(2_050)
    const [left] = await outside.ask<{ left_ms: bigint }>('SELECT lease_until - clock_ms() AS left_ms FROM nodes')
    expect(Number(left?.left_ms)).toBeGreaterThan(700)
    proxy.heal()
    await until(() => a.node.mayAdmit(), 'it admits again')
    expect(a.told.fenced).toBe(0)
    await Promise.all([a.close(), outside.close()])
    proxy.close()
  })

  postgresTest('what it may count on begins when a renewal was sent, not when it was answered', async () => {
    const url = await freshLedger()
    let monotonic = 0
    const inner = makeNode(url)
    const slow = {
      ask: async <Row>(text: string, values?: readonly (string | number)[]) => {
        const rows = await inner.session.ask<Row>(text, values)
        monotonic += 400
        return rows
      },
      close: () => inner.session.close(),
    }
    const a = makeNode(url, { session: slow, termMs: 1_000, monotonicMs: () => monotonic, now: () => 0 })
    await a.node.join()
    expect(a.node.mayAdmit()).toBe(true)
    monotonic += 101
    expect(a.node.mayAdmit()).toBe(false)
    await a.close()
    inner.session.close()
  })

  postgresTest('a machine that slept admits nothing when it wakes, though its monotonic clock stood still', async () => {
    const url = await freshLedger()
    let wallMs = Date.now()
    const a = makeNode(url, { termMs: 20_000, now: () => wallMs, monotonicMs: () => 0 })
    await a.node.join()
    expect(a.node.mayAdmit()).toBe(true)
    wallMs += 10_001
    expect(a.node.mayAdmit()).toBe(false)
    await a.close()
  })

  postgresTest('without a thread that can write it renews nothing, and goes on when there is one', async () => {
    const url = await freshLedger()
    const outside = asking(url)
    let mayRenew = true
    const a = makeNode(url, { termMs: 600, mayRenew: () => mayRenew })
    await a.node.join()
    mayRenew = false
    await Bun.sleep(100)
    const beatAt = async (): Promise<bigint | undefined> => (await outside.ask<Row>('SELECT * FROM nodes'))[0]?.beat_at
    const before = await beatAt()
    await Bun.sleep(700)
    expect(await beatAt()).toBe(before)
    expect(a.node.mayAdmit()).toBe(false)
    mayRenew = true
    await until(() => a.node.mayAdmit(), 'it admits again')
    await Promise.all([a.close(), outside.close()])
  })

  postgresTest('a settle that takes longer than the term does not starve the renewal', async () => {
    const url = await freshLedger()
    const a = makeNode(url, { termMs: 1_000 })
    const outside = asking(url)
    const { lane, boot, epoch } = await a.node.join()
    const settling = asking(url)
    const settled = settling.ask(`SELECT assert_node(${lane}, ${boot}, ${epoch}), pg_sleep(2)`)
    const endMs = performance.now() + 1_900
    while (performance.now() < endMs) {
      expect(a.node.mayAdmit()).toBe(true)
      await Bun.sleep(20)
    }
    await settled
    await Promise.all([a.close(), outside.close(), settling.close()])
  })
})

describe('clocks', () => {
  postgresTest('a node whose clock is five minutes off reaps nothing early, is reaped by nobody, and says so once', async () => {
    const url = await freshLedger()
    const nodes = [-5 * MINUTES_MS, 5 * MINUTES_MS, 0].map((offMs) => makeNode(url, { termMs: 400, now: () => Date.now() + offMs }))
    for (const { node } of nodes) await node.join()
    await Bun.sleep(1_500)
    for (const { node, told } of nodes) {
      expect(told.fenced).toBe(0)
      expect(told.left).toBe(0)
      expect(node.mayAdmit()).toBe(true)
    }
    const skews = nodes.map(({ told }) => told.skews.map((skewMs) => Math.round(skewMs / MINUTES_MS)))
    expect(skews).toEqual([[5], [-5], []])
    expect(nodes.map(({ node }) => Math.round(node.skewMs / MINUTES_MS) + 0)).toEqual([5, -5, 0])
    await Promise.all(nodes.map(({ close }) => close()))
  })
})

describe('fencing', () => {
  postgresTest(
    'a node that is not heard of for a term is found by another, and fenced: its right to write is gone, its leases are free',
    async () => {
      const url = await freshLedger()
      const proxy = await tcpProxy(postgres().port)
      const outside = asking(url)
      const [lost, other] = [makeNode(throughPort(url, proxy.port), { termMs: 500 }), makeNode(url, { termMs: 500 })]
      const was = await lost.node.join()
      await other.node.join()
      await outside.ask('INSERT INTO leases VALUES (1, 0, 5), (1, 1, 6)')
      proxy.part()
      await until(() => other.told.left > 0, 'the other one finds it')
      expect(lost.node.mayAdmit()).toBe(false)
      await outside.ask('SELECT fence_expired(0)')
      const writes = outside.ask('SELECT assert_node($1, $2, $3)', [was.lane, was.boot, was.epoch])
      await expect(writes).rejects.toThrow('this node was fenced')
      expect(await outside.ask<{ lane: bigint }>('SELECT lane FROM leases')).toEqual([{ lane: 1n }])
      proxy.heal()
      await until(() => lost.told.joined.length > 0, 'it is a node again')
      expect(lost.told.fenced).toBe(1)
      expect(lost.node.fences).toBe(1)
      const is = lost.node.identity
      expect(is).toEqual(lost.told.joined[0])
      expect(is?.boot).not.toBe(was.boot)
      expect(lost.node.mayAdmit()).toBe(true)
      await outside.ask('SELECT assert_node($1, $2, $3)', [is?.lane, is?.boot, is?.epoch])
      await Promise.all([lost.close(), other.close(), outside.close()])
      proxy.close()
    },
  )

  postgresTest('a lease that ran out and that nobody has taken goes on with the same boot', async () => {
    const url = await freshLedger()
    const proxy = await tcpProxy(postgres().port)
    const a = makeNode(throughPort(url, proxy.port), { termMs: 300 })
    const identity = await a.node.join()
    proxy.part()
    await Bun.sleep(800)
    expect(a.node.mayAdmit()).toBe(false)
    proxy.heal()
    await until(() => a.node.mayAdmit(), 'it admits again')
    expect(a.node.identity).toEqual(identity)
    await a.close()
    proxy.close()
  })

  postgresTest(
    'a transaction of an expired node that is under way is waited for, not cut in two: its lane is fenced at the next look',
    async () => {
      const url = await freshLedger()
      const [outside, settling] = [asking(url), asking(url)]
      await outside.ask("SELECT register_node('n', 'boot', 50)")
      const settled = settling.ask('SELECT assert_node(0, 1, 1), pg_sleep(0.5)')
      await Bun.sleep(200)
      expect(await outside.ask<{ count: bigint }>('SELECT fence_expired(0) AS count')).toEqual([{ count: 0n }])
      await settled
      expect(await outside.ask<{ count: bigint }>('SELECT fence_expired(0) AS count')).toEqual([{ count: 1n }])
      expect(await outside.ask<{ count: bigint }>('SELECT fence_expired(0) AS count')).toEqual([{ count: 0n }])
      await Promise.all([outside.close(), settling.close()])
    },
  )

  postgresTest('a node that starts takes the lane of one that died, and what it left is found by the next renewal', async () => {
    const url = await freshLedger()
    const outside = asking(url)
    await outside.ask("SELECT register_node('dead', 'boot', 50)")
    await outside.ask(INSERT_CHECKPOINT, ['req_1', 1])
    await Bun.sleep(500)
    const a = makeNode(url, { termMs: 400 })
    const identity = await a.node.join()
    expect(identity.lane).toBe(0)
    expect(identity.epoch).toBe(3)
    await until(() => a.told.left > 0, 'its marks are found')
    await outside.ask('DELETE FROM marks')
    const told = a.told.left
    await Bun.sleep(300)
    expect(a.told.left - told).toBeLessThan(2)
    await Promise.all([a.close(), outside.close()])
  })

  postgresTest('Postgres that stops at once and comes back costs no node its lane, however short it was', async () => {
    const url = await freshLedger()
    const a = makeNode(url, { termMs: 30_000, limitMs: 1_000 })
    const identity = await a.node.join()
    await postgres().stop('immediate')
    a.node.hurry()
    await Bun.sleep(100)
    await postgres().start()
    const outside = asking(url)
    const before = (await outside.ask<Row>('SELECT * FROM nodes'))[0]
    await until(async () => ((await outside.ask<Row>('SELECT * FROM nodes'))[0]?.beat_at ?? 0n) > (before?.beat_at ?? 0n), 'it renews')
    expect(a.node.identity).toEqual(identity)
    expect(a.told.bugs).toEqual([])
    await Promise.all([a.close(), outside.close()])
  })

  postgresTest('after Postgres was away for longer than a term, all nodes go on as the boots that they were', async () => {
    const url = await freshLedger()
    const { session } = makeNode(url, { limitMs: 1_000 })
    // It comes back later than the others, by less than half a term.
    const slow = {
      ask: async <Row>(text: string, values?: readonly (string | number)[]) => {
        await Bun.sleep(300)
        return await session.ask<Row>(text, values)
      },
      close: () => session.close(),
    }
    const nodes = [{}, {}, { session: slow }].map((options) => makeNode(url, { termMs: 1_600, limitMs: 1_000, ...options }))
    const were = await Promise.all(nodes.map(({ node }) => node.join()))
    await postgres().stop('immediate')
    await until(() => nodes.every(({ node }) => !node.mayAdmit()), 'nobody admits')
    await Bun.sleep(2_000)
    await postgres().start()
    await until(() => nodes.every(({ node }) => node.mayAdmit()), 'all admit')
    await Bun.sleep(1_500)
    expect(nodes.map(({ node }) => node.identity)).toEqual(were)
    expect(nodes.map(({ told }) => told.fenced)).toEqual([0, 0, 0])
    await Promise.all(nodes.map(({ close }) => close()))
  })
})
