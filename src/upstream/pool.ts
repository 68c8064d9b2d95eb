/**
 * The configured upstreams as one: a call goes to the one that fits it best, and to the next as long as nothing of an answer has gone to the client.
 * Rules: pool.md "Choice", "Failover", "Retry budget".
 */

import type { Model } from '../core/catalog.ts'
import type { Usage } from '../core/usage.ts'
import type { Wheel } from '../core/wheel.ts'
import type { BreakerState, Trouble } from './breaker.ts'
import { RetryBudgets } from './budget.ts'
import { inOrder } from './choice.ts'
import { type Affinity, Conversations } from './conversations.ts'
import { busyFault, connectionFault } from './fault.ts'
import { Member, type MemberConfig, Spot, type TakenOut, type UpstreamReport } from './member.ts'
import { forModel } from './native-request.ts'
import type { Fault, Reply, Stop, UpstreamRequest } from './upstream.ts'
import { rest, waitForTurn } from './waiting.ts'

/** One native call as the relay asks for it, to whichever upstream. */
export type PoolRequest = UpstreamRequest &
  Readonly<{
    accountId: string
    /** The hash by which a conversation keeps its upstream; absent where nothing is cached. */
    conversation?: Uint8Array
    /** Where the JSON string that names the model begins in the body. */
    modelAt: number
  }>

/** Judges a reply before anything of it goes to the client: what is made of it, or why it is none. `model`: as this upstream knows it. Never rejects. */
export type Take<T> = (reply: Reply, model: Model) => Promise<T | Fault>

/** Hears of each call of a request while it is made: it may be given up at any moment. */
export interface CallLog {
  began(call: BegunCall): void
  failed(call: FailedCall): void
  /** The call that began last is answered with a 200, and may cost money from here on. `requestId`: the upstream's own. */
  replied(requestId: string | undefined): void
  /** Before its answer is taken: another upstream has the conversation's prompt in its cache. */
  moved(): void
  /** Its answer is taken. `broke` is to be called if it breaks off, or falls silent. */
  answered(broke: () => void): void
}

export type BegunCall = Readonly<{
  upstream: string
  /** The id under which the upstream knows the model. */
  model: string
  /** Unix milliseconds. */
  startedAt: number
}>

export type FailedCall = BegunCall &
  Readonly<{
    requestId?: string
    /** Null where no answer came. */
    status: number | null
    cause: string
    /** As the upstream told it; absent where it did not. */
    usage?: Usage
    durationMs: number
    /** Something of the request had left; what was refused before cost nobody anything. */
    wasSent: boolean
  }>

export type CallOptions<T> = Readonly<{
  stop: Stop
  take: Take<T>
  log: CallLog
  /** False: what runs may end, but nothing else is tried. Default always true. */
  isWanted?: () => boolean
  onErrorHead?: () => void
}>

/** For the metrics. */
type PoolEvents = Readonly<{
  /** A call ended, or its answer began: 'answered', or the fault's cause. */
  called(upstream: string, result: string): void
  /** A request was sent on to another upstream; 'budget spent' where that was not allowed. */
  retried(how: 'retried' | 'budget spent'): void
  /** A conversation was answered, by the upstream that has it in its cache or by another. */
  placed(affinity: Affinity): void
  /** A breaker has changed. */
  changed(upstream: string, model: string, state: BreakerState): void
}>

export type PoolOptions = Readonly<{
  wheel: Wheel
  now: () => number
  monotonicMs: () => number
  random: () => number
  events: PoolEvents
}>

/** How long a request waits for a slot: less than a stream's status waits, so that a refusal still is one. */
const TURN_MS = 800
const BACKOFF_FIRST_MS = 25
const BACKOFF_MS_MAX = 1_000

export class UpstreamPool {
  readonly #options: PoolOptions
  readonly #budgets: RetryBudgets
  readonly #conversations = new Conversations()
  #members: ReadonlyMap<string, Member> = new Map()
  /** Of each model that was asked for since the configuration came. */
  readonly #spotsOf = new Map<Model, readonly Spot[]>()

  constructor(options: PoolOptions) {
    this.#options = options
    this.#budgets = new RetryBudgets(options.monotonicMs())
  }

