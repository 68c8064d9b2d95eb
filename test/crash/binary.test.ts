/**
 * The compiled program as an operator runs it: its one line, its signals, its reload, its lock, its connections, and what it never says.
 * Rules: ledger.md "One writer"; operator.md "Reload", "Shutdown"; platform.md "Bun's fetch", "Process".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bodyOf, SECRETS, sessionEvent, signatureOf } from '../support/fake-stripe.ts'
import { partsOf } from '../support/page-parts.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { connectRaw, rawRequest } from '../support/raw-client.ts'
import { until } from '../support/until.ts'
import { type BookKeeper, type Call, keepBooks, wordsOf } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { ALL_WAYS, askIn, load, MODEL_ID, openStream, PROMPT, post } from './load.ts'
import { type GatewayProcess, type Key, Place, PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

let place: Place
let upstream: BookKeeper | undefined
const secrets: string[] = [PROMPT, UPSTREAM_ENV.UPSTREAM_API_KEY]

beforeEach(() => {
  place = new Place()
})
afterEach(async () => {
  expect(place.leaked(secrets)).toEqual([])
  await upstream?.stop()
  upstream = undefined
  await place.remove()
})

/** A key whose secret is looked for, after the test, in all that was said and written; creating it says it once, so that is not kept. */
async function createKey(...options: readonly string[]): Promise<Key> {
  const key = await place.createKey(...options)
  secrets.push(key.key.slice(3, -4))
  return key
}

type Options = Readonly<{ turn?: (call: Call, step: number) => Promise<void> | void; drainMs?: number; env?: Record<string, string> }>

/** A gateway before an upstream that keeps books, and a funded key. */
async function serveBefore({
  turn,
  drainMs = 60_000,
  env = {},
}: Options = {}): Promise<{ gateway: GatewayProcess; books: BookKeeper; key: Key }> {
  const books = keepBooks(turn)
  upstream = books
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url, drainMs }))
  const gateway = await place.serve({ env: { ...UPSTREAM_ENV, ...env } })
  return { gateway, books, key: await createKey() }
}

/** Everything that a running gateway says is a line of JSON. */
const linesOf = (gateway: GatewayProcess): readonly Readonly<Record<string, unknown>>[] =>
  gateway
    .err()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      expect(line).toMatch(/^\{.*\}$/)
      return JSON.parse(line)
    })

const readyz = async (gateway: GatewayProcess): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status
type ErrorBody = { error: { message: string } }

const NEVER = new Promise<void>(() => undefined)
/** Holds a stream open at a step of its answer until it is opened. */
function gateAt(step: number): { turn: (call: Call, at: number) => Promise<void> | void; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { turn: (_, at) => (at === step ? promise : undefined), open: resolve }
}

test('without any file it serves the simulator, says one line, makes keys by its socket, and ends as it began', async () => {
  place.write('tollgate.toml', '[operator]\nport = 0\n')
  const gateway = await place.serve()
  const { key } = await createKey('--name', 'app')
  const { data } = (await (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).json()) as {
    data: { id: string }[]
  }
  const body = { model: data[0]?.id, max_tokens: 50, messages: [{ role: 'user', content: PROMPT }] }
  expect(await (await post(gateway.url, '/v1/messages', key, body)).json()).toMatchObject({ type: 'message', role: 'assistant' })
  const streamed = await (await post(gateway.url, '/v1/messages', key, { ...body, stream: true })).text()
  expect(streamed).toContain('event: message_stop')
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: 2 }])
  expect((await place.run('doctor')).out).toContain('one is running on this ledger')
  const guide = await fetch(`${gateway.url}/docs/models`)
  expect([guide.status, (await guide.text()).includes(`<code>${data[0]?.id}</code>`)]).toEqual([200, true])
  expect(await (await fetch(`${gateway.url}/docs/style.css`)).text()).toContain('prefers-color-scheme')
  gateway.signal('SIGINT')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expect(gateway.out()).toBe(`tollgate listening on ${gateway.url}\n`)
  expect(linesOf(gateway).map(({ notice }) => notice)).toContain('no upstream is configured, the embedded simulator answers')
  expect([existsSync(`${place.ledgerPath}-wal`), existsSync(`${place.ledgerPath}.sock`)]).toEqual([false, false])
  await place.verify()
})

