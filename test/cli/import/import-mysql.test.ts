/** Keys of one-api come out of MySQL as they do out of SQLite, where a server of MariaDB is installed (`apt-get install mariadb-server-core`). Rules: operator.md "Import". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'
import { Workplace } from '../run.ts'
import type { Document } from './look.ts'
import { keyOf } from './one-api.ts'

const isInstalled = Bun.which('mariadbd') !== null && Bun.which('mariadb-install-db') !== null
if (!isInstalled) console.warn('NOT TRIED: MySQL (no server of MariaDB is installed here)')
const START_MS = 120_000

let folder: string
let server: ReturnType<typeof Bun.spawn> | undefined
let url: string

async function ask(text: string): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  try {
    await sql.unsafe(text)
  } finally {
    await sql.close()
  }
}

beforeAll(async () => {
  if (!isInstalled) return
  folder = mkdtempSync(join(tmpdir(), 'tollgate-mysql-'))
  chmodSync(folder, 0o777)
  const own = ['--no-defaults', `--datadir=${join(folder, 'data')}`, ...(process.getuid?.() === 0 ? ['--user=nobody'] : [])]
  const init = join(folder, 'init.sql')
  await Bun.write(init, "CREATE DATABASE oneapi;\nCREATE USER 'me'@'%' IDENTIFIED BY 'hush';\nGRANT ALL ON oneapi.* TO 'me'@'%';\n")
  const install = Bun.spawn(['mariadb-install-db', ...own, '--skip-test-db'], { stdout: 'ignore', stderr: 'ignore' })
  expect(await install.exited).toBe(0)
  const port = freePort()
  const at = [`--port=${port}`, '--bind-address=127.0.0.1', '--skip-name-resolve', `--socket=${join(folder, 's')}`, `--init-file=${init}`]
  server = Bun.spawn(['mariadbd', ...own, ...at], { stdout: 'ignore', stderr: 'ignore' })
  url = `mysql://me:hush@127.0.0.1:${port}/oneapi`
  await until(
    () =>
      ask('SELECT 1').then(
        () => true,
        () => false,
      ),
    'the server answers',
    START_MS,
  )
  for (const text of readFileSync(new URL('one-api-mysql-tables.sql', import.meta.url), 'utf8').split(/^;$/m))
    if (text.trim() !== '') await ask(text)
}, START_MS)

afterAll(async () => {
  server?.kill('SIGKILL')
  await server?.exited
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

test.skipIf(!isInstalled)('users and tokens of MySQL come, once, and a wrong password is said without the address', async () => {
  await ask("INSERT INTO users (id, username, password, quota) VALUES (7, 'ann', 'hash', 1234567)")
  await ask(`INSERT INTO tokens (id, user_id, \`key\`, name, remain_quota, unlimited_quota, subnet)
    VALUES (1, 7, '${keyOf(1)}', 'one', 250001, 0, NULL), (2, 7, '${keyOf(2)}', 'two', 0, 1, ''), (3, 7, '${keyOf(3)}', 'three', 0, 1, '10.0.0.0/8')`)
  await ask("INSERT INTO options VALUES ('GroupRatio', '{\"default\":1}')")
  const place = new Workplace()
  try {
    place.write('tollgate.toml', '')
    place.env = { ONE_API: url, WRONG: url.replace('hush', 'guess') }
    const apply = () => place.json<Document>('import', 'one-api', '--from-env', 'ONE_API', '--apply', '--source-stopped')
    const { accounts, findings } = await apply()
    expect(accounts).toMatchObject([{ source: 'user:7', name: 'ann', credit_usd_exact: '2.469134' }])
    expect(accounts.flatMap(({ keys }) => keys.map((key) => [key['source'], key['limit_usd_exact']]))).toEqual([
      ['token:1', '0.500002'],
      ['token:2', null],
    ])
    expect(findings).toMatchObject([{ subject: 'token 3 (three)', brought: false }])
    expect(await apply()).toMatchObject({ accounts: [], already_here: 2 })
    const { code, err } = await place.run('import', 'one-api', '--from-env', 'WRONG')
    expect([code, err]).toEqual([2, expect.stringContaining('their database cannot be read')])
    expect(err).not.toContain('guess')
  } finally {
    place.remove()
  }
})
