/**
 * `tollgate.toml`: every mistake is named, prices are exact, secrets come from the environment and are never shown.
 * Rules: money.md "Prices"; operator.md "Configuration".
 */

import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import type { Config } from '../../src/config/config.ts'
import { differences } from '../../src/config/difference.ts'
import { type LoadOptions, loadConfig } from '../../src/config/load.ts'
import { type ConfigProblems, textOfProblem } from '../../src/config/problems.ts'
import { reloadable } from '../../src/config/reloadable.ts'
import { modelOf, modelsOf } from '../../src/core/catalog.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { BALANCE_PICOS_MAX, picos } from '../../src/core/money.ts'
import { costOf, holdFor } from '../../src/core/pricing.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const UPSTREAM = '[[upstreams]]\nname = "main"\nbase_url = "https://llm.example.com"\n'
const STRIPE = '[payments.stripe]\nsecret_key_env = "KEY"\nwebhook_secret_env = "HOOK"\n'
const model = (fields: Record<string, string> = {}): string => {
  const entry = { id: '"m"', input: '"3.00"', output: '"15.00"', context_window: '200000', max_output_tokens: '64000', ...fields }
  return `[[models]]\n${Object.entries(entry)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')}`
}

function load(toml: string, options: Partial<LoadOptions> = {}): Config | ConfigProblems {
  writeFileSync(join(folder, 'case.toml'), toml)
  return loadConfig({ file: 'case.toml', folder, env: {}, ...options })
}

function good(toml: string, options: Partial<LoadOptions> = {}): Config {
  const config = load(toml, options)
  if ('problems' in config) throw new Error(config.problems.map(textOfProblem).join('\n'))
  return config
}

function mistakes(toml: string, options: Partial<LoadOptions> = {}): readonly string[] {
  const config = load(toml, options)
  return 'problems' in config ? config.problems.map(textOfProblem) : []
}

describe('without a file', () => {
  test('the simulator and a sample catalogue serve every model to the default plan', () => {
    const config = loadConfig({ file: undefined, folder, env: {} })
    if ('problems' in config) throw new Error('the defaults must load')
    expect(config.file).toBeUndefined()
    expect(config.server).toEqual({
      host: '127.0.0.1',
      port: 8080,
      dashboardUrl: undefined,
      publicUrl: undefined,
      trustedProxies: [],
      drainDelayMs: 0,
      corsOrigins: ['*'],
    })
    expect(config.operator).toEqual({ host: '127.0.0.1', port: 9090, publicUrl: undefined })
    expect(config.cabinet).toEqual({ signUp: 'closed', publicUrl: undefined, telegram: undefined })
    expect(config.ledger).toEqual({ kind: 'sqlite', path: join(folder, 'data/tollgate.db') })
    expect(config.limits).toEqual(LIMITS)
    expect(config.upstreams).toEqual([])
    expect(modelsOf(config.catalog, 'default')).toHaveLength(config.catalog.models.size)
    expect(modelsOf(config.catalog, 'default')[0]?.id).toBe('claude-fable-5-2')
  })

  test('the sample catalogue has the list prices, also of the cache, and says what each model refuses', () => {
    const config = good('')
    const opus = modelOf(config.catalog, 'default', 'claude-opus-5-5')
    expect(opus?.rates).toEqual({
      input: picos(4_000_000n),
      output: picos(20_000_000n),
      cacheRead: picos(200_000n),
      cacheWrite5m: picos(5_000_000n),
      cacheWrite1h: picos(8_000_000n),
      serverToolUse: picos(0n),
    })
    expect(opus?.displayName).toBe('Claude Opus 5.5')
    expect(opus?.rejects.has('forced_tool_choice')).toBeTrue()
    const sonnet = modelOf(config.catalog, 'default', 'claude-sonnet-4-6')
    expect(sonnet?.rates.input).toBe(picos(3_000_000n))
    expect(sonnet?.rejects.has('sampling')).toBeFalse()
    const newest = modelOf(config.catalog, 'default', 'claude-sonnet-5-5')
    expect([newest?.rates.input, newest?.rates.output, newest?.rates.cacheRead]).toEqual([
      picos(2_000_000n),
      picos(10_000_000n),
      picos(100_000n),
    ])
    const fable = modelOf(config.catalog, 'default', 'claude-fable-5-2')
    expect([fable?.rates.cacheRead, fable?.contextWindow, fable?.maxOutputTokens]).toEqual([picos(200_000n), 1_000_000, 128_000])
    for (const model of config.catalog.models.values()) expect(model.createdSeconds).toBeGreaterThan(1_750_000_000)
  })

  test('no sample model is one whose end the vendor has announced: its SDK would warn', async () => {
    const ids = [...good('').catalog.models.keys()]
    const client = new Anthropic({ apiKey: 'sk-test', maxRetries: 0, fetch: async () => new Response('{}', { status: 400 }) })
    const warned = spyOn(console, 'warn').mockImplementation(() => {})
    await Promise.allSettled(ids.map((model) => client.messages.create({ model, max_tokens: 1, messages: [] })))
    const warnings = warned.mock.calls.map(String)
    warned.mockRestore()
    expect(warnings).toEqual([])
  })
})