test('cabinet and console come whole, with every script that another imports, each within its size, and the pictures of the docs; an invited person comes in', async () => {
  place.write('tollgate.toml', '[operator]\nport = 0\n')
  const gateway = await place.serve()
  for (const page of [`${gateway.url}/cabinet/keys`, `${gateway.operatorUrl}/console/upstreams`]) {
    const parts = await partsOf(page)
    expect(parts.filter(({ status }) => status !== 200)).toEqual([])
    expect(parts.map(({ type }) => type.split(';')[0])).toEqual(expect.arrayContaining(['text/html', 'text/css', 'text/javascript']))
    expect(parts.reduce((sum, { gzipped }) => sum + gzipped, 0)).toBeLessThan(100_000)
  }
  const picture = await fetch(`${gateway.operatorUrl}/docs/pictures/tags-dark.webp`)
  expect(await picture.bytes()).toEqual(await Bun.file('.github/pictures/tags-dark.webp').bytes())
  await createKey('--name', 'app', '--account', (await place.json<{ id: string }>('accounts', 'create', 'acme')).id)
  const { link } = await place.json<{ link: string }>('people', 'invite', 'ann@example.com', '--account', 'acme')
  const token = link.split('/').at(-1) ?? ''
  const send = (path: string, body: unknown): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { origin: gateway.url, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect((await send('/cabinet/auth/invite', { token, password: 'correct horse battery' })).status).toBe(200)
  // By better-auth, which is loaded now.
  const signedIn = await send('/cabinet/auth/sign-in/email', { email: 'ann@example.com', password: 'correct horse battery' })
  expect(signedIn.status).toBe(200)
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')
  const me = (await (await fetch(`${gateway.url}/cabinet/api/me`, { headers: { cookie } })).json()) as unknown
  expect(me).toMatchObject({ person: { email: 'ann@example.com', has_password: true }, accounts: [{ name: 'acme', role: 'owner' }] })
  expect([token, cookie, 'correct horse'].filter((secret) => gateway.err().includes(secret))).toEqual([])
})

postgresTest(
  'it serves a ledger on Postgres: commands, the writing thread and the reading one reach it, and their sums agree',
  async () => {
    const url = await postgres().createDatabase()
    await place.remove()
    place = new Place(undefined, { LEDGER_URL: url })
    place.write('tollgate.toml', '[operator]\nport = 0\n[ledger]\nurl_env = "LEDGER_URL"\n')
    const { id, key } = await createKey('--name', 'app')
    const gateway = await place.serve()
    const { data: models } = (await (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).json()) as {
      data: { id: string }[]
    }
    const body = { model: models[0]?.id, messages: [{ role: 'user', content: PROMPT }] }
    const whole = await post(gateway.url, '/v1/chat/completions', key, body)
    const streamed = await post(gateway.url, '/v1/chat/completions', key, { ...body, stream: true })
    expect([whole.status, await streamed.text()]).toEqual([200, expect.stringContaining('data: [DONE]')])
    const asked = await fetch(`${gateway.url}/v1/dashboard/usage/requests`, { headers: { authorization: `Bearer ${key}` } })
    const { data: receipts } = (await asked.json()) as { data: { cost_usd: number }[] }
    const costUsd = receipts.reduce((sum, { cost_usd }) => sum + cost_usd, 0)
    expect([receipts.length, costUsd > 0]).toEqual([2, true])
    const listed = (await place.json<{ data: Key[] }>('keys', 'list')).data
    expect(listed).toMatchObject([
      { id, spent_usd: expect.closeTo(costUsd, 5), balance_usd: expect.closeTo(100 - costUsd, 5), held_usd: 0 },
    ])
    expect((await place.json<{ data: unknown[] }>('usage')).data).toMatchObject([{ requests: 2, cost_usd: expect.closeTo(costUsd, 5) }])
    await place.verify()
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await place.verify()
    expect(existsSync(place.ledgerPath)).toBeFalse()
  },
)

test('an event that Stripe signed is booked once, and one that it did not sign never', async () => {
  place.write(
    'tollgate.toml',
    '[operator]\nport = 0\n[payments.stripe]\nsecret_key_env = "STRIPE_KEY"\nwebhook_secret_env = "STRIPE_HOOK"\n',
  )
  const gateway = await place.serve({ env: { STRIPE_KEY: SECRETS.secretKey, STRIPE_HOOK: SECRETS.webhookSecret } })
  secrets.push(SECRETS.secretKey, SECRETS.webhookSecret)
  const { id } = await place.json<{ id: string }>('accounts', 'create', 'acme')
  const body = bodyOf(sessionEvent({ id: 'pi_1', accountId: id, cents: 1_250 }))
  const send = async (signature: string): Promise<unknown> =>
    (await fetch(`${gateway.url}/webhooks/stripe`, { method: 'POST', headers: { 'stripe-signature': signature }, body })).json()
  expect(await send(signatureOf(body, 'whsec_another'))).toEqual({ result: 'forged' })
  expect([await send(signatureOf(body)), await send(signatureOf(body))]).toEqual([{ result: 'booked' }, { result: 'already' }])
  expect((await place.json<{ data: unknown[] }>('accounts', 'list')).data).toMatchObject([{ balance_usd: 12.5 }])
})

test('a second gateway on the same ledger ends with 3 and names the first, which is still the process that was started', async () => {
  place.write('tollgate.toml', '[operator]\nport = 0\n')
  const { pid } = await place.serve()
  expect(await place.run('serve', '--port', '0')).toMatchObject({
    code: 3,
    out: '',
    err: expect.stringContaining(`tollgate: ledger is in use by pid ${pid}\n`),
  })
})

test('killed under load it can be started again at once, with every balance in order and nothing held', async () => {
  const { gateway, books, key } = await serveBefore({ turn: () => Bun.sleep(5) })
  let isOver = false
  const running = load(gateway.url, key.key, 20, () => isOver)
  await until(() => books.calls.length >= 60)
  isOver = true
  gateway.signal('SIGKILL')
  expect((await gateway.exited).signal).toBe('SIGKILL')
  const seen = await running
  expect(seen.length).toBeGreaterThan(0)
  const again = await place.serve({ env: UPSTREAM_ENV })
  await place.verify()
  expect(await place.json<Key>('keys', 'show', key.id)).toMatchObject({ held_usd: 0 })
  expect(await askIn('chatStream', again.url, key.key)).toBeDefined()
})

test('told to stop, it lets a running stream finish, refuses what is new, says so at the operator listener, and leaves no log behind', async () => {
  const gate = gateAt(2)
  const { gateway, key } = await serveBefore(gate)
  const stream = await openStream(gateway.url, key.key)
  await stream.until('answer-0. 1 ')
  expect(await readyz(gateway)).toBe(200)
  gateway.signal('SIGTERM')
  await gateway.said('draining')
  expect(await readyz(gateway)).toBe(503)
  const refused = await post(gateway.url, '/v1/messages', key.key, {}).then(
    ({ status }) => status,
    () => 'no connection',
  )
  expect([503, 'no connection']).toContain(refused)
  gate.open()
  expect(await stream.rest()).toContain('event: message_stop')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expect(existsSync(`${place.ledgerPath}-wal`)).toBeFalse()
  await place.verify()
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: 1, waived_usd: 0 }])
})

