/** A relay of a simulated ledger process: the product's own, as it is opened, over a wire that the simulation delivers. Rules: processes.md "Relays", "Death". */

import type { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import type { BudgetsOfPlan } from '../../src/ledger/admission/wallet-budgets.ts'
import type { OpenedLedger } from '../../src/ledger/open-options.ts'
import type { LinkHearing, LinkSocket } from '../../src/ledger/relays/link-socket.ts'
import { relayAt } from '../../src/ledger/relays/open.ts'
import type { ClaimsOverLink, LimitsOverLink } from '../../src/ledger/relays/relay-shares.ts'
import type { LedgerProcess } from './ledger-process.ts'
import type { Wire } from './wire.ts'

/** `path`: that of the ledger's file. `process`: the ledger process that lives now. `isSpillSound`: whether its spill can keep anything. */
type Options = Readonly<{
  pid: number
  path: string
  now: () => number
  budgetsOf?: BudgetsOfPlan
  process: () => LedgerProcess | undefined
  isSpillSound: () => boolean
  onWire: (wire: Wire) => void
  onFenced: () => void
  onFault: (problem: string) => void
}>

/** Ends wait so long for a ledger process that is gone. */
const AWAY_MS = 50

export class RelayProcess {
  readonly pid: number
  readonly ledger: GroupCommit
  readonly opened: OpenedLedger
  readonly limits: LimitsOverLink
  readonly claims: ClaimsOverLink
  readonly #options: Options
  readonly #made: ReturnType<typeof relayAt>
  readonly #wires = new Set<Wire>()
  #isAlive = true
  isStopped = false

  constructor(options: Options) {
    const { pid, path, now, budgetsOf, isSpillSound, onFenced, onFault } = options
    this.pid = pid
    this.#options = options
    this.#made = relayAt({
      ...{ create: false, bootId: `relay-${pid}`, now, retryMs: AWAY_MS, checkpointAfterMs: 1_000, leaseIdleMs: 5_000 },
      ...(budgetsOf === undefined ? {} : { budgetsOf }),
      relay: { path, socket: '', onFenced, connect: (_, hearing) => Promise.resolve(this.#connect(hearing)) },
      onFault: ({ problem }) => onFault(problem),
      startThread: () => {
        throw new Error('a relay has no thread')
      },
    })
    const { ledger, opened, spill } = this.#made
    const keep = spill.keep.bind(spill)
    spill.keep = (...ends) => this.#isAlive && isSpillSound() && keep(...ends)
    this.ledger = ledger
    this.opened = opened
    this.limits = opened.shared.limits
    this.claims = opened.shared.claims
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  begin(): void {
    this.ledger.start().catch(() => undefined)
  }

  /** Its files are closed, as those of any process that ends. What it had sent still arrives. */
  die(): void {
    this.#isAlive = false
    this.#made.link.close()
    this.#made.spill.close()
    for (const wire of this.#wires) wire.leave()
  }

  /** The machine stops, and nothing that is on a wire arrives. */
  loseThePower(): void {
    this.die()
    for (const wire of this.#wires) wire.cut()
  }

  #connect(hearing: LinkHearing): LinkSocket | undefined {
    const wire = this.#isAlive && !this.isStopped ? this.#options.process()?.wireTo(this, hearing) : undefined
    if (wire === undefined) return undefined
    this.#wires.add(wire)
    this.#options.onWire(wire)
    return { send: (message) => wire.send(message), close: () => wire.leave() }
  }
}
