/**
 * Protects the page on high availability, "Backups": a base backup that is taken while the ledger is written, and the log that was archived since, give back all that was
 * archived, in order; and the program says that this is another server.
 */

import { afterEach, expect } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { atEnd, charge, endAll, expectAll, idsOf, type Outside, openNode, serverFolder } from '../../support/failover.ts'
import { createKey } from '../../support/ledger.ts'
import { throughPort } from '../../support/nodes.ts'
import { postgresTest } from '../../support/postgres.ts'
import { copyData, makeForServer, versionIn, writeForServer } from '../../support/postgres-cluster.ts'
import { type Postgres, serving, startPostgres } from '../../support/postgres-server.ts'
import { until } from '../../support/until.ts'

afterEach(endAll)

async function startArchiving(folder: string, archive: string): Promise<Postgres> {
  const server = await startPostgres(folder)
  makeForServer(archive)
  await server.ask('ALTER SYSTEM SET archive_mode = on')
  await server.ask(`ALTER SYSTEM SET archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`)
  await server.stop('fast')
  await server.start()
  return server
}

/** As `pg_basebackup` does: its files while it runs, and the label that says from where on to replay. */
async function backUp(server: Postgres, folder: string, to: string): Promise<void> {
  const isOld = versionIn(join(folder, 'data')) < 15
  const session = new SQL({ url: server.asSuperuser(await server.createDatabase()), max: 1 })
  await session.unsafe(isOld ? "SELECT pg_start_backup('night', true, false)" : "SELECT pg_backup_start('night', true)")
  await copyData(folder, to)
  const [row] = await session.unsafe(`SELECT labelfile FROM ${isOld ? 'pg_stop_backup(false, true)' : 'pg_backup_stop(true)'}`)
  await session.close()
  writeForServer(join(to, 'data/backup_label'), row.labelfile)
}

postgresTest(
  'a base backup taken under load and the archived log are restored, verify finds nothing, and the start says what server this is',
  async () => {
    const [folder, restored, archive] = [serverFolder(), serverFolder(), serverFolder()]
    const server = await startArchiving(folder, archive)
    atEnd(() => server.stop('immediate').catch(() => undefined))
    const url = await server.createDatabase()
    const facts = () => ({ version: '1' })
    const a = await openNode(url, 'a', { facts })
    const outside: Outside = new Map()
    await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
    await charge(a, outside, idsOf('before', 10))
    await Promise.all([charge(a, outside, idsOf('during', 200)), backUp(server, folder, restored)])
    await charge(a, outside, idsOf('since', 20))
    await a.ledger.close()
    const [{ segment } = { segment: '' }] = await server.ask<{ segment: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS segment')
    await until(() => existsSync(join(archive, segment)), 'the log is archived')
    await server.kill()

    writeForServer(join(restored, 'data/postgresql.auto.conf'), `restore_command = 'cp ${archive}/%f %p'\n`)
    writeForServer(join(restored, 'data/recovery.signal'), '')
    const again = await serving(restored, [])
    atEnd(() => again.stop('immediate').catch(() => undefined))
    await until(async () => (await again.ask('SELECT WHERE NOT pg_is_in_recovery()')).length === 1, 'it is restored')
    const there = throughPort(url, again.port)
    await expectAll(there, outside)
    const b = await openNode(there, 'b', { facts })
    expect(b.told.join('\n')).toContain('Postgres is not the server under which the ledger was last written')
    await charge(b, outside, idsOf('after', 5))
    await expectAll(there, outside)
  },
  180_000,
)