test('a second signal, or the end of drain_ms, ends what runs with the error of its format, uncharged', async () => {
  for (const drainMs of [60_000, 200]) {
    const { gateway, books, key } = await serveBefore({ turn: ({ isStream }, at) => (isStream && at < 2 ? undefined : NEVER), drainMs })
    const stream = await openStream(gateway.url, key.key)
    await stream.until('answer-0. 1 ')
    const whole = post(gateway.url, '/v1/chat/completions', key.key, { model: MODEL_ID, messages: [{ role: 'user', content: PROMPT }] })
    const ended = whole.then(async (response) => [response.status, ((await response.json()) as ErrorBody).error.message])
    await until(() => books.calls.length >= 2)
    gateway.signal('SIGTERM')
    await gateway.said('draining')
    if (drainMs === 60_000) gateway.signal('SIGTERM')
    const text = await stream.rest()
    expect(text).toContain(
      'event: error\ndata: {"type":"error","error":{"type":"server_error","message":"Service temporarily unavailable; retry later","details":{"type":"overloaded_error"}}}\n\n',
    )
    expect(text).not.toContain('message_stop')
    expect(await ended).toEqual([503, 'Service temporarily unavailable; retry later'])
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await place.verify()
    expect(await place.json<Key>('keys', 'show', key.id)).toMatchObject({ held_usd: 0, spent_usd: 0 })
    await upstream?.stop()
  }
})

