/** Opens the ledger as a relay of the process that has its file open. Rules: processes.md "Relays". */

import { GroupCommit } from '../admission/group-commit.ts'
import { Patience } from '../admission/patience.ts'
import type { SupervisorListener } from '../admission/store-supervisor.ts'
import { type LedgerOptions, type OpenedLedger, withDefaults } from '../open-options.ts'
import type { OpenProblem } from '../thread-messages.ts'
import { relaySpillPathOf } from '../writing/relay-spills.ts'
import { BytesOverLink } from './bytes-over-link.ts'
import { RelayLink } from './link.ts'
import type { LinkOptions } from './link-options.ts'
import { ClaimsOverLink, clientLimitsOverLink, keptOverLink, LimitsOverLink, RatesOverLink } from './relay-shares.ts'
import { RelaySpill } from './relay-spill.ts'
import { RelaySupervisor } from './relay-supervisor.ts'

/** How long the first connection may take; it is short, because the ledger process ran when the relay was started. */
const FIRST_MS = 10_000
/** How many connections may end with a task before the task is given up: many, because a connection ends for reasons that are not the task's fault. */
const SENDS_MAX = 100

/** `socket`: the socket of the ledger process. `onFenced`: called when others may have what this process held, so that it must end. */
export type RelayPlace = Readonly<{ path: string; socket: string; onFenced: (reason: string) => void }>

type Options = LedgerOptions & Readonly<{ relay: RelayPlace & Pick<LinkOptions, 'connect' | 'firstMs'> }>

export async function openRelay(options: LedgerOptions & Readonly<{ relay: RelayPlace }>): Promise<OpenedLedger | OpenProblem> {
  const { ledger, link, spill, opened } = relayAt({ ...options, relay: { ...options.relay, firstMs: FIRST_MS } })
  const started = await ledger.start()
  if ('recovered' in started) return opened
  link.close()
  spill.close()
  return started
}

/** Makes a relay whose ledger is not started yet. `opened`: what it is once the ledger has started. */
export function relayAt({ relay, ...options }: Options) {
  const given = withDefaults(options)
  const onBug = (bug: unknown): void => given.onFault({ problem: 'what relays share failed by a bug', bug })
  const patience = new Patience({ onBug })
  const around = { link: () => link, patience, onBug }
  const [limits, rates, claims] = [new LimitsOverLink(around), new RatesOverLink(around), new ClaimsOverLink(around)]
  const bytes = new BytesOverLink(() => link)
  const { path, socket, onFenced, ...connecting } = relay
  const spill = new RelaySpill(relaySpillPathOf(path, given.bootId), given.onFault)
  let listener: SupervisorListener | undefined
  const link: RelayLink = new RelayLink({
    ...connecting,
    path: socket,
    bootId: given.bootId,
    runs: () => listener?.runs() ?? { accounts: [], keys: [] },
    held: () => ({ claims: claims.running, places: limits.places, running: rates.running }),
    onNews: (message) => listener?.onMessage(message),
    onFollowed: (followed) => claims.hear(followed),
    onSent: (sent) => bytes.hear(sent),
    onMissed: () => listener?.onMissed(),
    onFenced,
    onWelcome: ({ boot, ledgerId, spill: { frames } }) => spill.join({ boot, ledgerId, frames }),
    onHeard: () => patience.hear(),
    onFault: given.onFault,
  })
  const ledger = new GroupCommit({
    ...given,
    isShared: true,
    enter: link.enter,
    writes: 'ledger process',
    lost: 'the connection to it ended; joining again',
    sendsMax: SENDS_MAX,
    away: { afterMs: given.retryMs, keep: (ends, versionAt) => link.isAway && spill.keep(ends, versionAt) },
    makeSupervisor(_tell, heard) {
      listener = heard
      return new RelaySupervisor(link, patience, spill)
    },
  })
  const shared = {
    ...{ limits, clientLimits: clientLimitsOverLink(around), bytes, rates, claims, kept: keptOverLink(around) },
    isCurrent: (askedAtMs: number) => link.isCurrent(askedAtMs),
    whileHeard: <T>(working: Promise<T>) => patience.whileHeard(working),
    skewMs: () => 0,
    fences: () => 0,
    promise: () => undefined,
    differences: () => [],
  }
  const opened = { ledger, recovered: 0, replayed: 0, path, isNew: false, shared }
  return { ledger, link, spill, opened }
}
