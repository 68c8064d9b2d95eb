/**
 * The ledger's thread without a thread: a Worker whose messages wait in two queues until the simulation delivers them, one a step, over the real commit loop and
 * the real state machine on a real file. It can die between any two steps, and its storage can fail.
 */

import type { Database } from 'bun:sqlite'
import { openDatabase } from '../../db/open.ts'
import { CommitLoop } from '../../src/ledger/commit-loop.ts'
import { readDebits } from '../../src/ledger/debit-records.ts'
import { Spill } from '../../src/ledger/spill.ts'
import { SqliteLedger } from '../../src/ledger/sqlite-ledger.ts'
import type { FromThread, ToThread } from '../../src/ledger/task.ts'
import type { VirtualTime } from './virtual-time.ts'

type Listener = (event: { data: FromThread }) => void
/** none · full: no page more · broken: no write at all. */
export type StorageFault = 'none' | 'full' | 'broken'

export class SimulatedThread {
  readonly #listeners = new Map<string, Listener[]>()
  readonly #toThread: ToThread[] = []
  readonly #fromThread: FromThread[] = []
  #db: Database | undefined
  #loop: CommitLoop | undefined
  readonly #time: VirtualTime
  #state: 'lives' | 'dying' | 'gone' = 'lives'

  constructor(time: VirtualTime) {
    this.#time = time
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
    this.#db?.close()
    this.#db = undefined
  }

  setStorage(fault: StorageFault): void {
    const db = this.#db
    if (db === undefined) return
    db.run(`PRAGMA query_only = ${fault === 'broken' ? 1 : 0}`)
    const pages = db.query<{ page_count: bigint }, []>('PRAGMA page_count').get()?.page_count ?? 0n
    db.run(`PRAGMA max_page_count = ${fault === 'full' ? pages : 1_000_000}`)
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
      case 'tasks': {
        const debits = readDebits(message.debits).map(({ number, debit }) => ({ number, task: { kind: 'settle', debit } }) as const)
        this.#loop?.add([...message.tasks, ...debits], message.prices)
        break
      }
      case 'close':
        this.#loop?.close()
        this.#loop = undefined
        this.#db = undefined
        this.#say({ kind: 'closed' })
        break
      case 'checkpoint':
        this.#say({ kind: 'checkpointed' })
        break
      default:
    }
  }

  #open({ path, bootId, now, retryMs }: Extract<ToThread, { kind: 'open' }>): void {
    const db = openDatabase(path, 'write')
    if ('problem' in db) {
      this.#say({ kind: 'problem', problem: db })
      return
    }
    this.#db = db
    const ledger = new SqliteLedger(db, bootId, now)
    const recovered = ledger.recover(now)
    if (typeof recovered !== 'number') throw new Error(recovered.problem)
    const spill = Spill.open(path, ledger, 0)
    if ('problem' in spill) throw new Error(spill.message)
    this.#loop = new CommitLoop(ledger, spill, (message) => this.#say(message), retryMs)
    this.#say({ kind: 'opened', recovered, wasLeftOpen: false, replayed: [] })
  }
}
