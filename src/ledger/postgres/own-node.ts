/**
 * Makes this process's node, and what it does with each renewal: it compares facts with the other nodes, and looks whether the server is still the same. Rules: nodes.md
 * "Lanes and leases".
 */

import type { FromSupervisor, SupervisorListener } from '../admission/store-supervisor.ts'
import { statementKeyAt } from '../chain/statement-key.ts'
import type { LedgerOptions } from '../open-options.ts'
import type { PostgresPlace } from '../place.ts'
import type { LedgerFault } from '../thread-messages.ts'
import { LedgerNode } from './node-lease.ts'
import { Peers } from './peers.ts'
import { PromiseWatch } from './promise-watch.ts'
import { ServerWatch } from './server-watch.ts'
import type { Session } from './session.ts'
import type { NodeSupervisor } from './store-supervisor.ts'

/** The parts that are set only when the ledger is made, which is after its node: the node tells them what it learns. */
export type Late = {
  tell: (message: FromSupervisor) => void
  listener: SupervisorListener | undefined
  supervisor: NodeSupervisor | undefined
}

type Making = Readonly<{
  place: PostgresPlace
  session: Session
  options: Pick<LedgerOptions, 'bootId' | 'now' | 'facts' | 'onDifferent' | 'onPromise'> &
    Readonly<{ onFault: (fault: LedgerFault) => void }>
}>

/** A command, which has no `facts`, tells no facts to other nodes. */
function peersOf(place: PostgresPlace, session: Session, { facts, onDifferent = () => undefined }: Making['options']): Peers {
  const statementKey = statementKeyAt(place)?.publicKey ?? 'none'
  const own = { statement_key: statementKey, lease_ms: `${place.leaseMs}` }
  return new Peers({ session, facts: () => (facts === undefined ? {} : { ...facts(), ...own }), onLasting: onDifferent })
}

const GONE_WITH_SERVER =
  'a node was gone within a minute of the failover: what it alone had acknowledged just before, and the server lacks, is lost, and no report can name it'

/** Makes the thread look over what it has acknowledged; if the server is new, the wallets are then read again. */
function overlook(isNew: boolean, { tell, listener, supervisor }: Late): void {
  tell({ kind: 'lookOver' })
  if (!isNew) return
  listener?.onFailover()
  supervisor?.onFailover()
}

type Own = Readonly<{ node: LedgerNode; peers: Peers; watch: ServerWatch; promises: PromiseWatch }>

/** A node that is not joined yet. */
export function ownNode({ place, session, options }: Making, late: Late): Own {
  const { bootId, now, onFault } = options
  const peers = peersOf(place, session, options)
  const watch = new ServerWatch({ session, onOther: (isNew) => overlook(isNew, late) })
  const { onPromise = () => undefined } = options
  const promises = new PromiseWatch({ session, onPromise })
  let boots = 0
  const node = new LedgerNode(
    {
      session,
      name: place.node,
      termMs: place.leaseMs,
      bootId: () => (boots++ === 0 ? bootId : `${bootId}-${boots}`),
      // Without a listener the ledger is still being opened, so the lease is renewed.
      mayRenew: () => late.listener?.hasThread() ?? true,
      now,
      onRenewed: async (identity) => {
        await watch.look()
        await peers.look(identity, place.node)
        await promises.look()
      },
    },
    {
      onFenced: () => onFault({ kind: 'node', problem: 'this node was fenced: another has taken its lane over' }),
      onJoined(identity) {
        late.tell({ kind: 'node', identity })
        late.listener?.onBoot(identity.boot)
      },
      onLeft() {
        if (watch.isRecent) onFault({ kind: 'failover', problem: GONE_WITH_SERVER })
        late.tell({ kind: 'takeOver' })
      },
      onBug: (bug) => onFault({ problem: 'the heartbeat of this node failed by a bug', bug }),
      onSkew: (skewMs) => onFault({ kind: 'node', problem: `the clock of this machine is ${Math.round(-skewMs)} ms ahead of Postgres'` }),
    },
  )
  return { node, peers, watch, promises }
}
