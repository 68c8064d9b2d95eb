/** `tollgate.toml` as a shape: every name that may stand in it, and in `description` what is expected there. Rules: operator.md "Configuration". */

import { type Static, Type } from '@sinclair/typebox'
import { REJECTIONS } from '../core/catalog.ts'
import { LIMITS, type Limits } from '../core/limits.ts'
import { SIGN_UPS, TRANSPORTS } from './config.ts'

const CLOSED = { additionalProperties: false }
/** Timers end at 2³¹ − 1 milliseconds. */
const TIMER_MS_MAX = 2_147_483_647
const COUNT_MAX = 1_000_000_000
const BYTES_PER_TOKEN_MAX = 100
/** Bun counts idle connections up to 255 seconds, of which its resolution takes four. */
const IDLE_MS_MAX = 250_000
export const NAME_MAX = 64

const ADDRESS = '[^\\s@<>"\',;:]{1,64}@[^\\s@<>"\',;:]{1,190}'
const SENDER = `^(?:${ADDRESS}|[^<>"@,;:\\x00-\\x1f]{1,100} <${ADDRESS}>)$`

const port = Type.Integer({ minimum: 0, maximum: 65_535, description: 'a port from 0 to 65535' })
const host = Type.String({ pattern: '^[0-9A-Za-z.:_-]{1,253}$', description: 'a host name or an address' })
const name = Type.String({
  pattern: `^[0-9A-Za-z][0-9A-Za-z_.-]{0,${NAME_MAX - 1}}$`,
  description: `a name of up to ${NAME_MAX} letters, digits, "_", "." and "-"`,
})
const variable = (holds: string) =>
  Type.String({ pattern: '^[A-Za-z_][0-9A-Za-z_]*$', description: `the NAME of an environment variable that holds ${holds}` })
const text = (description: string) => Type.String({ minLength: 1, description })
const publicUrl = text('an http or https address without a path')
const count = (description: string, maximum = COUNT_MAX) => Type.Integer({ minimum: 1, maximum, description })
const milliseconds = count(`a whole number of milliseconds from 1 to ${TIMER_MS_MAX}`, TIMER_MS_MAX)
const positive = count(`a whole number from 1 to ${COUNT_MAX}`)
const usd = Type.String({ pattern: '^\\d{1,7}(\\.\\d{1,12})?$', description: 'a decimal in quotes, such as "3.00"' })
const texts = (item: string, description: string) => Type.Array(text(item), { uniqueItems: true, description })

const UPSTREAM = Type.Object(
  {
    name,
    base_url: text('an http or https address'),
    api_key_env: Type.Optional(variable('the secret')),
    weight: Type.Optional(positive),
    priority: Type.Optional(
      Type.Integer({ minimum: 0, maximum: COUNT_MAX, description: 'a whole number from 0 on; the lowest is tried first' }),
    ),
    max_concurrent: Type.Optional(positive),
    connect_timeout_ms: Type.Optional(milliseconds),
    transport: Type.Optional(
      Type.Union(
        TRANSPORTS.map((name) => Type.Literal(name)),
        { description: `one of ${TRANSPORTS.join(', ')}` },
      ),
    ),
    proxy_env: Type.Optional(variable("the proxy's address")),
  },
  { ...CLOSED, description: 'a table, written [[upstreams]]' },
)

const MODEL_ID = Type.String({
  pattern: '^[!#-\\[\\]-~]{1,256}$',
  description: 'the id that the upstream knows: printable ASCII without spaces and quotes',
})

const MODEL_UPSTREAM = Type.Object(
  { name: text('the name of an upstream'), model: MODEL_ID },
  { ...CLOSED, description: '{ name, model }' },
)

const MODEL = Type.Object(
  {
    id: Type.String({
      pattern: '^[!#-)+-\\[\\]-~]{1,128}$',
      description: 'a model id: printable ASCII without spaces, quotes, "\\" and "*"',
    }),
    upstream_model: Type.Optional(MODEL_ID),
    upstreams: Type.Optional(
      Type.Array(
        Type.Union([text('the name of an upstream'), MODEL_UPSTREAM], { description: 'the name of an upstream, or { name, model }' }),
        {
          minItems: 1,
          description: 'names of upstreams, each once, or { name, model } where one knows the model by another id',
        },
      ),
    ),
    input: usd,
    output: usd,
    cache_read: Type.Optional(usd),
    cache_write: Type.Optional(usd),
    cache_write_1h: Type.Optional(usd),
    server_tool_use: Type.Optional(usd),
    context_window: positive,
    max_output_tokens: positive,
    bytes_per_token: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: BYTES_PER_TOKEN_MAX,
        description: `a number from 1 to ${BYTES_PER_TOKEN_MAX}, such as 3.5`,
      }),
    ),
    rejects: Type.Optional(
      Type.Array(
        Type.Union(
          REJECTIONS.map((name) => Type.Literal(name)),
          { description: `one of ${REJECTIONS.join(', ')}` },
        ),
        { uniqueItems: true, description: 'an array of names, each once' },
      ),
    ),
  },
  { ...CLOSED, description: 'a table, written [[models]]' },
)

const PLAN = Type.Object(
  {
    models: Type.Array(text('a model id, or a prefix that ends in "*"'), {
      minItems: 1,
      uniqueItems: true,
      description: 'model ids or prefixes that end in "*"',
    }),
  },
  { ...CLOSED, description: 'a table, such as [plans.default]' },
)

