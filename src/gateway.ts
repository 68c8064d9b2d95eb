/**
 * A running gateway: the real world, its listeners, its reload and its end. `serve` and `up` start one, and so do the tests that need a whole process.
 * Rules: operator.md "Reload", "Shutdown"; platform.md "Process"; house.md "Long-lived things".
 */

import { version } from '../package.json' with { type: 'json' }
import { type Config, isRelay } from './config/config.ts'
import type { ConfigProblems } from './config/problems.ts'
import { reloadPreview } from './config/reload-preview.ts'
import { budgetsOf } from './core/catalog.ts'
import { HistoryRecorder } from './core/history/recorder.ts'
import { type Departure, departure } from './departure.ts'
import { alarmsTo, factsNow, poolOf, type Reloaded, takeOver } from './gateway-parts.ts'
import { registerGauges } from './gauges.ts'
import type { HistoryStore } from './history/store.ts'
import { HistoryWriting } from './history/writing.ts'
import { historyBeside } from './history-beside.ts'
import { ClientLimits } from './http/client-limit.ts'
import { seesSockets } from './http/kernel-sockets.ts'
import type { Ledger } from './ledger/ledger.ts'
import { Reads } from './ledger/reading/reads.ts'
import { Verifier } from './ledger/reading/verifier.ts'
import { socketBeside } from './ledger/relays/socket-file.ts'
import { alarmsOfLedger, ledgerOfGateway, noteFound, PAGES } from './ledger-of-gateway.ts'
import { type Listeners, type ListenProblem, listen } from './listeners.ts'
import { membersOf } from './members.ts'
import { Alarms } from './observe/alarms.ts'
import { makeLog } from './observe/log.ts'
import { makeMetrics } from './observe/metrics.ts'
import { poolEvents } from './observe/pool-events.ts'
import { holdsPage } from './operator/holds-page.ts'
import { type Moment, momentHere } from './operator/moment.ts'
import type { StripeAddress } from './payments/stripe-api.ts'
import type { People } from './people/people.ts'
import { type GatewayState, monotonicMs, realWorld } from './real-world.ts'
import type { BodyMemory } from './relay/body-memory.ts'
import type { Timings } from './relay/timings.ts'
import { drivenTimerWheel } from './timer-wheel-driver.ts'
import type { UpstreamPool } from './upstream/pool.ts'
import type { Site } from './web/site.ts'
import { siteElsewhere } from './web/site-elsewhere.ts'
import { type OpenedSite, siteOfGateway } from './web/site-of-gateway.ts'
import type { TelegramAddress } from './web/telegram-of-gateway.ts'
import type { World } from './world.ts'

export type GatewayOptions = Readonly<{
  config: Config
  /** Reads the configuration anew, to show what a reload would change; default: nothing would. */
  readConfig?: () => Config | ConfigProblems
  /** Has all processes of this set reload; default: nothing happens. */
  askReload?: () => void
  startThread: () => Worker
  /** Makes a Worker of `src/ledger/postgres/sync-driver.ts`. */
  startSyncDriver: () => Worker
  /** Makes a Worker of `src/relay/body-thread.ts`. */
  startBodyThread: () => Worker
  /** Makes a Worker of `src/answers/thread.ts`. */
  startAnswersThread: () => Worker
  /** Makes a Worker of `src/history/thread.ts`. */
  startHistoryThread: () => Worker
  /** Makes a Worker of `src/people/thread.ts`. */
  startPeopleThread: () => Worker
  /** Overrides of the configuration, from the command line. */
  host: string | undefined
  port: number | undefined
  /** Other processes may listen on the same ports; default: where the ledger can be shared. */
  isShared?: boolean
  /** How many other processes begin and end with this one as a set; default 0. */
  siblings?: number
  /** The version of this program, with its commit where it is known. */
  version?: string
  /** Called with each step of the start. */
  onStep?: (step: string) => void
  /** Takes whole log lines. */
  log: (line: string) => void
  timings?: Timings
  /** Memory that the process may use; default: the limit of its control groups, else the machine's memory. */
  memoryBytes?: number
  /** The address of a server that stands in for Stripe. */
  stripeAddress?: StripeAddress
  /** The address of a server that stands in for Telegram. */
  telegramAddress?: TelegramAddress
  /** Called in a relay whose reservations other processes may have by now, so that it must end. */
  onFenced?: (reason: string) => void
  /** Puts a layer between the gateway and its ledger. */
  wrapLedger?: (ledger: Ledger) => Ledger
}>

export type Gateway = Departure &
  Readonly<{
    /** `http://HOST:PORT`, with the port that was really taken. */
    url: string
    /** The address of `/metrics`. */
    operatorUrl: string
    world: World
    people: () => People
    bodies: BodyMemory
    reload(config: Config): Reloaded
  }>

export type GatewayProblem = Readonly<{ problem: 'ledger'; message: string }> | ListenProblem

