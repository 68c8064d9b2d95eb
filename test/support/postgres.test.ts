/** The Postgres of the tests is a real one: it syncs, keeps what was committed when the power goes, comes back on its port, and leaves nothing behind. */

import { expect } from 'bun:test'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { postgres, postgresTest } from './postgres.ts'
import { PLACE } from './postgres-cluster.ts'

const ask = async (url: string, statement: string): Promise<unknown[]> => {
  const sql = new SQL({ url, max: 1 })
  try {
    return [...(await sql.unsafe(statement))]
  } finally {
    await sql.close()
  }
}

postgresTest('each database is fresh and of a role that is no superuser; a copy has what the first had', async () => {
  const first = await postgres().createDatabase()
  await ask(first, 'CREATE SCHEMA ledger; CREATE TABLE ledger.a (b INT)')
  const copy = await postgres().createDatabase(first)
  expect(await ask(copy, 'SELECT * FROM ledger.a')).toEqual([])
  expect(await ask(await postgres().createDatabase(), "SELECT 1 FROM pg_tables WHERE tablename = 'a'")).toEqual([])
  expect(await ask(first, 'SELECT current_user::text AS me, rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
    { me: 'tollgate', rolsuper: false },
  ])
  expect(await ask(postgres().asSuperuser(first), 'SELECT current_user::text AS me')).toEqual([{ me: 'postgres' }])
})

postgresTest('a commit is synced before it is told', async () => {
  const url = await postgres().createDatabase()
  const shown = async (name: string) => Object.values((await ask(url, `SHOW ${name}`))[0] as object)[0]
  expect([await shown('fsync'), await shown('synchronous_commit'), await shown('full_page_writes')]).toEqual(['on', 'on', 'on'])
})

for (const how of ['immediate', 'kill'] as const) {
  postgresTest(`after ${how} it comes back on its port with what was committed`, async () => {
    const url = await postgres().createDatabase()
    await ask(url, 'CREATE TABLE a (b INT); INSERT INTO a VALUES (7)')
    await (how === 'kill' ? postgres().kill() : postgres().stop(how))
    expect(await ask(url, 'SELECT 1').catch(() => 'gone')).toBe('gone')
    await postgres().start()
    expect(await ask(url, 'SELECT b FROM a')).toEqual([{ b: 7 }])
  })
}

postgresTest('a test process that is killed leaves neither server nor folder', async () => {
  const script = `const { postgres } = await import('${join(import.meta.dir, 'postgres.ts')}'); console.log(postgres().port); setInterval(() => {}, 1000)`
  const path = join(tmpdir(), `tollgate-child-${process.pid}.test.ts`)
  await Bun.write(path, `import { test } from 'bun:test'; test('', async () => { ${script}; await new Promise(() => {}) }, 60000)`)
  const child = Bun.spawn([process.execPath, 'test', path], { stdout: 'pipe', stderr: 'ignore' })
  let text = ''
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (/^\d+$/m.test(text)) break
  }
  const port = Number(/^\d+$/m.exec(text)?.[0])
  child.kill('SIGKILL')
  await child.exited
  await Bun.file(path).delete()
  const folder = join(PLACE, `tollgate-postgres-of-${child.pid}`)
  for (let i = 0; i < 100 && existsSync(folder); i++) await Bun.sleep(100)
  expect(existsSync(folder)).toBe(false)
  expect(await ask(`postgres://x:y@127.0.0.1:${port}/z`, 'SELECT 1').catch((error) => error.code)).toBe('ERR_POSTGRES_CONNECTION_REFUSED')
})
