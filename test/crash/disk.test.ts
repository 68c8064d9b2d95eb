/**
 * Files that cannot be written or read: while the gateway runs it stops spending and comes back by itself; at start it refuses, and says what to do.
 * Rules: ledger.md "Failing writes", "Files". The disk that is full: a limit on the size of the process's files, which needs no rights and can be lifted while
 * it runs. SQLite's own SQLITE_FULL is met in test/ledger/full-disk.test.ts.
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Call, keepBooks } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { ALL_WAYS, askIn, MODEL_ID, openStream, PROMPT, post } from './load.ts'
import { type GatewayProcess, type Key, Place, PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

/** No file of the process may be longer. `unlimited` lifts it. */
function limitFiles(gateway: GatewayProcess, bytes: number | 'unlimited'): void {
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(gateway.pid), `--fsize=${bytes}:unlimited`])
  if (exitCode !== 0) throw new Error(stderr.toString())
}

test('without space no answer is given away: running ones end in an error, new ones are 503, and all comes back with the space', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const books = keepBooks(({ isStream }: Call, step) => (isStream && step < 2 ? undefined : gate))
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { id, key } = await place.createKey()
  const request = { model: MODEL_ID, max_tokens: 10, messages: [{ role: 'user', content: PROMPT }] }
  const stream = await openStream(gateway.url, key)
  await stream.until('answer-0. 1 ')
  const whole = post(gateway.url, '/v1/messages', key, request)
  while (books.calls.length < 2) await Bun.sleep(5)
  const readyz = async (): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status
  const balance = (): Promise<Response> => fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${key}` } })
  expect(await readyz()).toBe(200)

  limitFiles(gateway, 4_096)
  open()
  const text = await stream.rest()
  expect(text).toContain('event: error')
  expect(text).toContain('"type":"server_error","message":"Service temporarily unavailable; retry later"')
  expect(text).not.toContain('message_stop')
  expect((await whole).status).toBe(503)
  const refused = await post(gateway.url, '/v1/messages', key, request)
  expect([refused.status, await refused.text()]).toEqual([
    503,
    '{"type":"error","error":{"type":"server_error","message":"Service temporarily unavailable; retry later"}}',
  ])
  expect(await readyz()).toBe(503)
  expect((await balance()).status).toBe(200)
  expect(await place.run('keys', 'limit', id, '5')).toMatchObject({ code: 3, err: expect.stringContaining('did not confirm') })
  expect(gateway.err()).toContain('"alarm":"ledger"')

  limitFiles(gateway, 'unlimited')
  while ((await readyz()) !== 200) await Bun.sleep(20)
  for (const way of ALL_WAYS) expect(await askIn(way, gateway.url, key), way).toBeDefined()
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
  expect(await place.json<Key>('keys', 'show', id)).toMatchObject({ held_usd: 0 })
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: ALL_WAYS.length }])
  expect(place.leaked([PROMPT, key.slice(3, -4), UPSTREAM_ENV.UPSTREAM_API_KEY])).toEqual([])
  await books.stop()
})

test('a ledger that cannot be trusted or made is refused with 3 and what to do, by the gateway and by commands, and stays as it was', async () => {
  await place.createKey()
  const sound = join(place.folder, 'sound.db')
  copyFileSync(place.ledgerPath, sound)
  const make = (name: string, change: (path: string) => void): string => {
    const path = join(place.folder, name)
    copyFileSync(sound, path)
    change(path)
    return path
  }
  const damage = (path: string): void => {
    const bytes = readFileSync(path)
    bytes.fill(0xa5, 4_096 * 2, 4_096 * 12)
    writeFileSync(path, bytes)
  }
  const upgrade = (path: string): void => {
    const db = new Database(path)
    db.run('PRAGMA user_version = 99')
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
  }
  const lost = make('lost.db', (path) => {
    rmSync(path)
    writeFileSync(`${path}-wal`, 'frames of a ledger that is gone')
  })
  const damaged = make('damaged.db', damage)
  const cases: readonly (readonly [path: string, hint: string])[] = [
    [damaged, 'restore a backup'],
    [make('truncated.db', (path) => truncateSync(path, 20_000)), 'restore a backup'],
    [make('foreign.db', (path) => writeFileSync(path, 'somebody’s notes\n'.repeat(1_000))), 'restore a backup'],
    [make('empty.db', (path) => writeFileSync(path, '')), 'restore a backup'],
    [make('newer.db', upgrade), 'use a newer program'],
    [lost, 'put the file back'],
    [join(sound, 'tollgate.db'), 'cannot be opened'],
    ['/proc/tollgate/tollgate.db', 'cannot be opened'],
  ]
  const refuse = async (path: string, hint: string, ...command: readonly string[]): Promise<void> => {
    place.write('tollgate.toml', `[operator]\nport = 0\n[ledger]\npath = "${path}"\n`)
    const { code, out, err } = await place.run(...command)
    expect({ command, path, code, out }).toEqual({ command, path, code: 3, out: '' })
    expect(err).toStartWith('tollgate: ')
    expect(err).toContain(path)
    expect(err).toContain(hint)
  }
  for (const [path, hint] of cases) {
    const before = await contentOf(path)
    await refuse(path, hint, 'serve', '--port', '0')
    expect(await contentOf(path)).toBe(before)
  }
  await refuse(damaged, 'restore a backup', 'keys', 'create')
  await refuse(join(sound, 'tollgate.db'), 'cannot be opened', 'keys', 'create')

  place.write('tollgate.toml', `[ledger]\npath = "${damaged}"\n`)
  // Damage that can still be read around is a finding.
  const verified = await place.run('verify')
  expect([1, 3]).toContain(verified.code)
  expect(verified.err).not.toContain('\n    at ')
  expect(await place.run('doctor')).toMatchObject({ code: 1, err: '', out: expect.stringMatching(/ledger +problem/) })
})

test('where no ledger can be, doctor says so; where no backup can be, backup is wrong use', async () => {
  await place.createKey()
  place.write('file', '')
  const { code, err } = await place.run('backup', 'file/copy.db')
  expect([code, err]).toEqual([2, expect.stringContaining('file/copy.db cannot be opened')])
  place.write('tollgate.toml', `[ledger]\npath = "file/tollgate.db"\n`)
  expect(await place.run('doctor')).toMatchObject({ code: 1, out: expect.stringMatching(/disk +problem +nothing can be written/) })
})

const contentOf = (path: string): Promise<string | undefined> =>
  Bun.file(path)
    .bytes()
    .then(
      (bytes) => Bun.hash(bytes).toString(),
      () => undefined,
    )
