/**
 * The requests that wait until the ledger grants leases of one account. At most one ask of the account is under way, for the first waiting request of each key; its
 * answer holds for all requests that waited when the ask was sent. Grants go to a key's requests in the order in which those came. Rules: ledger.md "Leases".
 */

import type { LeaseAnswer, LeaseAsk } from '../lease-move.ts'
import type { HoldAnswer, HoldRequest } from '../ledger.ts'
import type { Wallets } from './wallets.ts'
import type { Writer } from './writer.ts'

/** The longest wait of a request. Other nodes give back their idle leases within this time. */
const WANTED_MS_MAX = 100
const FIRST_PAUSE_MS = 5
const PAUSE_MS_MAX = 25
/** The most keys of one ask: each key is a row of the statement, and all accounts wait until the statement is done. */
const KEYS_PER_ASK = 16

/** `number`: the request's place in the order of arrival. */
type Waiting = Readonly<{ number: number; request: HoldRequest; untilMs: number; tell: (answer: HoldAnswer) => void }>

/** How long the ledger is not asked again: other nodes were asked for their idle leases, and need until `untilMs` to give them back. */
type Pause = { ms: number; untilMs: number }
type KeyLine = Readonly<{ keyId: string; waiting: Waiting[]; pause: Pause }>
type Asked = Readonly<{ line: KeyLine; ask: LeaseAsk }>

type LeaseLineOptions = Readonly<{
  wallets: Wallets
  writer: Pick<Writer, 'ask'>
  onHeld: () => void
  /** Called when an ask for the key was answered, and before the next ask is sent. */
  onAnswered: (keyId: string) => void
  /** Called when no request waits any more. */
  onEmpty: () => void
  onBug: (bug: unknown) => void
}>

