/** Protects nodes.md "After a failover": another server is noticed once, what waits is looked for during a minute, and a server that does not say its name is asked once and written all the same. */

import { expect, test } from 'bun:test'
import { openPostgres } from '../../../db/postgres/open.ts'
import { serverNameOf } from '../../../src/ledger/postgres/server-name.ts'
import { ServerWatch } from '../../../src/ledger/postgres/server-watch.ts'
import { SessionFailure } from '../../../src/ledger/postgres/session.ts'
import { openNode } from '../../support/failover.ts'
import { createKey } from '../../support/ledger.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'

test('another server is told once as new, and with each look of the minute after it', async () => {
  let [name, nowMs] = ['1 timeline 1', 0]
  const told: boolean[] = []
  const session = { ask: <Row>() => Promise.resolve([{ name } as Row]) }
  const watch = new ServerWatch({ session, onOther: (isNew) => void told.push(isNew), monotonicMs: () => nowMs })
  await watch.look()
  await watch.look()
  expect([told, watch.isRecent]).toEqual([[], false])
  name = '1 timeline 2'
  for (nowMs of [1_000, 2_000, 60_999]) await watch.look()
  expect([told, watch.isRecent]).toEqual([[true, false, false], true])
  nowMs = 61_000
  await watch.look()
  expect([told.length, watch.isRecent]).toEqual([3, false])
})

test('one that is away is asked again; one that keeps its name to itself is not', async () => {
  let asked = 0
  const failing = (sqlState: string) => ({
    ask: () => {
      asked++
      return Promise.reject(new SessionFailure(sqlState, 'no'))
    },
  })
  for (const [sqlState, times] of [
    ['', 3],
    ['57P01', 3],
    ['42501', 1],
    ['0A000', 1],
  ] as const) {
    asked = 0
    const watch = new ServerWatch({ session: failing(sqlState), onOther: () => undefined })
    for (let look = 0; look < 3; look++) await watch.look()
    expect([sqlState, asked]).toEqual([sqlState, times])
  }
})

postgresTest('a role that may not ask for it writes all the same', async () => {
  const url = await postgres().createDatabase()
  const admin = connectPostgres(postgres().asSuperuser(url))
  admin.run('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC')
  admin.close()
  const db = connectPostgres(url)
  expect(openPostgres(db, 'here', 'create')).toBeUndefined()
  expect(serverNameOf(db)).toBe('')
  db.close()
  const { ledger, told } = await openNode(url, 'a', { facts: () => ({ version: '1' }) })
  expect(await ledger.operate(createKey('key_1', { balanceUsd: '5', now: Date.now() }))).toEqual({ result: 'done' })
  expect(told).toEqual([])
  await ledger.close()
})
