/**
 * The rates of plans and keys that several processes share: each request is asked about, corrections are sent together, and while there is no answer this process lets in its part.
 * Rules: keys.md "Rates over nodes"; nodes.md "Silence".
 */

import { type Amounts, NO_AMOUNTS, type RateLimits } from '../core/token-buckets.ts'
import { CountedRates } from '../ledger/counted-rates.ts'
import type { RateAnswer, RateAsk, RateOwner, SharedRates } from '../ledger/shared-rates.ts'
import { askingOf, type CountedOwner, type RateStore } from './rate-gate.ts'

type RatesElsewhereOptions = Readonly<{
  shared: SharedRates
  /** Milliseconds that never jump. */
  now: () => number
}>

type Unsent = Readonly<{ owner: CountedOwner; amounts: Amounts }>

/** Others may have given something back meanwhile. */
const TRUSTED_MS = 1_000
/** After a question without an answer, none is asked for this long. */
const PAUSE_MS = 50
/** What could not be sent is sent again after this long. */
const AGAIN_MS = 1_000

export class RatesElsewhere implements RateStore {
  readonly trustedMs = TRUSTED_MS
  readonly #options: RatesElsewhereOptions
  readonly #alone: CountedRates
  /** By the owner's name: what is to be said of the owners of requests that ended. */
  #unsent = new Map<string, Unsent>()
  /** What was sent last and is not known to be heard. */
  #sent: readonly Unsent[] = []
  #lastNumber = 0
  #sending: ReturnType<typeof setTimeout> | undefined
  #nodes = 1
  #aloneUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: RatesElsewhereOptions) {
    this.#options = options
    this.#alone = new CountedRates(options.now)
  }

  async take(owners: readonly CountedOwner[], asked: Omit<RateAsk, 'owners'>): Promise<RateAnswer> {
    const asking = owners.map(askingOf)
    const answer = this.#isAlone() ? 'unavailable' : await this.#options.shared.take({ ...asked, owners: asking })
    if (answer === 'unavailable') {
      if (!this.#isAlone()) this.#aloneUntilMs = this.#options.now() + PAUSE_MS
      return this.#alone.take(0, { ...asked, owners: asking.map((owner) => this.#partOf(owner)) })
    }
    this.#nodes = answer.nodes
    // What was asked at the same time counted this request as one that runs, so how many do is said once more.
    if (!answer.isAdmitted && asked.slots > 0) for (const owner of owners) this.#say(owner, NO_AMOUNTS)
    return answer
  }

  correct(owner: CountedOwner, amounts: Amounts): void {
    if (this.#isAlone()) this.#alone.correct(0, [{ owner: this.#partOf(askingOf(owner)), amounts }])
    this.#say(owner, amounts)
  }

  #isAlone(): boolean {
    return this.#options.now() < this.#aloneUntilMs
  }

  #partOf(owner: RateOwner): RateOwner {
    const part = (whole: number | null): number | null => (whole === null ? null : Math.max(1, Math.floor(whole / this.#nodes)))
    const { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrentRequests } = owner.limits
    const limits: RateLimits = {
      requestsPerMinute: part(requestsPerMinute),
      inputTokensPerMinute: part(inputTokensPerMinute),
      outputTokensPerMinute: part(outputTokensPerMinute),
      concurrentRequests: part(concurrentRequests),
    }
    return { ...owner, limits }
  }

  #say(owner: CountedOwner, amounts: Amounts): void {
    this.#keep({ owner, amounts })
    this.#sending ??= this.#sendAfter(0)
  }

  #keep({ owner, amounts }: Unsent): void {
    const { requests, input, output } = this.#unsent.get(owner.name)?.amounts ?? NO_AMOUNTS
    const sum = { requests: requests + amounts.requests, input: input + amounts.input, output: output + amounts.output }
    this.#unsent.set(owner.name, { owner, amounts: sum })
  }

  #sendAfter(ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => this.#send().catch(() => undefined), ms)
    timer.unref()
    return timer
  }

  async #send(): Promise<void> {
    if (this.#sent.length === 0) {
      this.#sent = [...this.#unsent.values()]
      this.#unsent = new Map()
      this.#lastNumber++
    }
    let isDone = false
    try {
      // How many run is counted now, because the last word is the one that holds.
      const corrections = this.#sent.map(({ owner, amounts }) => ({ owner: askingOf(owner), amounts }))
      isDone = (await this.#options.shared.correct(corrections, this.#lastNumber)) === 'done'
    } finally {
      if (isDone) this.#sent = []
      this.#sending = this.#sent.length + this.#unsent.size === 0 ? undefined : this.#sendAfter(isDone ? 0 : AGAIN_MS)
    }
  }
}
