/**
 * Opens the ledger of a gateway, and reports its faults, its storage and what the start found. Rules: operator.md "Metrics"; ledger.md "Migrations",
 * "Recovery".
 */

import type { Config } from './config/config.ts'
import { differenceText, type NodeFacts } from './core/node-facts.ts'
import type { BudgetsOfPlan } from './ledger/admission/wallet-budgets.ts'
import { openLedgerAt } from './ledger/open.ts'
import type { OpenedLedger, Relays } from './ledger/open-options.ts'
import type { RelayPlace } from './ledger/relays/open.ts'
import { socketBeside } from './ledger/relays/socket-file.ts'
import { realPathOf } from './ledger/sqlite/file-id.ts'
import type { LedgerFault } from './ledger/thread-messages.ts'
import { describeBug } from './observe/bug.ts'
import type { Log } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'

/** Room for the ends of 16,000 running requests, at some 500 bytes each; no further request is admitted once commits fail. */
const SPILL_BYTES = 8 * 1024 * 1024
/** How long the start waits for the lock: a command that writes the file itself holds the lock only for a moment. */
const LOCK_WAIT_MS = 2_000

type Opening = Readonly<{
  config: Config
  startThread: () => Worker
  startSyncDriver: () => Worker
  siblings?: number
  onStep?: (step: string) => void
  /** The settings that this node runs with now. */
  facts: () => NodeFacts
  /** The budgets that the configuration gives a plan now. */
  budgetsOf: BudgetsOfPlan
  /** Makes the hub for relays; only the ledger process has it. */
  relaysAt?: (path: string) => Relays
  /** Called in a relay whose reservations other processes may have by now, so that it must end. */
  onFenced?: (reason: string) => void
}>
type Told = Readonly<{ log: Log; metrics: Metrics; onFault: (fault: LedgerFault) => void }>

export const ledgerOfGateway = (
  {
    config,
    startThread,
    startSyncDriver,
    siblings = 0,
    onStep = () => undefined,
    facts,
    budgetsOf,
    relaysAt,
    onFenced = () => undefined,
  }: Opening,
  { log, metrics, onFault }: Told,
): ReturnType<typeof openLedgerAt> =>
  openLedgerAt(config.ledger, {
    ...(relaysAt === undefined ? {} : { relaysAt }),
    relay: relayOf(config, onFenced),
    create: true,
    lockWaitMs: LOCK_WAIT_MS,
    spillBytes: SPILL_BYTES,
    bootId: Bun.randomUUIDv7(),
    startThread,
    startSyncDriver,
    now: Date.now,
    checksFile: true,
    needsStatementKey: true,
    sharedAnswersBytes: config.limits.keptAnswersBytes,
    onFault,
    processes: 1 + siblings,
    onCrowded: (room) => log.notice('the connections to Postgres do not fit while processes are replaced', { room }),
    facts,
    budgetsOf,
    onPromise: ({ status, text }) => log.notice('what Postgres promises', { status, promise: text }),
    onDifferent: (difference) => log.alarm('nodes differ', { difference: differenceText(difference) }),
    onStorage: (figures) => metrics.storageTold(figures),
    onStep,
    onMigration: ({ notice, fields }) => {
      log.notice(notice, fields)
      onStep(notice)
    },
  })

function relayOf({ ledger }: Config, onFenced: (reason: string) => void): RelayPlace | undefined {
  if (ledger.kind !== 'sqlite' || ledger.part !== 'relay') return undefined
  const path = realPathOf(ledger.path)
  return { path, socket: socketBeside(path, RELAYS), onFenced }
}

/** The last word in the names of a ledger process's sockets, by which its relays find them. */
export const RELAYS = 'relays'
export const PAGES = 'pages'

export const alarmsOfLedger =
  (log: Log) =>
  ({ problem, bug, kind }: LedgerFault): void => {
    if (kind === 'failover') log.alarm('Postgres failed over', { fault: problem })
    else if (kind === 'node') log.alarm('a node of the ledger', { fault: problem })
    else log.alarm('ledger', { fault: problem, ...(bug === undefined ? {} : describeBug(bug)) })
  }

export function noteFound(log: Log, { isNew, path, replayed, recovered }: OpenedLedger): void {
  if (isNew) log.notice('a new ledger was made', { path })
  if (replayed > 0) log.notice('settles that the spill had kept are in the ledger', { replayed })
  if (recovered > 0) log.notice('requests of a dead process were waived', { recovered })
}
