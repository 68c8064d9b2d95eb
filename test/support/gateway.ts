/**
 * The whole gateway in this process, for tests that need real sockets and a real ledger: port 0, a folder of its own, SQLite on its thread. Its upstream is
 * what the test commands (fake-upstream.ts) or, without one, the simulator. Limits and waits are the product's unless given; give them in milliseconds.
 *
 *   const upstream = await startFakeUpstream({ answer: () => nativeStream(...textFrames('Hi')) })
 *   const gateway = await startTestGateway({ upstreams: [upstream.url], limits: { totalTimeoutMs: 200 } })
 *   const secret = await gateway.createKey({ balanceUsd: '5' })
 *   const answer = await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 16, messages: [] })
 *   await gateway.idle(); expect(gateway.receipts()).toHaveLength(1); expect(gateway.verify()).toEqual([])
 *   await gateway.stop()
 */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { openDatabase } from '../../db/open.ts'
import { accounts, keys } from '../../db/schema/accounts.ts'
import { boots } from '../../db/schema/boots.ts'
import { models, priceVersions, upstreams } from '../../db/schema/prices.ts'
import { attempts, receipts } from '../../db/schema/requests.ts'
import type { MailConfig, PaymentsConfig, UpstreamConfig } from '../../src/config/config.ts'
import type { ConfigProblems } from '../../src/config/problems.ts'
import type { Catalog, Model } from '../../src/core/catalog.ts'
import type { ChatDialect } from '../../src/core/chat-dialect.ts'
import { CONNECTIONS_MIN } from '../../src/core/connections.ts'
import { displayOf, makeSecret } from '../../src/core/key.ts'
import { LIMITS, type Limits } from '../../src/core/limits.ts'
import { type Gateway, startGateway } from '../../src/gateway.ts'
import type { Difference } from '../../src/ledger/chain/difference.ts'
import type { Hold, Ledger } from '../../src/ledger/ledger.ts'
import type { Act, Operation } from '../../src/ledger/operation.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import type { StripeAddress } from '../../src/payments/stripe-api.ts'
import type { BodyMemory } from '../../src/relay/body-memory.ts'
import { TIMINGS, type Timings } from '../../src/relay/timings.ts'
import type { TelegramAddress } from '../../src/web/telegram-of-gateway.ts'
import type { World } from '../../src/world.ts'
import { startBodyThread } from './body-thread.ts'
import { sha256, usd } from './ledger.ts'
import { startSyncDriver } from './postgres-connection.ts'
import { startAnswersThread, startHistoryThread, startPeopleThread, startThread } from './threads.ts'
import { transportOfTests } from './transport.ts'
import { until } from './until.ts'
import { makeTestModel } from './world.ts'

/** The model of a test gateway: 3 USD in, 15 USD out per 1M tokens; the upstream knows it as `vendor-sonnet-1`. Plan `small` has no model. */
export const MODEL_ID = 'sonnet'
/** The secret that a test gateway sends to its upstreams. */
export const UPSTREAM_API_KEY = 'upstream-secret-0123456789'

type TestConfig = Parameters<typeof startGateway>[0]['config']

export type TestGatewayOptions = Readonly<{
  /** Base URLs; empty or absent: the embedded simulator. */
  upstreams?: readonly string[]
  /** Of each of them. */
  upstream?: Partial<UpstreamConfig>
  /** Of one of them, by its place. */
  upstreamEach?: readonly Partial<UpstreamConfig>[]
  limits?: Partial<Limits>
  /** Of a gateway that was stopped; default a new one. */
  ledgerPath?: string
  /** A relay of the ledger process that has this ledger open; the ledger's path must be given. */
  part?: 'relay'
  /** On Postgres instead, with others: its rows are then read by a connection of the test's own. Default of `leaseMs`: 10 s. */
  postgres?: Readonly<{ url: string; leaseMs?: number }>
  timings?: Partial<Timings>
  models?: readonly Partial<Model>[]
  corsOrigins?: readonly string[]
  /** Default 0. */
  drainDelayMs?: number
  dashboardUrl?: string
  publicUrl?: string
  /** Default closed. */
  signUp?: 'closed' | 'open'
  /** An SMTP server; default none. */
  mail?: MailConfig
  /** Webhooks may lead to this machine. */
  allowPrivate?: boolean
  /** What a reload would read. */
  readConfig?: (inForce: TestConfig) => TestConfig | ConfigProblems
  /** Called where a signal would be sent. */
  askReload?: () => void
  /** Makes a thread of the ledger. */
  startThread?: () => Worker
  /** Makes the thread that reads large bodies. */
  startBodyThread?: () => Worker
  /** Makes the thread of kept answers. */
  startAnswersThread?: () => Worker
  /** What the process may use: a quarter is the pool for bodies. */
  memoryBytes?: number
  payments?: PaymentsConfig
  /** Of a server that stands for Stripe. */
  stripeAddress?: StripeAddress
  /** The token of the cabinet's bot; default: no bot. */
  botToken?: string
  /** Of a server that stands for Telegram. */
  telegramAddress?: TelegramAddress
  /** Stands between the gateway and its ledger: delays, refusals. */
  wrapLedger?: (ledger: Ledger) => Ledger
}>

