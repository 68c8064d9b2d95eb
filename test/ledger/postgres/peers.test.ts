/** Protects nodes.md "Nodes that differ" on Postgres: each node's row says what it runs with, for as long as it is that node's, and each sees in what the others differ. */

import { expect } from 'bun:test'
import { differenceText, type NodeFacts } from '../../../src/core/node-facts.ts'
import { nodesOf } from '../../../src/ledger/postgres/nodes-report.ts'
import { Peers } from '../../../src/ledger/postgres/peers.ts'
import { asking, freshLedger, makeNode } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'

async function make(url: string, name: string, facts: () => NodeFacts) {
  const { node, session, close } = makeNode(url, { name, termMs: 3_600_000, limitMs: 5_000 })
  const identity = await node.join()
  const told: string[] = []
  let nowMs = 0
  const onLasting = (difference: Parameters<typeof differenceText>[0]): void => void told.push(differenceText(difference))
  const peers = new Peers({ session, facts, onLasting, monotonicMs: () => nowMs })
  const look = async (atMs = 0): Promise<readonly string[]> => {
    nowMs = atMs
    await peers.look(identity, name)
    return peers.differences.map(differenceText)
  }
  return { look, told, close, node }
}

postgresTest(
  'what a node runs with is seen by the others with their next look, also after a reload, and an alarm comes after a minute',
  async () => {
    const url = await freshLedger()
    let prices = 'x'
    const a = await make(url, 'a', () => ({ version: '1', prices }))
    const b = await make(url, 'b', () => ({ version: '1', prices: 'x' }))
    expect([await a.look(), await b.look(), await a.look()]).toEqual([[], [], []])
    prices = 'y'
    expect([await a.look(), await b.look()]).toEqual([
      ['prices: y on a (lane 0); x on b (lane 1)'],
      ['prices: x on b (lane 1); y on a (lane 0)'],
    ])
    await b.look(59_999)
    expect(b.told).toEqual([])
    await b.look(60_000)
    expect(b.told).toEqual(['prices: x on b (lane 1); y on a (lane 0)'])
    await a.node.leave()
    expect(await b.look(70_000)).toEqual([])
    await Promise.all([a.close(), b.close()])
  },
)

postgresTest('what another boot left in the lane counts for nothing, and an older program is told as one', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const first = await make(url, 'first', () => ({ version: '0.9' }))
  await first.look()
  await first.node.leave()
  const a = await make(url, 'a', () => ({ version: '1' }))
  const b = await make(url, 'b', () => ({ version: '1' }))
  expect(await b.look()).toEqual([])
  await a.node.leave()
  await outside.ask("SELECT register_node_3('older', 'boot-older', 3600000, 3)")
  expect(await b.look()).toEqual(['version: 1 on b (lane 1); an older one on older (lane 0)'])
  await Promise.all([first.close(), a.close(), b.close(), outside.close()])
})

postgresTest('what a later program says in ways of its own is left out, and a row that is not changed is not written', async () => {
  const url = await freshLedger()
  const outside = asking(postgres().asSuperuser(url))
  const a = await make(url, 'a', () => ({ version: '1' }))
  await a.look()
  const written = () => outside.ask<{ xmin: string }>('SELECT CAST(xmin AS TEXT) AS xmin FROM ledger.nodes')
  const before = await written()
  await a.look()
  expect(await written()).toEqual(before)
  for (const facts of ['[1]', 'null', '{', '{"version":{"major":2},"prices":"x"}']) {
    await outside.ask('UPDATE ledger.nodes SET facts = $1', [facts])
    const db = connectPostgres(url)
    expect(nodesOf(db).map((node) => node.facts)).toEqual([facts.includes('prices') ? { prices: 'x' } : {}])
    db.close()
  }
  await Promise.all([a.close(), outside.close()])
})
