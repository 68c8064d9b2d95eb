/** Protects nodes.md "What Postgres promises": a node tells it when it starts and when it changes. */

import { expect, test } from 'bun:test'
import type { PromiseFacts } from '../../../src/core/server-promise.ts'
import { PROMISE_FACTS, PromiseWatch } from '../../../src/ledger/postgres/promise-watch.ts'
import { Session } from '../../../src/ledger/postgres/session.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'

const ALONE: PromiseFacts = { fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on', standbyNames: '', standbys: 0n, waitedFor: 0n }

test('it is told at the start, and again only when it changes', async () => {
  let [facts, nowMs] = [ALONE, 0]
  const told: string[] = []
  const session = { ask: <Row>() => Promise.resolve([facts as Row]) }
  const watch = new PromiseWatch({ session, onPromise: ({ status }) => void told.push(status), monotonicMs: () => nowMs })
  await watch.look()
  facts = { ...ALONE, standbys: 1n }
  await watch.look()
  expect(told).toEqual(['ok'])
  for (nowMs of [30_000, 60_000]) await watch.look()
  expect(told).toEqual(['ok', 'warning'])
})

postgresTest('how a commit waits is told as the server has it, not as the session that asks has set it for itself', async () => {
  const url = await postgres().createDatabase()
  const admin = connectPostgres(postgres().asSuperuser(url))
  const told = async (): Promise<string | undefined> => {
    const session = new Session({ url, name: 'asks', limitMs: 5_000 })
    const [facts] = await session.ask<PromiseFacts>(PROMISE_FACTS)
    session.close()
    return facts?.synchronousCommit
  }
  try {
    for (const value of ['local', 'remote_write', 'off', 'on']) {
      admin.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = ${value}`)
      expect(await told()).toBe(value)
    }
  } finally {
    admin.close()
  }
})
