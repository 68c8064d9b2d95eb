/** The command line as a whole: exit codes, usage errors, check-config, doctor, verify, backup and simulate. Rules: operator.md "Commands". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { runCli } from '../../src/cli/program.ts'
import { picos } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { openLedger } from '../../src/ledger/open-ledger.ts'
import { NOW, startThread, Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

test('wrong use is 2 with one sentence on stderr and nothing on stdout', async () => {
  for (const [argv, message] of [
    [['keys', 'list', '--colour'], "unknown option '--colour'"],
    [['keys', 'lst'], "unknown command 'lst'"],
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['keys', 'show'], "missing required argument 'KEY'"],
    [['keys', 'show', 'a', 'b'], 'too many arguments'],
    [['keys', 'extend', 'a'], "required option '--days <N>' not specified"],
    [['simulate'], "required option '--port <N>' not specified"],
    [['simulate', '--port', '65536'], 'from 0 to 65535'],
    [['serve', '--port', 'http'], 'from 0 to 65535'],
    [['keys', 'list', '--config', 'nowhere.toml'], 'there is no such file'],
    [['--config', 'nowhere.toml', 'keys', 'list'], 'there is no such file'],
  ] as const) {
    const { code, out, err } = await place.run(...argv)
    expect(code, argv.join(' ')).toBe(2)
    expect(out).toBe('')
    expect(err).toStartWith('tollgate: ')
    expect(err).toContain(message)
  }
})

test('help and version are 0 on stdout and name every command', async () => {
  const { code, out } = await place.run('--help')
  expect(code).toBe(0)
  for (const name of ['serve', 'simulate', 'keys', 'accounts', 'usage', 'verify', 'backup', 'doctor', 'check-config', '--config'])
    expect(out).toContain(name)
  expect((await place.run('keys', 'create', '--help')).out).toContain('--config <FILE>')
  expect(await place.run('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  expect((await place.run()).code).toBe(2)
})

describe('check-config', () => {
  const toml =
    '[server]\nport = "x"\n[[upstreams]]\nname = "main"\nbase_url = "https://llm.example.com"\napi_key_env = "UPSTREAM_API_KEY"\n'

  test('names every mistake and ends with 1', async () => {
    place.write('tollgate.toml', toml)
    expect(await place.run('check-config')).toMatchObject({ code: 1, out: expect.stringContaining('server.port: expected a port') })
    const { code, out } = await place.run('check-config', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toEqual({
      ok: false,
      file: join(place.folder, 'tollgate.toml'),
      problems: [{ path: 'server.port', message: 'expected a port from 0 to 65535, found "x"' }],
    })
  })

  test('needs the secrets that a gateway would need; the other commands do not', async () => {
    place.write('my.toml', toml.replace('"x"', '1'))
    expect(await place.run('check-config', '--config', 'my.toml')).toMatchObject({
      code: 1,
      out: expect.stringContaining('UPSTREAM_API_KEY'),
    })
    expect((await place.run('keys', 'create', '--config', 'my.toml')).code).toBe(0)
    place.env = { UPSTREAM_API_KEY: 'sk-hunter2' }
    const { code, out } = await place.run('check-config', '--config', 'my.toml')
    expect(code).toBe(0)
    expect(out).toContain('served by main')
    expect(out).not.toContain('hunter2')
  })

  test('without a file the defaults are in order', async () => {
    expect(await place.json('check-config')).toMatchObject({ ok: true, file: null, problems: [], upstreams: [], plans: ['default'] })
  })
})

describe('with a ledger', () => {
  beforeEach(async () => {
    await place.json('keys', 'create', '--name', 'app', '--balance', '25')
  })

  test('verify is 0 while every row agrees, and 1 with the row that does not', async () => {
    expect(await place.json('verify')).toEqual({ ok: true, data: [] })
    const db = new Database(place.ledgerPath)
    db.run('UPDATE accounts SET credited_picos = credited_picos + 1, balance_picos = balance_picos + 1')
    db.close()
    const { code, out } = await place.run('verify', '--json')
    expect(code).toBe(1)
    const found = JSON.parse(out) as { ok: boolean; data: unknown[] }
    expect(found.ok).toBeFalse()
    expect(found.data).not.toEqual([])
    expect(await place.run('verify')).toMatchObject({ code: 1, out: expect.stringContaining('25') })
    expect(await place.run('doctor')).toMatchObject({ code: 1, out: expect.stringContaining('tollgate verify') })
  })

  test('backup makes a whole copy for its owner only, and overwrites nothing', async () => {
    const copy = join(place.folder, 'copy.db')
    expect(await place.json('backup', 'copy.db')).toEqual({ ok: true, file: copy, bytes: statSync(copy).size, data: [] })
    expect(statSync(copy).mode & 0o077).toBe(0)
    place.write('copy.toml', '[ledger]\npath = "copy.db"\n')
    expect(await place.json('keys', 'show', 'app', '--config', 'copy.toml')).toMatchObject({ name: 'app', balance_usd: 25 })
    expect(await place.json('verify', '--config', 'copy.toml')).toEqual({ ok: true, data: [] })
    expect(await place.run('backup', 'copy.db')).toMatchObject({ code: 2, err: expect.stringContaining('exists already') })
  })

  test('usage is an empty list before the first request', async () => {
    expect(await place.json('usage')).toEqual({ data: [] })
    expect(await place.json('usage', '--key', 'app')).toEqual({ data: [] })
    expect(await place.run('usage')).toMatchObject({ code: 0, out: 'Nothing was used yet.\n' })
    expect(await place.run('usage', '--key', 'x')).toMatchObject({ code: 2 })
  })

  test('usage has a row a day, key and model, and its costs are the receipts', async () => {
    const { id } = await place.json<{ id: string }>('keys', 'show', 'app')
    const opened = await openLedger({ path: place.ledgerPath, create: false, bootId: 'gateway', startThread, now: () => NOW })
    if ('problem' in opened) throw new Error(opened.message)
    const rates = { input: picos(3_000_000n), output: picos(15_000_000n), cacheRead: picos(300_000n), cacheWrite5m: picos(3_750_000n) }
    const usage = { input: 1000, output: 200, cacheRead: 30, cacheWrite5m: 4, cacheWrite1h: 5, serverToolUses: 0 }
    const allRates = { ...rates, cacheWrite1h: picos(6_000_000n), serverToolUse: picos(0n) }
    const hold = {
      keyId: id,
      modelId: 'claude-sonnet-5-5',
      format: 'chat',
      isStream: true,
      rates: allRates,
      amountPicos: picos(1_000_000_000_000n),
    } as const
    for (const requestId of ['req_1', 'req_2']) {
      expect(await opened.ledger.hold({ ...hold, requestId, now: NOW })).toBe('held')
      const cost = { costPicos: costOf(usage, allRates), waivedPicos: picos(0n) }
      const settlement = {
        requestId,
        outcome: 'complete',
        usageSource: 'final',
        usage,
        ...cost,
        status: 200,
        firstByteMs: 1,
        durationMs: 2,
        now: NOW,
      } as const
      expect(await opened.ledger.settle(settlement)).toBe('settled')
    }
    await opened.ledger.close()
    const [row, ...rest] = (await place.json<{ data: Record<string, unknown>[] }>('usage', '--key', 'app')).data
    expect(rest).toEqual([])
    expect(row).toMatchObject({
      day: '2026-11-21',
      key_id: id,
      key_name: 'app',
      model: 'claude-sonnet-5-5',
      requests: 2,
      input_tokens: 2000,
      output_tokens: 400,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 18,
      cost_usd: 0.012108,
      waived_usd: 0,
    })
    expect((await place.run('usage')).out).toMatch(/^total .*\$0\.012108 +\$0\.000000$/m)
    expect(await place.json('keys', 'show', 'app')).toMatchObject({ balance_usd: 24.987892, spent_usd: 0.012108 })
    expect(await place.json('verify')).toEqual({ ok: true, data: [] })
  })

  test('a file that is no ledger is 3', async () => {
    place.write('other.db', 'not a database, but long enough to be looked at as one: '.repeat(50))
    place.write('other.toml', '[ledger]\npath = "other.db"\n')
    for (const argv of [['keys', 'list'], ['verify'], ['keys', 'create']])
      expect((await place.run(...argv, '--config', 'other.toml')).code, argv.join(' ')).toBe(3)
  })
})

describe('doctor', () => {
  type Doctor = { ok: boolean; data: { check: string; status: string; detail: string }[] }

  test('finds nothing wrong with a fresh ledger, and only a warning without one', async () => {
    const before = await place.json<Doctor>('doctor')
    expect(before.data.find(({ check }) => check === 'ledger')).toMatchObject({ status: 'warning' })
    await place.json('keys', 'create')
    const { ok, data } = await place.json<Doctor>('doctor')
    expect(ok).toBeTrue()
    expect(data.filter(({ status }) => status !== 'ok')).toEqual([])
    expect(data.map(({ check }) => check)).toEqual([
      'configuration',
      'gateway',
      'descriptors',
      'ledger',
      'ledger mode',
      'disk',
      'bun',
      'clock',
    ])
  })

  test('finds open modes, mistakes of the configuration, a wrong clock and silent upstreams', async () => {
    await place.json('keys', 'create')
    chmodSync(place.ledgerPath, 0o644)
    place.write('tollgate.toml', '[[upstreams]]\nname = "gone"\nbase_url = "http://127.0.0.1:1"\n')
    const { code, out } = await place.run('doctor', '--json')
    expect(code).toBe(1)
    const statusOf = (check: string): string | undefined => (JSON.parse(out) as Doctor).data.find((row) => row.check === check)?.status
    expect([statusOf('ledger mode'), statusOf('upstream gone')]).toEqual(['warning', 'problem'])
    expect((await place.run('doctor', '--no-network')).code).toBe(0)
    place.write('tollgate.toml', '[plans.gold]\nmodels = ["*"]\n')
    await place.json('keys', 'create', '--plan', 'gold')
    place.write('tollgate.toml', '[[upstreams]]\nname = "gone"\nbase_url = "http://127.0.0.1:1"\napi_key_env = "NOT_SET"\n')
    const lost = await place.run('doctor', '--no-network')
    expect(lost.code).toBe(1)
    expect(lost.out).toMatch(/configuration +problem .*NOT_SET/)
    expect(lost.out).toMatch(/plans +warning .*"gold"/)
    place.now = 0
    expect(await place.run('doctor', '--no-network')).toMatchObject({ code: 1, out: expect.stringMatching(/clock +problem/) })
    place.write('tollgate.toml', 'x = 1')
    expect(await place.run('doctor')).toMatchObject({ code: 1, out: expect.stringContaining('x: unknown name') })
  })
})

test('simulate listens where it says, answers in the native format, and stops on a signal', async () => {
  const { promise: line, resolve } = Promise.withResolvers<string>()
  const ended = runCli(['simulate', '--port', '0'], place.environment(resolve, resolve))
  const [, url] = /^tollgate simulator listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(await line) ?? []
  const body = JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body })
  expect(await response.json()).toMatchObject({ type: 'message', role: 'assistant' })
  process.emit('SIGTERM')
  expect(await ended).toBe(0)
})
