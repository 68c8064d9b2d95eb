/**
 * The ledger process of several on a file: it has the file, its thread and what runs once, such as pages, mail and alerts; relays answer the clients. Rules: processes.md
 * "Relays", "Once"; operator.md "Processes".
 */

import { version } from '../package.json' with { type: 'json' }
import type { KeptAnswers } from './answers/kept-answers.ts'
import { answersBeside, keptForRelays } from './answers-beside.ts'
import type { Config } from './config/config.ts'
import type { ConfigProblems } from './config/problems.ts'
import { type ReloadPreview, reloadPreview } from './config/reload-preview.ts'
import { budgetsOf } from './core/catalog.ts'
import { alarmsTo, factsNow, poolOf, type Reloaded, takeOver } from './gateway-parts.ts'
import { registerGauges } from './gauges.ts'
import { historyBeside } from './history-beside.ts'
import type { Ledger } from './ledger/ledger.ts'
import { Reads } from './ledger/reading/reads.ts'
import { Verifier } from './ledger/reading/verifier.ts'
import { RelayHub } from './ledger/relays/hub.ts'
import { SharedState } from './ledger/relays/shared-state.ts'
import { socketBeside } from './ledger/relays/socket-file.ts'
import type { LedgerFault } from './ledger/thread-messages.ts'
import { alarmsOfLedger, ledgerOfGateway, noteFound, PAGES, RELAYS } from './ledger-of-gateway.ts'
import { listenForOperators } from './listeners.ts'
import { membersOf } from './members.ts'
import { Alarms } from './observe/alarms.ts'
import { type Log, makeLog } from './observe/log.ts'
import { makeMetrics } from './observe/metrics.ts'
import { poolEvents } from './observe/pool-events.ts'
import { holdsThroughSockets, momentsOfRelays } from './operator/ask-gateways.ts'
import { type Moment, momentHere } from './operator/moment.ts'
import { RelaysNow } from './operator/relays-now.ts'
import { type GatewayState, monotonicMs, realWorld } from './real-world.ts'
import { drivenTimerWheel } from './timer-wheel-driver.ts'
import { lookingFirst } from './web/look-first.ts'
import { AskedAddresses, listenForPages } from './web/pages-over-socket.ts'
import type { Site } from './web/site.ts'
import { siteOfGateway } from './web/site-of-gateway.ts'
import type { World } from './world.ts'

type Options = Readonly<{
  config: Config
  readConfig: () => Config | ConfigProblems
  /** Has all processes of this set reload. */
  askReload: () => void
  startThread: () => Worker
  startSyncDriver: () => Worker
  startAnswersThread: () => Worker
  startHistoryThread: () => Worker
  startPeopleThread: () => Worker
  /** The process ids of relays that the ledger process before this one has left running. */
  relays: readonly number[]
  onStep: (step: string) => void
  /** Called with the process id of a relay that was cut off and runs. */
  onCutOff: (pid: number) => void
  log: (line: string) => void
}>

/** A running ledger process, as `serve` handles it. */
export type LedgerProcess = Readonly<{
  /** The address of its operator's listener. */
  url: string
  operatorUrl: string
  world: World
  reload(config: Config): Reloaded
  /** Waits for its relays, at most for `drain_ms` and a little more, and ends. */
  drain(): Promise<void>
  hurry(): void
}>

type Problem = Readonly<{ problem: 'ledger' | 'listen'; message: string }>

/** How long the wait goes on beyond the drain of the relays, for their last answers. */
const RELAYS_WAIT_MS = 5_000

const stateAtStart = (config: Config): GatewayState => ({
  ...{ config, members: membersOf(config), url: urlOf(config), operatorUrl: '' },
  ...{ isLeaving: false, isDraining: false },
})

/** How long a page waits for a relay that does not say what it does. */
const MOMENT_WAIT_MS = 500

const relaysNow = ({ ledger }: Config, own: () => Moment, log: Log): RelaysNow =>
  new RelaysNow({
    ...{ own, ask: () => momentsOfRelays(ledger, MOMENT_WAIT_MS), monotonicMs },
    onTooLong: (pid) => log.alarm('a relay says too much', { relay: pid ?? '' }),
  })

/** The oldest holds of an account in all processes. */
const holdsIn =
  ({ ledger }: Config): Site['holdsOf'] =>
  async (accountId, limit) =>
    (await holdsThroughSockets(ledger, { keyId: null, accountId, after: null, limit }, MOMENT_WAIT_MS)).holds

const urlOf = ({ server: { host, port } }: Config): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

