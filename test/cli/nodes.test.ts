/** `tollgate nodes list`: who writes the ledger, as Postgres' clock sees it; a file says that there is one. Rules: nodes.md "Lanes and leases"; operator.md "Two ledgers". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { asking, freshLedger, INSERT_CHECKPOINT, makeNode } from '../support/nodes.ts'
import { postgresTest } from '../support/postgres.ts'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

const namesPostgres = (url: string): void => {
  place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\n')
  place.env = { LEDGER_URL: url }
}

test('a ledger in a file has one node, which is said in words, whether it runs or not', async () => {
  const { code, out } = await place.run('nodes', 'list')
  expect([code, out]).toEqual([
    0,
    `The ledger is a file, ${place.ledgerPath}: one process at a time writes it, so there is one node.\nNo gateway is running on it.\n`,
  ])
  const { data } = await place.json<{ data: unknown[] }>('nodes', 'list')
  expect(data).toEqual([
    {
      lane: 0,
      state: 'free',
      name: null,
      since: null,
      last_heartbeat: null,
      lease_until: null,
      requests: null,
      facts: {},
      leased_usd: 0,
      leased_usd_exact: '0',
    },
  ])
})

postgresTest('each node is there with its lane, state, times, money and requests, judged by the database alone', async () => {
  const url = await freshLedger()
  namesPostgres(url)
  expect(await place.run('nodes', 'list')).toEqual({ code: 0, out: 'No node has written this ledger yet.\n', err: '' })
  const outside = asking(url)
  const term = { termMs: 3_600_000, limitMs: 5_000 }
  const nodes = ['runs', 'silent', 'lost', 'ended'].map((name) => makeNode(url, { ...term, name }))
  const identities = []
  for (const { node } of nodes) identities.push(await node.join())
  await nodes[3]?.node.leave()
  const tell = 'UPDATE nodes SET facts = $1, facts_boot = boot_number WHERE lane = $2'
  const prices = ['x', 'y', 'lost', 'free']
  for (const [lane, own] of prices.entries()) await outside.ask(tell, [JSON.stringify({ version: '1.0.0', prices: own }), lane])
  await outside.ask('INSERT INTO leases VALUES (1, 0, 1500000000000)')
  for (const [index, id] of ['req_1', 'req_2', 'req_3'].entries())
    await outside.ask(INSERT_CHECKPOINT, [id, identities[index === 2 ? 1 : 0]?.boot])
  await outside.ask('UPDATE nodes SET beat_at = beat_at - 2000000, lease_until = lease_until - 2000000 WHERE lane = 1')
  await outside.ask('UPDATE nodes SET lease_until = clock_ms() - 1 WHERE lane = 2')
  const [{ started_at, beat_at, lease_until } = { started_at: 0n, beat_at: 0n, lease_until: 0n }] = await outside.ask<
    Record<string, bigint>
  >('SELECT started_at, beat_at, lease_until FROM nodes WHERE lane = 0')
  const iso = (ms: bigint | undefined): string => new Date(Number(ms)).toISOString()
  // Its own clock says nothing.
  place.now += 86_400_000
  const { data, differs } = await place.json<{ data: Record<string, unknown>[]; differs: unknown }>('nodes', 'list')
  expect(data[0]).toEqual({
    lane: 0,
    state: 'running',
    name: 'runs',
    since: iso(started_at),
    last_heartbeat: iso(beat_at),
    lease_until: iso(lease_until),
    requests: 2,
    facts: { version: '1.0.0', prices: 'x' },
    leased_usd: 1.5,
    leased_usd_exact: '1.5',
  })
  expect(data.map(({ lane, name, state, requests }) => [lane, name, state, requests])).toEqual([
    [0, 'runs', 'running', 2],
    [1, 'silent', 'silent', 1],
    [2, 'lost', 'lost', 0],
    [3, 'ended', 'free', 0],
  ])
  const values = [
    { value: 'x', nodes: ['runs (lane 0)'] },
    { value: 'y', nodes: ['silent (lane 1)'] },
  ]
  expect(differs).toEqual([{ what: 'prices', values }])
  expect(data[3]).toMatchObject({ lease_until: null, leased_usd_exact: '0' })
  const { out } = await place.run('nodes', 'list')
  expect(out).toMatch(/^LANE +NAME +STATE +VERSION +SINCE +LAST HEARD OF +LEASED +REQUESTS$/m)
  expect(out).toMatch(/^0 +runs +running +1\.0\.0 +\S+ +\S+ +\$1\.50* +2$/m)
  expect(out).toEndWith('\nThey differ in prices: x on runs (lane 0); y on silent (lane 1)\n')
  await Promise.all([...nodes.slice(0, 3).map(({ close }) => close()), outside.close()])
})

postgresTest('a database that is not there is 3, in a sentence without its password', async () => {
  namesPostgres('postgres://me:hunter2@127.0.0.1:1/nowhere')
  const { code, out, err } = await place.run('nodes', 'list')
  expect([code, out]).toEqual([3, ''])
  expect(err).toContain('127.0.0.1:1/nowhere')
  expect(err).not.toContain('hunter2')
})
