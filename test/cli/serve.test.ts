/**
 * `tollgate serve`: what it needs to start, and how it says what is missing. What a running gateway does at signals, under load and when it is killed
 * stands in test/crash. Rules: operator.md "Commands", "Configuration"; ledger.md "One writer".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { Place, PROCESS_TIMEOUT_MS } from '../crash/process.ts'
import { startThread } from '../support/threads.ts'
import { NOW, Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  // With it the process is not replaced by itself, which here would be the tests.
  place.env = { BUN_CONFIG_MAX_HTTP_REQUESTS: '1000' }
})
afterEach(() => place.remove())

test('a configuration with mistakes is 2, a sentence a mistake, and nothing is made', async () => {
  place.write('tollgate.toml', 'x = 1\n[server]\nport = "y"\n')
  const { code, out, err } = await place.run('serve')
  expect([code, out]).toEqual([2, ''])
  for (const mistake of ['x: unknown name', 'server.port: expected a port'])
    expect(err.split('\n').filter((line) => /^tollgate: .*tollgate\.toml: /.test(line) && line.includes(mistake))).toHaveLength(1)
  place.write('tollgate.toml', '[[upstreams]]\nname = "main"\nbase_url = "https://llm.example.com"\napi_key_env = "NOT_SET"\n')
  expect(await place.run('serve')).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^tollgate: .*NOT_SET.*\n$/) })
  expect(existsSync(place.ledgerPath)).toBeFalse()
})

test('a clock before 1970 is 1 for every command that reads or writes the ledger, and nothing is made', async () => {
  place.now = -1
  for (const argv of [['serve'], ['keys', 'create'], ['keys', 'list']])
    expect(await place.run(...argv)).toEqual({
      code: 1,
      out: '',
      err: 'tollgate: the clock says 1969-12-31T23:59:59.999Z, before 1970: set it first\n',
    })
  expect(existsSync(place.ledgerPath)).toBeFalse()
})

test('a file that is not there is 2', async () => {
  expect(await place.run('serve', '--config', 'nowhere.toml')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('there is no such file'),
  })
})

test('a ledger on Postgres that does not answer is 3: no other one is opened in its stead, by no command', async () => {
  place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\n')
  place.env['LEDGER_URL'] = 'postgres://me:hunter2@127.0.0.1:1/toll'
  for (const command of [['serve'], ['keys', 'create'], ['keys', 'list'], ['holds', 'list'], ['verify']]) {
    const { code, out, err } = await place.run(...command)
    expect([command, code, out]).toEqual([command, 3, ''])
    expect(err).toMatch(/^tollgate: Postgres 127\.0\.0\.1:1\/toll cannot be opened \(.*\)\n$/)
  }
  for (const copying of ['backup', 'restore'])
    expect(await place.run(copying, 'copy.db')).toMatchObject({ code: 2, out: '', err: expect.stringContaining('use its own backups') })
  expect(await place.run('doctor', '--no-network')).toMatchObject({ code: 1, out: expect.stringContaining('cannot be opened') })
  expect(existsSync(place.ledgerPath)).toBeFalse()
})

test('a ledger that another process holds is 3 and names it', async () => {
  const opened = await openLedger({ path: place.ledgerPath, create: true, bootId: 'other', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  expect(await place.run('serve', '--port', '0')).toEqual({ code: 3, out: '', err: `tollgate: ledger is in use by pid ${process.pid}\n` })
  await opened.ledger.close()
})

test('a port that is taken is 1, and the ledger is free again', async () => {
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  place.write('tollgate.toml', '[operator]\nport = 0\n')
  for (const _ of ['once', 'again']) {
    const { code, out, err } = await place.run('serve', '--host', '127.0.0.1', '--port', String(taken.port))
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^tollgate: .*\b(?:in use|EADDRINUSE)\b.*\n$/)
  }
  taken.stop(true)
})

test(
  '--config, --host and --port win over the file, the line names the address, and a signal ends it with 0',
  async () => {
    const folder = new Place()
    folder.write('my.toml', '[server]\nhost = "203.0.113.1"\nport = 1\n[operator]\nport = 0\n[ledger]\npath = "mine/tollgate.db"\n')
    const gateway = await folder.serve({ args: ['--config', 'my.toml', '--host', '127.0.0.1'] })
    expect(gateway.out()).toMatch(/^tollgate listening on http:\/\/127\.0\.0\.1:(?!1\n)\d+\n$/)
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200)
    expect(existsSync(`${folder.folder}/mine/tollgate.db`)).toBeTrue()
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await folder.remove()
  },
  4 * PROCESS_TIMEOUT_MS,
)
