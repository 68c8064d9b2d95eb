/** PgBouncer before the Postgres of the tests, where this machine has it. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { freePort } from './free-port.ts'
import { throughPort } from './nodes.ts'
import { until } from './until.ts'

const PROGRAM = Bun.which('pgbouncer', { PATH: `${process.env['PATH']}:/usr/sbin` })
export const isPgBouncerHere = PROGRAM !== null
if (!isPgBouncerHere) console.warn('\n*** SKIPPED: every test behind PgBouncer, because it is not here\n')

/** `url`: of a database, and then of the same behind it. */
export async function startPgBouncer(
  url: string,
  poolMode: 'session' | 'transaction',
): Promise<Readonly<{ url: string; stop(): Promise<void> }>> {
  const { port: target, username, password } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pgbouncer-'))
  const port = freePort()
  writeFileSync(join(folder, 'users'), `"${username}" "${password}"\n`)
  const lines = ['[databases]', `* = host=127.0.0.1 port=${target}`, '[pgbouncer]', 'listen_addr = 127.0.0.1', `listen_port = ${port}`]
  const more = ['unix_socket_dir =', 'auth_type = plain', `auth_file = ${join(folder, 'users')}`, `pool_mode = ${poolMode}`]
  writeFileSync(join(folder, 'ini'), `${[...lines, ...more].join('\n')}\n`)
  const isRoot = process.getuid?.() === 0
  // It does not run as root.
  if (isRoot) execFileSync('chown', ['-R', 'nobody', folder])
  const child = Bun.spawn([PROGRAM ?? '', ...(isRoot ? ['-u', 'nobody'] : []), join(folder, 'ini')], { stdout: 'ignore', stderr: 'ignore' })
  const through = throughPort(url, port)
  await until(() => isServing(through), 'PgBouncer answers')
  return {
    url: through,
    async stop() {
      child.kill('SIGKILL')
      await child.exited
      execFileSync('rm', ['-rf', folder])
    },
  }
}

async function isServing(url: string): Promise<boolean> {
  const sql = new SQL({ url, max: 1 })
  const isThere = await sql.unsafe('SELECT 1').then(
    () => true,
    () => false,
  )
  await sql.close()
  return isThere
}
