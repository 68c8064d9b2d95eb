/**
 * The ledger's thread without a thread: a Worker whose messages wait in two queues until the simulation delivers them, one a step, over the real commit loop and
 * the real state machine on a real store. It can die between any two steps, its storage can fail, and it knows how much of the log a loss of power would leave.
 */

import { readDebits } from '../../src/ledger/debit-records.ts'
import type { Answer } from '../../src/ledger/task.ts'
import type { Committed, FromThread, OpenProblem, ToThread } from '../../src/ledger/thread-messages.ts'
import { CommitLoop } from '../../src/ledger/writing/commit-loop.ts'
import { takeOver } from '../../src/ledger/writing/recovery.ts'
import { RelayDesk } from '../../src/ledger/writing/relay-desk.ts'
import { RelaySpills } from '../../src/ledger/writing/relay-spills.ts'
import { Spill } from '../../src/ledger/writing/spill.ts'
import type { GroundStore, Opening, Storage } from './ground.ts'
import type { VirtualTime } from './virtual-time.ts'

type Listener = (event: { data: FromThread }) => void
type Open = (opening: Opening) => GroundStore | OpenProblem

export class SimulatedThread {
  readonly #listeners = new Map<string, Listener[]>()
  readonly #toThread: ToThread[] = []
  readonly #fromThread: FromThread[] = []
  #opened: GroundStore | undefined
  #loop: CommitLoop | undefined
  #desk: RelayDesk | undefined
  #spill: Spill | undefined
  readonly #time: VirtualTime
  readonly #storage: () => Storage
  readonly #openStore: Open
  #state: 'lives' | 'dying' | 'gone' = 'lives'

  /** `storage`: how it is now, for it and for whoever comes after it. */
  constructor(time: VirtualTime, storage: () => Storage, openStore: Open) {
    this.#time = time
    this.#storage = storage
    this.#openStore = openStore
  }

  /** Of the log: what of it was flushed when something that must outlive the power was last said. Whatever stands behind that may be lost. */
  get flushedBytes(): number {
    return this.#opened?.flushedBytes() ?? 0
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
  }

  /** Copied when it is posted, as between real threads. */
  postMessage(message: ToThread): void {
    if (this.#state === 'lives') this.#toThread.push(structuredClone(message))
  }

  terminate(): void {
    this.die()
  }

  get isBusy(): boolean {
    return this.#state !== 'gone' && (this.#state === 'dying' || this.#toThread.length > 0 || this.#fromThread.length > 0)
  }

  /** It writes, and does not only checkpoint. */
  get isWriter(): boolean {
    return this.#state === 'lives' && this.#loop !== undefined
  }

  get isGone(): boolean {
    return this.#state === 'gone'
  }

  /** What is under way: the thread reads its next message, or the gateway hears the next answer. False: nothing was. */
  deliver(side: 'thread' | 'gateway'): boolean {
    if (side === 'gateway') return this.#tellGateway()
    const message = this.#toThread.shift()
    if (message === undefined) return false
    this.#time.as(this, () => this.#obey(message))
    return true
  }

  /** Ends it as it stands: what it had not read is lost, what it had said is heard or not. */
  die(isHeard = false): void {
    if (this.#state !== 'lives') return
    if (!isHeard) this.#fromThread.length = 0
    this.#state = 'dying'
    this.#time.forget(this)
    this.#toThread.length = 0
    this.#loop = undefined
    this.#desk = undefined
    // Its end closes the handle of the spill too, with nothing written.
    this.#spill?.close()
    this.#spill = undefined
    this.#opened?.die()
    this.#opened = undefined
  }

  /** The storage has changed. */
  meetStorage(): void {
    this.#opened?.meet()
  }

  #tellGateway(): boolean {
    const said = this.#fromThread.shift()
    if (said !== undefined) {
      for (const listener of this.#listeners.get('message') ?? []) listener({ data: said })
      return true
    }
    if (this.#state !== 'dying') return false
    this.#state = 'gone'
    for (const listener of this.#listeners.get('close') ?? []) listener({ data: { kind: 'closed' } })
    return true
  }

  #say(message: FromThread): void {
    this.#fromThread.push(structuredClone(message))
  }

  #obey(message: ToThread): void {
    switch (message.kind) {
      case 'open':
        this.#open(message)
        break
      case 'tasks':
        this.#desk?.add(message.from, message, readDebits(message.debits))
        break
      case 'relayJoins':
      case 'relayGoes':
      case 'relaysKnown':
        this.#desk?.obey(message)
        break
      case 'close':
        this.#loop?.close()
        this.#loop = undefined
        this.#spill = undefined
        this.#opened = undefined
        this.#say({ kind: 'closed' })
        break
      case 'node':
        this.#opened?.rejoin(message)
        break
      case 'takeOver':
        this.#opened?.store.recover(this.#time.now())
        break
      case 'walCheckpoint':
        this.#say({ kind: 'walCheckpointed' })
        break
      default:
    }
  }

  #open(opening: Opening): void {
    const { now, retryMs, spillBytes, keepsInFlight = false } = opening
    const opened = this.#openStore(opening)
    if ('problem' in opened) {
      this.#say({ kind: 'problem', problem: opened })
      return
    }
    const ledger = opened.store
    const spill = Spill.open(opened.spillAt, ledger, spillBytes)
    if ('problem' in spill) throw new Error(spill.message)
    const keep = spill.keep.bind(spill)
    spill.keep = (tasks) => this.#storage().spill === 'works' && keep(tasks)
    if (keepsInFlight) ledger.relays?.setGranting(false)
    const spills = new RelaySpills(opened.spillAt, ledger, () => undefined)
    const left = takeOver([spill], spills.recovery(ledger, keepsInFlight), now)
    if ('kind' in left) {
      spill.close()
      opened.die()
      this.#say({ kind: 'problem', problem: { problem: 'unwritable', message: left.problem } })
      return
    }
    if (spillBytes > 0) spill.reserve(spillBytes)
    this.#spill = spill
    this.#opened = opened
    opened.noteFlush('opened')
    this.#loop = new CommitLoop(ledger, spill, (message) => this.#tell(message), retryMs)
    const say = (said: FromThread): void => {
      // A relay clears its spill when it hears that the ledger has what it kept.
      if (said.kind === 'relayJoined') this.#opened?.noteFlush('promised')
      this.#say(said)
    }
    this.#desk = new RelayDesk({ store: ledger, loop: this.#loop, spills, say, now: () => this.#time.now() })
    this.#say({ kind: 'opened', recovered: left.recovered, wasLeftOpen: false, replayed: left.replayed })
  }

  #tell(message: Committed): void {
    const isPromise =
      message.settled.length > 0 || (message.replayed ?? []).length > 0 || message.answers.some(({ answer }) => isDone(answer))
    if (isPromise) this.#opened?.noteFlush('promised')
    this.#say(message)
  }
}

const isDone = (answer: Answer): boolean => typeof answer === 'object' && 'result' in answer && answer.result === 'done'