export async function startGateway(options: GatewayOptions): Promise<Gateway | GatewayProblem> {
  const { startThread, config } = options
  const recorder = new HistoryRecorder({ boot: Bun.randomUUIDv7(), now: Date.now })
  const metrics = makeMetrics((line) => recorder.ended(line))
  const alarms = new Alarms(Date.now)
  const { node } = { node: undefined, ...config.ledger }
  const log = makeLog({ write: options.log, node, ...alarmsTo(alarms, metrics) })
  const onFault = alarmsOfLedger(log)
  const state: GatewayState = { config, members: membersOf(config), isLeaving: false, isDraining: false, url: '', operatorUrl: '' }
  const facts = factsNow(state, options.version ?? version)
  const opening = ledgerOfGateway(
    { ...options, facts, budgetsOf: (plan) => budgetsOf(state.config.catalog, plan) },
    { log, metrics, onFault },
  )
  // The routes and what they need are loaded while the ledger's thread opens the file.
  const [{ buildApp }, { relayOfGateway }] = await Promise.all([import('./http/app.ts'), import('./relay-of-gateway.ts')])
  const opened = await opening
  if ('problem' in opened) return { problem: 'ledger', message: opened.message }
  const { recovered, shared, path } = opened
  const ledger = options.wrapLedger?.(opened.ledger) ?? opened.ledger
  const wheel = drivenTimerWheel()
  const reports = new Reads({ place: { ...config.ledger, path }, startThread, onFault, ...(shared && { whileHeard: shared.whileHeard }) })
  const pool = poolOf(wheel, poolEvents(metrics, log, monotonicMs))
  pool.configure(state.members)
  const world = realWorld(state, shared, { ledger, reports, log, metrics, wheel, upstreams: pool })
  noteFound(log, opened)
  const { relay, keyLimits, rates, live, bodies, bodyReader, kept } = relayOfGateway(world, opened, options)
  registerGauges({ world, bodies, pool, recovered, ledgerPath: path, shared })
  const clientLimits = new ClientLimits({ limits: world.limits, now: monotonicMs, shared: shared?.clientLimits })
  const ask = config.ledger.kind === 'postgres' ? () => site.people().db.ask : undefined
  const store = historyBeside({ path, startThread: options.startHistoryThread, ask }, world)
  const verifier = new Verifier({ place: { ...config.ledger, path }, startThread, now: Date.now, onFault })
  const moment = () => momentHere({ world, upstreams: pool, alarms, running: () => relay.running })
  const site = siteOf(world, path, { options, state, verifier, upstreams: pool, history: store, moment })
  const history = new HistoryWriting({ store, recorder, monotonicMs })
  const app = buildApp({ world, relay, keyLimits, rates, clientLimits })
  const previewReload = () => reloadPreview(state.config, (options.readConfig ?? (() => state.config))(), crypto.randomUUID())
  const answering = { app, pages: site.pages, payments: site.payments, upstreams: pool, previewReload, moment }
  options.onStep?.('listeners')
  const listeners = await listen({ ...options, isShared: isShared(options), siblings: options.siblings ?? 0 }, world, answering)
  if ('problem' in listeners) {
    bodyReader.close()
    for (const part of [history, site, reports, kept, ledger]) await part?.close()
    return listeners
  }
  tellOf(listeners, state, world)
  site.begin()
  history.begin()
  return {
    url: listeners.url,
    operatorUrl: listeners.operatorUrl,
    world,
    people: site.people,
    bodies,
    reload: (next) => reload(next, { state, pool, listeners }),
    ...departure({
      state,
      delayMs: () => state.config.server.drainDelayMs,
      world,
      listeners,
      relay,
      live,
      bodyReader,
      closing: [history, site, reports, kept],
    }),
  }
}

type SiteParts = Readonly<{
  options: GatewayOptions
  state: GatewayState
  verifier: Verifier
  upstreams: UpstreamPool
  history: Pick<HistoryStore, 'read' | 'traffic'>
  moment: () => Moment
}>

function siteOf(world: World, path: string, { options, state, ...parts }: SiteParts): OpenedSite {
  const { startPeopleThread, stripeAddress, telegramAddress, readConfig = () => state.config, askReload = () => undefined } = options
  if (isRelay(options.config)) return siteElsewhere(world, state, socketBeside(path, PAGES), stripeAddress)
  const look = (): Promise<void> => Promise.resolve()
  const urls = () => ({ cabinet: state.url, console: state.operatorUrl })
  const holdsOf: Site['holdsOf'] = (accountId, limit) =>
    Promise.resolve(holdsPage(world.ledger.holds(), { keyId: null, accountId, after: null, limit }))
  const asked = { holdsOf, readConfig, askReload, urls, startPeopleThread, stripeAddress, telegramAddress }
  return siteOfGateway({ ...parts, ...asked, look, world, config: () => state.config })
}

const isShared = ({ config, isShared: given }: GatewayOptions): boolean => given ?? (config.ledger.kind === 'postgres' || isRelay(config))

/** The addresses, which only the listeners know, and what the listeners can do on this machine. */
function tellOf(listeners: Listeners, state: GatewayState, { metrics, log }: World): void {
  state.url = listeners.url
  state.operatorUrl = listeners.operatorUrl
  if (seesSockets())
    metrics.gauge('tollgate_client_connections', 'Open connections of clients.', async () => (await listeners.connections()) ?? 0)
  if (!listeners.limitSockets()) log.notice('this system cannot be told to reset clients that do not read: they are closed')
}

function reload(
  next: Config,
  { state, pool, listeners }: Readonly<{ state: GatewayState; pool: UpstreamPool; listeners: Listeners }>,
): Reloaded {
  const reloaded = takeOver(next, { state, pool, membersOf })
  listeners.limitSockets()
  return reloaded
}
