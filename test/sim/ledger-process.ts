/** The ledger process of simulated relays: real hub, commit loop and file, whose socket and thread are in the hands of the simulation. Rules: processes.md "Relays", "Death". */

import { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import { enterThread } from '../../src/ledger/admission/thread-handle.ts'
import { RelayHub } from '../../src/ledger/relays/hub.ts'
import type { Hearing } from '../../src/ledger/relays/hub-socket.ts'
import type { LinkHearing } from '../../src/ledger/relays/link-socket.ts'
import { SharedState } from '../../src/ledger/relays/shared-state.ts'
import type { KeptElsewhere } from '../../src/ledger/shared-answers.ts'
import type { FileGround } from './file-ground.ts'
import type { Storage } from './ground.ts'
import { SimulatedThread } from './thread.ts'
import type { VirtualTime } from './virtual-time.ts'
import { Wire } from './wire.ts'

/** `expected`: relays of the ledger process before it. `beginningOf`: undefined for a process that has ended. `retryMs`: how long a failing write is tried. */
type Options = Readonly<{
  time: VirtualTime
  ground: FileGround
  storage: () => Storage
  bootId: string
  kept: KeptElsewhere
  expected: readonly number[]
  beginningOf: (pid: number) => string | undefined
  retryMs: number
  spillBytes: number
}>

/** A relay as its wire sees it. */
type Side = Readonly<{ pid: number; isAlive: boolean; isStopped: boolean }>

export class LedgerProcess {
  readonly ledger: GroupCommit
  readonly #options: Options
  readonly #hub: RelayHub
  #threads: readonly SimulatedThread[] = []
  #hearing: Hearing | undefined
  #isStopped = false

  /** Whose ledger is to be started. What it sets on the clock meanwhile is its own, and stands still with it. */
  constructor(options: Options) {
    this.#options = options
    const { time } = options
    this.#hub = time.as(this, () => this.#makeHub())
    this.ledger = time.as(this, () => this.#makeLedger())
  }

  #makeHub(): RelayHub {
    const { kept, expected, beginningOf, time } = this.#options
    return new RelayHub({
      ...{ path: '', state: new SharedState(kept), expected, beginningOf, now: time.now, isSound: () => true, onFault: () => undefined },
      listen: (_, hearing) => {
        this.#hearing = hearing
        return {
          close: () => {
            this.#hearing = undefined
          },
        }
      },
    })
  }

  #makeLedger(): GroupCommit {
    const { time, ground, storage, bootId, retryMs, spillBytes } = this.#options
    const startThread = (): Worker => {
      const thread = new SimulatedThread(time, storage, (opening) => ground.open(opening, () => storage().fault))
      this.#threads = [thread]
      return thread as unknown as Worker
    }
    const thread = {
      ...{ place: () => ground.place(), bootId, startThread, now: time.now, retryMs, spillBytes },
      ...{ keepsInFlight: () => this.#hub.keepsInFlight(), onFault: () => undefined },
    }
    return new GroupCommit({
      enter: this.#hub.through((listener) => enterThread(thread, listener)),
      ...{ isShared: false, now: time.now, checkpointAfterMs: 1_000, leaseIdleMs: 5_000, onFault: () => undefined },
      ...{ onStorage: () => undefined, makeSupervisor: ground.makeSupervisor },
    })
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Of the ledger's log; undefined where no thread writes. */
  get flushedBytes(): number | undefined {
    return this.#threads.find((thread) => thread.isWriter)?.flushedBytes
  }

  /** Undefined: it has died. */
  wireTo(relay: Side, { hear, onClosed }: Pick<LinkHearing, 'hear' | 'onClosed'>): Wire | undefined {
    const { time } = this.#options
    const hearing = this.#hearing
    if (hearing === undefined) return undefined
    return new Wire(relay.pid, {
      hearInHub: (message, connection) => time.as(this, () => hearing.hear(connection, message)),
      hearInRelay: hear,
      onClosedInHub: (connection) => this.#hearing?.onClosed(connection),
      onClosedInRelay: () => relay.isAlive && onClosed(),
      isHubFrozen: () => this.#isStopped,
      isFrozen: () => relay.isStopped,
    })
  }

  /** The thread reads its next message, or what it has said is heard. */
  runThread(): void {
    if (this.#isStopped) return
    for (const thread of this.#threads) if (!thread.deliver('thread')) thread.deliver('gateway')
  }

  meetStorage(): void {
    for (const thread of this.#threads) thread.meetStorage()
  }

  standStill(): void {
    this.#isStopped = true
    this.#options.time.freeze(this, ...this.#threads)
  }

  goOn(): void {
    this.#isStopped = false
    this.#options.time.thaw()
  }

  die(): void {
    for (const thread of this.#threads) thread.die()
    this.#hub.close()
  }
}