test('every name of the product page is read, and means what the page says', () => {
  const config = good(
    `[server]
host = "0.0.0.0"
port = 0
dashboard_url = "https://pay.example.com/keys"
public_url = "https://LLM.example.com:443/"
trusted_proxies = ["10.0.0.0/8", "192.0.2.1", "2001:db8::1", "2001:db8::/32"]
drain_delay_ms = 7000
cors_origins = ["https://chat.example.com"]
[operator]
host = "127.0.0.2"
port = 9191
public_url = "https://console.example.com/"
[cabinet]
sign_up = "open"
[cabinet.telegram]
token_env = "BOT_TOKEN"
[mail]
url_env = "SMTP_URL"
from = "Gateway <gateway@example.com>"
[alerts]
allow_private = true
[ledger]
path = "money/tollgate.db"
[limits]
body_bytes = 1000
body_bytes_per_minute = 2000
start_timeout_ms = 1
total_timeout_ms = 2
first_event_timeout_ms = 11
stall_timeout_ms = 3
write_stall_ms = 4
requests_per_minute = 5
concurrent_requests = 6
dashboard_per_minute = 7
drain_ms = 8
idle_ms = 9000
kept_answers_bytes = 1048576
[[upstreams]]
name = "main"
base_url = "https://llm.example.com/v1/"
api_key_env = "UPSTREAM_API_KEY"
auth = "bearer"
error_text = "own"
headers = { "X-Team" = "search", "user-agent" = "tollgate of acme" }
weight = 2
priority = 1
max_concurrent = 10
connect_timeout_ms = 11
transport = "fetch"
dialect = "vendor"
count_tokens = "estimate"
echo = "fail"
versions = "no"
betas = "no"
proxy_env = "PROXY_URL"
${UPSTREAM.replace('main', 'spare')}
[[models]]
id = "fast"
upstream_model = "claude-haiku-5-5"
upstreams = ["spare", { name = "main", model = "claude-haiku-5-5@north" }]
input = "3.00"
output = "15.00"
cache_read = "0.20"
cache_write = "1.5"
cache_write_1h = "3"
server_tool_use = "0.01"
context_window = 1000
max_output_tokens = 100
bytes_per_token = 3.5
rejects = ["sampling", "forced_tool_choice"]
${model({ id: '"slow"' })}
[plans.default]
models = ["fast"]
[plans.all-of-it]
models = ["*"]
[plans.s]
models = ["sl*"]
max_request_usd = "0.05"
[plans.rated]
models = ["*"]
requests_per_minute = 60
concurrent_requests = 4
`,
    {
      env: {
        UPSTREAM_API_KEY: 'sk-up',
        PROXY_URL: 'http://proxy.example:3128',
        SMTP_URL: 'smtps://user:pass@mail.example.com',
        BOT_TOKEN: '123456789:AAFnotarealtokenofabot',
      },
    },
  )
  expect(config.mail).toEqual({ url: 'smtps://user:pass@mail.example.com', from: 'Gateway <gateway@example.com>' })
  expect(config.alerts.allowPrivate).toBe(true)
  expect(good('')).toMatchObject({ mail: undefined, alerts: { allowPrivate: false } })
  expect(config.file).toBe(join(folder, 'case.toml'))
  expect(config.server).toEqual({
    host: '0.0.0.0',
    port: 0,
    dashboardUrl: 'https://pay.example.com/keys',
    publicUrl: 'https://llm.example.com',
    trustedProxies: ['10.0.0.0/8', '192.0.2.1/32', '2001:db8::1/128', '2001:db8::/32'],
    drainDelayMs: 7_000,
    corsOrigins: ['https://chat.example.com'],
  })
  expect(config.operator).toEqual({ host: '127.0.0.2', port: 9191, publicUrl: 'https://console.example.com' })
  expect(config.cabinet).toEqual({
    signUp: 'open',
    publicUrl: 'https://llm.example.com',
    telegram: { token: '123456789:AAFnotarealtokenofabot' },
  })
  expect(config.ledger).toEqual({ kind: 'sqlite', path: join(folder, 'money/tollgate.db') })
  expect(Object.values(config.limits)).toEqual([1000, 2000, 1, 2, 11, 3, 4, 5, 6, 7, 8, 9000, 1_048_576])
  expect(config.upstreams).toEqual([
    {
      name: 'main',
      door: { kind: 'native' },
      edits: { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true },
      secretHeaders: {},
      baseUrl: 'https://llm.example.com',
      apiKey: 'sk-up',
      auth: 'bearer',
      headers: { 'x-team': 'search', 'user-agent': 'tollgate of acme' },
      hidesErrorText: true,
      countTokens: 'estimate',
      echo: 'fail',
      forwardsVersions: false,
      forwardsBetas: false,
      weight: 2,
      priority: 1,
      maxConcurrent: 10,
      connectTimeoutMs: 11,
      transport: 'fetch',
      dialect: 'vendor',
      proxyUrl: 'http://proxy.example:3128',
    },
    {
      name: 'spare',
      door: { kind: 'native' },
      edits: { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true },
      secretHeaders: {},
      baseUrl: 'https://llm.example.com',
      apiKey: undefined,
      auth: 'x-api-key',
      headers: {},
      hidesErrorText: false,
      countTokens: 'yes',
      echo: 'alarm',
      forwardsVersions: true,
      forwardsBetas: true,
      weight: 1,
      priority: 0,
      maxConcurrent: 10_000,
      connectTimeoutMs: 10_000,
      transport: 'socket',
      dialect: 'strict',
      proxyUrl: undefined,
    },
  ])
  const fast = modelOf(config.catalog, 'default', 'fast')
  expect(fast).toMatchObject({
    upstreamModel: 'claude-haiku-5-5',
    upstreams: [
      { name: 'spare', model: 'claude-haiku-5-5' },
      { name: 'main', model: 'claude-haiku-5-5@north' },
    ],
    contextWindow: 1000,
    maxOutputTokens: 100,
    bytesPerToken: 3.5,
  })
  expect(fast?.rates).toEqual({
    input: picos(3_000_000n),
    output: picos(15_000_000n),
    cacheRead: picos(600_000n),
    cacheWrite5m: picos(4_500_000n),
    cacheWrite1h: picos(9_000_000n),
    serverToolUse: picos(10_000_000_000n),
  })
  expect([...(fast?.rejects ?? [])]).toEqual(['sampling', 'forced_tool_choice'])
  expect(modelOf(config.catalog, 'default', 'slow')).toBeUndefined()
  expect(modelOf(config.catalog, 's', 'slow')?.upstreams.map(({ name }) => name)).toEqual(['main', 'spare'])
  expect(modelOf(config.catalog, 's', 'slow')?.bytesPerToken).toBe(4)
  expect(modelsOf(config.catalog, 'all-of-it')).toHaveLength(2)
  expect(config.catalog.plans.get('s')).toEqual({ name: 's', models: ['sl*'], maxRequestPicos: picos(50_000_000_000n) })
  expect(config.catalog.plans.get('default')).not.toContainKey('maxRequestPicos')
  expect(config.catalog.plans.get('default')).not.toContainKey('rates')
  expect(config.catalog.plans.get('rated')?.rates).toEqual({
    requestsPerMinute: 60,
    inputTokensPerMinute: null,
    outputTokensPerMinute: null,
    concurrentRequests: 4,
  })
})

const door = (kind: string, more: string): string => `[[upstreams]]\nname = "a"\nkind = "${kind}"\nbase_url = "http://h"\n${more}`
const AWS_KEYS = 'aws_access_key_id_env = "AWS_ID"\naws_secret_access_key_env = "AWS_SECRET"\n'
const DOOR_MISTAKES: readonly [string, ...RegExp[]][] = [
  [
    door('bedrock', AWS_KEYS),
    /region: expected the region that stands in signatures/,
    /aws_access_key_id_env: .*AWS_ID, which/,
    /aws_secret_access_key_env: .*AWS_SECRET, which/,
  ],
  [
    door('bedrock', 'region = "r"\ncredentials = "metadata"'),
    /^upstreams\[0\]\.credentials: expected "default" for this kind, found "metadata"$/,
  ],
  [
    door('bedrock', 'region = "r"\ncredentials = "default"\napi_key_env = "SET"'),
    /^upstreams\[0\]\.credentials: expected no api_key_env beside it$/,
  ],
  [door('bedrock', 'region = "r"\nsigning_service = "s"'), /signing_service: expected keys of AWS or credentials beside it/],
  [
    door('bedrock', 'region = "r"\naws_session_token_env = "SET"'),
    /aws_access_key_id_env: expected the NAME/,
    /aws_secret_access_key_env: expected the NAME/,
  ],
  [door('bedrock', 'region = "r"\nproject = "p"'), /^upstreams\[0\]\.project: expected kind = "vertex" or "claude-google" beside it$/],
  [door('vertex', 'credentials = "metadata"'), /project: expected a text, found nothing/, /location: expected a text, found nothing/],
  [door('vertex', 'project = "p"\nlocation = "us"'), /service_account_env: expected it, or credentials = "metadata"/],
  [
    door('vertex', 'project = "p"\nlocation = "us"\nservice_account_env = "SET"'),
    /service_account_env: expected the text of a service account's JSON file .* SET, found something else$/,
  ],
  [
    door('vertex', 'project = "p"\nlocation = "us"\ncredentials = "metadata"\napi_key_env = "SET"\ntoken_url = "ftp://x"'),
    /api_key_env: expected none with kind = "vertex"/,
    /token_url: expected an http/,
  ],
  [door('foundry', 'client_id = "c"'), /tenant: expected a text/, /client_secret_env: expected the NAME/],
  [door('foundry', 'token_scope = "c"'), /token_scope: expected client_id beside it/],
  [door('native', 'headers = { a = { env = "NOT_SET" } }'), /^upstreams\[0\]\.headers\.a: .*NOT_SET, which is not set$/],
  [door('native', 'drop_fields = ["a..b"]'), /^upstreams\[0\]\.drop_fields\[0\]: expected the path of a field/],
]

