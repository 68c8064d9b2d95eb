/**
 * A simulated world of one ledger process with relays: real hub, links, wallets, commit loop and file, with clocks, wires and deaths in the hands of a seed. A relay or the
 * ledger process dies or stands still at any step, a spill fails, the power goes, a wire is cut with what is on it, and the clock steps over the edges of windows. What must hold is
 * looked at after every step. Rules: processes.md "Admission", "Death"; money.md "Budgets".
 */

import { picos } from '../../src/core/money.ts'
import { type Budget, HOUR_MS, PERS } from '../../src/core/windows.ts'
import { answerText, createKey, holdRequest, NOW, settlement, usd } from '../support/ledger.ts'
import { type Random, randomFrom } from '../support/seed.ts'
import { Finding, must } from './books.ts'
import { drawFrom, pick } from './draw.ts'
import { HOLD, RelayBooks } from './relay-books.ts'
import { RELAYS, RelayMachine } from './relay-machine.ts'
import { RelayShares } from './relay-shares.ts'
import { RepeatedStreams } from './repeated-streams.ts'
import { type Around, STREAM_KEY } from './stream-parts.ts'
import { settleTurn, VirtualTime } from './virtual-time.ts'

const STEPS = 200
/** Of the plan of the last key there are budgets, and each other account and key may have some, too. */
const PLAN = 'small'
const KEYS = [
  { id: 'key_1', balanceUsd: '0.1', plan: 'default' },
  { id: 'key_2', balanceUsd: '4', plan: 'default' },
  { id: 'key_3', balanceUsd: '60', plan: PLAN },
] as const
/** Only relays that come late, and the others meanwhile, spend of it: one of them could hold all of it. */
const KEY_OF_LATE = { id: 'key_4', balanceUsd: '3', plan: 'default' } as const
/** Back, within what a clock is waited for and beyond, and ahead, to the next hour, day and week. */
const CLOCK_STEPS_H = [-200, -30, -2, -0.3, 0.3, 1, 1, 20, 24 * 7]
/** So near to the end of an hour does a clock come that steps there, so that what runs is admitted before it and ends behind it. */
const BEFORE_EDGE_MS = 300
/** Of a settle, at most what was held: three cents a piece. */
const PIECE = { tokens: 10_000, cost: usd('0.03') }
const PIECES_MAX = 16
/** As long as the hub waits for a relay. */
const SILENCE_MS = 10_000
const STOPPED_MS_MAX = 25_000
/** How many requests a relay that comes late begins before, and for how long the others are there without it: less than a relay is waited for. */
const HELD_BY_LATE = 6
const LATE_MS_MAX = 2_000
/** A relay waits for five seconds for a word, then a moment until it keeps ends, and ten seconds for a spill that fails. */
const isLate = (waitedMs: number): boolean => waitedMs > 16_500

