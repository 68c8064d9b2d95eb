/** Upstreams of a simulated world: they speak piece by piece when the seed says so, refuse, and break off. Rules: requests.md "Repeated requests". */

import { Refusal } from '../../src/core/refusal.ts'
import type { CallOptions, PoolRequest } from '../../src/upstream/pool-request.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import type { BodySink, BodySource, Fault, Reply } from '../../src/upstream/upstream.ts'
import { frame, MESSAGE, textFrames } from '../support/fake-upstream.ts'
import type { Random } from '../support/seed.ts'
import { must } from './books.ts'
import { pick } from './draw.ts'
import { guard, type Host, type Parts } from './stream-parts.ts'

/** So long is a piece of one in ten streams, which outgrow the room of an answer, and then the room of what clients behind have not got yet. */
const LARGE_BYTES = 100_000

type Call = {
  readonly name: string
  readonly host: Host
  readonly text: string
  at: number
  sink: BodySink | undefined
  isPaused: boolean
  isOver: boolean
  answer: () => void
  fail: () => void
}

export class StreamUpstreams {
  readonly #parts: Parts
  readonly #calls: Call[] = []
  /** Relays that stood still: other relays may run the same requests after a while. */
  readonly #standing = new Set<Host>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get isBusy(): boolean {
    return this.#calls.some(isSpeaking)
  }

  /** To be called when the relay stands still for longer than the ledger process waits for it. */
  stoodStill(host: Host): void {
    this.#standing.add(host)
  }

  died(host: Host): void {
    for (const call of this.#calls) if (call.host === host) call.isOver = true
  }

  call<T>(host: Host, { model, body, isStream }: PoolRequest, { stop, take, log }: CallOptions<T>): Promise<T | Fault> {
    const { random, meet, fail, time } = this.#parts
    const { promise, resolve } = Promise.withResolvers<T | Fault>()
    const name: string = JSON.parse(Buffer.from(body).toString()).messages[0].content
    guard(this.#parts, () => this.#mustRunOnce(name, host))
    meet('an upstream is called')
    const refuse = (refusal: Refusal, cause: string): void => {
      call.isOver = true
      resolve({ kind: 'fault', upstream: 'primary', refusal, cause, isAlarm: false })
    }
    const answer = (): void => {
      const body = new PushedBody(sourceOf(call))
      call.sink = body
      const reply: Reply = { kind: 'reply', upstream: 'primary', isEventStream: isStream, dialect: 'vendor', body }
      log.replied('up')
      const taking = take(reply, model).then((taken) => {
        log.answered(() => undefined)
        resolve(taken)
      })
      taking.catch(fail)
    }
    const call: Call = {
      ...{ name, host, text: isStream ? streamText(this.#calls.length, random) : JSON.stringify(MESSAGE) },
      ...{ at: 0, sink: undefined, isPaused: false, isOver: false, answer },
      fail: () => refuse(new Refusal('upstreamBusy', { retryAfterSeconds: 7 }), 'status 529'),
    }
    log.began({ upstream: 'primary', model: 'sonnet', startedAt: time.now() })
    stop.listener = () => {
      if (call.sink === undefined) refuse(new Refusal('upstreamBroken'), 'stopped')
    }
    this.#calls.push(call)
    return promise
  }

  /** One upstream says a part of its answer. */
  speak(): void {
    const { random, meet } = this.#parts
    const call = pick(random, this.#calls.filter(isSpeaking))
    if (call === undefined) return
    const luck = random()
    if (call.sink === undefined && luck < 0.1) {
      meet('an upstream refuses')
      call.fail()
    } else if (call.sink === undefined) call.answer()
    else if (luck < 0.02) {
      meet('an upstream breaks off')
      call.isOver = true
      call.sink.broken()
    } else say(call, 1 + Math.floor(random() * (call.text.length / 5)))
  }

  /** Each upstream answers, or says the rest. */
  speakOut(): void {
    for (const call of this.#calls.filter(isSpeaking)) {
      if (call.sink === undefined) call.answer()
      else say(call, call.text.length)
    }
  }

  #mustRunOnce(name: string, host: Host): void {
    const other = this.#calls.find((call) => call.name === name && !call.isOver && call.host.isAlive && !this.#standing.has(call.host))
    must('a repeatable request runs once', other === undefined, () => `${name} by ${host.pid} and ${other?.host.pid}`)
  }
}

const isSpeaking = ({ isOver, isPaused, host }: Call): boolean => !isOver && !isPaused && host.isAlive && !host.isStopped

function sourceOf(call: Call): BodySource {
  const source: BodySource = {
    pause: () => {
      call.isPaused = true
    },
    resume: () => {
      call.isPaused = false
    },
    cancel: () => {
      call.isOver = true
    },
    handOn: (sink) => {
      call.sink = sink
      return source
    },
  }
  return source
}

function say(call: Call, length: number): void {
  const piece = call.text.slice(call.at, call.at + length)
  call.at += piece.length
  if (call.at === call.text.length) call.isOver = true
  if (piece !== '') call.sink?.data(Buffer.from(piece))
  if (call.isOver) call.sink?.end()
}

/** A stream whose words no other call says. */
function streamText(number: number, random: Random): string {
  const [start = '', open = '', , ...rest] = textFrames('')
  const isLarge = random() < 0.1
  const words = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, at) => `${number}.${at}${isLarge ? 'x'.repeat(LARGE_BYTES) : ''}`)
  const deltas = words.map((text) => frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }))
  return [start, open, ...deltas, ...rest].join('')
}