export class LeaseLine {
  readonly #options: LeaseLineOptions
  /** Lines by key id, in the order in which it is their turn. */
  readonly #keys = new Map<string, KeyLine>()
  readonly #pause = noPause()
  #lastNumber = 0
  #isAsking = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: LeaseLineOptions) {
    this.#options = options
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId)
  }

  join(request: HoldRequest): Promise<HoldAnswer> {
    const { keyId } = request
    const { promise, resolve: tell } = Promise.withResolvers<HoldAnswer>()
    const line = this.#keys.get(keyId) ?? { keyId, waiting: [], pause: noPause() }
    this.#keys.set(keyId, line)
    line.waiting.push({ number: ++this.#lastNumber, request, untilMs: performance.now() + WANTED_MS_MAX, tell })
    this.#askNext()
    return promise
  }

  #askNext(): void {
    if (this.#isAsking) return
    const asked = this.#pause.untilMs > performance.now() ? [] : this.#takeDue()
    if (asked.length === 0) {
      this.#waitForDue()
      return
    }
    this.#isAsking = true
    this.#ask(asked).catch((bug: unknown) => {
      this.#options.onBug(bug)
      this.#refuse(this.#keys.values(), 'unavailable', this.#lastNumber)
      this.#isAsking = false
      this.#askNext()
    })
  }

  #takeDue(): readonly Asked[] {
    const nowMs = performance.now()
    const asked: Asked[] = []
    for (const line of [...this.#keys.values()]) {
      if (line.pause.untilMs > nowMs) continue
      const ask = this.#serve(line, (request) => this.#options.wallets.holdLeased(request, nowMs))
      if (ask === undefined) continue
      asked.push({ line, ask })
      if (asked.length === KEYS_PER_ASK) break
    }
    // The asked keys go to the end, so that the keys that did not fit into this ask are next.
    for (const { line } of asked) {
      this.#keys.delete(line.keyId)
      this.#keys.set(line.keyId, line)
    }
    return asked
  }

  async #ask(asked: readonly Asked[]): Promise<void> {
    const { writer, wallets, onAnswered } = this.#options
    const last = this.#lastNumber
    const answers = await Promise.all(asked.map(({ ask }) => writer.ask({ kind: 'ask', ask })))
    this.#isAsking = false
    const heard = asked.map(({ line }, index) => ({ line, answer: answers[index] ?? ('unavailable' as const) }))
    // Grants come first: the refusal of another key must not refuse the requests that were granted.
    for (const { line, answer } of heard) {
      if (answer === 'unavailable' || answer.verdict !== 'granted') continue
      for (const pause of [this.#pause, line.pause]) Object.assign(pause, noPause())
      this.#serve(line, (request) => wallets.holdCovered(request, performance.now()))
    }
    const inTheWay = new Set(heard.map(({ line, answer }) => this.#hearRefusal(line, answer, last)))
    for (const pause of inTheWay) if (pause !== undefined) this.#lengthen(pause)
    for (const { line } of heard) onAnswered(line.keyId)
    this.#askNext()
  }

  /** Returns the pause of the requests that wait for other nodes. */
  #hearRefusal(line: KeyLine, answer: LeaseAnswer | 'unavailable', last: number): Pause | undefined {
    if (answer === 'unavailable') {
      this.#refuse([line], answer, last)
      return undefined
    }
    const isOfAccount = answer.refusedBy === 'account'
    switch (answer.verdict) {
      case 'wanted':
        return isOfAccount ? this.#pause : line.pause
      case 'exhausted':
        this.#refuse(isOfAccount ? this.#keys.values() : [line], answer.used ?? answer.verdict, last)
        return undefined
      case 'reserved':
      case 'disabled':
        this.#refuse(isOfAccount ? this.#keys.values() : [line], answer.verdict, last)
        return undefined
      case 'granted':
      case 'released':
        return undefined
    }
  }

  /** Answers the requests that are covered, in their order, up to the first that is not. Returns what to ask for that one, if `hold` asks. */
  #serve(
    line: KeyLine,
    hold: (request: HoldRequest) => Extract<HoldAnswer, string> | 'unknown' | 'uncovered' | LeaseAsk,
  ): LeaseAsk | undefined {
    for (let first = line.waiting[0]; first !== undefined; first = line.waiting[0]) {
      const answer = hold(first.request)
      if (typeof answer === 'object') return answer
      if (answer === 'uncovered') return undefined
      line.waiting.shift()
      first.tell(answer === 'unknown' ? 'unavailable' : answer)
      if (answer === 'held') this.#options.onHeld()
    }
    this.#leaveIfEmpty(line)
    return undefined
  }

  /** Gives `answer` to all requests of these lines up to the number `last`. */
  #refuse(lines: Iterable<KeyLine>, answer: HoldAnswer, last: number): void {
    for (const line of [...lines]) {
      while (line.waiting[0] !== undefined && line.waiting[0].number <= last) line.waiting.shift()?.tell(answer)
      this.#leaveIfEmpty(line)
    }
  }

  /** Begins the next, longer pause. A request that cannot wait until its end is answered now. */
  #lengthen(pause: Pause): void {
    pause.untilMs = performance.now() + pause.ms
    pause.ms = Math.min(2 * pause.ms, PAUSE_MS_MAX)
    for (const line of [...this.#keys.values()]) {
      if (pause !== this.#pause && pause !== line.pause) continue
      while (line.waiting[0] !== undefined && line.waiting[0].untilMs < pause.untilMs) line.waiting.shift()?.tell('reserved')
      this.#leaveIfEmpty(line)
    }
  }

  #waitForDue(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#keys.size === 0) {
      this.#options.onEmpty()
      return
    }
    const dueMs = Math.min(...[...this.#keys.values()].map(({ pause }) => pause.untilMs))
    const leftMs = Math.max(this.#pause.untilMs, dueMs) - performance.now()
    this.#timer = setTimeout(() => this.#askNext(), Math.max(leftMs, 0))
  }

  #leaveIfEmpty({ keyId, waiting }: KeyLine): void {
    if (waiting.length === 0) this.#keys.delete(keyId)
  }
}

const noPause = (): Pause => ({ ms: FIRST_PAUSE_MS, untilMs: 0 })