test('a deployment of Foundry has a name of its own: an answer by another name says nothing, unless that is asked for', () => {
  const echoOf = (toml: string): unknown => good(toml, { env: { UPSTREAM_KEY: 'k' } }).upstreams[0]?.echo
  const key = 'api_key_env = "UPSTREAM_KEY"\n'
  expect([echoOf(door('foundry', key)), echoOf(door('foundry', `${key}echo = "fail"`)), echoOf(door('native', key))]).toEqual([
    'any',
    'fail',
    'alarm',
  ])
})

test('every mistake is named with its path, what was expected and what was found', () => {
  const cases: readonly [toml: string, ...expected: RegExp[]][] = [
    ['a = 1\nb = = 2', /^line 2, column \d+: .+/],
    ['[server]\nport = 80\nport = 81', /^line 3, column \d+: .+/],
    ['[server]\nprot = 80', /^server\.prot: unknown name, expected one of host, port, /],
    ['[sever]', /^sever: unknown name, expected one of server, operator, /],
    ['[server]\nport = "80"', /^server\.port: expected a port from 0 to 65535, found "80"$/],
    ['[server]\nport = 65536', /^server\.port: expected a port .*, found 65536$/],
    ['[server]\nport = 80.5', /^server\.port: .*found 80\.5$/],
    ['[server]\nport = 1979-05-27', /^server\.port: .*found a date$/],
    ['server = 1', /^server: expected a table, written \[server\], found 1$/],
    ['[server]\nhost = ""', /^server\.host: .*found ""$/],
    ['[server]\npublic_url = "llm.example.com"', /^server\.public_url: expected an http or https address without a path/],
    ['[server]\npublic_url = "https://llm.example.com/api"', /^server\.public_url: expected an http or https address without a path/],
    ['[server]\npublic_url = "https://user:secret@llm.example.com"', /^server\.public_url: /],
    ['[cabinet]\npublic_url = "https://llm.example.com/cabinet"', /^cabinet\.public_url: expected an http or https address without a path/],
    ['[cabinet.telegram]', /^cabinet\.telegram\.token_env: expected the NAME /],
    ['[cabinet.telegram]\ntoken_env = "123:hunter2"', /^cabinet\.telegram\.token_env: expected the NAME .*, found another value$/],
    ['[cabinet]\nsign_up = "invited"', /^cabinet\.sign_up: expected one of closed, open, found "invited"/],
    ['[mail]\nurl_env = "SMTP_URL"', /^mail\.from: /],
    [
      '[mail]\nurl_env = "SMTP_URL"\nfrom = "a@b.example"',
      /^mail\.url_env: expected .* in the environment variable SMTP_URL, which is not set$/,
    ],
    ['[mail]\nurl_env = "SMTP_URL"\nfrom = "Gateway"', /^mail\.from: expected an e-mail address/],
    ['[mail]\nurl_env = "SMTP_URL"\nfrom = "a@b.example\\nBcc: c@d.example"', /^mail\.from: expected an e-mail address/],
    ['[alerts]\nallow_private = "yes"', /^alerts\.allow_private: expected true or false, found "yes"$/],
    ['[operator]\npublic_url = "console"', /^operator\.public_url: expected an http or https address without a path/],
    ['[server]\ndashboard_url = "pay.example.com"', /^server\.dashboard_url: expected an http or https address/],
    [
      '[server]\ntrusted_proxies = ["10.0.0.0/33", "10.1", "proxy"]',
      /^server\.trusted_proxies\[0\]: /,
      /\[1\]: .*"10\.1"/,
      /\[2\]: .*"proxy"/,
    ],
    ['[server]\ncors_origins = ["https://a.example/x", "A"]', /^server\.cors_origins\[0\]: /, /^server\.cors_origins\[1\]: /],
    ['[operator]\nport = -1', /^operator\.port: .*found -1$/],
    ['[ledger]\npath = ""', /^ledger\.path: .*found ""$/],
    ['[ledger]\nurl = "postgres://u:hunter2@h/d"', /^ledger\.url: unknown name, expected one of path, url_env, /],
    ['[ledger]\nurl_env = "postgres://u:hunter2@h/d"', /^ledger\.url_env: expected the NAME .*, found another value$/],
    ['[mail]\nurl_env = "smtps://u:hunter2@h"\nfrom = "a@b.example"', /^mail\.url_env: expected the NAME .*, found another value$/],
    [
      '[ledger]\nurl_env = "LEDGER_URL"',
      /^ledger\.url_env: expected the database's address in the environment variable LEDGER_URL, which is not set$/,
    ],
    [
      '[ledger]\nstatement_key_env = "KEY"\nnode = "a"\nlease_ms = 5000\nconnections = 8',
      /^ledger\.statement_key_env: expected url_env beside it/,
      /^ledger\.node: .*one node$/,
      /^ledger\.lease_ms: .*one node$/,
      /^ledger\.connections: .*over none$/,
    ],
    ['[ledger]\nnode = "a/1"', /^ledger\.node: expected a name of up to 64 letters, .*found "a\/1"$/],
    ['[ledger]\nconnections = 7', /^ledger\.connections: expected a whole number from 8 to 64, found 7$/],
    ['[ledger]\nlease_ms = 999', /^ledger\.lease_ms: expected a whole number of milliseconds from 1000 to 600000, found 999$/],
    [`[ledger]\nnode = "${'n'.repeat(65)}"`, /^ledger\.node: /],
    ['[limits]\nbody_bytes = 33554433', /^limits\.body_bytes: expected .* 33554432, found 33554433$/],
    ['[limits]\nbody_bytes = 0\ndrain_ms = 2147483648', /^limits\.body_bytes: .*found 0$/, /^limits\.drain_ms: .*found 2147483648$/],
    [
      '[limits]\nbody_bytes = 2000\nbody_bytes_per_minute = 1999',
      /^limits\.body_bytes_per_minute: expected at least as many bytes as limits\.body_bytes allows for one body \(2000\), found 1999$/,
    ],
    ['[limits]\nbody_bytes_per_minute = 33554431', /^limits\.body_bytes_per_minute: .*\(33554432\), found 33554431$/],
    ['[limits]\nidle_ms = 999', /^limits\.idle_ms: expected a whole number of milliseconds from 1000 to 250000, found 999$/],
    ['[limits]\nidle_ms = 250001', /^limits\.idle_ms: .*found 250001$/],
    [
      '[limits]\nkept_answers_bytes = 1048575',
      /^limits\.kept_answers_bytes: expected 0, or a whole number of bytes from 1048576 to 9007199254740991, found 1048575$/,
    ],
    ['[limits]\nkept_answers_bytes = -1', /^limits\.kept_answers_bytes: .*found -1$/],
    ['[limits]\nrequests_per_minute = nan', /^limits\.requests_per_minute: .*found NaN$/],
    ['[upstreams]\nname = "main"', /^upstreams: expected an array of tables, written \[\[upstreams\]\], found a table$/],
    ['[[upstreams]]', /^upstreams\[0\]\.name: expected .*, found nothing$/],
    ['[[upstreams]]\nname = "a"', /^upstreams\[0\]\.base_url: expected an http or https address, found nothing$/],
    [`${UPSTREAM}kind = "openrouter"`, /^upstreams\[0\]\.kind: expected one of native, .*, found "openrouter"$/],
    [
      `${UPSTREAM}region = "us-east-1"`,
      /^upstreams\[0\]\.region: expected kind = "claude-aws" or "bedrock" or "bedrock-invoke" beside it$/,
    ],
    [
      '[[upstreams]]\nname = "a"\nkind = "claude-aws"\nresource = "r"',
      /^upstreams\[0\]\.resource: expected kind = "foundry" beside it$/,
      /^upstreams\[0\]\.workspace: expected a text, found nothing$/,
      /^upstreams\[0\]\.region: expected region or base_url, found nothing$/,
    ],
    ...DOOR_MISTAKES,
    ['[[upstreams]]\nname = "a"\nkind = "foundry"', /^upstreams\[0\]\.resource: expected resource or base_url, found nothing$/],
    [
      '[[upstreams]]\nname = "a"\nkind = "foundry"\nresource = "evil.example/x"',
      /^upstreams\[0\]\.resource: expected up to 128 letters, digits, "_" and "-"/,
    ],
    [`${UPSTREAM}${UPSTREAM}`, /^upstreams\[1\]\.name: expected each name once, found "main" again$/],
    [UPSTREAM.replace('https:', 'ftp:'), /^upstreams\[0\]\.base_url: expected an http or https address/],
    [UPSTREAM.replace('https://', 'https://me:hunter2@'), /^upstreams\[0\]\.base_url: expected no user and no password/],
    [UPSTREAM.replace('.com', '.com?key=hunter2'), /^upstreams\[0\]\.base_url: expected an address without "\?" and "#"$/],
    [`${UPSTREAM}api_key = "hunter2"`, /^upstreams\[0\]\.api_key: unknown name/],
    [`${UPSTREAM}count_tokens = true`, /^upstreams\[0\]\.count_tokens: expected one of yes, no, estimate, found true$/],
    [`${UPSTREAM}echo = "warn"`, /^upstreams\[0\]\.echo: expected one of any, alarm, fail, found "warn"$/],
    [`${UPSTREAM}versions = "some"`, /^upstreams\[0\]\.versions: expected one of yes, no, found "some"$/],
    [`${UPSTREAM}betas = false`, /^upstreams\[0\]\.betas: expected one of yes, no, found false$/],
    [`${UPSTREAM}dialect = "openai"`, /^upstreams\[0\]\.dialect: expected one of vendor, strict, found "openai"$/],
    [`${UPSTREAM}transport = "http2"`, /^upstreams\[0\]\.transport: expected one of socket, fetch, found "http2"$/],
    [`${UPSTREAM}auth = "basic"`, /^upstreams\[0\]\.auth: expected one of x-api-key, bearer, found "basic"$/],
    [`${UPSTREAM}headers = { "a b" = "c" }`, /^upstreams\[0\]\.headers\.a b: expected names of headers/],
    [`${UPSTREAM}headers = { a = "b\\nc" }`, /^upstreams\[0\]\.headers\.a: expected a value of printable ASCII/],
    [
      `${UPSTREAM}headers = { Authorization = "hunter2" }`,
      /^upstreams\[0\]\.headers\.Authorization: expected a header that the gateway does not write itself$/,
    ],
    [`${UPSTREAM}headers = { a = "1", A = "2" }`, /^upstreams\[0\]\.headers\.A: expected each name once, in whatever case$/],
    [`${UPSTREAM}proxy_env = "http://u:hunter2@proxy"`, /^upstreams\[0\]\.proxy_env: expected the NAME .*, found another value$/],
    [`${UPSTREAM}api_key_env = "sk-hunter2"`, /^upstreams\[0\]\.api_key_env: expected the NAME .*, found another value$/],
    ['[payments]\ntext = ""', /^payments\.text: expected how people pay/],
    ['[payments.stripe]\nsecret_key_env = "A"', /^payments\.stripe\.webhook_secret_env: expected the NAME /],
    [`${STRIPE.replace('"KEY"', '"sk_live_hunter2.x"')}`, /^payments\.stripe\.secret_key_env: expected the NAME .*, found another value$/],
    [`${STRIPE.replace('"HOOK"', '"whsec-hunter2"')}`, /^payments\.stripe\.webhook_secret_env: expected the NAME .*, found another value$/],
    [`${UPSTREAM}weight = 0\npriority = -1`, /^upstreams\[0\]\.weight: /, /^upstreams\[0\]\.priority: /],
    [model() + model(), /^models\[1\]\.id: expected each id once, found "m" again$/],
    [model({ id: '"a b"' }), /^models\[0\]\.id: .*found "a b"$/],
    [model({ id: '"a*"' }), /^models\[0\]\.id: /],
    [model({ upstreams: '["main"]' }), /^models\[0\]\.upstreams\[0\]: expected the name of one of the \[\[upstreams\]\], found "main"$/],
    [model({ upstreams: '[]' }), /^models\[0\]\.upstreams: /],
    [
      `${UPSTREAM}${model({ upstreams: '["main", { name = "main", model = "m" }]' })}`,
      /^models\[0\]\.upstreams\[1\]: expected each upstream once, found "main" again$/,
    ],
    [`${UPSTREAM}${model({ upstreams: '[{ model = "m" }]' })}`, /^models\[0\]\.upstreams\[0\]: expected .* or \{ name, model, cost \}/],
    [model({ input: '3.00' }), /^models\[0\]\.input: expected a decimal in quotes, such as "3\.00", found 3$/],
    [model({ input: '"-3"', output: '"1e3"' }), /^models\[0\]\.input: .*found "-3"$/, /^models\[0\]\.output: .*found "1e3"$/],
    [model({ context_window: '0', max_output_tokens: '"many"' }), /^models\[0\]\.context_window: /, /^models\[0\]\.max_output_tokens: /],
    [model({ bytes_per_token: '0.5' }), /^models\[0\]\.bytes_per_token: expected a number from 1 to 100, such as 3\.5, found 0\.5$/],
    [model({ bytes_per_token: 'inf' }), /^models\[0\]\.bytes_per_token: /],
    [model({ bytes_per_token: 'nan' }), /^models\[0\]\.bytes_per_token: /],
    [model({ bytes_per_token: '"4"' }), /^models\[0\]\.bytes_per_token: /],
    [model({ rejects: '["sampling", "tols"]' }), /^models\[0\]\.rejects\[1\]: expected one of sampling, tools, .*, found "tols"$/],
    [model() + model({ id: '"n"', output: 'true' }), /^models\[1\]\.output: .*found true$/],
    ['[[models]]', /models\[0\]\.id: /, /\.input: /, /\.output: /, /\.context_window: /, /\.max_output_tokens: /],
    [`${model()}[plans.default]\nmodels = ["nope"]`, /^plans\.default\.models\[0\]: .*found "nope", which matches no model$/],
    [
      `${model()}[plans.p]\nmodels = ["*m", "x*", "m"]`,
      /^plans\.p\.models\[0\]: expected "\*" at the end only/,
      /^plans\.p\.models\[1\]: /,
    ],
    ['[plans."a b"]\nmodels = ["*"]', /^plans\.a b: expected plan names of letters/],
    ['[plans.p]\nmodels = []', /^plans\.p\.models: /],
    [
      '[plans.p]\nmodels = ["*"]\nmax_request_usd = 1',
      /^plans\.p\.max_request_usd: expected a decimal in quotes, such as "3\.00", found 1$/,
    ],
    ['[plans.p]\nmodels = ["*"]\ninput_tokens_per_minute = 0', /^plans\.p\.input_tokens_per_minute: expected a whole number from 1 to/],
    ['[plans.p]\nmodels = ["*"]\nmax_request_usd = "0.00"', /^plans\.p\.max_request_usd: expected more than 0/],
  ]
  for (const [toml, ...expected] of cases) {
    const found = mistakes(toml, { env: { SET: 'x' } })
    expect(found, toml).toHaveLength(expected.length)
    for (const [index, pattern] of expected.entries()) expect(found[index], toml).toMatch(pattern)
    expect(found.join('\n'), toml).not.toContain('hunter2')
  }
})

