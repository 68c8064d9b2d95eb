/** Protects nodes.md "What Postgres promises": a node tells it when it starts and when it changes. */

import { expect, test } from 'bun:test'
import type { PromiseFacts } from '../../../src/core/server-promise.ts'
import { PromiseWatch } from '../../../src/ledger/postgres/promise-watch.ts'

const ALONE: PromiseFacts = { fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on', standbyNames: '', standbys: 0n }

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
