/**
 * Opens a ledger on Postgres for writing: first the database, which is made or migrated if that is due, then this process's lane, then the thread that writes in the lane.
 * Rules: ledger.md "Two stores"; nodes.md "Lanes and leases".
 */

import { openPostgres } from '../../../db/postgres/open.ts'
import { problemOf } from '../../../db/problem.ts'
import { CONNECTIONS_MIN, connectionsOf } from '../../core/connections.ts'
import { GroupCommit } from '../admission/group-commit.ts'
import { Patience } from '../admission/patience.ts'
import { enterThread } from '../admission/thread-handle.ts'
import { type LedgerOptions, type OpenedLedger, withDefaults } from '../open-options.ts'
import { type PostgresPlace, placeText, type SpillsAt } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import type { OpenProblem } from '../thread-messages.ts'
import { PostgresAnswers } from './answers.ts'
import { type Connectable, connectTo, whileAsking } from './connect.ts'
import { PostgresLimits } from './limits.ts'
import { migrateDatabase } from './migrate.ts'
import type { LedgerNode } from './node-lease.ts'
import { NotificationListener } from './notification-listener.ts'
import { type Late, ownNode } from './own-node.ts'
import { problemOfSessions } from './pooler.ts'
import { PostgresRates } from './rates.ts'
import { isRoomy, roomFor, textOfRoom } from './room.ts'
import { isOtherServer, notedServer, noteServer, serverNameOf } from './server-name.ts'
import { Session, SessionFailure } from './session.ts'
import { takeSigningKey } from './signing-key-record.ts'
import { takeSpillPlaces } from './spill-places.ts'
import { NodeSupervisor } from './store-supervisor.ts'

/** The limit of a statement of the heartbeat: well within a quarter of the shortest term. */
const BEAT_MS_MAX = 2_000
/** The limit of the first contact with the server. */
const REACH_MS = 4_000
/** How long joining is tried again; with the last try it takes at most five seconds. */
const JOIN_MS = 2_500
const LISTEN_MS = 5_000
const JOIN_PAUSE_MS = 100
/** The limit of a claim, and of keeping an answer of megabytes. */
const ANSWER_MS_MAX = 5_000

/** How long a node waits for the shared limits of a key; after that it admits up to its own share of them. */
const LIMIT_MS_MAX = 250

export async function openLedger({
  place,
  ...options
}: LedgerOptions & Readonly<{ place: Connectable }>): Promise<OpenedLedger | OpenProblem> {
  options.onStep?.('the database')
  const problem = (await problemOfSessions(place, REACH_MS)) ?? prepare(place, options)
  if (problem !== undefined) return problem
  const spills = spillsAt(place.path)
  if ('problem' in spills) return spills
  const { release, ...places } = spills
  const opened = await openAsNode(place, places, release, options)
  if ('problem' in opened) release()
  return opened
}

async function openAsNode(
  place: Connectable,
  spills: SpillsAt,
  onLeft: () => void,
  options: LedgerOptions,
): Promise<OpenedLedger | OpenProblem> {
  const { startSyncDriver: _, ...plain } = place
  const given = withDefaults(options)
  const late: Late = { tell: () => undefined, listener: undefined, supervisor: undefined }
  const onBug = (bug: unknown): void => given.onFault({ problem: 'what nodes share failed by a bug', bug })
  const patience = new Patience({ onBug })
  const named = (what: string, limitMs: number, connections = 1): Session =>
    new Session({ url: place.url, name: `tollgate ${place.node} ${what}`, limitMs, connections, onDone: () => patience.hear() })
  const session = named('node', Math.min(BEAT_MS_MAX, place.leaseMs / 4))
  const { node, peers, watch, promises } = ownNode({ place, session, options: { ...options, ...given } }, late)
  options.onStep?.('the lane')
  const refused = await joined(node)
  if (refused !== undefined) {
    return { problem: 'unwritable', message: `${placeText(place)}: this process cannot be a node of it (${refused.message})` }
  }
  await watch.look()
  await promises.look()
  const notifications = notificationsOf(place, { node, session }, late, onBug)
  const connections = connectionsOf(place.connections ?? CONNECTIONS_MIN)
  const answers = new PostgresAnswers({
    session: named('answers', ANSWER_MS_MAX, connections.answers),
    identity: () => node.identity,
    bytesMax: options.sharedAnswersBytes,
    onBug,
    patience,
  })
  const limiting = named('limits', LIMIT_MS_MAX, connections.limits)
  const limits = new PostgresLimits(limiting, () => node.identity, patience)
  const rates = new PostgresRates({ session: limiting, identity: () => node.identity, patience })
  const ledger = new GroupCommit({
    ...given,
    isShared: true,
    boot: node.identity?.boot,
    enter: (heard) => enterThread({ ...given, place: () => ({ ...plain, identity: node.identity, spills }) }, heard),
    makeSupervisor(tell, listener) {
      const supervisor = new NodeSupervisor({ node, notifications, answers, limits, patience, onStale: listener.onStale, onLeft })
      Object.assign(late, { tell, listener, supervisor })
      return supervisor
    },
  })
  options.onStep?.('the thread')
  const opened = await ledger.start()
  options.onStep?.('the notifications')
  const failure = 'recovered' in opened ? await notifications.untilListening(LISTEN_MS) : undefined
  if (failure !== undefined) {
    await ledger.close()
    return {
      problem: 'unwritable',
      message: `${placeText(place)}: this process gets no notifications from the others (${failure.message})`,
    }
  }
  if ('recovered' in opened) {
    const shared = {
      answers,
      limits,
      rates,
      isCurrent: (askedAtMs: number) => notifications.isCurrent(askedAtMs),
      whileHeard: <T>(working: Promise<T>) => patience.whileHeard(working),
      skewMs: () => node.skewMs,
      fences: () => node.fences,
      differences: () => peers.differences,
      promise: () => promises.promise,
    }
    return { ledger, recovered: opened.recovered, replayed: opened.replayed.length, path: place.path, isNew: false, shared }
  }
  late.supervisor?.stop()
  await late.supervisor?.onClosed()
  return opened
}

