/**
 * One simulated world: a random load on the whole ledger – memory, writer, commit loop, state machine, a real store – in one thread and in virtual time, where
 * threads and processes die between any two steps, power goes, storage fails, and everything comes twice or in another order. After every step the memory is held
 * against the auditor's books, and whenever nothing is under way or a process has died, so is the file.
 */

import { type Picos, picos } from '../../src/core/money.ts'
import type { Prices, Rates } from '../../src/core/pricing.ts'
import type { WindowBalance } from '../../src/core/spending.ts'
import type { Usage } from '../../src/core/usage.ts'
import { type Budgets, HOUR_MS, hourAt, PERS } from '../../src/core/windows.ts'
import { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import { enterThread, type ThreadOptions } from '../../src/ledger/admission/thread-handle.ts'
import type { Attempt, HoldAnswer, Idempotency } from '../../src/ledger/ledger.ts'
import type { Operation, OperationResult } from '../../src/ledger/operation.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { type Random, randomFrom } from '../support/seed.ts'
import { Books, type Entry, must } from './books.ts'
import { type Around, type Ground, type HowEnded, SOUND, type Storage } from './ground.ts'
import { costText, type PriceList, picosOf } from './oracle.ts'
import { Records } from './records.ts'
import { SimulatedThread } from './thread.ts'
import { settleTurn, VirtualTime } from './virtual-time.ts'
import { SET_BY, WindowBooks } from './window-books.ts'

const STEPS = 180
const OUTAGE_STEPS = 25
const ACCOUNTS = ['acc_0', 'acc_1']
const KEYS = 5
/** Of both plans an account has a key. */
const PLANS = ['default', 'small']
/** Most windows that begin are hours. */
const PERS_DRAWN = ['hour', 'hour', ...PERS] as const
/** Back, within what a clock is waited for and beyond, and ahead, to the next hour, day and week. */
const CLOCK_STEPS_H = [-200, -30, -20, -2, -0.3, 0.3, 1, 1, 1, 20, 24 * 7]
/** So near to the end of an hour does a clock come that steps there, so that what runs is admitted before it and ends behind it. */
const BEFORE_EDGE_MS = 300
/** What one process keeps free for a spill; some keep nothing, and only replay. */
const SPILL_BYTES = 16 * 1024
/** Fewer than there are keys, so that some must leave the memory. */
const WALLETS_MAX = 3
const LISTS: readonly PriceList[] = [
  { input: '3', output: '15', cacheRead: '0.3', cacheWrite5m: '3.75', cacheWrite1h: '6', serverToolUse: '0.01' },
  { input: '0.8', output: '4.000001', cacheRead: '0.08', cacheWrite5m: '1', cacheWrite1h: '1.6', serverToolUse: '0' },
]
/** Of the second list: about half of all prompts are longer. */
const LONG: PriceList = { input: '2.4', output: '12', cacheRead: '0.24', cacheWrite5m: '3', cacheWrite1h: '4.8', serverToolUse: '0' }
const ABOVE = 1_500
const WORST: Usage = { input: 900, output: 400, cacheRead: 900, cacheWrite5m: 900, cacheWrite1h: 900, serverToolUses: 2 }

const rateOf = (usdPerMillion: string): Picos => picos(picosOf(usdPerMillion) / 1_000_000n)
const ratesOf = (list: PriceList): Rates => ({
  input: rateOf(list.input),
  output: rateOf(list.output),
  cacheRead: rateOf(list.cacheRead),
  cacheWrite5m: rateOf(list.cacheWrite5m),
  cacheWrite1h: rateOf(list.cacheWrite1h),
  serverToolUse: picos(picosOf(list.serverToolUse)),
})
const PRICES: readonly Prices[] = [
  { rates: ratesOf(LISTS[0] as PriceList), levels: [] },
  { rates: ratesOf(LISTS[1] as PriceList), levels: [{ abovePromptTokens: ABOVE, rates: ratesOf(LONG) }] },
]

/** At the upstream that answers a part of our price, at all others nothing is known. */
const COSTS = new Map([['main', { prices: PRICES[1] as Prices, factorMillionths: 333_333 }]])

const isLong = ({ input, cacheRead, cacheWrite5m, cacheWrite1h }: Usage, list: number): boolean =>
  list === 1 && input + cacheRead + cacheWrite5m + cacheWrite1h > ABOVE

/** The dearest request: of the first list. */
const WORST_PICOS = picosOf(costText(WORST, LISTS[0] as PriceList))

const CODES = 40
const CODE_PICOS = picos(3_000_000_001n)
const codeHash = (n: number): Uint8Array => new Uint8Array(Bun.SHA256.hash(`code ${n}`).buffer)

const textOf = (answer: HoldAnswer | 'unknown'): string => (typeof answer === 'object' ? `until ${answer.resetsAt}` : answer)

type ReceiptRow = Readonly<{ id: string; key: string; outcome: string; cost: bigint; waived: bigint }>

export class Simulation {
  readonly #random: Random
  readonly #ground: Ground
  readonly #time = new VirtualTime()
  readonly #books = new Books()
  readonly #plans = new Map<string, Budgets>()
  readonly #windows = new WindowBooks(this.#books, this.#plans)
  readonly #usages = new Map<string, Usage>()
  readonly #calls = new Map<string, readonly Attempt[]>()
  readonly #records = new Records((id, { usage }) => this.#costOf(usage, this.#books.entries.get(id)?.list ?? 0))
  readonly #faults: string[] = []
  /** What was done, for whoever reads a failure. */
  readonly log: string[] = []
  /** How often each thing happened: a load that meets nothing proves nothing. */
  readonly met = new Map<string, number>()
  #threads: SimulatedThread[] = []
  #ledger: GroupCommit | undefined
  #boot = 0
  #requests = 0
  #acts = 0
  #deaths = 0
  #storage: Storage = SOUND
  #secrets = 0
  #redeemed = 0
  #takenBack = 0n
  /** Steps for which nobody mends the storage. */
  #outage = 0

  constructor(seed: number, makeGround: (around: Around) => Ground) {
    this.#random = randomFrom(seed)
    const onIndeterminate = (): void => {
      this.#deaths++
      this.#meet('a write is indeterminate')
    }
    this.#ground = makeGround({ onIndeterminate, now: this.#time.now })
  }

  /** Throws a `Finding` that names the broken invariant. */
  async run(): Promise<void> {
    try {
      await this.#start()
      await this.#found()
      for (let step = 0; step < STEPS; step++) {
        await this.#step()
        await settleTurn()
        if (this.#ground.isShared) await this.#answerLeases()
        this.#checkMemory()
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
    else if (choice < 53) this.#operate()
    else if (choice < 55.5) this.#budget()
    else if (choice < 57.5) this.#stepClock()
    else if (choice < 75) this.#deliver()
    else if (choice < 92) this.#tick()
    else if (choice < 93.5) this.#breakStorage({ fault: this.#pick(this.#ground.faults), spill: this.#pick(['works', 'fails']) })
    else if (choice < 95) this.#heal()
    else if (choice < 96.5) this.#killThread()
    else if (choice < 97.7) await this.#quiet()
    else if (choice < 98.6) await this.#commitUnheard()
    else if (choice < 99) await this.#end(this.#pick(this.#ground.ends))
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
    if (this.#outage === 0 && this.#random() < 0.4) await this.#end(this.#pick(this.#ground.ends))
    else if (choice < 15) this.#settle()
    else if (choice < 20) this.#operate()
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
    if (choice < 0.3) return this.#end(this.#pick(this.#ground.ends))
    this.#killThread()
    if (choice < 0.5) return
    // The next thread is asked again, and can say neither yes nor no.
    this.#breakStorage({ fault: 'late', spill: 'fails' })
    this.#outage = 2 * OUTAGE_STEPS
  }

  // What clients and operators do.

  #hold(): void {
    const keyId = this.#pick([...this.#books.keys.keys()])
    const again = this.#random() < 0.05 ? this.#pickEntry('held', 'charged', 'settling') : undefined
    const id = again?.id ?? `req_${this.#requests++}`
    const list = again?.list ?? Math.floor(this.#random() * LISTS.length)
    const holdPicos = again?.holdPicos ?? this.#costOf(WORST, list)
    if (again !== undefined && again.state !== 'held') return
    const accountId = this.#accountOf(keyId)
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
      this.#calls.set(id, this.#failedCalls())
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
    this.#open.checkpoint(entry.id, { usage: this.#usage(), usageSource: 'partial', otherAttempts })
  }

  /** Also of what is settled, voided or on its way: then nothing may happen. */
  #settle(): void {
    const entry = this.#random() < 0.85 ? this.#pickEntry('held') : this.#pickEntry('settling', 'charged', 'voided', 'ended')
    if (entry === undefined) return
    const before = entry.state
    const usage = this.#usage()
    const isWaived = this.#random() < 0.2
    const price = this.#costOf(usage, entry.list)
    const [costPicos, waivedPicos] = isWaived ? [0n, price] : [price, 0n]
    if (before === 'held') {
      Object.assign(entry, { state: 'settling', costPicos, waivedPicos, deaths: this.#deaths })
      this.#usages.set(entry.id, usage)
    }
    const otherAttempts = this.#calls.get(entry.id) ?? []
    const hasAnswer = this.#random() < 0.8
    const attempts = otherAttempts.length + (hasAnswer ? 1 : 0)
    const idempotency = this.#random() < 0.3 ? this.#idempotency(entry.id) : undefined
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

  #operate(): void {
    const keyId = this.#pick([...this.#books.keys.keys()])
    const accountId = this.#accountOf(keyId)
    const key = this.#books.keys.get(keyId)
    const account = this.#books.accounts.get(accountId)
    if (key === undefined || account === undefined) return
    const now = this.#time.now()
    const choice = this.#random() * 7
    if (choice < 1.5) this.#topUp(accountId)
    else if (choice < 2) this.#redeem(accountId)
    else if (choice < 3) {
      const limitPicos = this.#random() < 0.3 ? null : picos(BigInt(Math.floor(this.#random() * 60_000_000)) * 1_000n)
      this.#act({ kind: 'setKeyLimit', keyId, limitPicos, now }, [accountId], () => Object.assign(key, { limitPicos }))
    } else if (choice < 4) {
      const isActive = this.#random() < 0.7
      this.#act({ kind: 'setKeyActive', keyId, isActive, now }, [accountId], () => Object.assign(key, { isActive }))
    } else if (choice < 5) {
      const isActive = this.#random() < 0.8
      this.#act({ kind: 'setAccountActive', accountId, isActive, now }, [accountId], () => Object.assign(account, { isActive }))
    } else if (choice < 6) {
      const secretHash = this.#secretHash()
      const operation = { kind: 'rotateKey', keyId, secretHash, display: 'sk-…next', oldValidUntil: now + 1_000, now } as const
      // By a clock that went back an old secret still counts, and there is no third one.
      this.#act(operation, [accountId], () => this.#records.rotated(keyId, secretHash), true)
    } else {
      const expiresAt = this.#random() < 0.6 ? null : now + Math.floor(this.#random() * 3_000) - 500
      this.#act({ kind: 'setKeyExpiry', keyId, expiresAt, now }, [accountId], () => Object.assign(key, { expiresAt }))
    }
  }

  /** The customer's at most as large as the operator's, so that it is done unless another act comes between. */
  #budget(keyId = this.#pick([...this.#books.keys.keys()])): void {
    const accountId = this.#accountOf(keyId)
    const ofKey = this.#random() < 0.6
    const [id, per, setBy] = [ofKey ? keyId : accountId, this.#pick(PERS_DRAWN), this.#pick(SET_BY)]
    const drawn = this.#random() < 0.25 ? null : BigInt(Math.floor(this.#random() * 80_000_000)) * 503n
    const most = setBy === 'customer' ? this.#windows.capBy(id, per, 'operator') : undefined
    const cap = drawn !== null && most !== undefined && drawn > most ? most : drawn
    const of = { accountId, keyId: ofKey ? keyId : null, per, setBy } as const
    this.#meet(`a budget of ${ofKey ? 'a key' : 'an account'} by ${setBy}`)
    this.#act(
      { kind: 'setBudget', ...of, capPicos: cap === null ? null : picos(cap), now: this.#time.now() },
      [accountId],
      () => this.#windows.set(id, per, setBy, cap),
      setBy === 'customer',
    )
  }

  #stepClock(): void {
    const toEdge = HOUR_MS - (this.#time.now() % HOUR_MS)
    const stepMs = this.#random() < 0.5 ? toEdge - BEFORE_EDGE_MS : this.#pick(CLOCK_STEPS_H) * HOUR_MS
    this.#time.stepClock(Math.round(stepMs))
    this.#meet(`a clock steps ${stepMs < 0 ? 'back' : 'ahead'}`)
    this.#say(`clock steps by ${Math.round(stepMs / 60_000)} minutes`)
  }

  /** Some of them twice, as the same or as another under the same reference: that counts once. Another amount under it is refused. */
  #topUp(accountId: string): void {
    const amountPicos = picos(BigInt(Math.floor(this.#random() * 70_000_000) - 30_000_000) * 1_001n)
    if (amountPicos === 0n) return
    const creditId = `credit_${this.#acts}`
    const creditKind = amountPicos > 0n ? 'top-up' : 'correction'
    const operation = { kind: 'credit', creditKind, creditId, accountId, amountPicos, ref: creditId, now: this.#time.now() } as const
    if (amountPicos < 0n) this.#takenBack -= amountPicos
    this.#act(operation, [accountId], () => {
      const account = this.#books.accounts.get(accountId)
      if (account !== undefined) account.creditedPicos += amountPicos
    })
    const choice = this.#random()
    if (choice < 0.15) this.#act(operation, [accountId], () => undefined)
    else if (choice < 0.3) this.#act({ ...operation, creditId: `${creditId}_again` }, [accountId], () => undefined)
  }

  /** Each code by one account; some twice, as the same or as another act, which counts once. */
  #redeem(accountId: string): void {
    if (this.#redeemed >= CODES) return
    const operation = {
      kind: 'redeemCode',
      codeHash: codeHash(this.#redeemed++),
      accountId,
      creditId: `redeemed_${this.#acts}`,
      now: this.#time.now(),
    } as const
    this.#meet('a code is redeemed')
    this.#act(operation, [accountId], () => {
      const account = this.#books.accounts.get(accountId)
      if (account !== undefined) account.creditedPicos += CODE_PICOS
    })
    const choice = this.#random()
    if (choice < 0.2) this.#act(operation, [accountId], () => undefined)
    else if (choice < 0.4) this.#act({ ...operation, creditId: `${operation.creditId}_again` }, [accountId], () => undefined)
  }

  #act(operation: Operation, accountIds: readonly string[], apply: () => unknown, mayBeRefused = false): void {
    const act = { id: `act_${this.#acts++}`, accountIds, apply }
    this.#books.acts.set(act.id, act)
    this.#say(`${operation.kind} ${act.id}`)
    this.#promise(this.#open.operate(operation), ({ result }: OperationResult) => {
      this.#books.acts.delete(act.id)
      this.#say(`${act.id}: ${result}`)
      this.#meet(`an act is ${result}`)
      must('what an operator may do is done', result !== 'refused' || mayBeRefused, () => act.id)
      if (result === 'done') apply()
      else this.#books.indeterminateActs.set(act.id, act)
    })
  }

  // What the machine does.

  #deliver(): boolean {
    const busy = this.#threads.filter((thread) => thread.isBusy)
    if (busy.length === 0) return false
    const thread = this.#pick(busy)
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
    this.#auditFile('quiet')
    this.#checkMemory()
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
    this.#auditFile(how, marked)
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

  /** Accounts with money, their keys, and codes that nobody has redeemed. */
  async #found(): Promise<void> {
    if (this.#random() < 0.5) this.#plans.set('small', [{ per: this.#pick(PERS), capPicos: picos(60_000_000_000n) }])
    const codes = Array.from({ length: CODES }, (_, n) => ({ codeHash: codeHash(n), display: 'TG-…test' }))
    const batch = { kind: 'createCodes', batchId: 'batch_0', name: '', amountPicos: CODE_PICOS, expiresAt: null, codes } as const
    this.#act({ ...batch, now: this.#time.now() }, [], () => undefined)
    for (const accountId of ACCOUNTS) {
      this.#books.accounts.set(accountId, { creditedPicos: 0n, isActive: true })
      this.#act({ kind: 'createAccount', accountId, name: '', topUp: null, now: this.#time.now() }, [accountId], () => undefined)
      this.#topUp(accountId)
    }
    await this.#settleDown()
    for (let n = 0; n < KEYS; n++) {
      const accountId = ACCOUNTS[n % ACCOUNTS.length] ?? ''
      const keyId = `key_${n}`
      const plan = PLANS[n % 3 === 2 ? 0 : 1] ?? ''
      const secretHash = this.#secretHash()
      const amountPicos = picos(BigInt(this.#pick([10, 30, 70])) * 1_000_000_000n)
      const operation: Operation = {
        kind: 'createKey',
        keyId,
        secretHash,
        display: 'sk-…test',
        name: '',
        accountId,
        ownAccountId: '',
        plan,
        limitPicos: null,
        expiresAt: null,
        topUp: { creditId: `first_${n}`, amountPicos, ref: '' },
        now: this.#time.now(),
      }
      this.#act(operation, [accountId], () => {
        this.#records.rotated(keyId, secretHash)
        this.#books.keys.set(keyId, { accountId, plan, limitPicos: null, isActive: true, expiresAt: null })
        const account = this.#books.accounts.get(accountId)
        if (account !== undefined) account.creditedPicos += amountPicos
      })
      await this.#settleDown()
      if (this.#random() < 0.6) this.#budget(keyId)
    }
  }

  // The audit.

  #checkMemory(): void {
    const books = this.#books
    for (const [keyId, key] of books.keys) {
      const keyBalance = this.#open.keyBalanceOf(keyId)
      if (keyBalance === undefined) {
        must('a key with holds is in memory', books.heldOf(keyId) === 0n, () => keyId)
        continue
      }
      must(
        'held is what runs',
        keyBalance.heldPicos === books.heldOf(keyId),
        () => `${keyId}: ${keyBalance.heldPicos}, not ${books.heldOf(keyId)}`,
      )
      const heldOfAccount = books.heldOfAccount(key.accountId)
      must(
        'an account’s held is what runs',
        keyBalance.account.heldPicos === heldOfAccount,
        () => `${keyId}: ${keyBalance.account.heldPicos}, not ${heldOfAccount}`,
      )
      if (!books.isCertain(key.accountId)) continue
      const [spent, balance] = [books.spentOf(keyId), books.balanceOf(key.accountId)]
      must('memory spends what was sent', keyBalance.spentPicos === spent, () => `${keyId}: ${keyBalance.spentPicos}, not ${spent}`)
      must(
        'memory keeps the balance',
        keyBalance.account.balancePicos === balance,
        () => `${keyId}: ${keyBalance.account.balancePicos}, not ${balance}`,
      )
      must(
        'memory keeps the limit',
        keyBalance.limitPicos === key.limitPicos,
        () => `${keyId}: ${keyBalance.limitPicos}, not ${key.limitPicos}`,
      )
    }
    for (const [accountId] of books.accounts) {
      if (!books.isCertain(accountId)) continue
      must('no balance ends more than one request below zero', books.balanceOf(accountId) + this.#takenBack > -WORST_PICOS, () => accountId)
    }
  }

  /** The file against the books. What was indeterminate is decided here, once, by what it says. */
  #auditFile(when: 'quiet' | HowEnded, marked: ReadonlySet<string> = new Set()): void {
    const db = this.#ground.read()
    try {
      const receipts = db
        .query<ReceiptRow, []>(
          'SELECT request_id AS id, k.id AS key, outcome, cost_picos AS cost, waived_picos AS waived FROM receipts r JOIN keys k ON k.number = r.key_number',
        )
        .all()
      this.#auditReceipts(new Map(receipts.map((row) => [row.id, row])), when, marked)
      const open = [...this.#books.acts.values(), ...this.#books.indeterminateActs.values()]
      const isIndeterminate = (keyId: string): boolean => open.some(({ accountIds }) => accountIds.includes(this.#accountOf(keyId)))
      this.#records.audit(db, when === 'quiet' || when === 'close', isIndeterminate)
      this.#auditRows(db)
      const left = db.query<{ id: string }, []>('SELECT request_id AS id FROM marks').all()
      for (const { id } of left) {
        const entry = this.#books.entries.get(id)
        must('a checkpoint is of a request that runs', when === 'quiet' && entry?.state === 'held', () => `${id} (${entry?.state})`)
      }
      const found = this.#ground.differences(db)
      must('verify finds nothing', found.length === 0, () => JSON.stringify(found[0]))
    } finally {
      db.close()
    }
  }

  #auditReceipts(receipts: Map<string, ReceiptRow>, when: 'quiet' | HowEnded, marked: ReadonlySet<string>): void {
    for (const row of receipts.values())
      must('every receipt is of a request', this.#books.entries.get(row.id)?.keyId === row.key, () => row.id)
    for (const entry of this.#books.entries.values()) {
      const row = receipts.get(entry.id)
      const isThere = row !== undefined
      switch (entry.state) {
        case 'charged':
          must('no acknowledged settle is lost', isThere, () => entry.id)
          break
        case 'voided':
          // A process that died before the checkpoint was taken away leaves a row that costs nothing.
          must(
            'what was voided is not charged',
            !isThere || ((marked.has(entry.id) || entry.isFenced) && row?.outcome === 'recovered' && row.cost === 0n),
            () => entry.id,
          )
          if (isThere) entry.state = 'ended'
          break
        case 'held':
          if (when === 'quiet') must('what runs has no receipt', !isThere || isWaivedByFence(entry, row), () => entry.id)
          else {
            const hasCheckpoint = marked.has(entry.id)
            must(
              'what left a checkpoint is waived, what left none leaves no row',
              isThere === hasCheckpoint || isWaivedByFence(entry, row),
              () => `${entry.id} marked: ${hasCheckpoint}`,
            )
            must('nobody pays for our end', row === undefined || (row.cost === 0n && row.outcome === 'recovered'), () => entry.id)
            if (isThere) this.#meet('a request is recovered')
            entry.state = 'ended'
          }
          break
        case 'settling':
          if (isThere && row.outcome !== 'recovered') this.#meet('an answer is swallowed')
          this.#decide(entry, row, isThere)
          break
        case 'indeterminate':
          if (isThere) this.#meet('an error is a receipt after all')
          must(
            'an error is no charge unless a thread died',
            !isThere || this.#deaths > entry.deaths || row?.outcome === 'recovered',
            () => entry.id,
          )
          this.#decide(entry, row, isThere)
          break
        case 'ended':
      }
      entry.isTwice = false
      if (entry.isFenced && entry.state === 'charged' && row !== undefined) this.#auditWaived(entry, row)
      if (entry.state === 'charged') this.#auditCost(entry, row)
    }
  }

  /** What a boot that was fenced had admitted: its client saw its end, and it costs nothing. */
  #auditWaived(entry: Entry, row: ReceiptRow): void {
    must('what a fenced boot admitted is waived', isWaivedByFence(entry, row), () => `${entry.id}: ${row.outcome}, ${row.cost}`)
    this.#meet('a settle is waived')
    entry.costPicos = 0n
    entry.state = 'ended'
  }

  /** A process that died took the answer along: what is on file counts. */
  #decide(entry: Entry, row: ReceiptRow | undefined, isThere: boolean): void {
    if (row?.outcome === 'recovered') must('nobody pays for our end', row.cost === 0n, () => entry.id)
    entry.state = isThere && row?.outcome !== 'recovered' ? 'charged' : 'ended'
  }

  #auditCost(entry: Entry, row: ReceiptRow | undefined): void {
    const usage = this.#usages.get(entry.id)
    const price = usage === undefined ? -1n : this.#costOf(usage, entry.list)
    must(
      'a receipt is exact to the last digit',
      row !== undefined && row.cost === entry.costPicos && row.waived === entry.waivedPicos && row.cost + row.waived === price,
      () => `${entry.id}: ${row?.cost} and ${row?.waived}, not ${entry.costPicos} and ${entry.waivedPicos}`,
    )
  }

  /** Accounts and keys. An act that was indeterminate was done or not: the books take what the file says, where it is one of the two. */
  #auditRows(db: Connection): void {
    for (const act of [...this.#books.acts.values(), ...this.#books.indeterminateActs.values()])
      for (const id of act.accountIds) this.#adopt(db, id)
    this.#books.acts.clear()
    this.#books.indeterminateActs.clear()
    const budgets = Map.groupBy(db.query<BudgetRow, []>(BUDGET_ROWS).all(), ({ id }) => id)
    for (const id of [...this.#books.accounts.keys(), ...this.#books.keys.keys()]) {
      const found = (budgets.get(id) ?? []).map(({ per, by, cap }) => `${per} ${by} ${cap}`).toSorted()
      const own = this.#windows.allOf(id)
      must('budgets are as they were set', found.join() === own.join(), () => `${id}: ${found.join()}, not ${own.join()}`)
    }
    for (const row of db.query<AccountRow, []>(ACCOUNT_ROWS).all()) {
      const account = this.#books.accounts.get(row.id)
      must(
        'credits are what was credited',
        row.credited === account?.creditedPicos,
        () => `${row.id}: ${row.credited}, not ${account?.creditedPicos}`,
      )
      const balance = this.#books.balanceOf(row.id)
      must('a balance is credits less spend', row.balance === balance, () => `${row.id}: ${row.balance}, not ${balance}`)
      must('an account is as it was set', (row.active === 1n) === account?.isActive, () => row.id)
    }
    for (const row of db.query<KeyRow, []>(KEY_ROWS).all()) {
      const key = this.#books.keys.get(row.id)
      const spent = this.#books.spentOf(row.id)
      must('a key’s spend is its receipts', row.spent === spent, () => `${row.id}: ${row.spent}, not ${spent}`)
      const isAsSet =
        row.limit_picos === key?.limitPicos && (row.active === 1n) === key.isActive && Number(row.expires ?? -1n) === (key.expiresAt ?? -1)
      must('a key is as it was set', isAsSet, () => row.id)
    }
  }

  #adopt(db: Connection, accountId: string): void {
    const account = this.#books.accounts.get(accountId)
    const credits = db
      .query<{ amount: bigint }, [string]>(
        'SELECT amount_picos AS amount FROM credits c JOIN accounts a ON a.number = c.account_number WHERE a.id = ?',
      )
      .all(accountId)
    const [row] = db
      .query<AccountRow, []>(ACCOUNT_ROWS)
      .all()
      .filter(({ id }) => id === accountId)
    if (account === undefined || row === undefined) return
    account.creditedPicos = credits.reduce((sum, { amount }) => sum + amount, 0n)
    account.isActive = row.active === 1n
    this.#adoptBudgets(db, [accountId, ...this.#books.keysOf(accountId)])
    for (const { id, limit_picos, active, expires } of db.query<KeyRow, []>(KEY_ROWS).all()) {
      const key = this.#books.keys.get(id)
      if (key?.accountId !== accountId) continue
      Object.assign(key, { limitPicos: limit_picos, isActive: active === 1n, expiresAt: expires === null ? null : Number(expires) })
    }
  }

  #adoptBudgets(db: Connection, ids: readonly string[]): void {
    const rows = db.query<BudgetRow, []>(BUDGET_ROWS).all()
    for (const id of ids)
      for (const per of PERS)
        for (const setBy of SET_BY)
          this.#windows.set(id, per, setBy, rows.find((row) => row.id === id && row.per === per && row.by === setBy)?.cap ?? null)
  }

  #costOf(usage: Usage, list: number): bigint {
    return picosOf(costText(usage, isLong(usage, list) ? LONG : (LISTS[list] as PriceList)))
  }

  #usage(): Usage {
    const upTo = (most: number): number => (this.#random() < 0.2 ? 0 : Math.floor(this.#random() * (most + 1)))
    return {
      input: upTo(WORST.input),
      output: upTo(WORST.output),
      cacheRead: upTo(WORST.cacheRead),
      cacheWrite5m: upTo(WORST.cacheWrite5m),
      cacheWrite1h: upTo(WORST.cacheWrite1h),
      serverToolUses: upTo(WORST.serverToolUses),
    }
  }

  /** Upstream calls that came to nothing before the one that answered. */
  #failedCalls(): readonly Attempt[] {
    const count = this.#random() < 0.6 ? 0 : Math.ceil(this.#random() * 2)
    return Array.from({ length: count }, (_, index) => ({
      number: index + 1,
      upstream: { name: 'other', model: 'vendor-model' },
      status: null,
      cause: 'reset',
      usageSource: 'partial' as const,
      usage: this.#usage(),
      startedAt: this.#time.now(),
      durationMs: 7,
    }))
  }

  /** Of three headers, so that they come again: while they count, and after that. */
  #idempotency(requestId: string): Idempotency {
    const headerHash = new Uint8Array(32).fill(Math.floor(this.#random() * 3))
    const bodyHash = new Bun.CryptoHasher('sha256').update(requestId).digest()
    return { headerHash, bodyHash: new Uint8Array(bodyHash), expiresAt: this.#time.now() + Math.floor(this.#random() * 5_000) }
  }

  #secretHash(): Uint8Array {
    return new Uint8Array(new Bun.CryptoHasher('sha256').update(`secret ${this.#secrets++}`).digest())
  }

  #accountOf(keyId: string): string {
    return this.#books.keys.get(keyId)?.accountId ?? ''
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T
  }

  #pickEntry(...states: readonly Entry['state'][]): Entry | undefined {
    const found = [...this.#books.entries.values()].filter(({ state }) => states.includes(state))
    return found.length === 0 ? undefined : this.#pick(found)
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

type AccountRow = Readonly<{ id: string; credited: bigint; balance: bigint; active: bigint }>
type KeyRow = Readonly<{ id: string; spent: bigint; limit_picos: bigint | null; active: bigint; expires: bigint | null }>
type BudgetRow = Readonly<{ id: string; per: string; by: string; cap: bigint }>
const BUDGET_ROWS = `SELECT coalesce(k.id, a.id) AS id, per, set_by AS by, cap_picos AS cap
  FROM budgets b JOIN accounts a ON a.number = b.account_number LEFT JOIN keys k ON k.number = b.key_number`
const ACCOUNT_ROWS = 'SELECT id, credited_picos AS credited, balance_picos AS balance, is_active AS active FROM accounts'
const KEY_ROWS = 'SELECT id, spent_picos AS spent, limit_picos, is_active AS active, expires_at AS expires FROM keys'

const isWaivedByFence = ({ isFenced }: Entry, row: ReceiptRow | undefined): boolean =>
  isFenced && row?.outcome === 'recovered' && row.cost === 0n
