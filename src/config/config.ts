/** The configuration after checking: complete, never changed, in the units of the code. Rules: operator.md "Configuration". */

import type { Catalog } from '../core/catalog.ts'
import type { DoorSettings, RequestEdits } from '../core/door.ts'
import type { Limits } from '../core/limits.ts'
import type { Picos } from '../core/money.ts'
import type { Dialect } from '../core/native/event.ts'
import type { Echo } from '../core/native/model-echo.ts'
import type { ConfigProblem } from './problems.ts'

export type Config = Readonly<{
  /** Absolute path of the file it was read from; undefined: defaults. */
  file: string | undefined
  server: Readonly<{
    host: string
    port: number
    /** Goes into the balance error; undefined: the gateway's own address. */
    dashboardUrl: string | undefined
    /** Where clients reach the gateway, an origin; undefined: the address it listens on. */
    publicUrl: string | undefined
    trustedProxies: readonly string[]
    /** How long a gateway that leaves answers 503 at `/readyz` and still accepts all requests. */
    drainDelayMs: number
    corsOrigins: readonly string[]
  }>
  /** `publicUrl`: where operators reach the console, an origin; undefined: the address it listens on. */
  operator: Readonly<{ host: string; port: number; publicUrl: string | undefined }>
  cabinet: Readonly<{
    signUp: SignUp
    /** Where customers reach the cabinet, an origin; undefined: the address that the listener has. */
    publicUrl: string | undefined
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

/** `path`, absolute: the database file of SQLite; on Postgres the folder that it is in keeps the node's own files, such as the spill. */
export type LedgerConfig = SqliteConfig | PostgresConfig
/** `part`: of a process that is one of several on the file, which no setting says; undefined: it is alone. */
type SqliteConfig = Readonly<{ kind: 'sqlite'; path: string; part?: 'ledger process' | 'relay' }>
type PostgresConfig = Readonly<{
  kind: 'postgres'
  path: string
  /** With user and password: read from the variable that the file names. */
  url: string
  /** This node's name among those that write. */
  node: string
  /** How long a node that is not heard of keeps its name, its money and its requests in flight. */
  leaseMs: number
  /** The most connections to Postgres. */
  connections: number
  /** Ed25519, PEM: what the variable holds that the file names; undefined: no statement can be signed. */
  statementKey: string | undefined
}>

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
  /** The bounds of one payment, whole cents, both included. */
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
  /** What of a request it does not take. */
  edits: RequestEdits
  /** Fields of every request to it, names in lower case. */
  headers: Readonly<Record<string, string>>
  /** The same, with values that are secrets, read from the variables that the file names. */
  secretHeaders: Readonly<Record<string, string>>
  weight: number
  priority: number
  maxConcurrent: number
  connectTimeoutMs: number
  transport: Transport
  dialect: Dialect
  /** `error_text = "own"`: what it says of a mistake reaches customers in our words. */
  hidesErrorText: boolean
  countTokens: CountTokens
  echo: Echo
  /** Whether a client's version and betas are forwarded to it. */
  forwardsVersions: boolean
  forwardsBetas: boolean
  /** The proxy's address, from the variable that the file names, for `fetch`; undefined: no proxy. */
  proxyUrl: string | undefined
}>

/** Who may make an account: invited people, or anyone. */
type SignUp = (typeof SIGN_UPS)[number]
export const SIGN_UPS = ['closed', 'open'] as const

/** Whose words customers get about a mistake that an upstream finds in a request. */
export const ERROR_TEXTS = ['upstream', 'own'] as const

/** Whether an upstream counts the tokens of a request, or we estimate them in its stead. */
type CountTokens = (typeof COUNT_TOKENS)[number]
export const COUNT_TOKENS = ['yes', 'no', 'estimate'] as const

export const YES_OR_NO = ['yes', 'no'] as const
/** What becomes of a call of chat whose client leaves. */
export const ON_LEAVES = ['finish', 'abort'] as const

/** How an upstream is told our key: as the vendor reads it, or as `Authorization: Bearer`. */
type Auth = (typeof AUTHS)[number]
export const AUTHS = ['x-api-key', 'bearer'] as const

/** Where a cloud's credentials come from that stand in no variable of ours: AWS's own chain, or Google's metadata server. */
export const CREDENTIALS = ['default', 'metadata'] as const

/** Sockets of our own, or Bun's `fetch`, which alone knows proxies. */
export type Transport = (typeof TRANSPORTS)[number]
export const TRANSPORTS = ['socket', 'fetch'] as const
