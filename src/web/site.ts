/** The parts that the pages' apps use. The gateway makes them once. */

import type { Alerts } from '../alerts/alerts.ts'
import type { Config, PaymentsConfig } from '../config/config.ts'
import type { ConfigProblems } from '../config/problems.ts'
import type { HistoryStore } from '../history/store.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { Verifier } from '../ledger/reading/verifier.ts'
import type { Moment } from '../operator/moment.ts'
import type { Payments } from '../payments/payments.ts'
import type { People } from '../people/people.ts'
import type { UpstreamPool } from '../upstream/pool.ts'
import type { World } from '../world.ts'
import type { Reloads } from './reloading.ts'

export type Site = Readonly<{
  world: World
  upstreams: UpstreamPool
  /** Made with the first call; their store is opened with the first question, which fails where it cannot be. */
  people: () => People
  /** Stripe; undefined: the operator has none. */
  payments: Payments | undefined
  /** The ways to pay, which a reload may change. */
  waysToPay: () => PaymentsConfig
  alerts: Readonly<{
    /** Loads the alerts with the first call. */
    open: () => Promise<Alerts>
    sendsMail: boolean
    /** Whether webhooks may lead to private addresses. */
    allowPrivate: () => boolean
  }>
  /** Undefined: the cabinet has no bot. */
  telegram:
    | Readonly<{ /** The bot's name; undefined: Telegram was not reached yet. */ name: () => Promise<string | undefined> }>
    | undefined
  /** The configuration that is in force now. */
  config: () => Config
  /** Reads the file anew, as a reload would. */
  readConfig: () => Config | ConfigProblems
  /** Reloads of this process: console and operator's API ask for them as one act. */
  reloads: Reloads
  /** Looks over the whole ledger. */
  verifier: Verifier
  /** Requests of all processes and nodes by minute and hour. */
  history: Pick<HistoryStore, 'read' | 'traffic'>
  /** What the gateway does now. Of several relays: as of the last look. */
  moment: () => Moment
  /** Brings the moment up to date where other processes answer the clients. Never rejects. */
  look: () => Promise<void>
  /** The oldest holds of an account, in all processes of this place. */
  holdsOf: (accountId: string, limit: number) => Promise<readonly Hold[]>
}>