/** The options of a gateway whose one upstream speaks chat. `address`: with its `/v1`. */
export function chatUpstream(
  address: string,
  {
    dialect: manner = {},
    isFinishedAlone = true,
    ...model
  }: Partial<Model> & { dialect?: Partial<ChatDialect>; isFinishedAlone?: boolean } = {},
): Pick<TestGatewayOptions, 'upstreams' | 'upstream' | 'models'> {
  const dialect: ChatDialect = {
    reasoning: 'auto',
    maxTokensField: 'max_tokens',
    streamUsage: true,
    dropFields: [],
    passFields: [],
    ...manner,
  }
  const upstreams = [{ name: 'upstream-0', model: 'vendor-sonnet-1', dialect: 0 }]
  return {
    upstreams: [address],
    upstream: { door: { kind: 'openai', dialect, isFinishedAlone }, auth: 'bearer' },
    models: [{ isNative: false, chat: [dialect], upstreams, ...model }],
  }
}

export type TestKey = Readonly<{
  /** Default `key_` + a running number; the account is `acc_` + the same suffix. */
  id?: string
  /** Default 25. */
  balanceUsd?: string
  limitUsd?: string
  plan?: string
  /** Unix milliseconds. */
  expiresAt?: number
}>

/** A receipt with what its numbers stand for. */
export type ReceiptRow = ReturnType<typeof receiptsIn>[number]
export type AttemptRow = ReturnType<typeof attemptsIn>[number]

