/**
 * `tollgate doctor`: finds what is wrong before customers do – configuration, ledger, modes, disk, descriptors, clock, upstreams – and says what to do.
 * Rules: operator.md "Commands".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync } from 'node:fs'
import { handOver } from '../../src/cli/doctor.ts'
import { openPeopleFile, peoplePathOf } from '../../src/people/people-file.ts'
import { PROGRAM } from '../crash/compiled.ts'
import { Place, PROCESS_TIMEOUT_MS } from '../crash/process.ts'
import { Workplace } from './run.ts'

type Doctor = { ok: boolean; data: { check: string; status: string; detail: string }[] }

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

test('a ledger that processes share says what an upgrade does to connections, and how none is lost', async () => {
  expect(handOver('1')).toEqual({ check: 'upgrade', status: 'ok', detail: expect.stringContaining('takes over every connection') })
  expect(handOver('0')).toEqual({
    check: 'upgrade',
    status: 'warning',
    detail: expect.stringMatching(/is 0: .*26,000; `sysctl -w net\.ipv4\.tcp_migrate_req=1`/),
  })
  expect(await place.json('doctor', '--no-network')).not.toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ check: 'upgrade' })]),
  })
  place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\n')
  place.env = { LEDGER_URL: 'postgres://me@127.0.0.1:1/toll' }
  expect(JSON.parse((await place.run('doctor', '--no-network', '--json')).out)).toMatchObject({
    data: expect.arrayContaining([handOver()]),
  })
})

test('finds nothing wrong with a fresh ledger, and only a warning without one', async () => {
  const before = await place.json<Doctor>('doctor')
  expect(before.data.find(({ check }) => check === 'ledger')).toMatchObject({ status: 'warning' })
  await place.json('keys', 'create')
  const { ok, data } = await place.json<Doctor>('doctor')
  expect(ok).toBeTrue()
  expect(data.filter(({ status }) => status !== 'ok')).toEqual([])
  expect(data.map(({ check }) => check)).toEqual([
    'configuration',
    'cabinet',
    'console',
    'telegram',
    'mail',
    'payments',
    'alerts',
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

test('warns of people whose file others may read, and of what the configuration leaves weak', async () => {
  await place.json('keys', 'create')
  const path = peoplePathOf(place.ledgerPath)
  openPeopleFile(path).close()
  const modeOf = async () => (await place.json<Doctor>('doctor')).data.find(({ check }) => check === 'people mode')
  expect(await modeOf()).toMatchObject({ status: 'ok' })
  chmodSync(path, 0o640)
  expect(await modeOf()).toEqual({ check: 'people mode', status: 'warning', detail: `${path} is open to others: chmod 600` })
  place.write('tollgate.toml', '[cabinet]\nsign_up = "open"\n')
  const { ok, data } = await place.json<Doctor>('doctor')
  expect([ok, data.filter(({ check }) => check === 'weak')]).toMatchObject([
    true,
    [{ status: 'warning', detail: expect.stringContaining('cabinet.sign_up: is open without [mail]') }],
  ])
})

test('a file that is no ledger is a problem, and what to do stands beside it', async () => {
  place.write('tollgate.toml', '[ledger]\npath = "other.db"\n')
  place.write('other.db', 'not a database, but long enough to be looked at as one: '.repeat(50))
  expect(await place.run('doctor')).toMatchObject({
    code: 1,
    err: '',
    out: expect.stringMatching(/^ledger +problem .*not a sound ledger/m),
  })
})

test(
  'doctor warns of too few descriptors, its own or those of the gateway that runs, and says how to have more',
  async () => {
    const few: readonly string[] = ['sh', '-c', 'ulimit -n 4095; exec "$@"', 'sh', ...PROGRAM]
    const seenBy = async (at: Place): Promise<Doctor['data'][number] | undefined> =>
      (await at.json<Doctor>('doctor', '--no-network')).data.find(({ check }) => check === 'descriptors')
    const narrow = new Place(few)
    const warning = { status: 'warning', detail: expect.stringMatching(/^4095 may be open at once.*ulimit -n 65536.*LimitNOFILE=65536/) }
    expect(await seenBy(narrow)).toMatchObject(warning)
    await narrow.remove()
    const wide = new Place()
    expect(await seenBy(wide)).toMatchObject({ status: 'ok' })
    wide.write('tollgate.toml', '[operator]\nport = 0\n')
    const gateway = await wide.serve({ program: few })
    expect(await seenBy(wide)).toMatchObject({
      ...warning,
      detail: expect.stringContaining(`4095 may be open at once in pid ${gateway.pid};`),
    })
    await wide.remove()
  },
  4 * PROCESS_TIMEOUT_MS,
)