test('mistakes of all tables are told at once', () => {
  expect(mistakes('[server]\nport = "x"\n[limits]\ndrain_ms = 0\n[[models]]\nid = "m"')).toHaveLength(6)
  expect(mistakes(`[server]\ndashboard_url = "x"\n${UPSTREAM}api_key_env = "NOT_SET"\n${model({ input: '"0.0000001"' })}`)).toHaveLength(6)
})

describe('prices', () => {
  test('a price or multiplier that is no whole number of picodollars a token is refused by its name', () => {
    const cases: readonly [fields: Record<string, string>, ...paths: string[]][] = [
      [{ input: '"3.0000001"' }, 'input', 'cache_read', 'cache_write', 'cache_write_1h'],
      [{ output: '"0.00000001"' }, 'output'],
      [{ input: '"0.000001"' }, 'cache_read', 'cache_write'],
      [{ input: '"0.000001"', cache_read: '"1"', cache_write: '"1.5"' }, 'cache_write'],
      [{ input: '"0.000010"', cache_write: '"1.2"', cache_write_1h: '"2.05"' }, 'cache_write_1h'],
    ]
    for (const [fields, ...paths] of cases) {
      const found = mistakes(model(fields))
      expect(found.map((text) => text.split(': ')[0])).toEqual(paths.map((path) => `models[0].${path}`))
      for (const text of found) expect(text).toContain('expected a whole number of picodollars')
    }
  })

  test('a level has its model’s multipliers where it names none, and its place in a rising order', () => {
    const levels = (...lines: readonly string[]): string =>
      `${UPSTREAM}${model({ cache_read: '"0.2"' })}${lines.map((line) => `[[models.levels]]\n${line}\n`).join('')}`
    const at = (above: number, more = ''): string => `above_prompt_tokens = ${above}\ninput = "15"\noutput = "75"\n${more}`
    const config = good(levels(at(100), at(200, 'cache_read = "0.5"\n')))
    const [first, second] = [...config.catalog.models.values()][0]?.levels ?? []
    expect([first?.abovePromptTokens, first?.rates.input, first?.rates.cacheRead]).toEqual([100, picos(15_000_000n), picos(3_000_000n)])
    expect([second?.abovePromptTokens, second?.rates.cacheRead]).toEqual([200, picos(7_500_000n)])
    const field = 'models[0].levels[1].above_prompt_tokens'
    expect(mistakes(levels(at(200), at(200)))).toEqual([`${field}: expected more than 200, that of the level before`])
    expect(mistakes(levels(at(1), at(200_000)))).toEqual([
      `${field}: expected less than the context window of 200000: no prompt is above it`,
    ])
    expect(mistakes(levels(at(1, 'cache_read = "0.00000001"\n')))[0]).toContain('models[0].levels[0].cache_read: expected a whole number')
    expect(mistakes(levels('above_prompt_tokens = 5\n'))[0]).toContain('models[0].levels[0]')
    expect(mistakes(levels(at(5).replace('"15"', '"9999999"')))[0]).toContain('one request could cost more than an account can hold')
  })

  test('what an upstream charges is a factor of each price, or prices of its own; the model’s word wins over the upstream’s', () => {
    const upstreams = ['a', 'b', 'c', 'd'].map((name, at) => {
      const cost = ['cost = "0.8"\n', 'cost = "0.8"\n', '', ''][at]
      return `[[upstreams]]\nname = "${name}"\nbase_url = "http://127.0.0.1:1${at}"\n${cost}`
    })
    const own = '{ input = "1.5", output = "7", cache_read = "0.2", levels = [{ above_prompt_tokens = 100, input = "3", output = "7" }] }'
    const named = `upstreams = ["a", { name = "b", cost = "1.000001" }, { name = "c", model = "other", cost = ${own} }, "d"]\n`
    const { catalog } = good(`${upstreams.join('')}${model()}${named}`)
    const [found] = [...catalog.models.values()]
    expect(found?.upstreams.map((one) => one.model)).toEqual([found?.id, found?.id, 'other', found?.id] as string[])
    expect([...(found?.costs?.keys() ?? [])]).toEqual(['a', 'b', 'c'])
    expect(found?.costs?.get('a')).toEqual({ prices: { rates: found?.rates, levels: [] } as never, factorMillionths: 800_000 })
    expect(found?.costs?.get('b')?.factorMillionths).toBe(1_000_001)
    const { prices, factorMillionths } = found?.costs?.get('c') ?? { prices: undefined, factorMillionths: 0 }
    expect([prices?.rates.input, prices?.rates.cacheRead, factorMillionths]).toEqual([picos(1_500_000n), picos(300_000n), 1_000_000])
    expect(prices?.levels[0]?.rates.cacheRead).toBe(picos(600_000n))
  })

  test.each([
    ['cost = "1,1"', 'upstreams[0].cost: expected a factor of the price in quotes'],
    ['cost = "-1"', 'upstreams[0].cost: expected a factor'],
    ['cost = "1.1234567"', 'upstreams[0].cost: expected a factor'],
    ['cost = 1.1', 'upstreams[0].cost: expected a factor'],
    ['cost = "9999"', 'upstreams[0].cost: one request of m could cost more than an amount of the ledger can hold'],
  ])('%s of an upstream is refused', (line, problem) => {
    const text = `[[upstreams]]\nname = "a"\nbase_url = "http://127.0.0.1:1"\n${line}\n`
    expect(mistakes(`${text}${model({ id: '"m"', output: '"9999"', max_output_tokens: '1000000' })}`)).toEqual([
      expect.stringContaining(problem),
    ])
  })

  test.each([
    ['"x"', 'models[0].upstreams[0]'],
    ['{ input = "1" }', 'models[0].upstreams[0]'],
    ['{ input = "0.0000001", output = "1" }', 'models[0].upstreams[0].cost.input: expected a whole number of picodollars'],
    [
      '{ input = "1", output = "1", levels = [{ above_prompt_tokens = 999999999, input = "1", output = "1" }] }',
      'models[0].upstreams[0].cost.levels[0].above_prompt_tokens',
    ],
  ])('cost = %s of a model’s upstream is refused', (cost, problem) => {
    const found = mistakes(`${UPSTREAM}${model()}upstreams = [{ name = "main", cost = ${cost} }]\n`)
    expect(found[0]).toContain(problem)
  })

  test('a price list under which one request could pass the largest balance is refused', () => {
    const tooDear = ['models[0]: one request could cost more than an account can hold']
    expect(mistakes(model({ output: '"9999999"', max_output_tokens: '1000000000' }))).toEqual(tooDear)
    // Eleven passes over the window, and ten thousand uses of a tool: each of them alone would pass.
    expect(mistakes(model({ input: '"3000000"', context_window: '1000000', cache_write_1h: '"2"' }))).toEqual(tooDear)
    expect(mistakes(model({ input: '"300000"', context_window: '1000000', cache_write_1h: '"2"' }))).toEqual([])
    expect(mistakes(model({ server_tool_use: '"1000"' }))).toEqual(tooDear)
    expect(mistakes(model({ server_tool_use: '"100"' }))).toEqual([])
  })

  test('any accepted price is the price, to the last picodollar, and its worst case fits an account', () => {
    const digits = fc.integer({ min: 0, max: 2_000_000 })
    fc.assert(
      fc.property(digits, digits, (hundredthsOfCents, output) => {
        const text = (amount: number): string => `"${Math.floor(amount / 10_000)}.${String(amount % 10_000).padStart(4, '0')}"`
        const config = good(model({ input: text(hundredthsOfCents), output: text(output) }))
        const found = modelOf(config.catalog, 'default', 'm')
        if (found === undefined) throw new Error('the model must be there')
        expect(found.rates.input).toBe(picos(BigInt(hundredthsOfCents) * 100n))
        expect(found.rates.cacheRead * 10n).toBe(found.rates.input)
        expect(found.rates.cacheWrite5m * 4n).toBe(picos(found.rates.input * 5n))
        expect(found.rates.cacheWrite1h).toBe(picos(found.rates.input * 2n))
        const usage = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, serverToolUses: 0 }
        expect(costOf(usage, found.rates)).toBe(picos(BigInt(hundredthsOfCents) * 100_000_000n))
        const bounds = {
          bodyBytes: 1,
          hasOpaqueInput: true,
          passes: 0,
          serverToolUsesMax: 0,
          cacheWrites: '1h',
          outputTokensMax: found.maxOutputTokens,
          bytesPerToken: 4,
        } as const
        expect(holdFor(bounds, found, found.contextWindow) <= BALANCE_PICOS_MAX).toBeTrue()
      }),
      { numRuns: 50 },
    )
  })
})

