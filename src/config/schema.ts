/** `tollgate.toml` as a shape: every name that may stand in it, and in `description` what is expected there. Rules: operator.md "Configuration". */

import { type Static, Type } from '@sinclair/typebox'
import { CONNECTIONS_MAX, CONNECTIONS_MIN } from '../core/connections.ts'
import { KEPT_ANSWERS_BYTES_MIN, LIMITS, type Limits } from '../core/limits.ts'
import { MODEL, PLAN, UPSTREAM } from './catalog-schema.ts'
import { SIGN_UPS } from './config.ts'
import { CLOSED, count, host, milliseconds, name, port, positive, publicUrl, text, texts, usd, variable } from './schema-values.ts'

/** Bun's longest idle time is 255 seconds, and its resolution is four. */
const IDLE_MS_MAX = 250_000

const ADDRESS = '[^\\s@<>"\',;:]{1,64}@[^\\s@<>"\',;:]{1,190}'
const SENDER = `^(?:${ADDRESS}|[^<>"@,;:\\x00-\\x1f]{1,100} <${ADDRESS}>)$`

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
          drain_delay_ms: Type.Optional(
            Type.Integer({ minimum: 0, maximum: 600_000, description: 'a whole number of milliseconds from 0 to 600000' }),
          ),
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
          telegram: Type.Optional(
            Type.Object(
              { token_env: variable("the token of the cabinet's bot in Telegram") },
              { ...CLOSED, description: 'a table, written [cabinet.telegram]' },
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
          connections: Type.Optional(
            count(`a whole number from ${CONNECTIONS_MIN} to ${CONNECTIONS_MAX}`, CONNECTIONS_MAX, CONNECTIONS_MIN),
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
          first_event_timeout_ms: Type.Optional(milliseconds),
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
          kept_answers_bytes: Type.Optional(
            Type.Union([Type.Literal(0), count('', Number.MAX_SAFE_INTEGER, KEPT_ANSWERS_BYTES_MIN)], {
              description: `0, or a whole number of bytes from ${KEPT_ANSWERS_BYTES_MIN} to ${Number.MAX_SAFE_INTEGER}`,
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

/** `bodyBytes` → `body_bytes`: this type keeps the names of limits in the file and in the code in step. */
type Snake<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : Name
