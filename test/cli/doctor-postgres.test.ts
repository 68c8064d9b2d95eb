/** `tollgate doctor` of a ledger on Postgres: a sound one on a server that is tried is in order, and what the server lacks is said. Rules: operator.md "Commands". */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { SERVER_VERSIONS } from '../../db/postgres/server-versions.ts'
import { serverFinding } from '../../src/cli/doctor-postgres.ts'
import { makeNode } from '../support/nodes.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../support/postgres-connection.ts'
import { Workplace } from './run.ts'

setDefaultTimeout(60_000)
const SETTINGS = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' } as const
let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

const look = async (url: string): Promise<Record<string, unknown>> => {
  // The clock goes on: it is compared with that of the server.
  Object.defineProperty(place, 'now', { get: Date.now })
  place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\n')
  place.env = { LEDGER_URL: url }
  const { data } = JSON.parse((await place.run('doctor', '--no-network', '--json')).out) as { data: { check: string }[] }
  return Object.fromEntries(data.map(({ check, ...found }) => [check, found]))
}

postgresTest('a sound ledger on this server is in order, in all that Postgres says of it', async () => {
  expect(await look(await createPostgresLedger())).toMatchObject({
    ledger: { status: 'ok' },
    postgres: {
      status: 'ok',
      detail: expect.stringMatching(/^Postgres 1[4-8]\.\d+.*, fsync on, full_page_writes on, synchronous_commit on$/),
    },
    'postgres standbys': { status: 'ok', detail: expect.stringContaining('no standby is seen: when the server stops nothing is lost') },
    'postgres clock': { status: 'ok' },
    nodes: { status: 'ok', detail: 'none is running on this ledger' },
  })
})

postgresTest('a ledger that was changed, and a commit that is told before it is kept, are problems', async () => {
  const url = await createPostgresLedger()
  const admin = connectPostgres(postgres().asSuperuser(url))
  try {
    admin.run(`DROP INDEX ledger.receipts_key; ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
  } finally {
    admin.close()
  }
  expect(await look(url)).toMatchObject({
    ledger: { status: 'problem', detail: expect.stringContaining('1 rows differ') },
    postgres: { status: 'problem', detail: expect.stringContaining('synchronous_commit off: what is charged could be lost') },
  })
})

postgresTest('nodes that differ are a warning that says who has what', async () => {
  const url = await createPostgresLedger()
  const nodes = ['a', 'b'].map((name) => makeNode(url, { name, termMs: 3_600_000, limitMs: 5_000 }))
  for (const { node } of nodes) await node.join()
  const db = connectPostgres(url)
  db.run(`UPDATE nodes SET facts = '{"version":"' || lane || '"}', facts_boot = boot_number`)
  db.close()
  const detail = 'they differ, which is normal only while a change is rolled out: version: 0 on a (lane 0); 1 on b (lane 1)'
  expect(await look(url)).toMatchObject({ 'nodes alike': { status: 'warning', detail } })
  await Promise.all(nodes.map(({ close }) => close()))
})

postgresTest('connections that do not fit twice are a warning with the numbers, and what to do', async () => {
  const url = await createPostgresLedger()
  const nodes = ['a', 'b'].map((name) => makeNode(url, { name, termMs: 3_600_000, limitMs: 5_000 }))
  for (const { node } of nodes) await node.join()
  const admin = connectPostgres(postgres().asSuperuser(url))
  const seenWith = async (connections: number): Promise<unknown> => {
    admin.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} CONNECTION LIMIT ${connections}`)
    return (await look(url))['postgres connections']
  }
  const detail = (allowed: number): string =>
    `2 processes of 8 connections, and as many again during an upgrade: 32 of the ${allowed} that the server allows`
  try {
    expect(await seenWith(32)).toEqual({ status: 'ok', detail: detail(32) })
    expect(await seenWith(31)).toEqual({ status: 'warning', detail: `${detail(31)}: raise max_connections, or run fewer processes` })
  } finally {
    admin.close()
    await Promise.all(nodes.map(({ close }) => close()))
  }
})

test('a server that is newer than those that are tried is a warning', () => {
  const { min, max } = SERVER_VERSIONS
  expect([`${min}.0`, `${max}.4 (Debian 18.4-1)`].map((version) => serverFinding({ version, settings: SETTINGS }).status)).toEqual([
    'ok',
    'ok',
  ])
  expect(serverFinding({ version: `${max + 1}beta1`, settings: SETTINGS })).toEqual({
    check: 'postgres',
    status: 'warning',
    detail: `Postgres ${max + 1}beta1, fsync on, full_page_writes on, synchronous_commit on: this program was tried on ${min} to ${max}`,
  })
})