describe('secrets', () => {
  const toml = `${UPSTREAM}api_key_env = "UPSTREAM_API_KEY"\n`

  test('a missing or empty variable is named; a broken value is never shown', () => {
    for (const env of [{}, { UPSTREAM_API_KEY: '' }])
      expect(mistakes(toml, { env })).toEqual([
        'upstreams[0].api_key_env: expected the secret in the environment variable UPSTREAM_API_KEY, which is not set',
      ])
    const [found = ''] = mistakes(toml, { env: { UPSTREAM_API_KEY: 'sk-hunter2\n' } })
    expect(found).toStartWith('upstreams[0].api_key_env: expected a secret')
    expect(found).not.toContain('hunter2')
  })

  test('a command that calls no upstream needs none', () => {
    expect(good(toml, { env: {}, needsSecrets: false }).upstreams[0]?.apiKey).toBeUndefined()
  })
})

describe('a ledger on Postgres', () => {
  const toml =
    '[ledger]\npath = "own/x.db"\nurl_env = "LEDGER_URL"\nstatement_key_env = "KEY"\nnode = "web-1"\nlease_ms = 4000\nconnections = 12\n'
  const url = 'postgres://me:hunter2@db.example.com:5433/toll?sslmode=require'
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const der = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')

  test('address and key come from the environment, the key as PEM or its base64; the node has the name of the host', () => {
    const expected = {
      kind: 'postgres' as const,
      path: join(folder, 'own/x.db'),
      url,
      node: 'web-1',
      leaseMs: 4_000,
      connections: 12,
      statementKey: pem,
    }
    for (const KEY of [pem, der, `${der}\n`]) expect(good(toml, { env: { LEDGER_URL: url, KEY } }).ledger).toEqual(expected)
    const short = good('[ledger]\nurl_env = "LEDGER_URL"\n', { env: { LEDGER_URL: url } }).ledger
    expect(short).toMatchObject({
      node: hostname(),
      path: join(folder, 'data/tollgate.db'),
      leaseMs: 10_000,
      connections: 8,
      statementKey: undefined,
    })
  })

  test('what is no address or no such key is named by its variable, and never shown', () => {
    const paths = 'ledger.url_env: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE in LEDGER_URL, found another text'
    for (const LEDGER_URL of [
      'hunter2',
      'mysql://me:hunter2@h/d',
      'postgres://me:hunter2@h',
      'postgres://me:hunter2@h/',
      'postgres:///hunter2',
    ])
      expect(mistakes(toml, { env: { LEDGER_URL, KEY: pem } })).toEqual([paths])
    const modes = 'disable, allow, prefer, require, verify-ca, verify-full'
    for (const given of ['sslmode=verify-ful', 'sslmode=', 'ssl-mode=hunter2', 'SSLMODE=on'])
      expect(mistakes(toml, { env: { LEDGER_URL: `postgres://me:hunter2@h/d?${given}`, KEY: pem } })).toEqual([
        `ledger.url_env: expected sslmode in LEDGER_URL to be one of ${modes}, found another word`,
      ])
    for (const mode of modes.split(', ')) good(toml, { env: { LEDGER_URL: `postgres://me@h/d?sslmode=${mode}`, KEY: pem } })
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const open = createPublicKey(pem).export({ format: 'pem', type: 'spki' }).toString()
    for (const KEY of ['hunter2', rsa, open, pem.slice(0, -40)])
      expect(mistakes(toml, { env: { LEDGER_URL: url, KEY } })).toEqual([
        'ledger.statement_key_env: expected an Ed25519 private key in KEY, PEM or its base64, found another text',
      ])
  })

  test('every command needs the address, and only those that call upstreams or sign need the key', () => {
    expect(mistakes(toml, { env: { LEDGER_URL: url } })).toEqual([
      'ledger.statement_key_env: expected the key in the environment variable KEY, which is not set',
    ])
    expect(good(toml, { env: { LEDGER_URL: url }, needsSecrets: false }).ledger).toMatchObject({ url, statementKey: undefined })
    expect(good(toml, { env: { LEDGER_URL: url, KEY: der }, needsSecrets: false }).ledger).toMatchObject({ statementKey: pem })
    expect(mistakes(toml, { env: {}, needsSecrets: false })).toHaveLength(1)
  })

  test('a reload leaves all of it as it was, says so, and shows neither address nor key', () => {
    const before = good(toml, { env: { LEDGER_URL: url, KEY: pem } })
    const other = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const changes: readonly (readonly [string, Record<string, string>])[] = [
      [toml, { LEDGER_URL: url.replace('hunter2', 'hunter3'), KEY: pem }],
      [toml, { LEDGER_URL: url, KEY: other }],
      [toml.replace('web-1', 'web-2'), { LEDGER_URL: url, KEY: pem }],
      ['', {}],
    ]
    for (const [text, env] of changes) {
      const after = good(text, { env })
      const { config, ignored } = reloadable(before, after)
      expect({ ledger: config.ledger, ignored }).toEqual({ ledger: before.ledger, ignored: ['ledger'] })
      expect(differences(before, after).length).toBeGreaterThan(0)
      expect(JSON.stringify(differences(before, after))).not.toMatch(/hunter|PRIVATE/)
    }
    expect(reloadable(before, good(toml, { env: { LEDGER_URL: url, KEY: der } })).ignored).toEqual([])
  })
})

