/**
 * After a peak 500 idle connections of an upstream are kept, and the others closed. The kernel goes on with attempts that were given up: beyond so many of them an address that says nothing is asked no more.
 * Rules: faults.md "Connections".
 */

import { expect, test } from 'bun:test'
import { CallStop } from '../../src/relay/deadline.ts'
import type { Connection } from '../../src/upstream/connection.ts'
import { ConnectionPool } from '../../src/upstream/connection-pool.ts'
import { startFullListener } from '../support/full-listener.ts'
import { until } from '../support/until.ts'

test('behind 256 attempts that the kernel still makes no further one is begun, until they are over', async () => {
  const silent = await startFullListener()
  const target = { host: '127.0.0.1', port: silent.port, isSecure: false, ca: undefined }
  const pool = new ConnectionPool({ target, connectTimeoutMs: 600_000 })
  const tryOnce = (): Promise<unknown> => {
    const stop = new CallStop()
    const opened = pool.open(stop)
    stop.stop('done')
    return opened
  }
  try {
    for (let attempt = 1; attempt <= 256; attempt++) expect([attempt, await tryOnce()]).toEqual([attempt, 'aborted'])
    expect(await tryOnce()).toBe('connect timeout')
  } finally {
    silent.stop()
  }
  await until(async () => (await tryOnce()) !== 'connect timeout', 'an attempt is over')
})

test('after a peak 500 idle connections are kept, the newest used first, and those beyond are closed', () => {
  const pool = new ConnectionPool({ target: { host: '127.0.0.1', port: 9, isSecure: false, ca: undefined }, connectTimeoutMs: 1_000 })
  const ended: number[] = []
  const connections = Array.from({ length: 503 }, (_, n) => {
    const connection = { wake: () => undefined, rest: () => undefined, end: () => ended.push(n) }
    return connection as unknown as Connection
  })
  for (const connection of connections) pool.rest(connection)
  expect(ended).toEqual([500, 501, 502])
  for (let n = 499; n >= 0; n--) expect(pool.takeRested() === connections[n]).toBe(true)
  expect(pool.takeRested()).toBeUndefined()
})
