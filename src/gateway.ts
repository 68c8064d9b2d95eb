/**
 * A running gateway: the real world, its listeners, its reload and its end. `serve` and `up` start one, and so do the tests that need a whole process.
 * Rules: operator.md "Reload", "Shutdown"; platform.md "Process"; house.md "Long-lived things".
 */

import { answersBeside } from './answers-beside.ts'
import type { Config } from './config/config.ts'
import type { ConfigProblems } from './config/problems.ts'
import { reloadable } from './config/reloadable.ts'
import type { Wheel } from './core/wheel.ts'
import { registerGauges } from './gauges.ts'
import { ClientLimits } from './http/client-limit.ts'
import { seesSockets } from './http/kernel-sockets.ts'
import { KeyStore } from './ledger/key-store.ts'
import type { Ledger } from './ledger/ledger.ts'
import { openLedgerAt } from './ledger/open.ts'
import type { Shared } from './ledger/open-options.ts'
import { Reads } from './ledger/reads.ts'
import type { LedgerFault } from './ledger/task.ts'
import { type Listeners, type ListenProblem, listen } from './listeners.ts'
import { membersOf } from './members.ts'
import { Alarms } from './observe/alarms.ts'
import { describeBug } from './observe/bug.ts'
import { type LogOptions, makeLog } from './observe/log.ts'
import { type Metrics, makeMetrics } from './observe/metrics.ts'
import { processMemoryBytes } from './observe/process-memory.ts'
import type { StripeAddress } from './payments/stripe-api.ts'
import type { People } from './people/people.ts'
import { AnswerMemory } from './relay/answer-memory.ts'
import { BodyMemory, poolBytesOf } from './relay/body-memory.ts'
import { BodyReader } from './relay/body-reader.ts'
import { KeyLimits } from './relay/key-limits.ts'
import { LiveStreams } from './relay/live-streams.ts'
import { ResponseMemory } from './relay/response-memory.ts'
import { SharedKeyLimits } from './relay/shared-key-limits.ts'
import { TIMINGS, type Timings } from './relay/timings.ts'
import { turningWheel } from './turning-wheel.ts'
import type { MemberConfig } from './upstream/member.ts'
import { UpstreamPool } from './upstream/pool.ts'
import { siteOfGateway } from './web/site-of-gateway.ts'
import type { World } from './world.ts'

export type GatewayOptions = Readonly<{
  config: Config
  /** Reads it anew, for who wants to see what a reload would change; default: nothing would. */
  readConfig?: () => Config | ConfigProblems
  startThread: () => Worker
  /** Makes a Worker of `src/ledger/postgres/wire.ts`. */
  startWire: () => Worker
  /** Makes a Worker of `src/relay/body-thread.ts`. */
  startBodyThread: () => Worker
  /** Makes a Worker of `src/answers/thread.ts`. */
  startAnswersThread: () => Worker
  /** Overrides of the configuration, from the command line. */
  host: string | undefined
  port: number | undefined
  /** Other processes may listen on the same ports; default: where the ledger can be shared. */
  isShared?: boolean
  /** Takes whole log lines. */
  log: (line: string) => void
  timings?: Timings
  /** What the process may use; default: what its control groups and the machine say. */
  memoryBytes?: number
  /** Of a server that stands for Stripe. */
  stripeAddress?: StripeAddress
  /** Stands between the gateway and its ledger. */
  wrapLedger?: (ledger: Ledger) => Ledger
}>

export type Gateway = Readonly<{
  /** `http://HOST:PORT`, with the port that was really taken. */
  url: string
  /** Where `/metrics` is. */
  operatorUrl: string
  world: World
  people: () => People
  bodies: BodyMemory
  /** Takes over what a reload may change; names what it may not. */
  reload(config: Config): readonly string[]
  /** Refuses new requests, lets streams finish for `drain_ms`, ends the rest with their format's error, flushes the ledger. */
  drain(): Promise<void>
  /** Ends the waiting of a drain that has begun. */
  hurry(): void
}>

export type GatewayProblem = Readonly<{ problem: 'ledger'; message: string }> | ListenProblem

