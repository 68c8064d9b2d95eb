/**
 * A simulated world of one ledger process with relays: real hub, links, wallets, commit loop and file, with clocks, wires and deaths in the hands of a seed. A relay or the
 * ledger process dies or stands still at any step, a spill fails, the power goes, a wire is cut with what is on it, and the clock steps over the edges of windows. What must hold is
 * looked at after every step. Rules: processes.md "Admission", "Death"; money.md "Budgets".
 */

import type { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keptForRelays } from '../../src/answers-beside.ts'
import { type Picos, picos } from '../../src/core/money.ts'
import { type Budgets, HOUR_MS, hourAt, PERS, windowAt } from '../../src/core/windows.ts'
import { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import { Patience } from '../../src/ledger/admission/patience.ts'
import type { SupervisorListener } from '../../src/ledger/admission/store-supervisor.ts'
import { enterThread } from '../../src/ledger/admission/thread-handle.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import { RelayHub } from '../../src/ledger/relays/hub.ts'
import { RelayLink } from '../../src/ledger/relays/link.ts'
import type { ToHub } from '../../src/ledger/relays/messages.ts'
import { ClaimsOverLink, keptOverLink, LimitsOverLink, RatesOverLink } from '../../src/ledger/relays/relay-shares.ts'
import { RelaySpill } from '../../src/ledger/relays/relay-spill.ts'
import { RelaySupervisor } from '../../src/ledger/relays/relay-supervisor.ts'
import { SharedState } from '../../src/ledger/relays/shared-state.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { relaySpillPathOf } from '../../src/ledger/writing/relay-spills.ts'
import { answerText, createKey, holdRequest, NOW, settlement, usd } from '../support/ledger.ts'
import { type Random, randomFrom } from '../support/seed.ts'
import { Finding, must } from './books.ts'
import { FileGround } from './file-ground.ts'
import type { Fault } from './ground.ts'
import { RepeatedStreams } from './repeated-streams.ts'
import { STREAM_KEY } from './stream-parts.ts'
import { SimulatedThread } from './thread.ts'
import { settleTurn, VirtualTime } from './virtual-time.ts'
import { Wire } from './wire.ts'

const RELAYS = 3
const STEPS = 200
const KEYS = ['key_1', 'key_2', 'key_3']
const BALANCES = ['0.1', '4', '60']
/** Of the plan of the last key there are budgets, and each other account and key may have some, too. */
const PLAN = 'small'
const PLANNED = KEYS.at(-1)
/** Back, within what a clock is waited for and beyond, and ahead, to the next hour, day and week. */
const CLOCK_STEPS_H = [-200, -30, -2, -0.3, 0.3, 1, 1, 20, 24 * 7]
/** So near to the end of an hour does a clock come that steps there, so that what runs is admitted before it and ends behind it. */
const BEFORE_EDGE_MS = 300
const HOLD = usd('0.5')
/** Of a settle, at most what was held: three cents a piece. */
const PIECE = { tokens: 10_000, cost: usd('0.03') }
const PIECES_MAX = 16
/** As long as the hub waits for a relay. */
const SILENCE_MS = 10_000
const STOPPED_MS_MAX = 25_000
/** A relay waits for five seconds for a word, then a moment until it keeps ends, and ten seconds for a spill that fails. */
const isLate = (waitedMs: number): boolean => waitedMs > 16_500
/** Requests with an Idempotency-Key that every relay may be asked for. */
const REPEATABLES = 3
const repeatable = (name: number) => ({ keyId: 'key_1', headerHash: Uint8Array.of(name), bodyHash: Uint8Array.of(name) })

type Entry = {
  readonly id: string
  readonly key: string
  readonly relay: Relay
  /** refused: its client had an error instead of the end; it may be charged. */
  state: 'asked' | 'held' | 'sent' | 'acknowledged' | 'refused' | 'gone'
  cost: Picos
  sentAtMs: number
  /** In which it was admitted. */
  hour: number
}

/** Whether the request may still end and cost something. */
const isOpen = (state: Entry['state'], { isAlive }: Relay): boolean => isAlive && (state === 'held' || state === 'sent')

type Relay = {
  readonly pid: number
  readonly link: RelayLink
  readonly ledger: GroupCommit
  readonly limits: LimitsOverLink
  readonly claims: ClaimsOverLink
  /** The repeatable requests that run here, by their names. */
  readonly running: Set<number>
  readonly wires: Set<Wire>
  readonly spill: RelaySpill
  isAlive: boolean
  isFenced: boolean
  isStopped: boolean
}

type Hearing = Parameters<NonNullable<ConstructorParameters<typeof RelayHub>[0]['listen']>>[1]
type Process = {
  readonly hub: RelayHub
  readonly ledger: GroupCommit
  hearing: Hearing | undefined
  threads: SimulatedThread[]
  isStopped: boolean
}

class RelayWorld {
  readonly #random: Random
  readonly #time = new VirtualTime()
  readonly #folder = mkdtempSync(join(tmpdir(), 'tollgate-relays-'))
  readonly #ground: FileGround
  readonly #wires = new Set<Wire>()
  readonly #entries: Entry[] = []
  /** By key; those of an account are of its only key. */
  readonly #budgets = new Map<string, Budgets>()
  readonly #planBudgets: Budgets
  readonly #streams: RepeatedStreams
  #relays: Relay[] = []
  #process: Process | undefined
  #pids = 100
  #boots = 0
  #fault: Fault = 'none'
  /** Whether the spill of the ledger process takes nothing, and whether those of relays do not. */
  #failing = { own: false, relays: false }
  /** Whether ends may be in a spill that is not in the ledger yet. */
  #mayBeSpilled = false
  /** Of relays: what was asked apart from the money, and is not answered. */
  readonly #questions = new Set<Readonly<{ relay: Relay }>>()
  /** What was found in a turn in which no step could throw it. */
  #finding: unknown
  readonly met = new Map<string, number>()
  readonly log: string[] = []

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    this.#ground = new FileGround(this.#folder, this.#time.now)
    this.#planBudgets = this.#random() < 0.5 ? [this.#drawBudget()] : []
    this.#streams = new RepeatedStreams({ random: this.#random, time: this.#time, log: this.log, meet: (what) => this.#meet(what) })
  }

  async run(): Promise<void> {
    try {
      await this.#begin()
      for (const [at, key] of KEYS.entries()) await this.#create(key, BALANCES[at] ?? '0')
      await this.#create(STREAM_KEY.id, '1000')
      for (const key of KEYS) for (const keyId of [key, null]) if (this.#random() < 0.4) await this.#setBudget(key, keyId)
      for (let n = 0; n < RELAYS; n++) this.#beginRelay()
      // Without this most worlds end before a relay admits anything.
      await this.#quiet()
      for (let step = 0; step < STEPS; step++) {
        await this.#step()
        if (this.#random() < 0.6) this.#streams.step()
        await settleTurn()
        this.#check()
      }
      await this.#end()
    } finally {
      for (const { link, spill } of this.#relays) {
        link.close()
        spill.close()
      }
      for (const thread of this.#process?.threads ?? []) thread.die()
      this.#process?.hub.close()
      this.#streams.restore()
      this.#time.restore()
      rmSync(this.#folder, { recursive: true, force: true })
    }
  }

  async #step(): Promise<void> {
    const choice = this.#random() * 100
    if (choice < 20) this.#hold()
    else if (choice < 36) this.#settle()
    else if (choice < 38) this.#void()
    else if (choice < 40) this.#stepClock()
    else if (choice < 45) this.#share()
    else if (choice < 72) await this.#deliver(1 + Math.floor(this.#random() * 6))
    else if (choice < 93) await this.#tick(1 + Math.floor(this.#random() * 4))
    else if (choice < 95) this.#cut()
    else if (choice < 96.4) this.#killRelay()
    else if (choice < 97.6) await this.#killProcess()
    else if (choice < 98.8) this.#meetFault(this.#pick(['full', 'broken', 'late'] as const) ?? 'none')
    else if (choice < 99.1) await this.#stopRelay()
    else if (choice < 99.35) await this.#stopProcess()
    else if (choice < 99.45) await this.#losePower()
    else if (choice < 99.7) this.#failSpills()
    else await this.#quiet()
    if (this.#random() < 0.03) this.#failing = { own: false, relays: false }
    if (this.#fault !== 'none' && this.#random() < 0.15) this.#meetFault('none')
    if (this.#process === undefined && this.#random() < 0.15) await this.#begin()
  }

  #meet(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1)
    this.log.push(what)
  }

  // What lives.

  async #begin(): Promise<void> {
    const process: Pick<Process, 'hearing' | 'threads' | 'isStopped'> = { hearing: undefined, threads: [], isStopped: false }
    const expected = this.#relays.filter(({ isAlive }) => isAlive).map(({ pid }) => pid)
    const made = this.#time.as(process, () => this.#makeProcess(process, expected))
    this.#process = Object.assign(process, made)
    await this.#open(made.ledger)
  }

  #makeProcess(process: Pick<Process, 'hearing' | 'threads' | 'isStopped'>, expected: readonly number[]) {
    const hub = new RelayHub({
      ...{
        path: '',
        state: new SharedState(keptForRelays(() => undefined, this.#time.now)),
        expected,
        now: this.#time.now,
        isSound: () => true,
        onFault: () => undefined,
      },
      listen: (_, hearing) => {
        process.hearing = hearing
        return { close: () => undefined }
      },
      beginningOf: (pid) => (this.#relays.some((relay) => relay.pid === pid && relay.isAlive) ? 'alive' : undefined),
    })
    const thread = {
      place: () => this.#ground.place(),
      bootId: `boot-${++this.#boots}`,
      startThread: () => {
        const started = new SimulatedThread(
          this.#time,
          () => ({ fault: this.#fault, spill: this.#failing.own ? 'fails' : 'works' }),
          (opening) => this.#ground.open(opening, () => this.#fault),
        )
        process.threads = [started]
        return started as unknown as Worker
      },
      ...{ now: this.#time.now, retryMs: 120, spillBytes: 16 * 1024, keepsInFlight: () => hub.keepsInFlight(), onFault: () => undefined },
    }
    const ledger = new GroupCommit({
      enter: hub.through((listener) => enterThread(thread, listener)),
      isShared: false,
      ...{ now: this.#time.now, checkpointAfterMs: 1_000, leaseIdleMs: 5_000, onFault: () => undefined, onStorage: () => undefined },
      makeSupervisor: this.#ground.makeSupervisor,
    })
    return { hub, ledger }
  }

  async #open(ledger: GroupCommit): Promise<void> {
    const opening = ledger.start()
    let opened: unknown
    opening.then(
      (said) => {
        opened = said
      },
      () => undefined,
    )
    for (let turn = 0; turn < 40 && opened === undefined; turn++) {
      this.#runThread()
      await settleTurn()
    }
    const isOpen = typeof opened === 'object' && opened !== null && 'recovered' in opened
    must('a ledger opens after any death', isOpen || this.#fault !== 'none', () => JSON.stringify(opened))
    if (isOpen) return
    this.#meet('the ledger process cannot begin')
    this.#endProcess()
  }

  #runThread(): void {
    if (this.#process?.isStopped === true) return
    for (const thread of this.#process?.threads ?? []) if (!thread.deliver('thread')) thread.deliver('gateway')
  }

  get #path(): string {
    return (this.#ground.place() as Readonly<{ path: string }>).path
  }

  #create(key: string, balanceUsd: string): Promise<void> {
    return this.#operate(createKey(key, { balanceUsd, plan: key === PLANNED ? PLAN : 'default' }))
  }

  #drawBudget = () => ({ per: this.#pick(PERS) ?? 'hour', capPicos: picos((BigInt(1 + Math.floor(this.#random() * 4)) * HOLD) / 2n) })

  async #setBudget(key: string, keyId: string | null): Promise<void> {
    const budget = this.#drawBudget()
    this.#budgets.set(key, [...(this.#budgets.get(key) ?? []), budget])
    const accountId = key.replace('key_', 'acc_')
    await this.#operate({ kind: 'setBudget', accountId, keyId, ...budget, setBy: 'operator', now: this.#time.now() })
  }

  async #operate(operation: Operation): Promise<void> {
    let isDone = false
    this.#process?.ledger.operate(operation).then(
      ({ result }) => {
        isDone = result === 'done'
      },
      () => undefined,
    )
    for (let turn = 0; turn < 60 && !isDone; turn++) {
      this.#runThread()
      this.#time.runNext()
      await settleTurn()
    }
    must('what an operator may do is done', isDone, () => operation.kind)
  }

  #beginRelay(): void {
    const pid = ++this.#pids
    let listener: SupervisorListener | undefined
    const patience = new Patience({ onBug: () => undefined })
    const around = { link: () => link, patience, onBug: () => undefined }
    const spill = new RelaySpill(relaySpillPathOf(this.#path, `relay-${pid}`), () => {
      this.#mayBeSpilled = true
      this.#meet('a relay keeps ends')
    })
    const [limits, rates, claims] = [new LimitsOverLink(around), new RatesOverLink(around), new ClaimsOverLink(around)]
    const link: RelayLink = new RelayLink({
      ...{ path: '', bootId: `relay-${pid}`, runs: () => listener?.runs() ?? { accounts: [], keys: [] } },
      onFollowed: (followed) => claims.hear(followed),
      held: () => ({ claims: claims.running, places: limits.places, running: rates.running }),
      onNews: (message) => listener?.onMessage(message),
      onMissed: () => listener?.onMissed(),
      onFenced: () => {
        relay.isFenced = true
        this.#meet('a relay is fenced')
        this.#die(relay)
      },
      ...{ onHeard: () => patience.hear(), onFault: () => undefined },
      onWelcome: ({ boot, ledgerId, spill: { frames } }) => spill.join({ boot, ledgerId, frames }),
      connect: (_, hearing) => Promise.resolve(this.#connect(pid, hearing)),
    })
    const ledger = new GroupCommit({
      ...{ enter: link.enter, isShared: true, now: this.#time.now, checkpointAfterMs: 1_000, leaseIdleMs: 5_000 },
      ...{ onFault: () => undefined, onStorage: () => undefined, sendsMax: 100 },
      budgetsOf: (plan) => (plan === PLAN ? this.#planBudgets : []),
      away: {
        afterMs: 50,
        keep: (ends, versionAt) => link.isAway && relay.isAlive && !this.#failing.relays && spill.keep(ends, versionAt),
      },
      makeSupervisor: (_tell, heard) => {
        listener = heard
        return new RelaySupervisor(link, patience, spill)
      },
    })
    const shared = { limits, claims, running: new Set<number>() }
    const relay: Relay = { ...{ pid, link, ledger, ...shared, spill, wires: new Set() }, isAlive: true, isFenced: false, isStopped: false }
    this.#relays.push(relay)
    this.#streams.serve(relay, {
      ...{ ledger, recovered: 0, replayed: 0, path: this.#path, isNew: false },
      shared: {
        ...{ limits, rates, claims, kept: keptOverLink(around), isCurrent: (askedAtMs) => link.isCurrent(askedAtMs) },
        ...{ whileHeard: (working) => patience.whileHeard(working), skewMs: () => 0, fences: () => 0 },
        ...{ promise: () => undefined, differences: () => [] },
      },
    })
    ledger.start().catch(() => undefined)
  }

  #connect(pid: number, { hear, onClosed }: Parameters<NonNullable<ConstructorParameters<typeof RelayLink>[0]['connect']>>[1]) {
    const { hearing } = this.#process ?? {}
    const relay = this.#relays.find((one) => one.pid === pid)
    if (hearing === undefined || relay?.isAlive !== true || relay.isStopped) return undefined
    const process = this.#process
    const wire = new Wire(pid, {
      hearInHub: (message, connection) => this.#time.as(process ?? {}, () => hearing.hear(connection, message)),
      hearInRelay: hear,
      onClosedInHub: (connection) => this.#process?.hearing === hearing && hearing.onClosed(connection),
      onClosedInRelay: () => relay.isAlive && onClosed(),
      isHubFrozen: () => process?.isStopped === true,
      isFrozen: () => relay.isStopped,
    })
    this.#wires.add(wire)
    relay.wires.add(wire)
    return { send: (message: ToHub) => wire.send(message), close: () => wire.leave() }
  }

  // What happens.

  #hold(): void {
    const relay = this.#pick(this.#relays.filter(({ isAlive }) => isAlive))
    if (relay === undefined) return
    const entry: Entry = {
      id: `req_${this.#entries.length}`,
      key: this.#pick(KEYS) ?? '',
      relay,
      state: 'asked',
      cost: picos(0n),
      sentAtMs: 0,
      hour: 0,
    }
    this.#entries.push(entry)
    const learn = (answer: string): void => {
      this.#meet(`a hold is ${answer.replace(/:.*/, '')}`)
      this.log.push(`${entry.id} ${entry.key} by ${relay.pid}`)
      entry.state = answer === 'held' && relay.isAlive ? 'held' : 'gone'
      entry.hour = hourAt(relay.ledger.holds().find(({ requestId }) => requestId === entry.id)?.startedAt ?? 0)
    }
    const request = holdRequest(entry.id, entry.key, HOLD, { now: this.#time.now() })
    Promise.resolve(relay.ledger.hold(request)).then(
      (answer) => learn(answerText(answer)),
      () => learn('rejected'),
    )
  }

  #settle(): void {
    const entry = this.#pick(this.#entries.filter(({ state, relay }) => state === 'held' && relay.isAlive))
    if (entry === undefined) return
    const pieces = Math.floor(this.#random() * (PIECES_MAX + 1))
    Object.assign(entry, { state: 'sent', cost: picos(BigInt(pieces) * PIECE.cost), sentAtMs: this.#time.now() })
    entry.relay.ledger.settle(settlement(entry.id, { input: pieces * PIECE.tokens }, { now: NOW })).then(
      (answer) => {
        this.#meet(`a settle is ${answer}`)
        this.log.push(`settle ${entry.id} ${entry.cost}`)
        if (entry.relay.isAlive && entry.state === 'sent') entry.state = answer === 'settled' ? 'acknowledged' : 'refused'
      },
      () => undefined,
    )
  }

  /** Asks for what relays share apart from the money, or ends what was got. */
  #share(): void {
    const relay = this.#pick(this.#relays.filter(({ isAlive }) => isAlive))
    if (relay === undefined) return
    const choice = this.#random()
    const name = Math.floor(this.#random() * REPEATABLES)
    if (choice < 0.4) this.#answered(relay, relay.limits.take({ keyId: 'key_1', requests: 1, places: 2, perMinute: 6_000, atOnce: 4 }))
    else if (choice < 0.7) this.#answered(relay, this.#claim(relay, name))
    else if (relay.running.delete(name)) relay.claims.release(repeatable(name))
  }

  async #claim(relay: Relay, name: number): Promise<void> {
    const found = await relay.claims.claim(repeatable(name))
    this.#meet(`a claim is ${found.kind}`)
    if (found.kind !== 'claimed' || !relay.isAlive) return
    const others = this.#relays.filter(({ isAlive, running }) => isAlive && running.has(name))
    must('a repeatable request runs once', others.length === 0, () => `request ${name} by ${relay.pid} and ${others[0]?.pid}`)
    relay.running.add(name)
    // Another relay asks while it runs: otherwise few worlds would have two claims of one request.
    const other = this.#pick(this.#relays.filter((one) => one.isAlive && one !== relay))
    if (other !== undefined) this.#answered(other, this.#claim(other, name))
  }

  #answered(relay: Relay, asked: Promise<unknown>): void {
    const question = { relay }
    this.#questions.add(question)
    asked.then(
      () => this.#questions.delete(question),
      (error: unknown) => {
        this.#finding ??= error
      },
    )
  }

  #stepClock(): void {
    const toEdge = HOUR_MS - (this.#time.now() % HOUR_MS)
    const stepMs = this.#random() < 0.5 ? toEdge - BEFORE_EDGE_MS : (this.#pick(CLOCK_STEPS_H) ?? 1) * HOUR_MS
    this.#time.stepClock(Math.round(stepMs))
    this.#streams.clockStepped(stepMs)
    this.#meet(`a clock steps ${stepMs < 0 ? 'back' : 'ahead'}`)
  }

  #void(): void {
    const entry = this.#pick(this.#entries.filter(({ state, relay }) => state === 'held' && relay.isAlive))
    if (entry === undefined) return
    entry.state = 'gone'
    entry.relay.ledger.void(entry.id)
  }

  async #deliver(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.#pick([...this.#wires].filter(({ isBusy }) => isBusy))?.deliver(this.#random)
      for (const wire of this.#wires) if (wire.isOver) this.#wires.delete(wire)
      if (this.#random() < 0.7) this.#runThread()
      await settleTurn()
    }
  }

  async #tick(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.#runTimer()
      if (this.#random() < 0.5) this.#runThread()
      await settleTurn()
    }
  }

  #runTimer(): void {
    this.#time.runNext()
    this.#streams.turn()
  }

  #cut(): void {
    const wire = this.#pick([...this.#wires].filter(({ isCut }) => !isCut))
    if (wire === undefined) return
    this.#meet('a wire is cut')
    wire.cut()
  }

  #killRelay(): void {
    const relay = this.#pick(this.#relays.filter(({ isAlive }) => isAlive))
    if (relay === undefined) return
    this.#meet('a relay dies')
    this.log.push(`${relay.pid} dies`)
    this.#die(relay)
  }

  /** What it had sent still arrives. Its files are closed, as those of any process that ends: thousands of worlds would run out of handles. */
  #die(relay: Relay): void {
    relay.isAlive = false
    relay.link.close()
    relay.spill.close()
    for (const wire of relay.wires) wire.leave()
    this.#streams.died(relay)
    this.#beginRelay()
  }

  async #killProcess(): Promise<void> {
    this.#meet('the ledger process dies')
    this.#endProcess()
    // What the relays end meanwhile goes into spills of their own, unless it is back soon.
    this.#mayBeSpilled = true
    this.#meetFault('none')
    if (this.#random() < 0.6) await this.#begin()
  }

  #endProcess(): void {
    for (const thread of this.#process?.threads ?? []) thread.die()
    this.#process?.hub.close()
    this.#process = undefined
    for (const wire of this.#wires) wire.cut()
  }

  #meetFault(fault: Fault): void {
    if (fault === this.#fault) return
    if (fault !== 'none') this.#meet(`the storage is ${fault}`)
    this.#fault = fault
    this.#mayBeSpilled = true
    for (const thread of this.#process?.threads ?? []) thread.meetStorage()
  }

  /** One relay stands still for longer than the ledger process waits for it, while all others go on. What it has is lost to it. */
  async #stopRelay(): Promise<void> {
    const relay = this.#pick(this.#relays.filter(({ isAlive }) => isAlive))
    if (relay === undefined || this.#process === undefined) return
    this.#meet('a relay stands still')
    relay.isStopped = true
    this.#streams.stoodStill(relay)
    const untilMs = this.#time.now() + SILENCE_MS + 1_000
    while (this.#time.now() < untilMs) {
      if (this.#random() < 0.05) this.#streams.step()
      await this.#deliver(1)
      await this.#tick(1)
      this.#runThread()
    }
    for (const entry of this.#entries) if (entry.relay === relay && entry.state !== 'acknowledged') entry.state = 'gone'
    for (const name of relay.running) relay.claims.release(repeatable(name))
    relay.running.clear()
    relay.isStopped = false
  }

  /**
   * The ledger process stands still, for less or more than a relay waits for it, while relays go on, die and come. No end waits longer than it takes to see that nothing is said,
   * and that no spill keeps it.
   */
  async #stopProcess(): Promise<void> {
    const process = this.#process
    if (process === undefined) return
    this.#meet('the ledger process stands still')
    const fromMs = this.#time.now()
    const forMs = this.#random() * STOPPED_MS_MAX
    process.isStopped = true
    this.#time.freeze(process, ...process.threads)
    while (this.#time.now() < fromMs + forMs) {
      const choice = this.#random() * 100
      if (choice < 0.5) this.#hold()
      else if (choice < 8) this.#settle()
      else if (choice < 8.5) this.#share()
      else if (choice < 9) this.#void()
      else if (choice < 12.5) this.#killRelay()
      else if (choice < 13) this.#cut()
      else if (choice < 13.1) this.#failSpills()
      else if (choice < 13.5) this.#failing = { own: false, relays: false }
      else if (choice < 20) this.#streams.step()
      await this.#deliver(1)
      await this.#tick(1)
      const late = this.#entries.find(
        ({ state, relay, sentAtMs }) => state === 'sent' && relay.isAlive && isLate(this.#time.now() - Math.max(sentAtMs, fromMs)),
      )
      must('an end does not wait for a ledger process that stands still', late === undefined, () => `${late?.id} at ${late?.relay.pid}`)
    }
    process.isStopped = false
    this.#time.thaw()
  }

  /** All processes end at once, and what was not flushed is lost. */
  async #losePower(): Promise<void> {
    this.#meet('the power goes')
    const flushedBytes = this.#process?.threads.find((thread) => thread.isWriter)?.flushedBytes
    this.#endProcess()
    for (const { link, wires } of this.#relays) {
      link.close()
      for (const wire of wires) wire.cut()
    }
    for (const relay of this.#relays.filter(({ isAlive }) => isAlive)) {
      relay.isAlive = false
      relay.spill.close()
      this.#streams.died(relay)
    }
    this.#ground.end('power loss', (flushed, bytes) => flushed + Math.floor(this.#random() * (bytes - flushed)), flushedBytes)
    this.#mayBeSpilled = true
    this.#meetFault('none')
    await this.#begin()
    for (let n = 0; n < RELAYS; n++) this.#beginRelay()
  }

  #failSpills(): void {
    this.#failing = { own: this.#random() < 0.5, relays: this.#random() < 0.7 }
    if (this.#failing.relays) this.#meet('a spill fails')
  }

  /** Until nothing is under way. */
  async #quiet(): Promise<void> {
    for (let turn = 0; turn < 400; turn++) {
      this.#pick([...this.#wires].filter(({ isBusy }) => isBusy))?.deliver(this.#random)
      for (const wire of this.#wires) if (wire.isOver) this.#wires.delete(wire)
      this.#runThread()
      if (turn % 4 === 0) this.#runTimer()
      await settleTurn()
    }
  }

  #check(): void {
    if (this.#finding !== undefined) throw this.#finding
    const receipts = this.#receipts()
    this.#streams.check(receipts, this.#mayBeSpilled)
    for (const key of KEYS) this.#checkWindows(key, receipts)
    for (const [at, key] of KEYS.entries()) {
      const credited = usd(BALANCES[at] ?? '0')
      const own = this.#entries.filter((entry) => entry.key === key)
      const booked = own.reduce((sum, { id }) => sum + (receipts.get(id) ?? 0n), 0n)
      const pending = own.filter(({ id, state, relay }) => !receipts.has(id) && (state === 'acknowledged' || isOpen(state, relay)))
      const most = booked + pending.reduce((sum, { state, cost }) => sum + (state === 'held' ? HOLD : cost), 0n)
      must(
        'no more is promised than there is and one request',
        most <= credited + HOLD,
        () =>
          `${key}: ${most} of ${credited}, ${booked} booked; ${pending.map(({ id, state, cost, relay }) => `${id} ${state} ${cost} by ${relay.pid}`).join(', ')}`,
      )
    }
    for (const { id, state, cost } of this.#entries) {
      const booked = receipts.get(id)
      if (state === 'acknowledged' && !(this.#mayBeSpilled && booked === undefined))
        must('what was acknowledged is booked', booked === cost, () => `${id}: ${booked}, not ${cost}`)
      else must('nothing else is charged', booked === undefined || booked === 0n || booked === cost, () => `${id}: ${booked} of ${cost}`)
    }
  }

  #receipts(): ReadonlyMap<string, bigint> {
    const db = this.#ground.read() as Database
    try {
      const rows = db.query<{ id: string; cost: bigint }, []>('SELECT request_id AS id, cost_picos AS cost FROM receipts').all()
      return new Map(rows.map(({ id, cost }) => [id, cost]))
    } finally {
      db.close()
    }
  }

  /** What was admitted in a window, all relays together, ends one request above each budget at most. */
  #checkWindows(key: string, receipts: ReadonlyMap<string, bigint>): void {
    const own = this.#entries.filter((entry) => entry.key === key && entry.hour > 0)
    for (const { per, capPicos } of [...(this.#budgets.get(key) ?? []), ...(key === PLANNED ? this.#planBudgets : [])]) {
      for (const [start, within] of Map.groupBy(own, ({ hour }) => windowAt(per, hour).start)) {
        const most = within.reduce((sum, entry) => sum + this.#mostOf(entry, receipts), 0n)
        must(
          'a window ends one request above its cap at most',
          most < capPicos + HOLD,
          () => `${key}: ${most} of ${capPicos} a ${per} from ${start}`,
        )
      }
    }
  }

  #mostOf({ id, state, relay, cost }: Entry, receipts: ReadonlyMap<string, bigint>): bigint {
    const booked = receipts.get(id)
    if (booked !== undefined) return booked
    if (state === 'acknowledged') return cost
    return isOpen(state, relay) ? (state === 'held' ? HOLD : cost) : 0n
  }

  async #end(): Promise<void> {
    this.#meetFault('none')
    this.#failing = { own: false, relays: false }
    if (this.#process === undefined) await this.#begin()
    const areAllIn = (): boolean => this.#relays.every(({ isAlive, ledger }) => !isAlive || ledger.mayAdmit())
    for (let round = 0; round < 6 || (round < 40 && !areAllIn()); round++) await this.#quiet()
    this.#mayBeSpilled = false
    await this.#streams.end(
      () => this.#quiet(),
      () => this.#receipts(),
    )
    this.#check()
    const living = this.#relays.filter(({ isAlive }) => isAlive)
    must(
      'every relay may admit when all is quiet',
      living.every(({ ledger }) => ledger.mayAdmit()),
      () => `${living.length}`,
    )
    const open = this.#entries.filter(({ state, relay }) => state === 'sent' && relay.isAlive)
    must('every end is answered when all is quiet', open.length === 0, () => open.map(({ id }) => id).join(' '))
    const unanswered = [...this.#questions].filter(({ relay }) => relay.isAlive)
    must('every question is answered when all is quiet', unanswered.length === 0, () => unanswered.map(({ relay }) => relay.pid).join(' '))
    await this.#checkClaims(living)
    const db = this.#ground.read() as Database
    const differences = differencesInFile(db)
    db.close()
    must('the books are right', differences.length === 0, () => JSON.stringify(differences))
  }

  /** What no living relay runs may be claimed, and what one runs may not. */
  async #checkClaims(living: readonly Relay[]): Promise<void> {
    for (let name = 0; name < REPEATABLES; name++) {
      const [first] = living
      const isRunning = living.some(({ running }) => running.has(name))
      let said: boolean | undefined
      first?.claims.isRunning(repeatable(name)).then(
        (answer) => {
          said = answer
        },
        () => undefined,
      )
      for (let turn = 0; turn < 8 && said === undefined; turn++) await this.#quiet()
      must('a claim lasts as long as its request', said === isRunning, () => `${name}: ${said}, and not ${isRunning}`)
    }
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)]
  }
}

export async function simulateRelays(first: number, count: number) {
  const met = new Map<string, number>()
  for (let seed = first; seed < first + count; seed++) {
    const world = new RelayWorld(seed)
    try {
      await world.run()
    } catch (error) {
      const text = error instanceof Finding ? error.message : String(error instanceof Error ? error.stack : error)
      return { finding: { seed, text, log: world.log }, met }
    } finally {
      for (const [what, times] of world.met) met.set(what, (met.get(what) ?? 0) + times)
    }
  }
  return { finding: undefined, met }
}
