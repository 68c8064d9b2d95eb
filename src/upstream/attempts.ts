/** One call of one upstream: what becomes of its answer, and what the pool learns of the upstream. Rules: pool.md "Failover", "Breaker", "Affinity". */

import { isSameModel } from '../core/native/model-echo.ts'
import { hasThinking } from './bound-thinking.ts'
import type { Trouble } from './breaker.ts'
import type { Affinity, Conversations } from './conversations.ts'
import { otherModelFault } from './fault.ts'
import { FirstEventLimit } from './first-event-limit.ts'
import type { Endpoint, Member } from './member.ts'
import { forModel, inChat } from './native-request.ts'
import type { PoolOptions } from './pool-options.ts'
import type { CallOptions, PoolRequest } from './pool-request.ts'
import { type CallEvents, type Fault, isFault, type Reply, type Stop } from './upstream.ts'

export class Attempts {
  readonly #options: PoolOptions
  readonly #conversations: Conversations

  constructor(options: PoolOptions, conversations: Conversations) {
    this.#options = options
    this.#conversations = conversations
  }

  /** Resolves with what `take` made of the answer, or with why there is none. */
  async make<T extends object>(
    request: PoolRequest,
    endpoint: Endpoint,
    { stop, take, log, onErrorHead, firstEventTimeoutMs }: CallOptions<T>,
    isLast: boolean,
  ): Promise<T | Fault> {
    const { member, model } = endpoint
    const { monotonicMs, now, events, wheel } = this.#options
    const startedMs = monotonicMs()
    if (!isCount(request)) model.busy.called(request.accountId, startedMs)
    const limit = firstEventTimeoutMs === undefined ? undefined : new FirstEventLimit(stop, wheel, startedMs + firstEventTimeoutMs)
    const begun = { upstream: member.name, model: model.id, startedAt: now() }
    log.began(begun)
    const chat = endpoint.dialect === undefined ? undefined : request.chat?.[endpoint.dialect]
    const asked = chat === undefined ? forModel(request, model.id) : inChat(request, chat, model.id)
    const onOver = leaving(member, request.accountId)
    // Only the last call tells `onErrorHead`: after any other the next upstream may still answer.
    const reply = await member.config.upstream.call(asked, limit ?? stop, {
      ...(onErrorHead === undefined || !isLast ? {} : { onErrorHead }),
      onOver,
      ...telling(member.name, events),
    })
    if (reply.isSecondTry === true) {
      events.called(member.name, 'stale')
      log.failed({ ...begun, status: null, cause: 'stale', durationMs: monotonicMs() - startedMs, wasSent: true })
      log.began(begun)
    }
    if (reply.kind === 'reply') log.replied(reply.requestId)
    const judged = reply.kind === 'fault' ? reply : await take({ ...reply, ...judging(endpoint, events) }, asked.model)
    const taken = limit?.ended(judged, member.name) ?? judged
    const tookMs = monotonicMs() - startedMs
    if (model.trial?.by === stop) model.trial = undefined
    if (!isFault(taken)) {
      if (this.#place(request, member) === 'moved') {
        const thinking = hasThinking(request)
        log.moved({ thinking })
        if (thinking) events.thinkingLost()
      }
      if (isCount(request)) model.breaker.abandoned()
      else {
        this.#answered(endpoint, request.accountId, startedMs)
        member.lastAnswerAt = now()
      }
      model.isSilent = false
      // Only streams are measured: the time of an answer in one piece grows with its length.
      if (reply.kind === 'reply' && reply.isEventStream) model.pace.began(tookMs)
      events.called(member.name, 'answered')
      log.answered(this.#breaking(endpoint, startedMs))
      return taken
    }
    if (isCount(request) && taken.trouble?.kind !== 'dead') model.breaker.abandoned()
    else this.#judge(endpoint, request.accountId, taken, stop, startedMs)
    events.called(member.name, taken.cause)
    // A fault says nothing of the upstream where the client was wrong or has left.
    if (stop.isOverdue || (taken.trouble !== undefined && !stop.isStopped))
      member.lastFailure = { cause: taken.cause, model: model.id, at: now() }
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

  /** A method of its own, as `leaving` is: a closure that the call itself made would keep the request's body in memory until the answer ends. */
  #breaking(endpoint: Endpoint, startedMs: number): () => void {
    return () => this.#told(endpoint, (at) => endpoint.model.breaker.failed(at, 'broken', startedMs))
  }

  #answered(endpoint: Endpoint, accountId: string, startedMs: number): void {
    const { breaker, busy } = endpoint.model
    busy.answered(accountId, startedMs)
    this.#told(endpoint, (at) => breaker.succeeded(at, startedMs))
  }

  #judge(endpoint: Endpoint, accountId: string, { trouble, cause }: Fault, stop: Stop, startedMs: number): void {
    const { model } = endpoint
    const { breaker, busy } = model
    // An upstream that says nothing until the request's time is over has failed it, although the gateway ended the call.
    const told: Trouble | undefined = stop.isOverdue ? { kind: 'broken' } : stop.isStopped ? undefined : trouble
    if (told !== undefined) model.isSilent = cause === 'connect timeout'
    if (told === undefined) breaker.abandoned()
    else if (told.kind !== 'busy') this.#told(endpoint, (at) => breaker.failed(at, told.kind, startedMs))
    else {
      const forAll = busy.refused(accountId, this.#options.monotonicMs(), told.retryAfterMs)
      if (forAll === undefined) breaker.abandoned()
      else this.#told(endpoint, (at) => breaker.busy(at, forAll))
    }
  }

  #told({ member, model }: Endpoint, tell: (now: number) => void): void {
    const now = this.#options.monotonicMs()
    const before = model.breaker.state(now)
    tell(now)
    const after = model.breaker.state(now)
    if (after !== before) this.#options.events.changed(member.name, model.id, after)
  }

  /** Notes which upstream answered the conversation; undefined when nothing of the request is cached. */
  #place({ conversation, model }: PoolRequest, member: Member): Affinity | undefined {
    if (conversation === undefined) return undefined
    const affinity = this.#conversations.answered(conversation, model.id, member.name, this.#options.monotonicMs())
    this.#options.events.placed(affinity)
    return affinity
  }
}

/** A function of its own, as `leaving` is. */
const telling = (upstream: string, events: PoolOptions['events']): Required<Pick<CallEvents, 'onCountDiffers' | 'onBetasRefused'>> => ({
  onCountDiffers: (difference) => events.countDiffers(upstream, difference),
  onBetasRefused: (betas) => events.betasRefused(upstream, betas),
})

function judging({ member, model: { id } }: Endpoint, events: PoolOptions['events']): Pick<Reply, 'judgeModel'> {
  const { name, echo = 'any' } = member.config
  if (echo === 'any') return NO_JUDGE
  const judgeModel: Reply['judgeModel'] = (named, usage) => {
    if (isSameModel(id, named)) return undefined
    events.otherModel(name, id, String(named))
    return echo === 'fail' ? otherModelFault(name, usage) : undefined
  }
  return { judgeModel }
}

const NO_JUDGE = {}

const leaving =
  ({ turns }: Member, accountId: string) =>
  (): void =>
    turns.leave(accountId)

/** A call that never reached the upstream cannot have cost anything. */
export const wasSent = ({ status, trouble, cause }: Fault): boolean =>
  status !== undefined || trouble?.kind === 'broken' || cause === 'aborted'

/** A count of tokens is free, and not every upstream offers it: its result says nothing about answers. */
export const isCount = ({ path }: PoolRequest): boolean => path === '/v1/messages/count_tokens'
