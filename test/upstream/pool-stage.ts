/** A pool of upstreams that do as they are told, on time that the test moves. */

import { Refusal } from '../../src/core/refusal.ts'
import { TICK_MS, TimerWheel } from '../../src/core/timer-wheel.ts'
import { CallStop } from '../../src/relay/deadline.ts'
import type { Trouble } from '../../src/upstream/breaker.ts'
import type { MemberConfig } from '../../src/upstream/member.ts'
import { UpstreamPool } from '../../src/upstream/pool.ts'
import type { BegunCall, CallLog, CallOptions, FailedCall, PoolRequest } from '../../src/upstream/pool-request.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import type { CallEvents, Fault, Reply, Stop, Upstream, UpstreamRequest } from '../../src/upstream/upstream.ts'
import { makeTestModel } from '../support/world.ts'

export type Behaviour = (request: UpstreamRequest, stop: Stop) => Promise<Reply | Fault> | Reply | Fault
export type Script = { behave: Behaviour; asked: UpstreamRequest[]; leave?: () => void }

export const answer: Behaviour = () => ({
  kind: 'reply',
  upstream: '',
  isEventStream: false,
  dialect: 'strict',
  body: PushedBody.of(new Uint8Array()),
})
export const fails =
  (cause: string, trouble?: Trouble, more: Partial<Fault> = {}): Behaviour =>
  () => ({
    kind: 'fault',
    upstream: '',
    refusal: new Refusal('upstreamBroken'),
    cause,
    isAlarm: false,
    ...(trouble && { trouble }),
    ...more,
  })
export const DEAD = fails('refused', { kind: 'dead' })
export const BROKEN = fails('status 500', { kind: 'broken' }, { status: 500 })
export const busy = (retryAfterMs?: number): Behaviour => fails('status 429', { kind: 'busy', retryAfterMs }, { status: 429 })

/** Stops nothing. */
export const stop = new CallStop()

export function request(names: readonly string[], more: Partial<PoolRequest> = {}): PoolRequest {
  const body = Buffer.from('{"model":"vendor-sonnet-1","max_tokens":1}')
  const model = makeTestModel({ upstreams: names.map((name) => ({ name, model: name === 'other' ? 'sonnet@other' : 'vendor-sonnet-1' })) })
  return {
    path: '/v1/messages',
    query: '',
    model,
    body,
    isStream: false,
    version: '',
    betas: '',
    accountId: 'acc_1',
    modelAt: '{"model":'.length,
    ...more,
  }
}

export class PoolStage {
  /** Sleeping upstreams and waiting calls see the same time. */
  nowMs = 1_000_000
  thinkingLost = 0
  readonly wheel = new TimerWheel()
  readonly log: {
    began: BegunCall[]
    failed: FailedCall[]
    replied: (string | undefined)[]
    answered: number
    broke: (() => void) | undefined
  } = {
    began: [],
    failed: [],
    replied: [],
    answered: 0,
    broke: undefined,
  }
  readonly seen: {
    called: string[]
    retried: string[]
    changed: string[]
    placed: string[]
    otherModels: string[]
    countDiffers: string[]
  } = {
    called: [],
    retried: [],
    changed: [],
    placed: [],
    otherModels: [],
    countDiffers: [],
  }
  readonly pool = new UpstreamPool({
    wheel: this.wheel,
    now: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    random: () => 0.5,
    events: {
      called: (upstream, result) => this.seen.called.push(`${upstream} ${result}`),
      retried: (how) => this.seen.retried.push(how),
      placed: (affinity) => this.seen.placed.push(affinity),
      changed: (upstream, _model, state) => this.seen.changed.push(`${upstream} ${state}`),
      otherModel: (...told) => this.seen.otherModels.push(told.join(' ')),
      countDiffers: (upstream, { counter }) => this.seen.countDiffers.push(`${upstream} ${counter}`),
      betasRefused: () => undefined,
      thinkingLost: () => this.thinkingLost++,
    },
  })
  readonly callLog: CallLog = {
    began: (call) => this.log.began.push(call),
    moved: () => undefined,
    failed: (call) => this.log.failed.push(call),
    replied: (requestId) => this.log.replied.push(requestId),
    answered: (broke) => {
      this.log.answered++
      this.log.broke = broke
    },
  }

  /** Moves time in steps of the wheel, and lets what was woken go on. */
  async pass(ms: number): Promise<void> {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += TICK_MS
      this.wheel.turn(this.nowMs)
      await Bun.sleep(0)
    }
  }

  members(
    scripts: Record<string, Behaviour>,
    options: Record<string, Partial<Omit<MemberConfig, 'name' | 'upstream'>>> = {},
  ): Record<string, Script> {
    const made = Object.entries(scripts).map(([name, behave]) => [name, { behave, asked: [] as UpstreamRequest[] }] as const)
    this.pool.configure(
      made.map(([name, script]) => ({
        name,
        priority: 0,
        weight: 1,
        maxConcurrent: 100,
        ...options[name],
        upstream: scripted(name, script),
      })),
    )
    return Object.fromEntries(made)
  }

  call(names: readonly string[], more: Partial<PoolRequest> = {}, by: Stop = stop, options: Partial<CallOptions<object>> = {}) {
    return this.pool.call(request(names, more), {
      stop: by,
      log: this.callLog,
      ...options,
      take: (reply) => Promise.resolve({ kind: 'taken' as const, from: reply.upstream }),
    })
  }
}

/** An upstream that does as it is told, and gives its slot back at once unless it answers. */
function scripted(name: string, script: Script): Upstream {
  return {
    async call(request, stop, events: CallEvents = {}) {
      script.asked.push(request)
      const reply = await script.behave(request, stop)
      if (reply.kind === 'fault') events.onOver?.()
      else script.leave = events.onOver ?? (() => undefined)
      return { ...reply, upstream: name }
    },
  }
}
