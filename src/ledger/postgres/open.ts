/**
 * Opening a ledger on Postgres for writing: the database first, made or migrated where that is due, then this process's lane, then the thread that writes in it.
 * Rules: ledger.md "Two stores"; nodes.md "Lanes and leases".
 */

import { openPostgres } from '../../../db/postgres/open.ts'
import { GroupCommit } from '../group-commit.ts'
import type { FromKeeper } from '../keeper.ts'
import { type LedgerOptions, type OpenedLedger, withDefaults } from '../open-options.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { OpenProblem } from '../task.ts'
import { NodeKeeper } from './keeper.ts'
import { LedgerNode } from './node.ts'
import { takeStatementKey } from './noted-key.ts'
import { connectTo, type Reachable, whileAsking } from './reach.ts'
import { Session, SessionFailure } from './session.ts'

/** Of a statement of the heartbeat: well within a quarter of the shortest term. */
const BEAT_MS_MAX = 2_000

export async function openLedger({
  place,
  ...options
}: LedgerOptions & Readonly<{ place: Reachable }>): Promise<OpenedLedger | OpenProblem> {
  const problem = prepare(place, options)
  if (problem !== undefined) return problem
  const { startWire: _, ...plain } = place
  const given = withDefaults(options)
  let tell: (message: FromKeeper) => void = () => undefined
  const node = nodeOf(place, given, (message) => tell(message))
  try {
    await node.join()
  } catch (error) {
    if (!(error instanceof SessionFailure)) throw error
    return { problem: 'unwritable', message: `${placeText(place)}: this process cannot be a node of it (${error.message})` }
  }
  const ledger = new GroupCommit({
    ...given,
    place: () => ({ ...plain, identity: node.identity }),
    makeKeeper(telling) {
      tell = telling
      return new NodeKeeper(node)
    },
  })
  const opened = await ledger.start()
  if ('recovered' in opened)
    return { ledger, recovered: opened.recovered, replayed: opened.replayed.length, path: place.path, isNew: false }
  await node.leave()
  return opened
}

/** This thread stands still for it: nothing else is to do before the ledger is there. */
function prepare(place: Reachable, { create, needsStatementKey = false }: LedgerOptions): OpenProblem | undefined {
  const db = connectTo(place, 'write', 'opens')
  try {
    return whileAsking(
      place,
      () =>
        openPostgres(db, placeText(place), create ? 'create' : 'write') ?? (needsStatementKey ? takeStatementKey(db, place) : undefined),
    )
  } finally {
    db.close()
  }
}

function nodeOf(
  place: PostgresPlace,
  { bootId, now, onFault }: Pick<ReturnType<typeof withDefaults>, 'bootId' | 'now' | 'onFault'>,
  tell: (message: FromKeeper) => void,
): LedgerNode {
  const session = new Session({ url: place.url, name: `tollgate ${place.node} node`, limitMs: Math.min(BEAT_MS_MAX, place.leaseMs / 4) })
  let boots = 0
  return new LedgerNode(
    {
      session,
      name: place.node,
      termMs: place.leaseMs,
      bootId: () => (boots++ === 0 ? bootId : `${bootId}-${boots}`),
      mayRenew: () => true,
      now,
    },
    {
      onFenced: () => onFault({ problem: 'this node was fenced: another has taken its lane over' }),
      onJoined: (identity) => tell({ kind: 'node', identity }),
      onLeft: () => undefined,
      onBug: (bug) => onFault({ problem: 'the heartbeat of this node failed by a bug', bug }),
      onSkew: (skewMs) => onFault({ problem: `the clock of this machine is ${Math.round(-skewMs)} ms ahead of Postgres'` }),
    },
  )
}