class RelayWorld {
  readonly #random: Random
  readonly #time = new VirtualTime()
  readonly #machine: RelayMachine
  readonly #books: RelayBooks
  readonly #streams: RepeatedStreams
  readonly #shares: RelayShares
  /** What was found in a turn in which no step could throw it. */
  #finding: unknown
  readonly met = new Map<string, number>()
  readonly log: string[] = []

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    const ofPlan = this.#random() < 0.5 ? [this.#drawBudget()] : []
    const around: Around = { random: this.#random, time: this.#time, log: this.log, meet: (what) => this.#meet(what) }
    this.#books = new RelayBooks([...KEYS, KEY_OF_LATE].map((key) => ({ ...key, budgets: key.plan === PLAN ? ofPlan : [] })))
    this.#streams = new RepeatedStreams(around)
    this.#machine = new RelayMachine({ ...around, streams: this.#streams, budgetsOf: (plan) => (plan === PLAN ? ofPlan : []) })
    this.#shares = new RelayShares({
      ...{ ...around, alive: () => this.#machine.alive },
      fail: (finding) => {
        this.#finding ??= finding
      },
    })
  }

  async run(): Promise<void> {
    const machine = this.#machine
    try {
      await this.#begin()
      for (let step = 0; step < STEPS; step++) {
        await this.#step()
        if (this.#random() < 0.6) this.#streams.step()
        await settleTurn()
        this.#check()
      }
      await this.#end()
    } finally {
      machine.close()
      this.#streams.restore()
      this.#time.restore()
    }
  }

  async #begin(): Promise<void> {
    const machine = this.#machine
    await machine.begin()
    for (const { id, ...key } of [...KEYS, KEY_OF_LATE]) await machine.operate(createKey(id, key))
    await machine.operate(createKey(STREAM_KEY.id, { balanceUsd: '1000', plan: 'default' }))
    for (const { id } of KEYS) for (const keyId of [id, null]) if (this.#random() < 0.4) await this.#setBudget(id, keyId)
    for (let n = 0; n < RELAYS; n++) machine.beginRelay()
    // Without this most worlds end before a relay admits anything.
    await machine.quiet()
  }

  async #step(): Promise<void> {
    const machine = this.#machine
    const choice = this.#random() * 100
    if (choice < 20) this.#hold()
    else if (choice < 36) this.#settle()
    else if (choice < 38) this.#void()
    else if (choice < 40) this.#stepClock()
    else if (choice < 45) this.#shares.step()
    else if (choice < 72) await machine.deliver(1 + Math.floor(this.#random() * 6))
    else if (choice < 93) await machine.tick(1 + Math.floor(this.#random() * 4))
    else if (choice < 95) machine.cut()
    else if (choice < 96.4) machine.killRelay()
    else if (choice < 97.6) await machine.killProcess()
    else if (choice < 98.8) machine.meetFault(drawFrom(this.#random, ['full', 'broken', 'late'] as const))
    else if (choice < 99.1) await this.#stopRelay()
    else if (choice < 99.35) await this.#stopProcess()
    else if (choice < 99.45) await machine.losePower()
    else if (choice < 99.6) machine.failSpills()
    else if (choice < 99.85) await this.#comeLate()
    else await machine.quiet()
    if (this.#random() < 0.03) machine.mendSpills()
    if (machine.fault !== 'none' && this.#random() < 0.15) machine.meetFault('none')
    if (machine.process === undefined && this.#random() < 0.15) await machine.begin()
  }

  #meet(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1)
    this.log.push(what)
  }

  #drawBudget = (): Budget => ({
    per: drawFrom(this.#random, PERS),
    capPicos: picos((BigInt(1 + Math.floor(this.#random() * 4)) * HOLD) / 2n),
  })

  async #setBudget(key: string, keyId: string | null): Promise<void> {
    const budget = this.#drawBudget()
    this.#books.setBudget(key, budget)
    const accountId = key.replace('key_', 'acc_')
    await this.#machine.operate({ kind: 'setBudget', accountId, keyId, ...budget, setBy: 'operator', now: this.#time.now() })
  }

  #hold(relay = pick(this.#random, this.#machine.alive), key: string = drawFrom(this.#random, KEYS).id): void {
    if (relay === undefined) return
    const entry = this.#books.add(key, relay)
    const learn = (answer: string): void => {
      this.#meet(`a hold is ${answer.replace(/:.*/, '')}`)
      this.log.push(`${entry.id} ${entry.key} by ${relay.pid}`)
      this.#books.answered(entry, answer)
    }
    const request = holdRequest(entry.id, entry.key, HOLD, { now: this.#time.now() })
    Promise.resolve(relay.ledger.hold(request)).then(
      (answer) => learn(answerText(answer)),
      () => learn('rejected'),
    )
  }

  #settle(): void {
    const entry = pick(this.#random, this.#books.held())
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

  #void(): void {
    const entry = pick(this.#random, this.#books.held())
    if (entry === undefined) return
    entry.state = 'gone'
    entry.relay.ledger.void(entry.id)
  }

  #stepClock(): void {
    const toEdge = HOUR_MS - (this.#time.now() % HOUR_MS)
    const stepMs = this.#random() < 0.5 ? toEdge - BEFORE_EDGE_MS : drawFrom(this.#random, CLOCK_STEPS_H) * HOUR_MS
    this.#time.stepClock(Math.round(stepMs))
    this.#streams.clockStepped(stepMs)
    this.#meet(`a clock steps ${stepMs < 0 ? 'back' : 'ahead'}`)
  }

  /** One relay stands still for longer than the ledger process waits for it, while all others go on. What it has is lost to it. */
  async #stopRelay(): Promise<void> {
    const machine = this.#machine
    const relay = pick(this.#random, machine.alive)
    if (relay === undefined || machine.process === undefined) return
    this.#meet('a relay stands still')
    relay.isStopped = true
    this.#streams.stoodStill(relay)
    const untilMs = this.#time.now() + SILENCE_MS + 1_000
    while (this.#time.now() < untilMs) {
      if (this.#random() < 0.05) this.#streams.step()
      await machine.deliver(1)
      await machine.tick(1)
      machine.process?.runThread()
    }
    this.#books.drop(relay)
    this.#shares.drop(relay)
    relay.isStopped = false
  }

  /** The ledger process dies while a relay holds much of a balance, and that relay is the last that comes to the next one: until then nothing that it may hold is granted to others. */
  async #comeLate(): Promise<void> {
    const machine = this.#machine
    const late = pick(this.#random, machine.alive)
    if (late === undefined || machine.process === undefined) return
    this.#meet('a relay comes late')
    await machine.quiet()
    for (let n = 0; n < HELD_BY_LATE; n++) this.#hold(late, KEY_OF_LATE.id)
    await machine.quiet()
    late.isStopped = true
    await machine.killProcess()
    if (machine.process === undefined) await machine.begin()
    const untilMs = this.#time.now() + this.#random() * LATE_MS_MAX
    while (this.#time.now() < untilMs) {
      const others = machine.alive.filter((relay) => relay !== late)
      if (this.#random() < 0.1) this.#hold(pick(this.#random, others), KEY_OF_LATE.id)
      await machine.deliver(1)
      await machine.tick(1)
      machine.process?.runThread()
    }
    late.isStopped = false
  }

  /**
   * The ledger process stands still, for less or more than a relay waits for it, while relays go on, die and come. No end waits longer than it takes to see that nothing is said,
   * and that no spill keeps it.
   */
  async #stopProcess(): Promise<void> {
    const machine = this.#machine
    const { process } = machine
    if (process === undefined) return
    this.#meet('the ledger process stands still')
    const fromMs = this.#time.now()
    const forMs = this.#random() * STOPPED_MS_MAX
    process.standStill()
    while (this.#time.now() < fromMs + forMs) {
      this.#stepMeanwhile()
      await machine.deliver(1)
      await machine.tick(1)
      const late = this.#books.sent().find(({ sentAtMs }) => isLate(this.#time.now() - Math.max(sentAtMs, fromMs)))
      must('an end does not wait for a ledger process that stands still', late === undefined, () => `${late?.id} at ${late?.relay.pid}`)
    }
    process.goOn()
  }

  /** Of what goes on at relays while the ledger process stands still. */
  #stepMeanwhile(): void {
    const choice = this.#random() * 100
    if (choice < 0.5) this.#hold()
    else if (choice < 8) this.#settle()
    else if (choice < 8.5) this.#shares.step()
    else if (choice < 9) this.#void()
    else if (choice < 12.5) this.#machine.killRelay()
    else if (choice < 13) this.#machine.cut()
    else if (choice < 13.1) this.#machine.failSpills()
    else if (choice < 13.5) this.#machine.mendSpills()
    else if (choice < 20) this.#streams.step()
  }

  #check(): void {
    if (this.#finding !== undefined) throw this.#finding
    const { mayBeSpilled } = this.#machine
    const receipts = this.#machine.receipts()
    this.#streams.check(receipts, mayBeSpilled)
    this.#books.check(receipts, mayBeSpilled)
  }

  async #end(): Promise<void> {
    const machine = this.#machine
    const quiet = (): Promise<void> => machine.quiet()
    await machine.mend()
    await this.#streams.end(quiet, () => machine.receipts())
    this.#check()
    must(
      'every relay may admit when all is quiet',
      machine.alive.every(({ ledger }) => ledger.mayAdmit()),
      () => `${machine.alive.length}`,
    )
    const open = this.#books.sent()
    must('every end is answered when all is quiet', open.length === 0, () => open.map(({ id }) => id).join(' '))
    await this.#shares.checkEnd(quiet)
    const differences = machine.differences()
    must('the books are right', differences.length === 0, () => JSON.stringify(differences))
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