  /** Those of the configuration, in its order. One that was there keeps what is known of it. */
  configure(configs: readonly MemberConfig[]): void {
    this.#members = new Map(
      configs.map((config) => {
        const member = this.#members.get(config.name) ?? new Member(config, this.#options.random)
        member.config = config
        return [config.name, member]
      }),
    )
    this.#spotsOf.clear()
  }

  members(): readonly Member[] {
    return [...this.#members.values()]
  }

  reports(): readonly UpstreamReport[] {
    return this.members().map((member) => member.report(this.#options.monotonicMs()))
  }

  /** Until it is put back, or the process ends: calls that run go on, none begins. An unknown name changes nothing. */
  takeOut(name: string, out: TakenOut): void {
    const member = this.#members.get(name)
    if (member !== undefined) member.out = out
  }

  putBack(name: string): void {
    const member = this.#members.get(name)
    if (member !== undefined) member.out = undefined
  }

  /** Undefined: nothing of it is cached. */
  #place({ conversation, model }: PoolRequest, member: Member): Affinity | undefined {
    if (conversation === undefined) return undefined
    const affinity = this.#conversations.answered(conversation, model.id, member.name, this.#options.monotonicMs())
    this.#options.events.placed(affinity)
    return affinity
  }

  /** What was taken of the answer; a fault where none of the upstreams that were asked gave one. Never rejects by what an upstream does. */
  async call<T extends object>(request: PoolRequest, options: CallOptions<T>): Promise<T | Fault> {
    this.#budgets.earn(request.accountId, this.#options.monotonicMs())
    const { stop } = options
    const all = this.#spots(request.model)
    const tried: Member[] = []
    for (;;) {
      const entered = this.#enter(request, all, tried, stop)
      const spot = entered instanceof Promise ? await entered : entered
      if (!(spot instanceof Spot)) return spot
      tried.push(spot.member)
      const isLast = tried.length === all.length
      const made = await this.#attempt(request, spot, options, isLast)
      if (!isFault(made) || made.trouble === undefined || stop.isStopped || isLast) return made
      if (options.isWanted?.() === false) return made
      const refused = await this.#mayRetry(wasSent(made) ? request.accountId : undefined, tried.length, stop)
      if (refused !== undefined) return refused
    }
  }

  #spots(model: Model): readonly Spot[] {
    const known = this.#spotsOf.get(model)
    if (known !== undefined) return known
    const named = model.upstreams.length > 0 ? model.upstreams : this.members().map(({ name }) => ({ name, model: model.upstreamModel }))
    const spots = named.flatMap(({ name, model: id }) => {
      const member = this.#members.get(name)
      return member === undefined ? [] : [new Spot(member, id)]
    })
    this.#spotsOf.set(model, spots)
    return spots
  }

  /** The best upstream that is left, with a slot on it; a fault where there is none. At once where nothing has to be waited for. */
  #enter(request: PoolRequest, all: readonly Spot[], tried: readonly Member[], stop: Stop): Spot | Fault | Promise<Spot | Fault> {
    if (all.length === 0) return connectionFault(request.model.upstreams[0]?.name ?? 'none', 'not configured')
    const now = this.#options.monotonicMs()
    const open = this.#open(all, tried, now)
    if (open.length === 0) return this.#noneLeft(all, now)
    const order = inOrder(open, request.conversation, this.#options.random)
    for (const spot of order) {
      if (!spot.member.turns.enter(request.accountId)) continue
      // In the same step as the look at the breaker: two at once must not both be its probe.
      spot.line.breaker.begin(now)
      return spot
    }
    const [first] = order
    return first === undefined ? this.#noneLeft(all, now) : this.#wait(first, request, all, tried, stop)
  }

  /** For a slot on the upstream that fits best. */
  async #wait(first: Spot, request: PoolRequest, all: readonly Spot[], tried: readonly Member[], stop: Stop): Promise<Spot | Fault> {
    const { turns } = first.member
    const untilMs = this.#options.monotonicMs() + TURN_MS
    const mayRun = await waitForTurn(turns, request.accountId, this.#options.wheel, untilMs, stop)
    if (mayRun && first.member.isOut) {
      // Taken out while the request waited for its turn.
      turns.leave(request.accountId)
      return await this.#enter(request, all, tried, stop)
    }
    if (mayRun) {
      first.line.breaker.begin(this.#options.monotonicMs())
      return first
    }
    return stop.isStopped ? connectionFault(first.name, 'aborted') : busyFault(first.name, 'max concurrent')
  }

  /** Where all are out by what they answered, one is asked all the same: one customer's requests must not take a model from all. */
  #open(all: readonly Spot[], tried: readonly Member[], now: number): readonly Spot[] {
    const isOpen = (spot: Spot): boolean => !tried.includes(spot.member) && this.#outUntil(spot, all, now) === undefined
    if (all.every(isOpen)) return all
    const open = all.filter(isOpen)
    if (open.length > 0 || tried.length > 0) return open
    return all.filter(({ member, line }) => !member.isOut && line.breaker.isOutByAnswers)
  }

  /** Undefined: it may be called. The only upstream of a model is called whatever its breaker says, unless its address is silent: there is no better one. */
  #outUntil({ member, line }: Spot, all: readonly Spot[], now: number): number | undefined {
    if (member.isOut) return Number.POSITIVE_INFINITY
    return all.length === 1 && !line.isSilent ? undefined : line.breaker.outUntil(now)
  }

  #noneLeft(all: readonly Spot[], now: number): Fault {
    const soonest = Math.min(...all.map((spot) => this.#outUntil(spot, all, now) ?? now))
    const only = all.length === 1 ? all[0] : undefined
    if (only?.line.isSilent === true && !only.member.isOut) return connectionFault(only.name, 'connect timeout')
    return busyFault(all[0]?.name ?? 'none', 'all out', Number.isFinite(soonest) ? (soonest - now) / 1_000 : undefined)
  }

  async #attempt<T extends object>(
    request: PoolRequest,
    spot: Spot,
    { stop, take, log, onErrorHead }: CallOptions<T>,
    isLast: boolean,
  ): Promise<T | Fault> {
    const { member, line } = spot
    const { monotonicMs, now, events } = this.#options
    const startedMs = monotonicMs()
    const begun = { upstream: member.name, model: line.model, startedAt: now() }
    log.began(begun)
    const asked = forModel(request, line.model)
    const onOver = leaving(member, request.accountId)
    // What may still be answered elsewhere is no error yet.
    const reply = await member.config.upstream.call(
      asked,
      stop,
      onErrorHead === undefined || !isLast ? { onOver } : { onErrorHead, onOver },
    )
    if (reply.isSecondTry === true) {
      events.called(member.name, 'stale')
      log.failed({ ...begun, status: null, cause: 'stale', durationMs: monotonicMs() - startedMs, wasSent: true })
      log.began(begun)
    }
    if (reply.kind === 'reply') log.replied(reply.requestId)
    const taken = reply.kind === 'fault' ? reply : await take(reply, asked.model)
    const tookMs = monotonicMs() - startedMs
    if (!isFault(taken)) {
      if (this.#place(request, member) === 'moved') log.moved()
      if (isCount(request)) line.breaker.abandoned()
      else this.#told(spot, (at) => line.breaker.succeeded(at, startedMs))
      line.isSilent = false
      // An answer in one piece takes as long as it is.
      if (reply.kind === 'reply' && reply.isEventStream) line.pace.began(tookMs)
      events.called(member.name, 'answered')
      log.answered(this.#breaking(spot, startedMs))
      return taken
    }
    if (isCount(request) && taken.trouble?.kind !== 'dead') line.breaker.abandoned()
    else this.#judge(spot, taken, stop, startedMs)
    events.called(member.name, taken.cause)
    // What the client got wrong, or left, says nothing of the upstream.
    if (stop.isOverdue || (taken.trouble !== undefined && !stop.isStopped))
      member.lastFailure = { cause: taken.cause, model: line.model, at: now() }
    log.failed({
      ...begun,
      ...(reply.requestId === undefined ? {} : { requestId: reply.requestId }),
      status: reply.kind === 'reply' ? 200 : (taken.status ?? null),
      cause: taken.cause,
      ...(taken.usage === undefined ? {} : { usage: taken.usage }),
      durationMs: tookMs,
      wasSent: reply.kind === 'reply' || wasSent(taken),
    })
    return taken
  }

  /** Apart, as `leaving` is: made where the call is made it would hold the request's body for as long as its answer comes. */
  #breaking(spot: Spot, startedMs: number): () => void {
    return () => this.#told(spot, (at) => spot.line.breaker.failed(at, { kind: 'broken' }, startedMs))
  }

  #judge(spot: Spot, { trouble, cause }: Fault, stop: Stop, startedMs: number): void {
    const { line } = spot
    // Who says nothing until the request's time is over has failed it, though it was we who ended the call.
    const told: Trouble | undefined = stop.isOverdue ? { kind: 'broken' } : stop.isStopped ? undefined : trouble
    if (told === undefined) line.breaker.abandoned()
    else {
      line.isSilent = cause === 'connect timeout'
      this.#told(spot, (at) => line.breaker.failed(at, told, startedMs))
    }
  }

  #told({ member, line }: Spot, tell: (now: number) => void): void {
    const now = this.#options.monotonicMs()
    const before = line.breaker.state(now)
    tell(now)
    const after = line.breaker.state(now)
    if (after !== before) this.#options.events.changed(member.name, line.model, after)
  }

  /** Waits a little, so that those who failed together do not come back together; what was never sent is on nobody's account and waits for nothing. */
  async #mayRetry(accountId: string | undefined, failures: number, stop: Stop): Promise<Fault | undefined> {
    const { random, wheel, monotonicMs, events } = this.#options
    if (accountId !== undefined && !this.#budgets.take(accountId, monotonicMs())) {
      events.retried('budget spent')
      return busyFault('none', 'retry budget')
    }
    events.retried('retried')
    if (accountId !== undefined)
      await rest(wheel, monotonicMs() + random() * Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** failures), stop)
    return stop.isStopped ? connectionFault('none', 'aborted') : undefined
  }
}

const leaving =
  ({ turns }: Member, accountId: string) =>
  (): void =>
    turns.leave(accountId)

/** Of what never reached the upstream nothing can have been paid for. */
const wasSent = ({ status, trouble, cause }: Fault): boolean => status !== undefined || trouble?.kind === 'broken' || cause === 'aborted'

/** It costs its customer nothing, and not every upstream can: how it ends says nothing of answers. */
const isCount = ({ path }: PoolRequest): boolean => path === '/v1/messages/count_tokens'

const isFault = (value: object): value is Fault => 'kind' in value && value.kind === 'fault'