describe('files', () => {
  test('a named file that is missing, a folder or not UTF-8 is a mistake', () => {
    writeFileSync(join(folder, 'binary.toml'), Uint8Array.of(0xff, 0xfe, 0x00))
    for (const [file, message] of [
      ['nowhere.toml', 'there is no such file'],
      ['.', 'the file cannot be read (EISDIR)'],
      ['binary.toml', 'the file is not UTF-8'],
    ] as const) {
      expect(loadConfig({ file, folder, env: {} })).toEqual({ file: join(folder, file), problems: [{ path: '', message }] })
    }
  })

  test('tollgate.toml of the working folder is found, and its paths start at its own folder', () => {
    const home = mkdtempSync(join(folder, 'home-'))
    writeFileSync(join(home, 'tollgate.toml'), '[ledger]\npath = "x.db"')
    const found = loadConfig({ file: undefined, folder: home, env: {} })
    expect('problems' in found ? found : found.ledger.path).toBe(join(home, 'x.db'))
    const named = loadConfig({ file: join(home, 'tollgate.toml'), folder, env: {} })
    expect('problems' in named ? named : named.ledger.path).toBe(join(home, 'x.db'))
  })
})

test('a reload changes models, plans, limits and upstreams, but no address, ledger or secret', () => {
  const before = good(`${UPSTREAM}api_key_env = "A"\n${model()}`, { env: { A: 'old' } })
  const after = good(
    `[server]\nhost = "0.0.0.0"\nport = 1\ncors_origins = ["https://a.example"]\n[operator]\nhost = "::1"\nport = 2\n[ledger]\npath = "other.db"\n` +
      `[limits]\ndrain_ms = 5\nidle_ms = 5000\nkept_answers_bytes = 0\n${UPSTREAM}weight = 7\napi_key_env = "B"\n${UPSTREAM.replace('main', 'new')}api_key_env = "B"\n${model({ id: '"n"' })}`,
    { env: { B: 'new' } },
  )
  const { config, ignored } = reloadable(before, after)
  expect(ignored).toEqual([
    'server.host',
    'server.port',
    'operator.host',
    'operator.port',
    'limits.idle_ms',
    'limits.kept_answers_bytes',
    'ledger',
    'upstreams[0].api_key_env',
  ])
  expect(config).toMatchObject({
    operator: before.operator,
    ledger: before.ledger,
    limits: { drainMs: 5, idleMs: 75_000, keptAnswersBytes: 1_073_741_824 },
  })
  expect(config.server).toEqual({ ...before.server, corsOrigins: ['https://a.example'] })
  expect(config.upstreams.map(({ name, apiKey, weight }) => [name, apiKey, weight])).toEqual([
    ['main', 'old', 7],
    ['new', 'new', 1],
  ])
  expect([...config.catalog.models.keys()]).toEqual(['n'])
  expect(reloadable(before, before).ignored).toEqual([])
})