export async function startLedgerProcess(options: Options): Promise<LedgerProcess | Problem> {
  const { config } = options
  const [metrics, alarms] = [makeMetrics(), new Alarms(Date.now)]
  const log = makeLog({ write: options.log, node: undefined, ...alarmsTo(alarms, metrics) })
  const onFault = alarmsOfLedger(log)
  const state = stateAtStart(config)
  const beside: Beside = { kept: undefined, ledger: undefined }
  const relaysAt = hubAt(options, beside, onFault)
  const opened = await ledgerOfGateway(
    { ...options, facts: factsNow(state, version), budgetsOf: (plan) => budgetsOf(state.config.catalog, plan), relaysAt },
    { log, metrics, onFault },
  )
  if ('problem' in opened) return { problem: 'ledger', message: opened.message }
  const { ledger, path, relays } = opened
  beside.ledger = ledger
  const wheel = drivenTimerWheel()
  const pool = poolOf(wheel, poolEvents(metrics, log, monotonicMs))
  pool.configure(state.members)
  const reading = { place: { ...config.ledger, path }, startThread: options.startThread, onFault }
  const reports = new Reads(reading)
  const world = realWorld(state, undefined, { ledger, reports, log, metrics, wheel, upstreams: pool })
  beside.kept = answersBeside(opened, { bytesMax: config.limits.keptAnswersBytes, startThread: options.startAnswersThread }, world)
  noteFound(log, opened)
  registerGauges({ world, bodies: undefined, pool, recovered: opened.recovered, ledgerPath: path, shared: undefined })
  const history = historyBeside({ path, startThread: options.startHistoryThread, ask: undefined }, world)
  const addresses = new AskedAddresses({ cabinet: state.url, console: '' })
  const now = relaysNow(config, () => momentHere({ world, upstreams: pool, alarms, running: undefined }), log)
  const site = siteOfGateway({
    ...{ world, upstreams: pool, history, verifier: new Verifier({ ...reading, now: Date.now }), telegramAddress: undefined },
    ...{ config: () => state.config, stripeAddress: undefined, ...givenToSite(options) },
    ...{ urls: () => addresses.now, moment: () => now.moment(), look: () => now.look(), holdsOf: holdsIn(config) },
  })
  const closeLedger = async (): Promise<void> => {
    history.close()
    for (const part of [site, reports, beside.kept, ledger]) await part?.close()
  }
  const shown = lookingFirst(() => now.look(), site.pages)
  options.onStep('listeners')
  const operator = await listenForOperators(config, world, { upstreams: pool, previewReload: previewOf(state, options), pages: shown })
  if ('problem' in operator) {
    await closeLedger()
    return operator
  }
  state.operatorUrl = operator.operatorUrl
  addresses.note('console', operator.operatorUrl)
  const pages = listenForPages(socketBeside(path, PAGES), { addresses, pages: shown, log })
  site.begin()
  const hurry = Promise.withResolvers<void>()
  return {
    url: operator.operatorUrl,
    operatorUrl: operator.operatorUrl,
    world,
    reload: (next) => takeOver(next, { state, pool, membersOf }),
    async drain() {
      state.isLeaving = true
      const untilMs = world.limits().drainMs + RELAYS_WAIT_MS
      await Promise.race([relays?.whenEmpty(), hurry.promise, new Promise((resolve) => setTimeout(resolve, untilMs).unref())])
      for (const part of [pages, operator]) await part.close()
      await closeLedger()
      log.flush()
    },
    hurry: () => hurry.resolve(),
  }
}

const givenToSite = ({ readConfig, askReload, startPeopleThread }: Options) => ({ readConfig, askReload, startPeopleThread })

const previewOf =
  (state: Pick<GatewayState, 'config'>, { readConfig }: Pick<Options, 'readConfig'>) =>
  (): ReloadPreview =>
    reloadPreview(state.config, readConfig(), crypto.randomUUID())

/** The parts that relays ask for and that exist only once the ledger is open. */
type Beside = { kept: KeptAnswers | undefined; ledger: Ledger | undefined }

const hubAt =
  ({ relays, onCutOff }: Options, beside: Beside, onFault: (fault: LedgerFault) => void) =>
  (path: string): RelayHub =>
    new RelayHub({
      path: socketBeside(path, RELAYS),
      state: new SharedState(keptForRelays(() => beside.kept, Date.now)),
      expected: relays,
      onCutOff,
      now: Date.now,
      isSound: () => beside.ledger?.isSound() ?? true,
      onFault,
    })
