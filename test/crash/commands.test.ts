/**
 * The operator's commands as processes: beside a running gateway and without one, each ends by itself with its code; what they print arrives whole however
 * slowly it is read. Rules: operator.md "Commands".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { until } from '../support/until.ts'
import { keepBooks } from './book-keeper.ts'
import { PROGRAM } from './compiled.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { askIn, load, PROMPT } from './load.ts'
import { type Key, Place, PROCESS_TIMEOUT_MS, SOURCE } from './process.ts'

setDefaultTimeout(4 * PROCESS_TIMEOUT_MS)

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

/** Every command that an operator types on an ordinary day, in an order in which it can be typed. `app` is a key, `acme` an account. */
const DAY: readonly (readonly [command: string, code: number, says: RegExp])[] = [
  ['keys list', 0, /app/],
  ['keys show app', 0, /state +live/],
  ['keys show nobody', 2, /there is no key nobody/],
  ['keys limit app 7.50', 0, /limit +\$7\.500000/],
  ['keys disable app', 0, /state +disabled/],
  ['keys enable app', 0, /state +live/],
  ['keys rotate app --overlap-hours 1', 0, /shown this once/],
  ['keys extend app --days 30', 0, /expires +2\d{3}-/],
  ['keys extend app --days 61', 2, /60 days more/],
  ['keys create --name app', 2, /app/],
  ['accounts create acme', 0, /acme/],
  ['accounts top-up acme 5 --ref pay-1', 0, /\$5\.000000/],
  ['accounts top-up acme 6 --ref pay-1', 2, /pay-1/],
  ['accounts disable acme', 0, /acme/],
  ['accounts enable acme', 0, /acme/],
  ['accounts list', 0, /acme/],
  ['usage', 0, /Nothing was used yet/],
  ['verify', 0, /in order/],
  ['doctor', 0, /ledger +ok/],
  ['check-config', 0, /is in order/],
]

async function live(day: typeof DAY): Promise<void> {
  for (const [command, code, says] of day) {
    const ran = await place.run(...command.split(' '))
    expect({ command, code: ran.code }).toEqual({ command, code })
    expect(code === 0 ? ran.out : ran.err).toMatch(says)
    expect(code === 0 ? ran.err : ran.out).toBe('')
  }
}

test('an operator’s day beside a running gateway: each command ends by itself with its code', async () => {
  place.write('tollgate.toml', '[operator]\nport = 0\n')
  const gateway = await place.serve()
  await place.createKey('--name', 'app')
  await live(DAY)
  gateway.signal('SIGTERM')
  expect((await gateway.exited).code).toBe(0)
  await place.verify()
})

test('without a gateway commands use the file itself, and end by themselves all the same', async () => {
  await place.createKey('--name', 'app')
  await live(DAY.filter(([command]) => /keys (limit|show nobody)|accounts create|verify|usage/.test(command)))
})

test('commands take effect in the running gateway with the next request', async () => {
  const books = keepBooks()
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { id, key } = await place.createKey('--name', 'app')
  const models = async (secret: string): Promise<number> =>
    (await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': secret } })).status
  expect(await models(key)).toBe(200)
  await place.json('keys', 'disable', id)
  expect(await models(key)).toBe(401)
  await place.json('keys', 'enable', id)
  expect(await models(key)).toBe(200)
  const rotated = await place.json<Key>('keys', 'rotate', id)
  expect([await models(key), await models(rotated.key)]).toEqual([401, 200])
  expect(await askIn('messages', gateway.url, rotated.key)).toBeDefined()
  await place.json('keys', 'limit', id, '0.000001')
  await expect(askIn('messages', gateway.url, rotated.key)).rejects.toThrow('insufficient_quota')
  await books.stop()
})

test('a backup that is made under load is a whole ledger, in order', async () => {
  const books = keepBooks()
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { key } = await place.createKey()
  let isOver = false
  const running = load(gateway.url, key, 16, () => isOver)
  await until(() => books.calls.length >= 50)
  const copies = ['one.db', 'two.db', 'three.db']
  for (const copy of copies) expect(await place.run('backup', copy)).toMatchObject({ code: 0, err: '' })
  isOver = true
  await running
  for (const copy of copies) {
    place.write('copy.toml', `[ledger]\npath = "${copy}"\n`)
    expect(await place.run('verify', '--config', 'copy.toml')).toMatchObject({ code: 0 })
  }
  const [row] = (await place.json<{ data: { requests: number }[] }>('usage', '--config', 'copy.toml')).data
  expect(row?.requests).toBeGreaterThan(0)
  expect(place.leaked([PROMPT, key.slice(3, -4), UPSTREAM_ENV.UPSTREAM_API_KEY])).toEqual([])
  await books.stop()
})

test('a long list arrives whole through a pipe that is read slowly', async () => {
  await place.createKey()
  const db = new Database(place.ledgerPath)
  const insert = db.prepare('INSERT INTO accounts (id, name, created_at) VALUES (?, ?, 1)')
  db.transaction(() => {
    for (let n = 0; n < 1_000; n++) insert.run(`acc_${n}`, `a name that is long enough to fill the pipe ${n}`)
  })()
  db.close()
  const pipe = Bun.spawn(['sh', '-c', '"$@" | { sleep 0.5; cat; }', 'sh', ...PROGRAM, 'accounts', 'list', '--limit', '1000', '--json'], {
    cwd: place.folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: place.folder },
  })
  const { data } = (await new Response(pipe.stdout).json()) as { data: unknown[] }
  expect(data).toHaveLength(1_000)
  expect(await pipe.exited).toBe(0)
})

test('a command that fails by a bug says where, and does not quote it', async () => {
  place.write('bug.ts', `Date.now = () => { throw new Error('sk-quoted-by-a-bug') }`)
  const [bun = '', main = ''] = SOURCE
  const broken = new Place([bun, '--preload', join(place.folder, 'bug.ts'), main])
  const { code, err } = await broken.run('keys', 'create')
  await broken.remove()
  expect(code).toBe(1)
  expect(err).toMatch(/^tollgate: a bug: Error .*src\/cli\/\S+\.ts:\d+:\d+.*\n$/)
  expect(err).not.toContain('sk-quoted-by-a-bug')
})

test('an uncaught bug takes no stream with it: it is an alarm, whose words do not quote it', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const books = keepBooks((_, step) => (step === 2 ? gate : undefined))
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  // The preload would be lost in a re-execution, which this variable makes unnecessary.
  const env = { ...UPSTREAM_ENV, BUN_CONFIG_MAX_HTTP_REQUESTS: '1000' }
  const [bun = '', main = ''] = SOURCE
  const gateway = await place.serve({ env, program: [bun, '--preload', join(import.meta.dir, 'bug.ts'), main] })
  const { key } = await place.createKey()
  const running = askIn('messagesStream', gateway.url, key)
  await until(() => books.calls.length >= 1)
  const offset = gateway.err().length
  gateway.signal('SIGUSR2')
  await gateway.said('an uncaught exception', offset)
  await gateway.said('an unhandled rejection', offset)
  expect(gateway.err()).toContain('bug.ts:')
  open()
  expect(await running).toBeDefined()
  expect(await askIn('chatStream', gateway.url, key)).toBeDefined()
  expect(await (await fetch(`${gateway.operatorUrl}/metrics`)).text()).toMatch(/tollgate_alarms_total\{.*(?:uncaught|unhandled).*\} 1/)
  expect(place.leaked(['sk-quoted-by-a-bug'])).toEqual([])
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await books.stop()
})