test('a proxy is for fetch only, its address comes from the environment, and a wrong one is named without its words', () => {
  const proxied = `${UPSTREAM}transport = "fetch"\nproxy_env = "PROXY_URL"\n${model()}`
  const proxyOf = (url: string): string | undefined => good(proxied, { env: { PROXY_URL: url } }).upstreams[0]?.proxyUrl
  expect(proxyOf('http://user:word@proxy.example:3128')).toBe('http://user:word@proxy.example:3128')
  for (const transport of ['', 'transport = "socket"\n']) {
    const found = mistakes(`${UPSTREAM}${transport}proxy_env = "PROXY_URL"\n${model()}`, { env: { PROXY_URL: 'http://proxy.example' } })
    expect(found).toEqual(['upstreams[0].proxy_env: expected transport = "fetch" beside it: no other transport knows proxies'])
  }
  expect(mistakes(proxied, { env: {} })).toEqual([
    "upstreams[0].proxy_env: expected the proxy's address in the environment variable PROXY_URL, which is not set",
  ])
  for (const url of ['hunter2', 'socks5://hunter2@proxy'])
    expect(mistakes(proxied, { env: { PROXY_URL: url } })).toEqual([
      'upstreams[0].proxy_env: expected an http or https address in PROXY_URL, found another text',
    ])
})

test('secrets of a door and of its headers stay over a reload, which says so and shows none; another kind brings its own', () => {
  const toml = `[[upstreams]]\nname = "a"\nkind = "bedrock"\nregion = "r"\n${AWS_KEYS}headers = { "x-secret" = { env = "HEADER" }, "x-team" = "t" }\n${model()}`
  const env = { AWS_ID: 'id-1', AWS_SECRET: 'hunter2', HEADER: 'hunter3' }
  const before = good(toml, { env })
  expect(before.upstreams[0]).toMatchObject({ headers: { 'x-team': 't' }, secretHeaders: { 'x-secret': 'hunter3' } })
  const after = good(toml, { env: { AWS_ID: 'id-2', AWS_SECRET: 'hunter4', HEADER: 'hunter5' } })
  const { config, ignored } = reloadable(before, after)
  expect(ignored).toEqual(['upstreams[0].headers', 'upstreams[0].credentials'])
  expect(config.upstreams[0]).toEqual(before.upstreams[0] ?? expect.unreachable())
  expect(JSON.stringify(differences(before, after))).not.toMatch(/hunter|id-[12]/)
  const other = good(toml.replace('bedrock', 'bedrock-invoke'), { env: { ...env, AWS_SECRET: 'hunter6' } })
  expect(reloadable(before, other).config.upstreams[0]?.door).toMatchObject({
    kind: 'bedrock-invoke',
    proof: { credentials: { secretAccessKey: 'hunter6' } },
  })
})

