/** Protects nodes.md "What Postgres promises": each way in which a server keeps commits is told as what is lost when, and what may be lost is no "ok". */

import { expect, test } from 'bun:test'
import { type PromiseFacts, promiseOf } from '../../src/core/server-promise.ts'

const ALONE: PromiseFacts = { fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on', standbyNames: '', standbys: 0n, waitedFor: null }

test('what is lost is told by settings and standbys', () => {
  const told = (facts: Partial<PromiseFacts>): string => {
    const { status, text } = promiseOf({ ...ALONE, ...facts })
    return `${status}: ${text}`
  }
  expect(told({})).toBe(
    'ok: no standby is seen: when the server stops nothing is lost, and with its disk all since the last backup, unless what is below Postgres keeps copies',
  )
  expect(told({ fsync: 'off', fullPageWrites: 'off', standbys: 1n })).toBe(
    'problem: fsync and full_page_writes off: when the server stops, any part of the ledger may be lost or damaged',
  )
  expect(told({ synchronousCommit: 'off' })).toStartWith('problem: synchronous_commit off: ')
  expect(told({ standbys: 2n })).toStartWith(
    'warning: 2 standbys follow, and no commit waits: a failover loses the last moments; nodes that live ',
  )
  expect(told({ standbys: 1n, standbyNames: 'b', synchronousCommit: 'local' })).toStartWith(
    'warning: 1 standby follows, and no commit waits',
  )
  expect(told({ standbys: 1n, standbyNames: 'FIRST 1 (b)' })).toBe(
    'ok: 1 standby follows, and commits wait for FIRST 1 (b): a failover to that one loses nothing',
  )
  expect(told({ standbys: 1n, standbyNames: 'b', synchronousCommit: 'remote_write' })).toContain(
    'unless its machine fails in the same moment',
  )
  expect(told({ standbys: 2n, standbyNames: 'c', waitedFor: 0n })).toBe(
    'warning: commits wait for a standby (c) and none of the 2 that follow is one of those: nothing can be written until one is',
  )
  expect(told({ standbys: 2n, waitedFor: 0n })).toStartWith('warning: 2 standbys follow, and no commit waits')
  expect(told({ standbyNames: 'b' })).toStartWith('warning: commits wait for a standby (b) and none is seen')
})
