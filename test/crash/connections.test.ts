/**
 * Four processes are replaced by four others on a server as it is delivered, with a hundred connections: both sets run beside one another, and there is room for all.
 * Rules: nodes.md "Connections"; operator.md "Upgrade".
 */

import { expect } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { asking } from '../support/nodes.ts'
import { postgresTest } from '../support/postgres.ts'
import { PLACE } from '../support/postgres-cluster.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'

const PROCESSES = 4
const CONNECTIONS_A_PROCESS = 8
/** Postgres' own default. Source: https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-MAX-CONNECTIONS */
const CONNECTIONS_MAX = 100

type Line = Readonly<{ notice?: string; room?: string; operator_url?: string }>
const linesOf = (gateway: GatewayProcess): readonly Line[] =>
  gateway
    .err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
const BODY = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 50, messages: [{ role: 'user', content: '[sim say=Hello]' }] })
/** Over connections of their own, so that they come to all. */
async function askMany({ url }: GatewayProcess, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, connection: 'close' }
  const asked = Array.from({ length: 12 * PROCESSES }, () => fetch(`${url}/v1/messages`, { method: 'POST', headers, body: BODY }))
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]))
}
const listening = (gateway: GatewayProcess): readonly Line[] => linesOf(gateway).filter(({ notice }) => notice === 'listening')

postgresTest(
  'an upgrade with four processes fits a server with a hundred connections, and is served throughout',
  async () => {
    const folder = join(PLACE, `tollgate-postgres-hundred-${process.pid}`)
    const postgres = await startPostgres(folder, [`max_connections=${CONNECTIONS_MAX}`])
    const url = await postgres.createDatabase()
    const outside = asking(postgres.asSuperuser(url))
    const place = new Place(undefined, { LEDGER_URL: url })
    place.write(
      'tollgate.toml',
      `[operator]\nport = 0\n[ledger]\nurl_env = "LEDGER_URL"\nnode = "web"\n[limits]\nrequests_per_minute = 1000000\nconcurrent_requests = 5000\n`,
    )
    try {
      const { key } = await place.createKey()
      const args = ['--processes', String(PROCESSES)]
      const old = await place.serve({ args })
      await askMany(old, key)
      const next = await place.serve({ args: [...args, '--port', new URL(old.url).port] })
      for (const gateway of [old, next]) await until(() => listening(gateway).length === PROCESSES, 'all of them listen')
      await askMany(old, key)
      const names = await outside.ask<{ name: string }>(
        'SELECT application_name AS name FROM pg_stat_activity WHERE datname = current_database() AND usename <> current_user',
      )
      expect(names.filter(({ name }) => !/^tollgate web\/[1-4] \w+$/.test(name))).toEqual([])
      // Twice the writers, the renewals and the listeners are there, whoever else was asked.
      expect(names.length).toBeGreaterThanOrEqual(2 * PROCESSES * 3)
      expect(names.length).toBeLessThanOrEqual(2 * PROCESSES * CONNECTIONS_A_PROCESS)
      for (const { notice, room } of [...linesOf(old), ...linesOf(next)]) expect([notice, room]).toEqual([notice, undefined])
      const { data } = await place.json<{ data: { check: string; status: string; detail: string }[] }>('doctor', '--no-network')
      expect(data.find(({ check }) => check === 'postgres connections')).toMatchObject({
        status: 'ok',
        detail: '4 processes of 8 connections, and as many again during an upgrade: 64 of the 97 that the server allows',
      })
      old.signal('SIGTERM')
      expect(await old.exited).toEqual({ code: 0, signal: null })
      await until(async () => (await fetch(`${next.url}/readyz`)).ok, 'the next ones answer')
      await askMany(next, key)
      next.signal('SIGTERM')
      expect(await next.exited).toEqual({ code: 0, signal: null })
      await place.verify()
    } finally {
      await place.remove()
      await outside.close()
      await postgres.stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    }
  },
  6 * PROCESS_TIMEOUT_MS,
)