export const CONFIG_FILE = Type.Object(
  {
    server: Type.Optional(
      Type.Object(
        {
          host: Type.Optional(host),
          port: Type.Optional(port),
          dashboard_url: Type.Optional(text('an http or https address')),
          public_url: Type.Optional(publicUrl),
          trusted_proxies: Type.Optional(texts('an address or a range, such as "10.0.0.0/8"', 'an array of addresses or ranges')),
          cors_origins: Type.Optional(texts('an origin, such as "https://chat.example.com", or "*"', 'an array of origins, or ["*"]')),
        },
        { ...CLOSED, description: 'a table, written [server]' },
      ),
    ),
    operator: Type.Optional(
      Type.Object(
        { host: Type.Optional(host), port: Type.Optional(port), public_url: Type.Optional(publicUrl) },
        { ...CLOSED, description: 'a table, written [operator]' },
      ),
    ),
    cabinet: Type.Optional(
      Type.Object(
        {
          public_url: Type.Optional(publicUrl),
          sign_up: Type.Optional(
            Type.Union(
              SIGN_UPS.map((name) => Type.Literal(name)),
              { description: `one of ${SIGN_UPS.join(', ')}` },
            ),
          ),
        },
        { ...CLOSED, description: 'a table, written [cabinet]' },
      ),
    ),
    mail: Type.Optional(
      Type.Object(
        {
          url_env: variable("the mail server's address, such as smtps://user:password@mail.example.com"),
          from: Type.String({
            pattern: SENDER,
            description: 'an e-mail address, or a name with one, such as "Gateway <gateway@example.com>"',
          }),
        },
        { ...CLOSED, description: 'a table, written [mail]' },
      ),
    ),
    alerts: Type.Optional(
      Type.Object(
        { allow_private: Type.Optional(Type.Boolean({ description: 'true or false' })) },
        { ...CLOSED, description: 'a table, written [alerts]' },
      ),
    ),
    payments: Type.Optional(
      Type.Object(
        {
          text: Type.Optional(
            Type.String({ minLength: 1, maxLength: 2_000, description: 'how people pay, in words, up to 2000 characters' }),
          ),
          stripe: Type.Optional(
            Type.Object(
              {
                secret_key_env: variable("Stripe's secret key"),
                webhook_secret_env: variable("the signing secret of Stripe's webhook"),
                min_usd: Type.Optional(usd),
                max_usd: Type.Optional(usd),
              },
              { ...CLOSED, description: 'a table, written [payments.stripe]' },
            ),
          ),
        },
        { ...CLOSED, description: 'a table, written [payments]' },
      ),
    ),
    ledger: Type.Optional(
      Type.Object(
        {
          path: Type.Optional(text('the path of the database file')),
          url_env: Type.Optional(variable("the database's address, such as postgres://user:password@db.example.com/tollgate")),
          statement_key_env: Type.Optional(variable('the Ed25519 private key that signs statements')),
          node: Type.Optional(name),
          lease_ms: Type.Optional(
            Type.Integer({ minimum: 1_000, maximum: 600_000, description: 'a whole number of milliseconds from 1000 to 600000' }),
          ),
        },
        { ...CLOSED, description: 'a table, written [ledger]' },
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          body_bytes: Type.Optional(count(`a whole number of bytes from 1 to ${LIMITS.bodyBytes}`, LIMITS.bodyBytes)),
          body_bytes_per_minute: Type.Optional(
            count(`a whole number of bytes from 1 to ${Number.MAX_SAFE_INTEGER}`, Number.MAX_SAFE_INTEGER),
          ),
          start_timeout_ms: Type.Optional(milliseconds),
          total_timeout_ms: Type.Optional(milliseconds),
          stall_timeout_ms: Type.Optional(milliseconds),
          write_stall_ms: Type.Optional(milliseconds),
          requests_per_minute: Type.Optional(positive),
          concurrent_requests: Type.Optional(positive),
          dashboard_per_minute: Type.Optional(positive),
          drain_ms: Type.Optional(milliseconds),
          idle_ms: Type.Optional(
            Type.Integer({
              minimum: 1_000,
              maximum: IDLE_MS_MAX,
              description: `a whole number of milliseconds from 1000 to ${IDLE_MS_MAX}`,
            }),
          ),
        } satisfies Record<Snake<keyof Limits>, unknown>,
        { ...CLOSED, description: 'a table, written [limits]' },
      ),
    ),
    upstreams: Type.Optional(Type.Array(UPSTREAM, { description: 'an array of tables, written [[upstreams]]' })),
    models: Type.Optional(Type.Array(MODEL, { description: 'an array of tables, written [[models]]' })),
    plans: Type.Optional(
      Type.Record(Type.String({ pattern: '^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$' }), PLAN, {
        ...CLOSED,
        description: 'plan names of letters, digits, "_" and "-", such as [plans.default]',
      }),
    ),
  },
  CLOSED,
)

export type ConfigFile = Static<typeof CONFIG_FILE>
export type UpstreamEntry = Static<typeof UPSTREAM>
export type ModelEntry = Static<typeof MODEL>

/** `bodyBytes` → `body_bytes`: keeps the file's limits and the code's in step. */
type Snake<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : Name
