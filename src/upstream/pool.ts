/**
 * The configured upstreams as one: a call goes to the best one, and to the next as long as no byte of an answer has gone to the client. Rules: pool.md
 * "Choice", "Failover", "Retry budget".
 */

import type { Model, UpstreamModel } from '../core/catalog.ts'
import { pathsKey } from '../core/native/body-notes.ts'
import { Attempts, isCount, wasSent } from './attempts.ts'
import { isUnfit } from './bound-thinking.ts'
import { RetryBudgets } from './budget.ts'
import { Conversations } from './conversations.ts'
import { Entrance } from './entrance.ts'
import { busyFault, connectionFault, uncountedFault } from './fault.ts'
import { Endpoint, Member, type MemberConfig, type TakenOut, type UpstreamReport } from './member.ts'
import type { PoolOptions } from './pool-options.ts'
import type { CallOptions, PoolRequest } from './pool-request.ts'
import { type Fault, isFault, type Stop } from './upstream.ts'
import { sleep } from './waiting.ts'

const BACKOFF_FIRST_MS = 25
const BACKOFF_MS_MAX = 1_000

/** The endpoints that can be sent the request: a model may have upstreams of both kinds. */
function serving({ model, body, chat }: PoolRequest, known: readonly Endpoint[]): readonly Endpoint[] {
  if (model.chat.length === 0) return known
  return known.filter(({ dialect }) => (dialect === undefined ? body.length > 0 : chat !== undefined))
}

export class UpstreamPool {
  readonly #options: PoolOptions
  readonly #budgets: RetryBudgets
  readonly #entrance: Entrance
  readonly #attempts: Attempts
  readonly #conversations = new Conversations()
  #members: ReadonlyMap<string, Member> = new Map()
  /** The endpoints of each model that was asked for since the last reload. */
  readonly #endpointsOf = new Map<Model, readonly Endpoint[]>()

  constructor(options: PoolOptions) {
    this.#options = options
    this.#budgets = new RetryBudgets(options.monotonicMs())
    this.#entrance = new Entrance(options, this.#conversations)
    this.#attempts = new Attempts(options, this.#conversations)
  }

  /** Sets the configured upstreams, in their order. An upstream that stays over a reload keeps its state. */
  configure(configs: readonly MemberConfig[]): void {
    this.#members = new Map(
      configs.map((config) => {
        const member = this.#members.get(config.name) ?? new Member(config, this.#options.random)
        member.config = config
        return [config.name, member]
      }),
    )
    this.#endpointsOf.clear()
  }

  members(): readonly Member[] {
    return [...this.#members.values()]
  }

  reports(): readonly UpstreamReport[] {
    return this.members().map((member) => member.report(this.#options.monotonicMs()))
  }

  /** Takes an upstream out until it is put back, or the process ends: running calls go on, none begins. An unknown name changes nothing. */
  takeOut(name: string, out: TakenOut): void {
    const member = this.#members.get(name)
    if (member !== undefined) member.out = out
  }

  putBack(name: string): void {
    const member = this.#members.get(name)
    if (member !== undefined) member.out = undefined
  }

  /** Resolves with what `take` made of the answer; with a fault where no upstream gave one. Never rejects by what an upstream does. */
  call<T extends object>(request: PoolRequest, options: CallOptions<T>): Promise<T | Fault> {
    this.#budgets.earn(request.accountId, this.#options.monotonicMs())
    const known = this.#endpoints(request.model)
    if (isCount(request) && known.length > 0) return this.#count(request, options, known)
    return this.#ask(request, options, serving(request, known))
  }

  /** The paths of what the upstreams of a model cut out of native bodies, one list for all that cut the same. */
  droppedPaths(model: Model): readonly (readonly string[])[] {
    const lists = this.#endpoints(model).flatMap(({ member, dialect }) => (dialect === undefined ? [member.config.droppedPaths ?? []] : []))
    return [...new Map(lists.filter((paths) => paths.length > 0).map((paths) => [pathsKey(paths), paths])).values()]
  }

  /** Asks only the upstreams that count. Where they do not answer, an estimate may stand in, if the configuration allows it for one of the model's upstreams. */
  async #count<T extends object>(request: PoolRequest, options: CallOptions<T>, known: readonly Endpoint[]): Promise<T | Fault> {
    const counting = known.filter(({ member, dialect }) => dialect === undefined && (member.config.countTokens ?? 'yes') === 'yes')
    const [first] = known
    const made = counting.length > 0 ? await this.#ask(request, options, counting) : uncountedFault(first?.name ?? 'none')
    const isAnswered =
      !isFault(made) || (made.trouble === undefined && made.refusal.name !== 'notFound' && made.refusal.name !== 'upstreamBusy')
    return isAnswered || !known.some(({ member }) => member.config.countTokens === 'estimate') ? made : { ...made, mayEstimate: true }
  }

  async #ask<T extends object>(request: PoolRequest, options: CallOptions<T>, all: readonly Endpoint[]): Promise<T | Fault> {
    const { stop } = options
    const tried: Member[] = []
    let refusal: Fault | undefined
    for (;;) {
      const entered = this.#entrance.enter(request, all, tried, stop)
      const endpoint = entered instanceof Promise ? await entered : entered
      if (!(endpoint instanceof Endpoint)) return refusal ?? endpoint
      tried.push(endpoint.member)
      const isLast = tried.length === all.length
      const made = await this.#attempts.make(request, endpoint, options, isLast)
      if (!isFault(made) || stop.isStopped || isLast) return made
      refusal = isUnfit(request, made, endpoint.name, this.#warm(request)) ? made : undefined
      if (made.trouble === undefined && refusal === undefined) return made
      if (options.isWanted?.() === false) return made
      const refused = await this.#mayRetry(
        wasSent(made) ? { accountId: request.accountId, upstream: endpoint.name } : undefined,
        tried.length,
        stop,
      )
      if (refused !== undefined) return refusal ?? refused
    }
  }

  #warm({ conversation, model }: PoolRequest): string | undefined {
    return conversation && this.#conversations.warm(conversation, model.id, this.#options.monotonicMs())
  }

  #endpoints(model: Model): readonly Endpoint[] {
    const known = this.#endpointsOf.get(model)
    if (known !== undefined) return known
    const named: readonly UpstreamModel[] =
      model.upstreams.length > 0 ? model.upstreams : this.members().map(({ name }) => ({ name, model: model.upstreamModel }))
    const endpoints = named.flatMap(({ name, model: id, dialect }) => {
      const member = this.#members.get(name)
      return member === undefined ? [] : [new Endpoint(member, id, dialect)]
    })
    this.#endpointsOf.set(model, endpoints)
    return endpoints
  }

  /** Waits a little, so that requests that failed together do not come back together; a call that was never sent does not wait. Returns the fault that forbids a retry. */
  async #mayRetry(
    sent: Readonly<{ accountId: string; upstream: string }> | undefined,
    failures: number,
    stop: Stop,
  ): Promise<Fault | undefined> {
    const { random, wheel, monotonicMs, events } = this.#options
    if (sent !== undefined && !this.#budgets.take(sent.accountId, sent.upstream, monotonicMs())) {
      events.retried('budget spent')
      return busyFault('none', 'retry budget')
    }
    events.retried('retried')
    if (sent !== undefined) await sleep(wheel, monotonicMs() + random() * Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** failures), stop)
    return stop.isStopped ? connectionFault('none', 'aborted') : undefined
  }
}