test('the first upstream over fetch is taken by a reload, which says that the process was not started for it', () => {
  const before = good(`${UPSTREAM}${model()}`)
  const after = good(`${UPSTREAM}transport = "fetch"\n${model()}`)
  const { config, ignored } = reloadable(before, after)
  expect(config.upstreams[0]?.transport).toBe('fetch')
  expect(ignored).toEqual(['upstreams[0].transport'])
  expect(reloadable(after, after).ignored).toEqual([])
  expect(reloadable(after, before).ignored).toEqual([])
})

test('Stripe’s secrets come from the environment, are asked for by whoever serves, and stay over a reload; bounds and words do not', () => {
  const env = { KEY: 'sk_1', HOOK: 'whsec_1' }
  expect(mistakes(STRIPE, { env: { KEY: 'sk_1', HOOK: 'with space' } })).toEqual([
    'payments.stripe.webhook_secret_env: expected a secret of printable ASCII without spaces in HOOK, found other characters',
  ])
  expect(mistakes(STRIPE)).toHaveLength(2)
  const range = 'expected whole cents from "0.50" to "999999.99", found'
  for (const [bounds, mistake] of [
    ['min_usd = "0.49"', `payments.stripe.min_usd: ${range} "0.49"`],
    ['max_usd = "10.005"', `payments.stripe.max_usd: ${range} "10.005"`],
    ['max_usd = "1000000"', `payments.stripe.max_usd: ${range} "1000000"`],
    ['min_usd = "20"\nmax_usd = "19.99"', 'payments.stripe.max_usd: expected no less than min_usd'],
  ] as const) {
    expect(mistakes(`${STRIPE}${bounds}`, { env })).toEqual([mistake])
  }
  expect(mistakes(STRIPE, { needsSecrets: false })).toEqual([])
  expect(good('').payments).toEqual({ text: undefined, stripe: undefined })
  const before = good(STRIPE, { env })
  const dollar = 1_000_000_000_000n
  expect(before.payments).toEqual({
    text: undefined,
    stripe: { secretKey: 'sk_1', webhookSecret: 'whsec_1', minPicos: picos(5n * dollar), maxPicos: picos(500n * dollar) },
  })
  const after = good(`[payments]\ntext = "Ask Ann"\n${STRIPE}max_usd = "50"`, { env: { KEY: 'sk_2', HOOK: 'whsec_1' } })
  const { config, ignored } = reloadable(before, after)
  expect(ignored).toEqual(['payments.stripe'])
  expect(config.payments).toMatchObject({ text: 'Ask Ann', stripe: { secretKey: 'sk_1', maxPicos: picos(50n * dollar) } })
  expect(reloadable(good(''), after).config.payments).toEqual({ text: 'Ask Ann', stripe: undefined })
  expect(reloadable(before, good('')).config.payments.stripe).toEqual(before.payments.stripe)
})

test('the address of a mail server is never shown, and other schemes than SMTP are refused', () => {
  const toml = '[mail]\nurl_env = "SMTP_URL"\nfrom = "a@b.example"'
  for (const address of ['https://user:hunter2@mail.example', 'hunter2', 'smtp//hunter2']) {
    const found = mistakes(toml, { env: { SMTP_URL: address } })
    expect(found).toEqual(['mail.url_env: expected an smtp or smtps address in SMTP_URL, found another text'])
  }
  expect(good(toml, { env: {}, needsSecrets: false }).mail).toBeUndefined()
})

test('a kind has its own address and its own way to tell the key, which base_url and auth replace', () => {
  const one = (toml: string) => good(`[[upstreams]]\nname = "a"\n${toml}\n${model()}`).upstreams[0]
  const aws = 'kind = "claude-aws"\nregion = "eu-west-1"\nworkspace = "wrkspc_1"'
  const at = 'base_url = "http://127.0.0.1:9"'
  expect(one(aws)).toMatchObject({
    door: { kind: 'claude-aws', workspace: 'wrkspc_1', proof: { by: 'key' } },
    baseUrl: 'https://aws-external-anthropic.eu-west-1.api.aws',
    auth: 'bearer',
  })
  expect(one(`${aws}\n${at}\nauth = "x-api-key"`)).toMatchObject({ baseUrl: 'http://127.0.0.1:9', auth: 'x-api-key' })
  const foundry = 'kind = "foundry"\nresource = "acme"'
  expect(one(foundry)).toMatchObject({
    door: { kind: 'foundry', proof: { by: 'key' } },
    baseUrl: 'https://acme.services.ai.azure.com/anthropic',
    auth: 'x-api-key',
  })
  const google = 'credentials = "metadata"\nproject = "p-1"'
  const addressOf = (toml: string) => one(toml)?.baseUrl
  expect(addressOf(`kind = "vertex"\nlocation = "global"\n${google}`)).toBe('https://aiplatform.googleapis.com')
  expect(addressOf(`kind = "vertex"\nlocation = "eu"\n${google}`)).toBe('https://aiplatform.eu.rep.googleapis.com')
  expect(addressOf(`kind = "vertex"\nlocation = "us-east5"\n${google}`)).toBe('https://us-east5-aiplatform.googleapis.com')
  expect(addressOf(`kind = "claude-google"\nworkspace = "w1"\n${google}`)).toBe(
    'https://claude.googleapis.com/v1/projects/p-1/locations/global/workspaces/w1/invoke',
  )
  const signed = 'region = "us-east-1"\ncredentials = "default"\n'
  expect(one(`kind = "bedrock"\n${signed}`)).toMatchObject({
    baseUrl: 'https://bedrock-mantle.us-east-1.api.aws/anthropic',
    door: { proof: { by: 'signature', region: 'us-east-1', service: 'bedrock-mantle', credentials: 'chain' } },
  })
  expect(one(`kind = "bedrock-invoke"\n${signed}signing_service = "other"\napi_version = "v"`)).toMatchObject({
    baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    door: { proof: { service: 'other' }, apiVersion: 'v' },
  })
  expect(one(`kind = "native"\n${at}`)).toMatchObject({ door: { kind: 'native' }, auth: 'x-api-key' })
})

test('the address of the vendor speaks as the vendor, unless the file says otherwise; every other one is strict', () => {
  const dialectOf = (url: string, more = ''): unknown =>
    good(`[[upstreams]]\nname = "a"\nbase_url = "${url}"\n${more}\n${model()}`).upstreams[0]?.dialect
  for (const url of ['https://api.anthropic.com', 'https://API.anthropic.com/v1/']) expect(dialectOf(url)).toBe('vendor')
  for (const url of ['https://api.anthropic.com.example', 'http://127.0.0.1:8000', 'https://llm.example.com/anthropic'])
    expect(dialectOf(url)).toBe('strict')
  expect(dialectOf('https://api.anthropic.com', 'dialect = "strict"')).toBe('strict')
  expect(dialectOf('https://llm.example.com', 'dialect = "vendor"')).toBe('vendor')
})
