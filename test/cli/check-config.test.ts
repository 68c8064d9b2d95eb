/** `tollgate check-config`: every mistake is named at once, secrets are looked for and never shown. Rules: operator.md "Configuration", "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ReloadPreview } from '../../src/config/reload-preview.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
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

test('the rates of plans are printed, by plan', async () => {
  place.write(
    'tollgate.toml',
    '[plans.pro]\nmodels = ["*"]\nrequests_per_minute = 60\noutput_tokens_per_minute = 9000\nconcurrent_requests = 4\n',
  )
  const { out } = await place.run('check-config')
  expect(out).toContain('\n  plan pro: 60 requests a minute, 9000 output tokens a minute, 4 requests at once\n')
  expect(await place.json('check-config')).toMatchObject({
    rates: { pro: { requests_per_minute: 60, input_tokens_per_minute: null, output_tokens_per_minute: 9_000, concurrent_requests: 4 } },
  })
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

type Checked = { weak: { path: string; message: string }[]; set_up: Record<string, string> }
const check = (text: string): Promise<Checked> => {
  place.write('tollgate.toml', text)
  return place.json<Checked>('check-config')
}

test('says what of pages, mail, payments and alerts is set up, without a secret', async () => {
  expect(await check('')).toMatchObject({
    weak: [],
    set_up: {
      cabinet: 'http://localhost:8080/cabinet, passkeys, sign-up closed',
      console: 'http://localhost:9090/console, passkeys',
      telegram: 'none',
      mail: 'none: people come in by links that you send',
      payments: 'codes',
      alerts: 'webhooks to public https addresses',
    },
  })
  place.env = {
    MAIL: 'smtps://user:hunter2@mail.example.com',
    KEY: 'rk_live_hunter2',
    HOOK: 'whsec_hunter2',
    BOT: '123456789:AAFhunter2hunter2hunter2',
  }
  const whole = `[server]\npublic_url = "https://api.example.com"\ntrusted_proxies = ["127.0.0.1"]\n[operator]\npublic_url = "https://ops.example.com"
[cabinet]\nsign_up = "open"\n[cabinet.telegram]\ntoken_env = "BOT"\n[mail]\nurl_env = "MAIL"\nfrom = "a@example.com"\n[payments]\ntext = "By invoice"
[payments.stripe]\nsecret_key_env = "KEY"\nwebhook_secret_env = "HOOK"\n`
  expect(await check(whole)).toMatchObject({
    weak: [],
    set_up: {
      cabinet: 'https://api.example.com/cabinet, passkeys, sign-up open',
      console: 'https://ops.example.com/console, passkeys',
      telegram: 'the bot with the number 123456789',
      mail: 'mail.example.com, from a@example.com',
      payments: 'codes, Stripe, your text',
      alerts: 'mail, chats, webhooks to public https addresses',
    },
  })
  const { out } = await place.run('check-config')
  expect(out).toContain('\n  mail: mail.example.com, from a@example.com\n')
  expect(out).not.toContain('hunter2')
})

test('a text that is no token of a bot has no effect, and stops no gateway; one that is missing is a mistake', async () => {
  place.env = { BOT: 'hunter2' }
  place.write('tollgate.toml', '[cabinet.telegram]\ntoken_env = "BOT"\n')
  const { out, code } = await place.run('check-config')
  expect(code).toBe(0)
  expect(out).toContain('cabinet.telegram.token_env: has no effect: expected a token such as 123456789:AAF… in BOT, found another text')
  expect(out).not.toContain('hunter2')
  place.env = {}
  expect(await place.run('check-config')).toMatchObject({
    code: 1,
    out: expect.stringContaining('cabinet.telegram.token_env: expected the secret in the environment variable BOT, which is not set'),
  })
})

test('says which ledger there is, where it is and as whom, never with which password', async () => {
  expect(await place.json('check-config')).toMatchObject({ ledger: place.ledgerPath })
  place.env = { LEDGER_URL: 'postgres://me:hunter2@db.example.com:5433/toll?sslmode=verify-full' }
  place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\nnode = "web-1"\n')
  const ledger = 'Postgres at db.example.com:5433, database toll, as node web-1'
  expect(await place.json('check-config')).toMatchObject({ ledger, weak: [{ path: 'ledger.statement_key_env' }] })
  for (const command of ['check-config', 'doctor']) {
    const { out } = await place.run(command)
    expect(out).toContain(ledger)
    expect(out).not.toContain('hunter2')
  }
  for (const [LEDGER_URL, paths] of [
    ['postgres://me@db.example.com/toll', ['ledger.url_env', 'ledger.statement_key_env']],
    ['postgres://me@db.example.com/toll?sslmode=prefer', ['ledger.url_env', 'ledger.statement_key_env']],
    ['postgres://me@127.0.0.1/toll', ['ledger.statement_key_env']],
  ] as const) {
    place.env = { LEDGER_URL }
    expect((await place.json<Checked>('check-config')).weak.map(({ path }) => path)).toEqual([...paths])
  }
})

test('names what works and is weak, each with its path, and nothing of it is a mistake', async () => {
  const stripe = '[payments.stripe]\nsecret_key_env = "KEY"\nwebhook_secret_env = "HOOK"\n'
  const mail = '[mail]\nurl_env = "MAIL"\nfrom = "a@example.com"\n'
  place.env = { MAIL: 'smtp://user:secret@mail.example.com', KEY: 'sk_test_1', HOOK: 'whsec_1' }
  const proxied = 'trusted_proxies = ["10.0.0.1"]\n'
  for (const [text, ...paths] of [
    ['[cabinet]\nsign_up = "open"\n[alerts]\nallow_private = true\n', 'cabinet.sign_up', 'alerts.allow_private'],
    ['[server]\nhost = "0.0.0.0"\n', 'server.host'],
    ['[operator]\nhost = "10.0.0.5"\n', 'operator.host'],
    [`[server]\npublic_url = "http://api.example.com"\n`, 'cabinet.public_url'],
    [`[operator]\npublic_url = "http://ops.example.com"\n`, 'operator.public_url'],
    [`[operator]\nhost = "::"\npublic_url = "https://ops.example.com"\n`],
    [`[server]\n${proxied}[cabinet]\npublic_url = "https://192.0.2.7"\n`, 'cabinet.public_url'],
    [`[server]\n${proxied}[cabinet]\npublic_url = "https://[2001:db8::1]"\n`, 'cabinet.public_url'],
    ['[server]\npublic_url = "https://api.example.com"\n', 'server.trusted_proxies'],
    [mail, 'mail.url_env'],
    [`[server]\npublic_url = "https://api.example.com"\n${proxied}${stripe}`, 'payments.stripe.secret_key_env'],
    [stripe],
  ] as const) {
    const { weak } = await check(text)
    expect({ text, paths: weak.map(({ path }) => path) }).toEqual({ text, paths: [...paths] })
  }
  for (const MAIL of ['smtp://127.0.0.1:25', 'smtp://mail.example.com?requireTLS=true', 'smtps://mail.example.com']) {
    place.env = { MAIL }
    expect((await check(mail)).weak).toEqual([])
  }
  place.write('tollgate.toml', '[cabinet]\nsign_up = "open"\n')
  expect(await place.run('check-config')).toMatchObject({
    code: 0,
    out: expect.stringContaining('\n  weak: cabinet.sign_up: is open without'),
  })
})

test('`--diff` asks the running gateway, which alone knows what is in force; without one, with a silent one and with mistakes it says so', async () => {
  expect(await place.run('check-config', '--diff')).toMatchObject({ code: 3, err: expect.stringContaining('no gateway runs') })
  const path = socketPathOf(place.ledgerPath)
  mkdirSync(dirname(path), { recursive: true })
  const ledger = { operate: () => Promise.reject(new Error('nothing is operated')), holds: () => [], isWritable: () => true }
  let preview: () => ReloadPreview = () => PREVIEW
  const socket = listenOnOperatorSocket(path, ledger, { previewReload: () => preview() })
  try {
    const { code, out } = await place.run('check-config', '--diff')
    expect([code, out.split('\n')]).toEqual([
      0,
      [
        'A reload of /etc/tollgate.toml would change:',
        '  model haiku: removed',
        '  model sonnet: changed',
        '    input: $3 -> $4.5 a million tokens (+50 %)',
        '  gateway: changed',
        '    limits.drain_ms: 5 -> 6',
        '  only a restart changes: server.port',
        '',
      ],
    ])
    expect(await place.json('check-config', '--diff')).toEqual({ ...PREVIEW, digest: undefined })
    preview = () => ({ ...PREVIEW, things: [], changes: [], problems: [{ path: 'models[0].input', message: 'expected a price' }] })
    expect(await place.run('check-config', '--diff')).toMatchObject({
      code: 1,
      out: expect.stringContaining('models[0].input: expected a price'),
    })
    preview = () => ({ ...PREVIEW, things: 'none' }) as never
    expect(await place.run('check-config', '--diff')).toMatchObject({ code: 3, err: expect.stringContaining('did not say') })
    place.write('tollgate.toml', toml)
    expect(await place.run('check-config', '--diff')).toMatchObject({
      code: 1,
      out: expect.stringContaining('server.port: expected a port'),
    })
  } finally {
    socket.close()
  }
})

const PREVIEW: ReloadPreview = {
  file: '/etc/tollgate.toml',
  problems: [],
  changes: [],
  things: [
    { kind: 'model', name: 'haiku', state: 'removed', changes: [] },
    {
      ...{ kind: 'model', name: 'sonnet', state: 'changed' },
      changes: [{ setting: 'input', before: '3', after: '4.5', unit: 'usd_a_million_tokens', percent: 50 }],
    },
    {
      ...{ kind: 'gateway', name: '', state: 'changed' },
      changes: [{ setting: 'limits.drain_ms', before: '5', after: '6', unit: null, percent: null }],
    },
  ],
  needs_restart: ['server.port'],
  without_effect: [],
  digest: 'of pages alone',
}
