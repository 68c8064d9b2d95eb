/** The kernel goes on with attempts that were given up: beyond so many of them an address that says nothing is asked no more. Rules: faults.md "Connections". */

import { expect, test } from 'bun:test'
import { CallStop } from '../../src/relay/deadline.ts'
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
