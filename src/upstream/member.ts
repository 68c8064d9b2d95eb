/** One upstream in the pool with its state: its slots, and for each model its breaker and its pace. Rules: pool.md "Breaker", "Overload". */

import type { Echo } from '../core/native/model-echo.ts'
import { Breaker, type BreakerState } from './breaker.ts'
import { BusyAccounts } from './busy-accounts.ts'
import type { Candidate } from './choice.ts'
import { FairSlots } from './fair-slots.ts'
import { Pace } from './pace.ts'
import type { Stop, Upstream } from './upstream.ts'

export type MemberConfig = Readonly<{
  name: string
  priority: number
  weight: number
  maxConcurrent: number
  /** Whether the upstream counts tokens, or an estimate may answer for it; default 'yes'. */
  countTokens?: 'yes' | 'no' | 'estimate'
  /** What follows where the upstream's answers name another model; default 'any': nothing. */
  echo?: Echo
  /** It gets requests otherwise than the client wrote them; default false. */
  isEdited?: boolean
  /** The paths of what it cuts out of each native body; absent: nothing. */
  droppedPaths?: readonly string[]
  upstream: Upstream
}>

/** By whom, why and since when (Unix milliseconds) an upstream takes no calls. */
export type TakenOut = Readonly<{ by: string; reason: string; at: number }>

/** A call that failed: why, of which model (as the upstream knows it) and when (Unix milliseconds). */
export type CallFailure = Readonly<{ cause: string; model: string; at: number }>

/** An upstream as operators see it. */
export type UpstreamReport = Readonly<{
  name: string
  priority: number
  weight: number
  running: number
  waiting: number
  /** Null where it was not taken out. */
  out: TakenOut | null
  /** Null where none of its calls has failed. */
  lastFailure: CallFailure | null
  /** The models that the upstream was asked for, or could have been. */
  models: readonly UpstreamModelReport[]
}>

/**
 * `probeInMs`: until a call may go to the upstream again; null where it may now. `firstEventMs`: the recent time to the first event; 0 where it is unknown. `share`:
 * the used part of its weight, less than 1 while it is slow.
 */
export type UpstreamModelReport = Readonly<{
  model: string
  breaker: BreakerState
  probeInMs: number | null
  firstEventMs: number
  share: number
}>

/** The state of one upstream for one model. */
export type UpstreamModel = Readonly<{ id: string; breaker: Breaker; busy: BusyAccounts; pace: Pace }> & {
  /** Connecting has timed out. Even where there is no other upstream, no request waits for it again until a probe has succeeded. */
  isSilent: boolean
  /** The call that tries the upstream while all are out. */
  trial: Trial | undefined
}

/** `untilMs`: a call that says nothing by then no longer keeps others from trying. */
type Trial = Readonly<{ by: Stop; untilMs: number }>

/** Only models of the catalogue are asked for, but every reload may bring others. */
const MODELS_MAX = 1_000

export class Member {
  config: MemberConfig
  /** Set while an operator has taken the upstream out: running calls end, none begins. */
  out: TakenOut | undefined
  lastFailure: CallFailure | undefined
  /** Unix milliseconds; counts of tokens are left out. */
  lastAnswerAt: number | undefined
  readonly turns = new FairSlots(() => this.config.maxConcurrent)
  readonly #models = new Map<string, UpstreamModel>()
  readonly #random: () => number

  constructor(config: MemberConfig, random: () => number) {
    this.config = config
    this.#random = random
  }

  get name(): string {
    return this.config.name
  }

  get isOut(): boolean {
    return this.out !== undefined
  }

  model(id: string): UpstreamModel {
    const known = this.#models.get(id)
    if (known !== undefined) return known
    if (this.#models.size >= MODELS_MAX) this.#models.clear()
    const model: UpstreamModel = {
      id,
      breaker: new Breaker(this.#random),
      busy: new BusyAccounts(),
      pace: new Pace(),
      isSilent: false,
      trial: undefined,
    }
    this.#models.set(id, model)
    return model
  }

  models(): readonly UpstreamModel[] {
    return [...this.#models.values()]
  }

  /** The worst state among its models. */
  state(now: number): BreakerState {
    const states = this.models().map(({ breaker }) => breaker.state(now))
    return states.find((state) => state === 'open') ?? states.find((state) => state === 'half-open') ?? 'closed'
  }

  report(now: number): UpstreamReport {
    const { name, priority, weight } = this.config
    const { running, waiting } = this.turns
    const [out, lastFailure] = [this.out ?? null, this.lastFailure ?? null]
    return { name, priority, weight, running, waiting, out, lastFailure, models: this.models().map((model) => reportOf(model, now)) }
  }
}

function reportOf({ id, breaker, pace }: UpstreamModel, now: number): UpstreamModelReport {
  const until = breaker.outUntil(now)
  const probeInMs = until === undefined ? null : Math.max(0, Math.round(until - now))
  return { model: id, breaker: breaker.state(now), probeInMs, firstEventMs: Math.round(pace.firstEventMs), share: pace.share() }
}

/** An upstream as a candidate for calls of one model. It is made once; the figures for a choice are read when a call chooses. */
export class Endpoint implements Candidate {
  readonly member: Member
  readonly #modelId: string
  /** The model's manner of chat in which requests are sent to it; undefined: it takes native requests. */
  readonly dialect: number | undefined

  /** `modelId`: the model's id at the upstream. */
  constructor(member: Member, modelId: string, dialect?: number) {
    this.member = member
    this.#modelId = modelId
    this.dialect = dialect
  }

  get model(): UpstreamModel {
    return this.member.model(this.#modelId)
  }

  get name(): string {
    return this.member.name
  }

  get priority(): number {
    return this.member.config.priority
  }

  get weight(): number {
    return this.member.config.weight * this.model.pace.share()
  }

  get inFlight(): number {
    return this.member.turns.running
  }

  get firstEventMs(): number {
    return this.model.pace.firstEventMs
  }

  /** In chat nothing is as it was. */
  get isEdited(): boolean {
    return this.dialect !== undefined || this.member.config.isEdited === true
  }

  get isSlow(): boolean {
    return this.model.pace.share() < 1
  }
}
