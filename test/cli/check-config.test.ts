/** `tollgate check-config`: every mistake is named at once, secrets are looked for and never shown. Rules: operator.md "Configuration", "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

const toml = '[server]\nport = "x"\n[[upstreams]]\nname = "main"\nbase_url = "https://llm.example.com"\napi_key_env = "UPSTREAM_API_KEY"\n'

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

test('what is no TOML, and a file that is not there, are mistakes, too', async () => {
  place.write('tollgate.toml', '[server')
  expect(await place.run('check-config')).toMatchObject({
    code: 1,
    err: '',
    out: expect.stringMatching(/^.*tollgate\.toml has mistakes:\n {2}\S/),
  })
  expect(await place.run('check-config', '--config', 'nowhere.toml')).toMatchObject({
    code: 1,
    err: '',
    out: expect.stringContaining('there is no such file'),
  })
})

test('says of upstreams between which no failover or share is gained, and of none where one is', async () => {
  place.env = { A: 'key-a', B: 'key-b' }
  const upstream = (name: string, more: string) => `[[upstreams]]\nname = "${name}"\n${more}\n`
  const model = (id: string, names: string) =>
    `[[models]]\nid = "${id}"\ninput = "1"\noutput = "1"\ncontext_window = 1000\nmax_output_tokens = 100\nupstreams = ${names}\n`
  const at = 'base_url = "https://one.example/v1"\napi_key_env ='
  place.write(
    'tollgate.toml',
    upstream('north', `${at} "A"\nweight = 2`) +
      upstream('twin', 'base_url = "https://one.example/"\napi_key_env = "A"\npriority = 1\nweight = 3') +
      upstream('south', `${at} "B"\nweight = 2`) +
      upstream('apart', `${at} "A"`) +
      model('a', '["north", "twin", "south"]') +
      model('b', '["apart"]'),
  )
  expect(await place.json('check-config')).toMatchObject({
    ok: true,
    without_effect: [
      { path: 'upstreams[1]', message: 'twin has the address and the key of north: where one fails, so does the other' },
      { path: 'upstreams[1].weight', message: 'has no effect: no model has another upstream of priority 1' },
    ],
  })
  expect((await place.run('doctor', '--no-network')).out).toContain('twin has the address and the key of north')
})

test('says of a setting that nothing obeys, and of an upstream that no model calls; doctor warns of both', async () => {
  const upstream = (name: string, more: string) => `[[upstreams]]\nname = "${name}"\nbase_url = "http://${name}.invalid"\n${more}`
  const model = (id: string, more: string) =>
    `[[models]]\nid = "${id}"\ninput = "1"\noutput = "1"\ncontext_window = 1000\nmax_output_tokens = 100\n${more}`
  const spare = upstream('spare', 'weight = 1\ntransport = "fetch"\nconnect_timeout_ms = 9\n')
  const models = model('a', 'upstreams = ["third"]\n') + model('b', 'upstreams = ["third", { name = "spare", model = "x" }]\n')
  place.write('tollgate.toml', upstream('main', 'priority = 2\nmax_concurrent = 3\n') + spare + upstream('third', '') + models)
  const without = [
    ['upstreams[0]', 'main is called by no model'],
    ['upstreams[1].connect_timeout_ms', 'has no effect with transport = "fetch"'],
  ] as const
  expect(await place.json('check-config')).toMatchObject({
    ok: true,
    without_effect: without.map(([path, message]) => ({ path, message })),
  })
  const { code, out } = await place.run('check-config')
  expect(code).toBe(0)
  const doctor = await place.run('doctor', '--no-network')
  expect(doctor.code).toBe(0)
  for (const [path, message] of without) {
    expect(out).toContain(`  ${path}: ${message}`)
    expect(doctor.out).toContain(`${path}: ${message}`)
  }
  place.write('tollgate.toml', upstream('main', ''))
  expect(await place.json('check-config')).toMatchObject({ without_effect: [] })
})
