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