export async function startGateway(options: GatewayOptions): Promise<Gateway | GatewayProblem> {
  const { startThread, startWire, config } = options
  const metrics = makeMetrics()
  const alarms = new Alarms(Date.now)
  const { node } = { node: undefined, ...config.ledger }
  const log = makeLog({ write: options.log, node, ...alarmsTo(alarms, metrics) })
  const onFault = ({ problem, bug, kind }: LedgerFault): void => {
    if (kind === 'node') log.alarm('a node of the ledger', { fault: problem })
    else log.alarm('ledger', { fault: problem, ...(bug === undefined ? {} : describeBug(bug)) })
  }
  const opening = openLedgerAt(config.ledger, {
    create: true,
    lockWaitMs: LOCK_WAIT_MS,
    spillBytes: SPILL_BYTES,
    bootId: Bun.randomUUIDv7(),
    startThread,
    startWire,
    now: Date.now,
    checksFile: true,
    needsStatementKey: true,
    sharedAnswersBytes: config.limits.keptAnswersBytes,
    onFault,
    onStorage: (news) => metrics.storageTold(news),
    onMigration: ({ news, fields }) => log.notice(news, fields),
  })
  // The routes and what they need are loaded while the ledger's thread opens the file.
  const [{ buildApp }, { Relay }] = await Promise.all([import('./http/app.ts'), import('./relay/relay.ts')])
  const opened = await opening
  if ('problem' in opened) return { problem: 'ledger', message: opened.message }
  const { recovered, shared } = opened
  const ledger = options.wrapLedger?.(opened.ledger) ?? opened.ledger
  const state: State = { config, members: membersOf(config), isLeaving: false, isDraining: false, url: '', operatorUrl: '' }
  const wheel = turningWheel()
  const reports = new Reads({ place: { ...config.ledger, path: opened.path }, startThread, onFault })
  const pool = poolOf(wheel, metrics)
  pool.configure(state.members)
  const world = worldOf(state, shared, { ledger, reports, log, metrics, wheel, upstreams: pool })
  if (opened.isNew) log.notice('a new ledger was made', { path: opened.path })
  if (opened.replayed > 0) log.notice('settles that the spill had kept are in the ledger', { replayed: opened.replayed })
  if (recovered > 0) log.notice('requests of a dead process were waived', { recovered })
  const live = new LiveStreams(collectSoon)
  const counting = { limits: world.limits, now: world.clock.monotonicMs }
  const keyLimits = shared === undefined ? new KeyLimits(counting) : new SharedKeyLimits({ ...counting, shared: shared.limits })
  const bodies = bodyMemoryOf(world, options.memoryBytes ?? processMemoryBytes())
  const clientLimits = new ClientLimits({ limits: world.limits, now: world.clock.monotonicMs })
  const memory = new ResponseMemory({ now: world.clock.monotonicMs })
  const answers = new AnswerMemory({ now: world.clock.monotonicMs })
  const answersAt = { bytesMax: config.limits.keptAnswersBytes, startThread: options.startAnswersThread }
  const kept = answersBeside(opened, answersAt, world)
  const bodyReader = new BodyReader({ startThread: options.startBodyThread, onFault: (fault) => log.alarm('large bodies', { fault }) })
  const relay = new Relay({
    world,
    keyLimits,
    live,
    memory,
    answers,
    kept,
    shared: shared?.answers,
    bodies,
    bodyReader,
    timings: options.timings ?? TIMINGS,
  })
  ledger.onKeyChange(({ keyId, stop }) => {
    if (stop !== null) live.cutKey(keyId).catch(() => undefined)
  })
  registerGauges({ world, bodies, pool, recovered, ledgerPath: opened.path, shared })
  const site = siteOfGateway({
    world,
    upstreams: pool,
    config: () => state.config,
    readConfig: options.readConfig ?? (() => state.config),
    urls: () => ({ cabinet: state.url, console: state.operatorUrl }),
    alarms,
    running: () => relay.running,
    stripeAddress: options.stripeAddress,
  })
  const isShared = options.isShared ?? config.ledger.kind === 'postgres'
  const listeners = await listen({ ...options, isShared }, world, {
    app: buildApp({ world, relay, keyLimits, clientLimits }),
    pages: site.pages,
    payments: site.payments,
    upstreams: pool,
  })
  if ('problem' in listeners) {
    await reports.close()
    await ledger.close()
    return listeners
  }
  state.url = listeners.url
  state.operatorUrl = listeners.operatorUrl
  if (seesSockets())
    metrics.gauge('tollgate_client_connections', 'Open connections of clients.', async () => (await listeners.connections()) ?? 0)
  if (!(await listeners.limitWrites())) log.notice('this system cannot be told to reset clients that do not read: they are closed')
  site.begin()
  const hurry = Promise.withResolvers<void>()
  return {
    url: listeners.url,
    operatorUrl: listeners.operatorUrl,
    world,
    people: site.people,
    bodies,
    reload(next) {
      const { config: taken, ignored } = reloadable(state.config, next)
      state.members = membersOf(taken, state)
      pool.configure(state.members)
      state.config = taken
      listeners.limitWrites().catch(() => undefined)
      return ignored
    },
    async drain() {
      state.isLeaving = true
      const until = monotonicMs() + world.limits().drainMs
      if (await listeners.letGo()) await within(until - monotonicMs(), clientsGone(relay, listeners), hurry.promise)
      state.isDraining = true
      const stopped = listeners.stop()
      await within(until - monotonicMs(), relay.whenIdle(), hurry.promise)
      await live.drain()
      bodyReader.close()
      await within(LAST_WAIT_MS, relay.whenIdle())
      await within(LAST_WAIT_MS, stopped)
      await listeners.close()
      await site.close()
      await reports.close()
      await kept?.close()
      await ledger.close()
      log.flush()
    },
    hurry: () => hurry.resolve(),
  }
}