/** `await using` stops it however the test ends. */
export type TestGateway = AsyncDisposable &
  Readonly<{
    url: string
    operatorUrl: string
    world: World
    people: Gateway['people']
    bodies: BodyMemory
    /** As the gateway uses it: wrapped, if it was. */
    ledger: Ledger
    ledgerPath: string
    /** Makes a key with an account of its own and gives its secret. */
    createKey(key?: TestKey): Promise<string>
    /** An operator's write; throws when it is not done. */
    /** `act`: default: the ledger’s own. */
    operate(operation: Operation, act?: Act): Promise<void>
    /** POST with the key as Bearer; a body that is no string and no bytes is sent as JSON. */
    post(path: string, secret: string, body: unknown, init?: RequestInit): Promise<Response>
    /** Oldest first. Read by a connection of their own, as everything below. */
    receipts(): readonly ReceiptRow[]
    /** Upstream calls beside those of the receipts. */
    attempts(): readonly AttemptRow[]
    /** From the gateway's memory. */
    holds(): readonly Hold[]
    /** Picodollars of a key: spent on disk, held in memory. */
    spendOf(keyId: string): Readonly<{ spentPicos: bigint; heldPicos: bigint }>
    verify(): readonly Difference[]
    /** Waits until no hold is left: every request has settled. */
    idle(): Promise<void>
    logLines(): readonly Readonly<Record<string, unknown>>[]
    /** As SIGHUP does, with what has changed in the file. */
    reload(changed: Partial<Parameters<typeof startGateway>[0]['config']>): void
    /** Begins a shutdown and resolves when it is over; `stop` may follow. */
    drain(): Promise<void>
    /** Ends the waiting of a shutdown. */
    hurry(): void
    /** Ends what runs and removes the folder. */
    stop(): Promise<void>
  }>

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  const ledgerPath = options.ledgerPath ?? join(folder, 'ledger.db')
  const lines: Record<string, unknown>[] = []
  const config = configOf(options, ledgerPath)
  const gateway = await startGateway({
    config,
    startThread: options.startThread ?? startThread,
    startSyncDriver,
    startBodyThread: options.startBodyThread ?? startBodyThread,
    startAnswersThread: options.startAnswersThread ?? startAnswersThread,
    startHistoryThread,
    startPeopleThread,
    host: undefined,
    port: undefined,
    log: (line) => lines.push(JSON.parse(line)),
    timings: { ...TIMINGS, ...options.timings },
    ...(options.readConfig === undefined ? {} : { readConfig: () => options.readConfig?.(config) ?? config }),
    ...(options.askReload === undefined ? {} : { askReload: options.askReload }),
    ...(options.memoryBytes === undefined ? {} : { memoryBytes: options.memoryBytes }),
    ...(options.stripeAddress === undefined ? {} : { stripeAddress: options.stripeAddress }),
    ...(options.telegramAddress === undefined ? {} : { telegramAddress: options.telegramAddress }),
    ...(options.wrapLedger === undefined ? {} : { wrapLedger: options.wrapLedger }),
  })
  if ('problem' in gateway) throw new Error(`${gateway.problem}: ${gateway.message}`)
  const { ledger } = gateway.world
  let keyCount = 0
  let drained: Promise<void> | undefined
  const drain = (): Promise<void> => {
    drained ??= gateway.drain()
    return drained
  }
  const operate = async (operation: Operation, act?: Act): Promise<void> => {
    const result = await ledger.operate(operation, act)
    if (result.result !== 'done') throw new Error(JSON.stringify(result))
  }
  const stop = async (): Promise<void> => {
    gateway.hurry()
    await drain()
    rmSync(folder, { recursive: true, force: true })
  }
  const reading = readingOf(ledgerPath, ledger)
  return {
    url: gateway.url,
    operatorUrl: gateway.operatorUrl,
    world: gateway.world,
    people: gateway.people,
    bodies: gateway.bodies,
    ledger,
    ledgerPath,
    createKey: async (key = {}) => {
      const { operation, secret } = newKey({ id: `key_${++keyCount}`, ...key })
      await operate(operation)
      return secret
    },
    operate,
    post: (path, secret, body, init = {}) =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
        ...init,
      }),
    ...reading,
    logLines: () => lines,
    reload: (changed) => void gateway.reload({ ...config, ...changed }),
    drain,
    hurry: gateway.hurry,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

type Reading = Pick<TestGateway, 'receipts' | 'attempts' | 'holds' | 'spendOf' | 'verify' | 'idle'>

/** Also for files that no gateway of this process has open. */
export const receiptsIn = (db: ReturnType<typeof open>) =>
  drizzle(db)
    .select({
      receipt: receipts,
      price: priceVersions,
      keyId: keys.id,
      accountId: accounts.id,
      modelId: models.id,
      bootId: boots.id,
      upstream: upstreams,
    })
    .from(receipts)
    .innerJoin(keys, eq(keys.number, receipts.keyNumber))
    .innerJoin(accounts, eq(accounts.number, receipts.accountNumber))
    .innerJoin(priceVersions, eq(priceVersions.number, receipts.priceNumber))
    .innerJoin(models, eq(models.number, priceVersions.modelNumber))
    .innerJoin(boots, eq(boots.number, receipts.bootNumber))
    .leftJoin(upstreams, eq(upstreams.number, receipts.upstreamNumber))
    .orderBy(receipts.startedAt, receipts.requestId)
    .all()
    .map(({ receipt, price, ...named }) => ({ ...price, ...receipt, ...named, usageSource: receipt.basis }))

export const attemptsIn = (db: ReturnType<typeof open>) =>
  drizzle(db)
    .select({ attempt: attempts, upstream: upstreams.name, model: upstreams.model })
    .from(attempts)
    .innerJoin(upstreams, eq(upstreams.number, attempts.upstreamNumber))
    .orderBy(attempts.requestId, attempts.attempt)
    .all()
    .map(({ attempt, ...named }) => ({ ...attempt, ...named }))

