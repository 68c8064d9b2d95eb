/** `[[upstreams]]`, `[[models]]` and `[plans]` as shapes. Rules: operator.md "Configuration"; requests.md "Models". */

import { type Static, Type } from '@sinclair/typebox'
import { REJECTIONS } from '../core/catalog.ts'
import { MAX_TOKENS_FIELDS, REASONING_SETTINGS } from '../core/chat-dialect.ts'
import { KINDS } from '../core/door.ts'
import { DIALECTS } from '../core/native/event.ts'
import { ECHOES } from '../core/native/model-echo.ts'
import { PERS } from '../core/windows.ts'
import { AUTHS, COUNT_TOKENS, CREDENTIALS, ERROR_TEXTS, ON_LEAVES, TRANSPORTS, YES_OR_NO } from './config.ts'
import { CLOSED, COUNT_MAX, milliseconds, name, positive, text, usd, variable } from './schema-values.ts'

const BYTES_PER_TOKEN_MAX = 100

const HEADER = Type.String({ pattern: '^[!-~]([ -~]{0,998}[!-~])?$', description: 'a value of printable ASCII, 1 to 1,000 characters' })

const HEADER_OF = Type.Object({ env: variable('the value') }, CLOSED)
const HEADER_WORDS = { description: 'a value of printable ASCII, 1 to 1,000 characters, or { env = "NAME" }' }

const oneOf = <Name extends string>(names: readonly Name[]) =>
  Type.Union(
    names.map((name) => Type.Literal(name)),
    { description: `one of ${names.join(', ')}` },
  )

const BETA = Type.String({ pattern: '^[0-9A-Za-z._-]{1,127}[0-9A-Za-z._*-]$', description: 'the name of a beta, or its beginning and "*"' })
const RENAMED_BETA = Type.String({ pattern: '^[0-9A-Za-z._-]{1,128}$', description: 'the name of a beta' })
const FIELD_PATH = Type.String({
  pattern: '^[0-9A-Za-z_-]+(\\[\\])?(\\.[0-9A-Za-z_-]+(\\[\\])?)*$',
  description: 'the path of a field, such as "output_format" or "tools[].defer_loading"',
})
const DOMAIN = Type.String({ pattern: '^[0-9A-Za-z][0-9A-Za-z.-]{0,127}$', description: 'an id, or a domain' })

/** A name that the gateway puts into host names, paths and header fields. */
const PLACE = Type.String({ pattern: '^[0-9A-Za-z][0-9A-Za-z_-]{0,127}$', description: 'up to 128 letters, digits, "_" and "-"' })

const FIELDS = Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$', description: 'the name of a top-level field' }), {
  uniqueItems: true,
  description: 'names of top-level fields, each once',
})

const COST_FACTOR = Type.String({
  pattern: '^\\d{1,4}(\\.\\d{1,6})?$',
  description: 'a factor of the price in quotes, with at most six places, such as "1.1"',
})

export const UPSTREAM = Type.Object(
  {
    name,
    kind: Type.Optional(oneOf(KINDS)),
    base_url: Type.Optional(text('an http or https address')),
    region: Type.Optional(PLACE),
    workspace: Type.Optional(PLACE),
    resource: Type.Optional(PLACE),
    project: Type.Optional(PLACE),
    location: Type.Optional(PLACE),
    credentials: Type.Optional(oneOf(CREDENTIALS)),
    aws_access_key_id_env: Type.Optional(variable('the id of an access key')),
    aws_secret_access_key_env: Type.Optional(variable('the secret of an access key')),
    aws_session_token_env: Type.Optional(variable('the session token')),
    signing_service: Type.Optional(PLACE),
    service_account_env: Type.Optional(variable("a service account's key, the text of its JSON file")),
    tenant: Type.Optional(DOMAIN),
    client_id: Type.Optional(PLACE),
    client_secret_env: Type.Optional(variable("the client's secret")),
    token_url: Type.Optional(text('an http or https address')),
    token_scope: Type.Optional(HEADER),
    api_version: Type.Optional(HEADER),
    drop_betas: Type.Optional(
      Type.Array(BETA, { uniqueItems: true, description: 'names of betas, each once; "name-*" for all that begin so' }),
    ),
    rename_betas: Type.Optional(
      Type.Record(Type.String({ pattern: '^[0-9A-Za-z._-]{1,128}$' }), RENAMED_BETA, {
        ...CLOSED,
        description: 'names of betas with those that take their place',
      }),
    ),
    drop_fields: Type.Optional(Type.Array(FIELD_PATH, { uniqueItems: true, description: 'paths of fields, each once' })),
    default_edits: Type.Optional(Type.Boolean({ description: 'true or false' })),
    api_key_env: Type.Optional(variable('the secret')),
    auth: Type.Optional(oneOf(AUTHS)),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$" }), Type.Union([HEADER, HEADER_OF], HEADER_WORDS), {
        ...CLOSED,
        description: 'names of headers with their values, such as { "x-team" = "search" }',
      }),
    ),
    weight: Type.Optional(positive),
    priority: Type.Optional(
      Type.Integer({ minimum: 0, maximum: COUNT_MAX, description: 'a whole number from 0 on; the lowest is tried first' }),
    ),
    max_concurrent: Type.Optional(positive),
    connect_timeout_ms: Type.Optional(milliseconds),
    transport: Type.Optional(oneOf(TRANSPORTS)),
    proxy_env: Type.Optional(variable("the proxy's address")),
    dialect: Type.Optional(oneOf(DIALECTS)),
    error_text: Type.Optional(oneOf(ERROR_TEXTS)),
    count_tokens: Type.Optional(oneOf(COUNT_TOKENS)),
    echo: Type.Optional(oneOf(ECHOES)),
    versions: Type.Optional(oneOf(YES_OR_NO)),
    betas: Type.Optional(oneOf(YES_OR_NO)),
    reasoning: Type.Optional(oneOf(REASONING_SETTINGS)),
    max_tokens_field: Type.Optional(oneOf(MAX_TOKENS_FIELDS)),
    stream_usage: Type.Optional(Type.Boolean({ description: 'true or false' })),
    pass_fields: Type.Optional(FIELDS),
    on_leave: Type.Optional(oneOf(ON_LEAVES)),
    cost: Type.Optional(COST_FACTOR),
  },
  { ...CLOSED, description: 'a table, written [[upstreams]]' },
)