test('told to reload, it takes new prices, models, plans and limits; a running stream keeps its price; a broken file changes nothing', async () => {
  const gate = gateAt(2)
  const { gateway, books, key } = await serveBefore(gate)
  const stream = await openStream(gateway.url, key.key)
  await stream.until('answer-0. 1 ')
  const more = `[plans.small]\nmodels = ["new"]\n[[models]]\nid = "new"\nupstream_model = "vendor-new"\ninput = "1"\noutput = "1"\ncontext_window = 1000\nmax_output_tokens = 100\n`
  const configuration = configurationOf({ upstreamUrl: books.url, inputPrice: '30.00', more })
  place.write('tollgate.toml', `${configuration}[server]\nport = 1234\n`)
  gateway.signal('SIGHUP')
  await gateway.said('configuration reloaded')
  expect(gateway.err()).toContain('"needs_restart":"server.port"')
  const models = await (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key.key}` } })).text()
  expect(models).toContain('"new"')
  gate.open()
  expect(await stream.rest()).toContain('event: message_stop')
  const spentUsd = async (): Promise<number> => (await place.json<Key>('keys', 'show', key.id)).spent_usd
  const oldPrice = await spentUsd()
  expect(oldPrice).toBeCloseTo((1_000 * 3 + 7 * 15) / 1e6, 6)
  expect(await askIn('messages', gateway.url, key.key)).toBeDefined()
  expect((await spentUsd()) - oldPrice).toBeCloseTo((1_001 * 30 + 8 * 15 + 3) / 1e6, 6)
  expect((await createKey('--plan', 'small')).id).toStartWith('key_')

  for (const broken of ['[server', `${configuration}\n[limits2]\n`]) {
    const offset = gateway.err().length
    place.write('tollgate.toml', broken)
    gateway.signal('SIGHUP')
    await gateway.said('the configuration that was running stays in force', offset)
    expect(linesOf(gateway).at(-1)).toMatchObject({
      level: 'error',
      file: join(place.folder, 'tollgate.toml'),
      problems: expect.any(String),
    })
    expect(await askIn('responses', gateway.url, key.key)).toBeDefined()
  }
})

test('proxies of the environment are refused aloud: they see no request and no key, and the process stays the one that was started', async () => {
  let visits = 0
  const proxy = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { open: () => void visits++, data: () => undefined } })
  const url = `http://127.0.0.1:${proxy.port}`
  const { gateway, books, key } = await serveBefore({ env: { HTTP_PROXY: url, https_proxy: url, ALL_PROXY: url } })
  for (const way of ALL_WAYS) expect(await askIn(way, gateway.url, key.key), way).toBeDefined()
  expect(visits).toBe(0)
  const metrics = await (await fetch(`${gateway.operatorUrl}/metrics`)).text()
  expect(metrics).toContain('tollgate_')
  expect(secrets.filter((secret) => metrics.includes(secret))).toEqual([])
  expect(new Set(books.calls.map(({ apiKey }) => apiKey))).toEqual(new Set([UPSTREAM_ENV.UPSTREAM_API_KEY]))
  expect(linesOf(gateway)[0]?.['notice']).toStartWith('HTTP_PROXY, https_proxy, ALL_PROXY ignored')
  proxy.stop(true)
})

test('more streams than one process usually has connections run at the same time, and none hears another', async () => {
  const STREAMS = 300
  const { promise: allHere, resolve: release } = Promise.withResolvers<void>()
  const here = (call: Call): Promise<void> => {
    if (call.number === STREAMS - 1) release()
    return allHere
  }
  const { gateway, key } = await serveBefore({ turn: here })
  const body = JSON.stringify({ model: MODEL_ID, max_tokens: 10, stream: true, messages: [{ role: 'user', content: PROMPT }] })
  const answers = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const connection = await connectRaw(gateway.url)
      await connection.send(rawRequest('POST', '/v1/messages', { 'x-api-key': key.key }, body))
      const { status, text } = await connection.response(PROCESS_TIMEOUT_MS)
      connection.reset()
      expect([status, text.includes('event: message_stop')]).toEqual([200, true])
      return new Set(text.match(/answer-\d+\./g))
    }),
  )
  expect(new Set(answers.flatMap((words) => [...words])).size).toBe(STREAMS)
  expect(answers.every((words) => words.size === 1)).toBeTrue()
  expect(answers.some((words) => words.has(wordsOf({ number: STREAMS - 1 })))).toBeTrue()
  await place.verify()
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: STREAMS }])
})
