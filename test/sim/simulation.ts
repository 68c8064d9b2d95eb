/**
 * One simulated world: a random load on the whole ledger – memory, writer, commit loop, state machine, a real store – in one thread and in virtual time, where
 * threads and processes die between any two steps, power goes, storage fails, and everything comes twice or in another order. After every step the memory is held
 * against the auditor's books, and whenever nothing is under way or a process has died, so is the file.
 */

import { picos } from '../../src/core/money.ts'
import type { Prices } from '../../src/core/pricing.ts'
import type { WindowBalance } from '../../src/core/spending.ts'
import type { Usage } from '../../src/core/usage.ts'
import { type Budgets, HOUR_MS, hourAt } from '../../src/core/windows.ts'
import { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import { enterThread, type ThreadOptions } from '../../src/ledger/admission/thread-handle.ts'
import type { Attempt, HoldAnswer } from '../../src/ledger/ledger.ts'
import { type Random, randomFrom } from '../support/seed.ts'
import { Books, type Entry, must } from './books.ts'
import { drawFrom } from './draw.ts'
import { COSTS, costOf, drawFailedCalls, drawIdempotency, drawUsage, isLong, LISTS, PRICES, WORST } from './drawn-requests.ts'
import { FileAudit } from './file-audit.ts'
import { type Around, type Ground, type HowEnded, SOUND, type Storage } from './ground.ts'
import { checkMemory } from './memory-audit.ts'
import { Operators } from './operators.ts'
import { Records } from './records.ts'
import { SimulatedThread } from './thread.ts'
import { settleTurn, VirtualTime } from './virtual-time.ts'
import { WindowBooks } from './window-books.ts'

const STEPS = 180
const OUTAGE_STEPS = 25
/** Back, within what a clock is waited for and beyond, and ahead, to the next hour, day and week. */
const CLOCK_STEPS_H = [-200, -30, -20, -2, -0.3, 0.3, 1, 1, 1, 20, 24 * 7]
/** So near to the end of an hour does a clock come that steps there, so that what runs is admitted before it and ends behind it. */
const BEFORE_EDGE_MS = 300
/** What one process keeps free for a spill; some keep nothing, and only replay. */
const SPILL_BYTES = 16 * 1024
/** Fewer than there are keys, so that some must leave the memory. */
const WALLETS_MAX = 3

const textOf = (answer: HoldAnswer | 'unknown'): string => (typeof answer === 'object' ? `until ${answer.resetsAt}` : answer)

export class Simulation {
  readonly #random: Random
  readonly #ground: Ground
  readonly #time = new VirtualTime()
  readonly #books = new Books()
  readonly #plans = new Map<string, Budgets>()
  readonly #windows = new WindowBooks(this.#books, this.#plans)
  readonly #usages = new Map<string, Usage>()
  readonly #calls = new Map<string, readonly Attempt[]>()
  readonly #records = new Records((id, { usage }) => costOf(usage, this.#books.entries.get(id)?.list ?? 0))
  readonly #audit: FileAudit
  readonly #operators: Operators
  readonly #faults: string[] = []
  /** What was done, for whoever reads a failure. */
  readonly log: string[] = []
  /** How often each thing happened: a load that meets nothing proves nothing. */
  readonly met = new Map<string, number>()
  #threads: SimulatedThread[] = []
  #ledger: GroupCommit | undefined
  #boot = 0
  #requests = 0
  #deaths = 0
  #storage: Storage = SOUND
  /** Steps for which nobody mends the storage. */
  #outage = 0

  constructor(seed: number, makeGround: (around: Around) => Ground) {
    this.#random = randomFrom(seed)
    const onIndeterminate = (): void => {
      this.#deaths++
      this.#meet('a write is indeterminate')
    }
    this.#ground = makeGround({ onIndeterminate, now: this.#time.now })
    const own = { books: this.#books, windows: this.#windows, records: this.#records, meet: (what: string) => this.#meet(what) }
    this.#audit = new FileAudit({ ...own, ground: this.#ground, usages: this.#usages, deaths: () => this.#deaths })
    this.#operators = new Operators({
      ...{ ...own, random: this.#random, time: this.#time, plans: this.#plans, ledger: () => this.#open },
      say: (what) => this.#say(what),
      promise: (promised, hear) => this.#promise(promised, hear),
    })
  }

  /** Throws a `Finding` that names the broken invariant. */
  async run(): Promise<void> {
    try {
      await this.#start()
      await this.#operators.found(() => this.#settleDown())
      for (let step = 0; step < STEPS; step++) {
        await this.#step()
        await settleTurn()
        if (this.#ground.isShared) await this.#answerLeases()
        checkMemory(this.#open, this.#books, this.#operators.takenBack)
      }
      await this.#quiet()
      await this.#end('close')
    } finally {
      for (const thread of this.#threads) thread.die()
      this.#time.restore()
      this.#ground.close()
    }
  }

  get #open(): GroupCommit {
    if (this.#ledger === undefined) throw new Error('no ledger')
    return this.#ledger
  }

  async #step(): Promise<void> {
    const choice = this.#random() * 100
    if (this.#outage > 0) await this.#sufferOutage(choice)
    else if (choice < 19) this.#hold()
    else if (choice < 26) this.#checkpoint()
    else if (choice < 45) this.#settle()
    else if (choice < 49) this.#void()
    else if (choice < 53) this.#operators.step()
    else if (choice < 55.5) this.#operators.budget()
    else if (choice < 57.5) this.#stepClock()
    else if (choice < 75) this.#deliver()
    else if (choice < 92) this.#tick()
    else if (choice < 93.5)
      this.#breakStorage({ fault: drawFrom(this.#random, this.#ground.faults), spill: drawFrom(this.#random, ['works', 'fails']) })
    else if (choice < 95) this.#heal()
    else if (choice < 96.5) this.#killThread()
    else if (choice < 97.7) await this.#quiet()
    else if (choice < 98.6) await this.#commitUnheard()
    else if (choice < 99) await this.#end(drawFrom(this.#random, this.#ground.ends))
    else if (choice < 99.6 && this.#fence()) this.#outage = this.#random() < 0.5 ? OUTAGE_STEPS : 0
    else await this.#end('close')
  }

  /** What a request has to ask before it is held takes some steps: often they follow at once. */
  async #answerLeases(): Promise<void> {
    if (this.#ground.isFenced && this.#random() < 0.15) this.#ground.rejoin()
    const moves = this.#random() < 0.6 ? 8 : 0
    for (let n = 0; n < moves; n++) {
      if (this.#time.nextInMs === 0) this.#time.runNext()
      else this.#deliver()
      await settleTurn()
    }
  }

  /** Long enough for what is asked meanwhile to be given up, or spilled; some processes do not live to its end. */
  async #sufferOutage(choice: number): Promise<void> {
    this.#outage--
    if (this.#outage === 0 && this.#random() < 0.4) await this.#end(drawFrom(this.#random, this.#ground.ends))
    else if (choice < 15) this.#settle()
    else if (choice < 20) this.#operators.step()
    else if (choice < 60) this.#deliver()
    else this.#tick()
  }

  /** A commit of which nobody hears: the process dies between the two, or the thread. */
  async #commitUnheard(): Promise<void> {
    for (let n = 0; n < 3; n++) this.#settle()
    await settleTurn()
    for (let n = 0; n < 4; n++) {
      this.#threads.find((thread) => thread.isWriter)?.deliver('thread')
      this.#time.runNext()
    }
    const choice = this.#random()
    if (choice < 0.3) return this.#end(drawFrom(this.#random, this.#ground.ends))
    this.#killThread()
    if (choice < 0.5) return
    // The next thread is asked again, and can say neither yes nor no.
    this.#breakStorage({ fault: 'late', spill: 'fails' })
    this.#outage = 2 * OUTAGE_STEPS
  }

  // What clients and operators do.

  #hold(): void {
    const keyId = drawFrom(this.#random, [...this.#books.keys.keys()])
    const again = this.#random() < 0.05 ? this.#pickEntry('held', 'charged', 'settling') : undefined
    const id = again?.id ?? `req_${this.#requests++}`
    const list = again?.list ?? Math.floor(this.#random() * LISTS.length)
    const holdPicos = again?.holdPicos ?? costOf(WORST, list)
    if (again !== undefined && again.state !== 'held') return
    const accountId = this.#books.accountOf(keyId)
    const isCertain = this.#books.isCertain(accountId) && this.#open.isWritable() && this.#open.keyBalanceOf(keyId) !== undefined
    const answer = this.#open.hold({
      requestId: id,
      keyId: again?.keyId ?? keyId,
      modelId: `model-${list}`,
      format: 'messages',
      isStream: true,
      ...(PRICES[list] as Prices),
      // Of every second model the cost is known, and two of three requests have a tag.
      ...(list === 1 ? { costs: COSTS } : {}),
      ...(Number(id.slice(4)) % 3 === 0 ? {} : { tag: `tag-${Number(id.slice(4)) % 7}` }),
      amountPicos: picos(holdPicos),
      now: this.#time.now(),
    })
    this.#say(`hold ${id} ${keyId}: ${answer instanceof Promise ? 'later' : textOf(answer)}`)
    const expected = again === undefined ? this.#expected(keyId) : 'held'
    const learn = (said: string): void => {
      this.#meet(`a hold is ${said.replace(/ .*/, '')}`)
      if (said !== 'held' || again !== undefined) return
      const entry: Entry = {
        id,
        keyId,
        holdPicos,
        list,
        hour: hourAt(this.#open.holds().find(({ requestId }) => requestId === id)?.startedAt ?? 0),
        state: 'held',
        costPicos: 0n,
        waivedPicos: 0n,
        deaths: 0,
        isTwice: false,
        isFenced: this.#ground.isFenced,
      }
      if (this.#books.isCertain(accountId)) this.#windows.checkAdmitted(entry)
      this.#books.entries.set(id, entry)
      this.#calls.set(id, drawFailedCalls(this.#random, this.#time.now()))
      this.#records.began(id, this.#calls.get(id) ?? [])
      if (this.#ground.isFenced) this.#records.fenced(id)
    }
    if (answer instanceof Promise) this.#promise(answer.then(textOf), learn)
    else {
      const said = textOf(answer)
      if (isCertain) must('admission is by what is left', said === expected, () => `${id} of ${keyId}: ${said}, not ${expected}`)
      learn(said)
      // What runs already is answered without a look at its key.
      if (isCertain && again === undefined) this.#windows.checkShown(keyId, this.#shownOf(keyId), this.#time.now())
    }
  }

  #shownOf = (keyId: string): readonly WindowBalance[] => this.#open.keyBalanceOf(keyId)?.windows ?? []

  #expected = (keyId: string): string => this.#books.admission(keyId, this.#time.now(), this.#windows.shortage(keyId, this.#shownOf(keyId)))

  #checkpoint(): void {
    const entry = this.#pickEntry('held', 'charged', 'voided')
    if (entry === undefined) return
    const otherAttempts = (this.#calls.get(entry.id) ?? []).slice(0, Math.floor(this.#random() * 3))
    this.#open.checkpoint(entry.id, { usage: drawUsage(this.#random), usageSource: 'partial', otherAttempts })
  }

  /** Also of what is settled, voided or on its way: then nothing may happen. */
  #settle(): void {
    const entry = this.#random() < 0.85 ? this.#pickEntry('held') : this.#pickEntry('settling', 'charged', 'voided', 'ended')
    if (entry === undefined) return
    const before = entry.state
    const usage = drawUsage(this.#random)
    const isWaived = this.#random() < 0.2
    const price = costOf(usage, entry.list)
    const [costPicos, waivedPicos] = isWaived ? [0n, price] : [price, 0n]
    if (before === 'held') {
      Object.assign(entry, { state: 'settling', costPicos, waivedPicos, deaths: this.#deaths })
      this.#usages.set(entry.id, usage)
    }
    const otherAttempts = this.#calls.get(entry.id) ?? []
    const hasAnswer = this.#random() < 0.8
    const attempts = otherAttempts.length + (hasAnswer ? 1 : 0)
    const idempotency = this.#random() < 0.3 ? drawIdempotency(this.#random, entry.id, this.#time.now()) : undefined
    if (before === 'held') {
      this.#records.ended(entry.id, otherAttempts, hasAnswer ? attempts : undefined)
      if (idempotency !== undefined) this.#records.used(entry.id, { keyId: entry.keyId, idempotency, now: this.#time.now() })
    }
    const settled = this.#open.settle({
      attempts,
      otherAttempts,
      hasMoved: attempts > 2,
      ...(hasAnswer ? { upstream: { name: 'main', model: 'vendor-model', messageId: `msg_${entry.id}` } } : {}),
      ...(idempotency === undefined ? {} : { idempotency }),
      requestId: entry.id,
      outcome: isWaived ? 'fault' : 'complete',
      usageSource: 'final',
      usage,
      level: isLong(usage, entry.list) ? 1 : 0,
      costPicos: picos(costPicos),
      waivedPicos: picos(waivedPicos),
      status: 200,
      firstByteMs: 12,
      durationMs: 345.6,
      now: this.#time.now(),
    })
    this.#say(`settle ${entry.id} (${before}) ${costPicos}`)
    this.#promise(settled, (answer) => {
      this.#say(`settled ${entry.id}: ${answer}`)
      this.#meet(`a settle is ${answer}`)
      if (before !== 'held') {
        must('a duplicate settle changes nothing', answer !== 'settled', () => entry.id)
        return
      }
      must('a settle is answered as what it is', answer !== 'already', () => `${entry.id}: already`)
      entry.state = answer === 'settled' ? 'charged' : 'indeterminate'
      entry.isTwice = this.#storage !== SOUND && this.#deaths > entry.deaths
    })
  }

  #void(): void {
    const entry = this.#random() < 0.8 ? this.#pickEntry('held') : this.#pickEntry('settling', 'charged', 'voided', 'ended')
    if (entry === undefined) return
    const expected = entry.state === 'held' ? 'voided' : 'already'
    const attempts = this.#random() < 0.7 ? (this.#calls.get(entry.id) ?? []) : undefined
    const answer = this.#open.void(entry.id, attempts)
    this.#say(`void ${entry.id}: ${answer}`)
    must('only what is held is voided', answer === expected, () => `${entry.id} (${entry.state}): ${answer}`)
    if (answer !== 'voided') return
    entry.state = 'voided'
    if (attempts !== undefined) this.#records.ended(entry.id, attempts)
  }

  #stepClock(): void {
    const toEdge = HOUR_MS - (this.#time.now() % HOUR_MS)
    const stepMs = this.#random() < 0.5 ? toEdge - BEFORE_EDGE_MS : drawFrom(this.#random, CLOCK_STEPS_H) * HOUR_MS
    this.#time.stepClock(Math.round(stepMs))
    this.#meet(`a clock steps ${stepMs < 0 ? 'back' : 'ahead'}`)
    this.#say(`clock steps by ${Math.round(stepMs / 60_000)} minutes`)
  }

  // What the machine does.

  #deliver(): boolean {
    const busy = this.#threads.filter((thread) => thread.isBusy)
    if (busy.length === 0) return false
    const thread = drawFrom(this.#random, busy)
    const side = this.#random() < 0.5 ? 'thread' : 'gateway'
    return thread.deliver(side) || thread.deliver(side === 'thread' ? 'gateway' : 'thread')
  }

  #tick(): void {
    if (this.#random() < 0.8) this.#time.runNext()
    else this.#time.advance(Math.floor(this.#random() * 400))
  }

  #breakStorage({ fault, spill }: Storage): void {
    this.#say(`storage ${fault}, its spill ${spill}`)
    this.#meet(`the storage is ${fault}`)
    if (this.#random() < 0.5) this.#outage = OUTAGE_STEPS
    this.#setStorage({ fault, spill })
  }

  #heal(): void {
    this.#ground.rejoin()
    if (this.#storage === SOUND) return
    this.#say('storage works')
    this.#setStorage(SOUND)
  }

  #setStorage(storage: Storage): void {
    this.#storage = storage
    for (const thread of this.#threads) thread.meetStorage()
  }

  /** What has no receipt now may be waived, and never charged. */
  #fence(): boolean {
    const isFenced = this.#ground.fence()
    if (isFenced) {
      this.#say('fenced')
      this.#meet('a node is fenced')
      this.#noteFence()
    }
    return isFenced
  }

  #noteFence(): void {
    const settled = this.#idsIn('receipts')
    for (const entry of this.#books.entries.values()) {
      if (entry.state === 'ended' || settled.has(entry.id)) continue
      entry.isFenced = true
      this.#records.fenced(entry.id)
    }
  }

  #killThread(): void {
    const writer = this.#threads.find((thread) => thread.isWriter)
    if (writer === undefined) return
    this.#deaths++
    this.#say('thread dies')
    this.#meet('a thread dies')
    writer.die(this.#random() < 0.5)
  }

  /** Storage works and all that is under way comes to its end; then memory, file and books say the same. */
  async #quiet(): Promise<void> {
    this.#heal()
    this.#say('quiet')
    await this.#settleDown()
    must('a storage that works is written', this.#open.isWritable(), () => this.#faults.join('; '))
    must('every act is answered', this.#books.acts.size === 0, () => [...this.#books.acts.keys()].join())
    for (const entry of this.#books.entries.values()) must('every settle is answered', entry.state !== 'settling', () => entry.id)
    this.#audit.audit('quiet')
    checkMemory(this.#open, this.#books, this.#operators.takenBack)
  }

  /** Long enough for every retry, probe and restart. */
  async #settleDown(): Promise<void> {
    for (let quietMs = 0; quietMs < 4_000; ) {
      await settleTurn()
      if (this.#deliver()) continue
      const waitMs = this.#time.nextInMs
      if (waitMs === undefined) return
      quietMs += Math.max(waitMs, 1)
      this.#time.runNext()
    }
  }

  /** `crash`: the files as they stand now are all that is left. `power loss`: of the log only what was flushed is, and by chance more. */
  async #end(how: HowEnded): Promise<void> {
    this.#say(how)
    this.#meet(`a ${how}`)
    if (how === 'close') {
      this.#heal()
      await this.#settleDown()
      const closed = this.#open.close()
      let isClosed = false
      this.#promise(closed, () => {
        isClosed = true
      })
      while (!isClosed) {
        await settleTurn()
        if (!this.#deliver() && !this.#time.runNext()) break
      }
      await settleTurn()
      must('a ledger closes', isClosed, () => 'it did not')
      const left = this.#ground.leftAfterClose()
      must('a clean end leaves nothing', left === undefined, () => `${left}`)
    }
    this.#boot++
    const flushedBytes = this.#threads.find((thread) => thread.isWriter)?.flushedBytes
    // First, for whoever closes a file moves its log into it.
    this.#ground.end(how, (flushed, bytes) => this.#cutAt(flushed, bytes), flushedBytes)
    for (const thread of this.#threads) thread.die()
    this.#time.forget()
    this.#threads = []
    this.#storage = SOUND
    this.#outage = 0
    if (how !== 'close') {
      this.#records.processDied()
      if (this.#ground.isShared) this.#noteFence()
    }
    const marked = this.#idsIn('marks')
    await this.#start()
    this.#audit.audit(how, marked)
  }

  #cutAt(flushedBytes: number, bytes: number): number {
    if (bytes > flushedBytes) this.#meet('what was not flushed is lost')
    return flushedBytes + Math.floor(this.#random() * (bytes - flushedBytes))
  }

  #idsIn(table: 'marks' | 'receipts'): ReadonlySet<string> {
    const db = this.#ground.read()
    try {
      const rows = db.query<{ id: string }, []>(`SELECT request_id AS id FROM ${table}`).all()
      return new Set(rows.map(({ id }) => id))
    } finally {
      db.close()
    }
  }

  async #start(): Promise<void> {
    const time = this.#time
    this.#ground.begin()
    const [boot, first] = [this.#boot, this.#ground.place()]
    const thread: ThreadOptions = {
      // A process that is gone may still want to open what it had, and nothing of those that came after it.
      place: () => (boot === this.#boot ? this.#ground.place() : first),
      bootId: `boot-${this.#boot}`,
      startThread: () => this.#startThread(),
      now: time.now,
      retryMs: 120,
      spillBytes: this.#random() < 0.7 ? SPILL_BYTES : 0,
      onFault: ({ problem, bug }) => this.#faults.push(bug === undefined ? problem : `${problem} ${String(bug)}`),
    }
    this.#ledger = new GroupCommit({
      enter: (listener) => enterThread(thread, listener),
      isShared: this.#ground.isShared,
      boot: first.kind === 'sqlite' ? undefined : first.identity?.boot,
      now: time.now,
      walletsMax: WALLETS_MAX,
      budgetsOf: (plan) => this.#plans.get(plan) ?? [],
      checkpointAfterMs: 1_000,
      leaseIdleMs: 5_000,
      onFault: thread.onFault,
      onStorage: () => undefined,
      makeSupervisor: this.#ground.makeSupervisor,
    })
    let opened: unknown
    this.#promise(this.#ledger.start(), (said) => {
      opened = said
    })
    for (let turn = 0; turn < 20 && opened === undefined; turn++) {
      this.#deliver()
      await settleTurn()
    }
    must('a ledger opens after any end', typeof opened === 'object' && opened !== null && 'recovered' in opened, () =>
      JSON.stringify(opened),
    )
  }

  #startThread(): Worker {
    const thread = new SimulatedThread(
      this.#time,
      () => this.#storage,
      (opening) => this.#ground.open(opening, () => this.#storage.fault),
    )
    this.#threads = [...this.#threads.filter((one) => !one.isGone), thread]
    return thread as unknown as Worker
  }

  #pickEntry(...states: readonly Entry['state'][]): Entry | undefined {
    const found = [...this.#books.entries.values()].filter(({ state }) => states.includes(state))
    return found.length === 0 ? undefined : drawFrom(this.#random, found)
  }

  /** What is promised by a process that dies is never heard. A finding within is thrown at the next step. */
  #promise<T>(promised: Promise<T>, hear: (said: T) => void): void {
    const boot = this.#boot
    promised
      .then((said) => {
        if (boot === this.#boot) hear(said)
      })
      .catch((error: unknown) => {
        this.#broken ??= error
      })
  }

  #meet(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1)
  }

  #broken: unknown

  #say(what: string): void {
    this.log.push(what)
    if (this.#broken !== undefined) throw this.#broken
  }
}