function readingOf(path: string, ledger: Ledger): Reading {
  const reading = <Result>(read: (db: ReturnType<typeof open>) => Result): Result => {
    const db = open(path)
    try {
      return read(db)
    } finally {
      db.close()
    }
  }
  return {
    receipts: () => reading(receiptsIn),
    attempts: () => reading(attemptsIn),
    holds: () => ledger.holds(),
    spendOf: (keyId) => {
      const rows = reading((db) => drizzle(db).select().from(keys).all())
      const row = rows.find(({ id }) => id === keyId)
      if (row === undefined) throw new Error(`no key ${keyId}`)
      const held = ledger.holds().filter((hold) => hold.keyId === keyId)
      return { spentPicos: row.spentPicos, heldPicos: held.reduce((sum, { amountPicos }) => sum + amountPicos, 0n) }
    },
    verify: () => reading(differencesInFile),
    idle: () => until(() => ledger.holds().length === 0, 'nothing is held'),
  }
}

function open(path: string) {
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  return db
}

function configOf(options: TestGatewayOptions, ledgerPath: string): Parameters<typeof startGateway>[0]['config'] {
  const { upstreams = [], limits = {}, models = [{}], corsOrigins = ['*'], publicUrl, postgres } = options
  const { dashboardUrl = 'https://cabinet.example/keys' } = options
  const servedBy = upstreams.map((_, index) => ({ name: `upstream-${index}`, model: 'vendor-sonnet-1' }))
  const catalog: Catalog = {
    models: new Map(models.map((model) => makeTestModel({ upstreams: servedBy, ...model })).map((model) => [model.id, model])),
    plans: new Map([
      ['default', { name: 'default', models: ['*'] }],
      ['small', { name: 'small', models: [] }],
    ]),
  }
  return {
    file: undefined,
    server: {
      host: '127.0.0.1',
      port: 0,
      dashboardUrl,
      publicUrl,
      trustedProxies: [],
      drainDelayMs: options.drainDelayMs ?? 0,
      corsOrigins,
    },
    operator: { host: '127.0.0.1', port: 0, publicUrl: undefined },
    cabinet: {
      signUp: options.signUp ?? 'closed',
      publicUrl: undefined,
      telegram: options.botToken === undefined ? undefined : { token: options.botToken },
    },
    mail: options.mail,
    alerts: { allowPrivate: options.allowPrivate ?? false },
    payments: options.payments ?? { text: undefined, stripe: undefined },
    ledger:
      postgres === undefined
        ? { kind: 'sqlite', path: ledgerPath, ...(options.part === undefined ? {} : { part: options.part }) }
        : {
            kind: 'postgres',
            path: ledgerPath,
            node: 'n',
            leaseMs: 10_000,
            connections: CONNECTIONS_MIN,
            statementKey: undefined,
            ...postgres,
          },
    limits: { ...LIMITS, requestsPerMinute: 100_000, concurrentRequests: 1_000, ...limits },
    upstreams: upstreams.map((baseUrl, index) => ({
      name: `upstream-${index}`,
      door: { kind: 'native' as const },
      edits: { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true },
      secretHeaders: {},
      baseUrl,
      apiKey: UPSTREAM_API_KEY,
      auth: 'x-api-key' as const,
      headers: {},
      hidesErrorText: false,
      countTokens: 'yes' as const,
      // Fake upstreams answer with a model of their own.
      echo: 'any' as const,
      forwardsVersions: true,
      forwardsBetas: true,
      weight: 1,
      // In order, so that a test knows which one is asked first.
      priority: index,
      maxConcurrent: 10_000,
      connectTimeoutMs: 10_000,
      transport: transportOfTests(),
      dialect: 'strict' as const,
      proxyUrl: undefined,
      ...options.upstream,
      ...options.upstreamEach?.[index],
    })),
    catalog,
    withoutEffect: [],
  }
}

function newKey({ id, balanceUsd = '25', limitUsd, plan = 'default', expiresAt }: TestKey & { id: string }) {
  const secret = makeSecret(() => randomBytes(64))
  const suffix = id.replace(/^key_/, '')
  const operation: Operation = {
    kind: 'createKey',
    keyId: id,
    secretHash: sha256(secret),
    display: displayOf(secret),
    name: '',
    accountId: null,
    ownAccountId: `acc_${suffix}`,
    plan,
    limitPicos: limitUsd === undefined ? null : usd(limitUsd),
    expiresAt: expiresAt ?? null,
    topUp: { creditId: `top_${suffix}`, amountPicos: usd(balanceUsd), ref: '' },
    now: Date.now(),
  }
  return { operation, secret }
}