const alarmsTo = (alarms: Alarms, metrics: Metrics): Pick<LogOptions, 'onAlarm' | 'onRequestAlarm'> => ({
  onAlarm(what, fields) {
    metrics.alarm(what)
    alarms.add(what, fields)
  },
  onRequestAlarm: ({ upstream, cause, model }) => alarms.add('upstream', { upstream, cause, model }),
})

function bodyMemoryOf({ ledger, limits, clock }: World, memoryBytes: number): BodyMemory {
  const now = clock.monotonicMs
  return new BodyMemory({ poolBytes: poolBytesOf(memoryBytes), limits, purseOf: (keyId) => ledger.purseOf(keyId), now })
}

/**
 * Resolves when the clients are with who listens now: what ran has ended, and whoever kept a connection was told by an answer on it that it closes, or asked for
 * nothing for a moment. An answer that had begun before could not say so.
 */
async function clientsGone(relay: Ending, { connections }: Pick<Listeners, 'connections'>): Promise<void> {
  do {
    await relay.whenIdle()
    for (let waitedMs = 0; waitedMs < QUIET_MS && (await connections()) !== 0; waitedMs += LOOK_MS) await Bun.sleep(LOOK_MS)
  } while (relay.running > 0)
}

type Ending = Readonly<{ running: number; whenIdle(): Promise<void> }>
const QUIET_MS = 2_000
const LOOK_MS = 50
/** What a stream that was just ended, or a socket that is closing, may still take. */
const LAST_WAIT_MS = 2_000
/** An end of a request takes some 500 bytes, and once commits fail no request is admitted: room for the ends of 16,000 that run. */
const SPILL_BYTES = 8 * 1024 * 1024
/** A command that writes the file itself holds it for a moment. */
const LOCK_WAIT_MS = 2_000
/** Waits for the first of these, at most `waitMs`; leaves no timer behind, which would keep the process. */
async function within(waitMs: number, ...ends: readonly Promise<unknown>[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, waitMs)
  await Promise.race([...ends, late])
  clearTimeout(timer)
}

type State = { config: Config; members: readonly MemberConfig[]; isLeaving: boolean; isDraining: boolean; url: string; operatorUrl: string }

const worldOf = (
  state: State,
  shared: Shared | undefined,
  parts: Pick<World, 'ledger' | 'reports' | 'log' | 'metrics' | 'wheel' | 'upstreams'>,
): World => ({
  ...parts,
  clock: { now: Date.now, monotonicMs },
  requestId: () => `req_${Bun.randomUUIDv7().replaceAll('-', '')}`,
  keys: new KeyStore(parts.ledger, { now: Date.now, ...(shared === undefined ? {} : { isCurrent: shared.isCurrent }) }),
  catalog: () => state.config.catalog,
  limits: () => state.config.limits,
  dashboardUrl: () =>
    state.config.server.dashboardUrl ?? `${state.config.cabinet.publicUrl ?? state.config.server.publicUrl ?? state.url}/cabinet`,
  publicUrl: () => state.config.server.publicUrl ?? state.url,
  trustedProxies: () => state.config.server.trustedProxies,
  corsOrigins: () => state.config.server.corsOrigins,
  isLeaving: () => state.isLeaving,
  isDraining: () => state.isDraining,
})

/** An idle process collects nothing by itself, and keeps what a crowd of streams has left: then once, when their last bytes are out. */
const COLLECT_AFTER_MS = 1_000
const collectSoon = (): void => void setTimeout(Bun.gc, COLLECT_AFTER_MS, true).unref()

const poolOf = (wheel: Wheel, metrics: Metrics): UpstreamPool =>
  new UpstreamPool({ wheel, now: Date.now, monotonicMs, random: Math.random, events: metrics.pool })

const monotonicMs = (): number => performance.now()
