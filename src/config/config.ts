/** The configuration after checking: complete, never changed, in the units of the code. Rules: operator.md "Configuration". */

import type { Catalog } from '../core/catalog.ts'
import type { DoorSettings, RequestEdits } from '../core/door.ts'
import type { Limits } from '../core/limits.ts'
import type { Picos } from '../core/money.ts'
import type { Dialect } from '../core/native/event.ts'
import type { Echo } from '../core/native/model-echo.ts'
import type { ConfigProblem } from './problems.ts'

export type Config = Readonly<{
  /** Absolute path of the file that the configuration was read from; undefined: defaults alone. */
  file: string | undefined
  server: Readonly<{
    host: string
    port: number
    /** The address that the balance error names; undefined: the gateway's own address. */
    dashboardUrl: string | undefined
    /** Where clients reach the gateway, an origin; undefined: the address that the gateway listens on. */
    publicUrl: string | undefined
    trustedProxies: readonly string[]
    /** How long a gateway that leaves answers 503 at `/readyz` and still accepts all requests. */
    drainDelayMs: number
    corsOrigins: readonly string[]
  }>
  /** `publicUrl`: where operators reach the console, an origin; undefined: the address that the listener has. */
  operator: Readonly<{ host: string; port: number; publicUrl: string | undefined }>
  cabinet: Readonly<{
    signUp: SignUp
    /** Where customers reach the cabinet, an origin; undefined: the address that the listener has. */
    publicUrl: string | undefined
    /** The bot's token, read from the variable that the file names; undefined: there is no bot. */
    telegram: Readonly<{ token: string }> | undefined
  }>
  /** Undefined: no mail is sent. */
  mail: MailConfig | undefined
  alerts: Readonly<{
    /** Webhooks may lead to addresses that are not public, and need no TLS. */
    allowPrivate: boolean
  }>
  payments: PaymentsConfig
  ledger: LedgerConfig
  limits: Limits
  /** Empty: the embedded simulator serves every model. */
  upstreams: readonly UpstreamConfig[]
  catalog: Catalog
  /** Settings of the file without an effect yet. */
  withoutEffect: readonly ConfigProblem[]
}>

/** `path`, absolute: the database file of SQLite; on Postgres no such file is made, and its folder keeps the node's own files, such as the spill. */
export type LedgerConfig = SqliteConfig | PostgresConfig
/** `part`: what this process is among several on the file; no setting of the file says it. Undefined: the process is alone. */
type SqliteConfig = Readonly<{ kind: 'sqlite'; path: string; part?: 'ledger process' | 'relay' }>
type PostgresConfig = Readonly<{
  kind: 'postgres'
  path: string
  /** The address with user and password, read from the variable that the file names. */
  url: string
  /** This node's name among the nodes that write the ledger. */
  node: string
  /** How long a node that is not heard of keeps its name, its money and its requests in flight. */
  leaseMs: number
  /** The most connections to Postgres. */
  connections: number
  /** The Ed25519 key as PEM, read from the variable that the file names; undefined: no statement can be signed. */
  statementKey: string | undefined
}>

/** Whether this process is a relay of another one, which has the ledger's file. */
export const isRelay = ({ ledger }: Pick<Config, 'ledger'>): boolean => ledger.kind === 'sqlite' && ledger.part === 'relay'

/** The name of the set of processes that reads one file, of which each is a node of its own where there are several; null: the ledger is in a file and has one set. */
export const nodeOfSet = ({ ledger }: Pick<Config, 'ledger'>): string | null =>
  ledger.kind === 'postgres' ? ledger.node.replace(/\/\d+$/, '') : null

export type MailConfig = Readonly<{
  /** The URL of the SMTP server with user and password, read from the environment variable that the file names. */
  url: string
  from: string
}>

export type PaymentsConfig = Readonly<{
  /** How people pay, in the operator's words; undefined: nothing is said. */
  text: string | undefined
  stripe: StripeConfig | undefined
}>

type StripeConfig = Readonly<{
  /** The secrets themselves, read from the variables that the file names. */
  secretKey: string
  webhookSecret: string
  /** The bounds of one payment, in whole cents; both bounds are included. */
  minPicos: Picos
  maxPicos: Picos
}>

export type UpstreamConfig = Readonly<{
  name: string
  door: DoorSettings
  baseUrl: string
  /** The secret itself, read from the variable that the file names; undefined: the upstream needs none. */
  apiKey: string | undefined
  auth: Auth
  /** How a request is changed for this upstream, which does not take all that clients send. */
  edits: RequestEdits
  /** Header fields of every request to the upstream, with names in lower case. */
  headers: Readonly<Record<string, string>>
  /** Header fields whose values are secrets, read from the variables that the file names. */
  secretHeaders: Readonly<Record<string, string>>
  weight: number
  priority: number
  maxConcurrent: number
  connectTimeoutMs: number
  transport: Transport
  dialect: Dialect
  /** `error_text = "own"`: customers get our words about a mistake in a request, not the upstream's. */
  hidesErrorText: boolean
  countTokens: CountTokens
  echo: Echo
  /** Whether a client's version, and below whether its betas, are forwarded to the upstream. */
  forwardsVersions: boolean
  forwardsBetas: boolean
  /** The address of the proxy that `fetch` uses, read from the variable that the file names; undefined: no proxy. */
  proxyUrl: string | undefined
}>

/** Who may make an account: invited people, or anyone. */
type SignUp = (typeof SIGN_UPS)[number]
export const SIGN_UPS = ['closed', 'open'] as const

/** In whose words customers get a mistake that an upstream finds in a request: the upstream's, or our own. */
export const ERROR_TEXTS = ['upstream', 'own'] as const

/** Whether an upstream counts the tokens of a request, or we estimate them in its stead. */
type CountTokens = (typeof COUNT_TOKENS)[number]
export const COUNT_TOKENS = ['yes', 'no', 'estimate'] as const

export const YES_OR_NO = ['yes', 'no'] as const
/** Whether a call to a server of the chat format is finished or aborted when its client leaves. */
export const ON_LEAVES = ['finish', 'abort'] as const

/** The header in which an upstream gets our key: `x-api-key`, as the vendor reads it, or `Authorization: Bearer`. */
type Auth = (typeof AUTHS)[number]
export const AUTHS = ['x-api-key', 'bearer'] as const

/** The source of a cloud's credentials when no variable of ours holds them: AWS's own chain, or Google's metadata server. */
export const CREDENTIALS = ['default', 'metadata'] as const

/** How the gateway connects to an upstream: over sockets of its own, or by Bun's `fetch`, which alone knows proxies. */
export type Transport = (typeof TRANSPORTS)[number]
export const TRANSPORTS = ['socket', 'fetch'] as const
