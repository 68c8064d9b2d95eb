/** A start loads nothing of the people: better-auth comes with the first who signs in, their file with the first question to them. */

import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Serves, asks itself, and says after each step what is loaded and made. */
const SCRIPT = (root: string) => `
import { existsSync } from 'node:fs'
import { loadConfig } from '${root}/src/config/load.ts'
import { startGateway } from '${root}/src/gateway.ts'
const config = loadConfig({ file: undefined, folder: process.cwd(), env: {} })
const gateway = await startGateway({
  config: { ...config, operator: { ...config.operator, port: 0 } },
  startThread: () => new Worker(new URL('file://${root}/src/ledger/thread.ts')),
  startBodyThread: () => new Worker(new URL('file://${root}/src/relay/body-thread.ts')),
  startAnswersThread: () => new Worker(new URL('file://${root}/src/answers/thread.ts')),
  startHistoryThread: () => new Worker(new URL('file://${root}/src/history/thread.ts')),
  startPeopleThread: () => new Worker(new URL('file://${root}/src/people/thread.ts')),
  host: undefined, port: 0, log: () => undefined,
})
const base = gateway.url.replace('127.0.0.1', 'localhost')
const told = []
const look = (step) => told.push([step, Object.keys(require.cache).some((path) => path.includes('/better-auth/')), existsSync('data/people.db')])
look('started')
await fetch(base + '/v1/models')
await fetch(base + '/docs')
look('served')
await fetch(base + '/cabinet')
look('page')
await fetch(base + '/cabinet/api/me')
look('asked')
await fetch(base + '/cabinet/auth/sign-in/email', { method: 'POST', headers: { origin: base, 'content-type': 'application/json' }, body: '{"email":"a@example.com","password":"x"}' })
look('signed in')
process.stdout.write(JSON.stringify(told))
await gateway.drain()
process.exit()
`

test('what a step needs is loaded with that step', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-start-'))
  await Bun.write(join(folder, 'start.ts'), SCRIPT(join(import.meta.dir, '../..')))
  const run = Bun.spawn([process.execPath, join(folder, 'start.ts')], { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
  expect(err).toBe('')
  expect(JSON.parse(out)).toEqual([
    ['started', false, false],
    ['served', false, false],
    ['page', false, false],
    ['asked', false, false],
    ['signed in', true, true],
  ])
  expect(existsSync(join(folder, 'data/people.db'))).toBe(true)
  rmSync(folder, { recursive: true, force: true })
}, 180_000)