const MODEL_ID = Type.String({
  pattern: '^[!#-\\[\\]-~]{1,256}$',
  description: 'the id that the upstream knows: printable ASCII without spaces and quotes',
})

const MULTIPLIERS = { cache_read: Type.Optional(usd), cache_write: Type.Optional(usd), cache_write_1h: Type.Optional(usd) }

const LEVEL = Type.Object(
  { above_prompt_tokens: positive, input: usd, output: usd, ...MULTIPLIERS },
  { ...CLOSED, description: 'a table, written [[models.levels]]' },
)

const LEVELS = Type.Array(LEVEL, { minItems: 1, maxItems: 16, description: 'tables, each written [[models.levels]], at most 16' })

/** What an upstream charges us where that is no factor of our own price. */
const OWN_COST = Type.Object(
  { input: usd, output: usd, ...MULTIPLIERS, server_tool_use: Type.Optional(usd), levels: Type.Optional(LEVELS) },
  { ...CLOSED, description: '{ input, output }' },
)

const MODEL_UPSTREAM = Type.Object(
  {
    name: text('the name of an upstream'),
    model: Type.Optional(MODEL_ID),
    cost: Type.Optional(Type.Union([COST_FACTOR, OWN_COST], { description: 'a factor in quotes, such as "1.1", or { input, output }' })),
  },
  { ...CLOSED, description: '{ name, model, cost }' },
)

export const MODEL = Type.Object(
  {
    id: Type.String({
      pattern: '^[!#-)+-\\[\\]-~]{1,128}$',
      description: 'a model id: printable ASCII without spaces, quotes, "\\" and "*"',
    }),
    upstream_model: Type.Optional(MODEL_ID),
    upstreams: Type.Optional(
      Type.Array(
        Type.Union([text('the name of an upstream'), MODEL_UPSTREAM], { description: 'the name of an upstream, or { name, model, cost }' }),
        {
          minItems: 1,
          description:
            'names of upstreams, each once, or { name, model, cost } where one knows the model by another id or has a cost of its own',
        },
      ),
    ),
    input: usd,
    output: usd,
    ...MULTIPLIERS,
    server_tool_use: Type.Optional(usd),
    levels: Type.Optional(LEVELS),
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

export const PLAN = Type.Object(
  {
    models: Type.Array(text('a model id, or a prefix that ends in "*"'), {
      minItems: 1,
      uniqueItems: true,
      description: 'model ids or prefixes that end in "*"',
    }),
    max_request_usd: Type.Optional(usd),
    requests_per_minute: Type.Optional(positive),
    input_tokens_per_minute: Type.Optional(positive),
    output_tokens_per_minute: Type.Optional(positive),
    concurrent_requests: Type.Optional(positive),
    budgets: Type.Optional(
      Type.Array(
        Type.Object(
          {
            usd,
            per: Type.Union(
              PERS.map((per) => Type.Literal(per)),
              { description: `one of ${PERS.join(', ')}` },
            ),
          },
          { ...CLOSED, description: 'a table, such as { usd = "5", per = "day" }' },
        ),
        { description: 'an array of tables, such as [{ usd = "5", per = "day" }]' },
      ),
    ),
  },
  { ...CLOSED, description: 'a table, such as [plans.default]' },
)

/** What an upstream charges us for a model: a factor of our price, or prices. */
export type CostEntry = Static<typeof COST_FACTOR> | Static<typeof OWN_COST>
export type UpstreamEntry = Static<typeof UPSTREAM>
export type ModelEntry = Static<typeof MODEL>
export type PlanEntry = Static<typeof PLAN>