const notificationsOf = (
  place: PostgresPlace,
  { node, session }: Readonly<{ node: LedgerNode; session: Session }>,
  late: Late,
  onBug: (bug: unknown) => void,
): NotificationListener =>
  new NotificationListener({
    url: place.url,
    name: `tollgate ${place.node} listens`,
    speaker: session,
    onMessage(message) {
      // A node's own messages are ignored, because it learned its changes when it made them.
      if (message.lane !== node.identity?.lane) late.listener?.onMessage(message)
    },
    onMissed: () => late.listener?.onMissed(),
    onBug,
  })

/** Joins, with several tries: the limit of a heartbeat is short, and a first connection to a busy server may take longer. */
async function joined(node: LedgerNode): Promise<SessionFailure | undefined> {
  const untilMs = performance.now() + JOIN_MS
  for (;;) {
    try {
      await node.join()
      return undefined
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      if (performance.now() > untilMs) return error
      await Bun.sleep(JOIN_PAUSE_MS)
    }
  }
}

function spillsAt(path: string): ReturnType<typeof takeSpillPlaces> | OpenProblem {
  try {
    return takeSpillPlaces(path)
  } catch (error) {
    return problemOf(error, path)
  }
}

/** Makes or migrates the database. It blocks this thread, which has nothing else to do before the ledger is open. */
function prepare(place: Connectable, options: LedgerOptions): OpenProblem | undefined {
  const { create, onMigration, needsStatementKey = false } = options
  const db = connectTo(place, 'write', 'opens')
  try {
    return whileAsking(place, () => {
      const migrate = onMigration && (() => migrateDatabase(place, onMigration))
      const problem =
        openPostgres(db, placeText(place), create ? 'create' : 'write', { migrate }) ??
        (needsStatementKey ? takeSigningKey(db, place) : undefined)
      if (problem === undefined) {
        tellCrowded(db, place, options)
        tellOtherServer(db, options)
      }
      return problem
    })
  } finally {
    db.close()
  }
}

/** Tells when the server is not the one that the ledger was last written on. A gateway notes its server; one that lived through a failover has noted the new one. */
function tellOtherServer(db: Connection, { facts, onFault = () => undefined }: LedgerOptions): void {
  if (facts === undefined) return
  const [before, now] = [notedServer(db), serverNameOf(db)]
  if (isOtherServer(before, now)) {
    const problem = `Postgres is not the server under which the ledger was last written (${before}, now ${now}): what processes acknowledged that are gone, and this server lacks, is lost, and no report can name it`
    onFault({ kind: 'failover', problem })
  }
  noteServer(db, now)
}

function tellCrowded(db: Connection, { node, connections }: Connectable, { processes, onCrowded }: LedgerOptions): void {
  if (onCrowded === undefined) return
  const room = roomFor(db, connections, { name: node, count: processes ?? 1 })
  if (!isRoomy(room)) onCrowded(textOfRoom(room))
}
