/**
 * Reads of the ledger on a thread and a connection of their own: no commit waits for a read, and no read waits for a commit. One question at a time goes to the
 * thread; the others wait in turn. A thread that does not answer in time is given up. Rules: ledger.md "Reads".
 */

import { FairQueue } from '../../core/fair-queue.ts'
import type { Place } from '../place.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Finding, Findings, FromReader, Question, QuestionKind, QuestionOf, Reports, ToReader, Unread } from './reports.ts'

type Options = Readonly<{
  place: Place
  startThread: () => Worker
  onFault: (fault: LedgerFault) => void
  /** The time limit of one question. */
  timeoutMs?: number
  /** Decides how long to wait for the thread; default: until it answers or is given up. */
  whileHeard?: <T>(asking: Promise<T>) => Promise<T | 'unavailable'>
}>

type Waiting = Readonly<{ question: Question; resolve: (finding: Finding) => void }>

/** A question takes milliseconds, so this many take the second that a caller may wait. */
const WAITING_MAX = { each: 8, all: 256 } as const
const TIMEOUT_MS = 10_000

export class Reads implements Reports {
  readonly #options: Options
  readonly #queue = new FairQueue<Waiting>()
  /** The only thread, even while a thread that was given up has not ended yet: the write-ahead log has to keep what each thread's snapshot reads. */
  #worker: Worker | undefined
  #asked: Waiting | undefined
  #watch: ReturnType<typeof setTimeout> | undefined
  #closing: PromiseWithResolvers<void> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The answer's type follows from the question's: the thread gives each kind of question its own kind of answer. */
  ask<K extends QuestionKind>(client: string, question: QuestionOf<K>): Promise<Findings[K] | Unread> {
    if (this.#closing !== undefined) return Promise.resolve('unavailable')
    if (this.#queue.lengthOf(client) >= WAITING_MAX.each) return Promise.resolve('tooMany')
    if (this.#queue.length >= WAITING_MAX.all) return Promise.resolve('overloaded')
    const { promise, resolve } = Promise.withResolvers<Finding>()
    this.#queue.add(client, { question, resolve })
    this.#next()
    const asking = promise as Promise<Findings[K] | Unread>
    return this.#options.whileHeard?.(asking) ?? asking
  }

  async close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers()
      for (let left = this.#queue.take(); left !== undefined; left = this.#queue.take()) left.resolve('unavailable')
      if (this.#worker === undefined) this.#closing.resolve()
      else this.#post({ kind: 'close' })
      this.#watchFor(this.#closing.resolve)
    }
    await this.#closing.promise
    clearTimeout(this.#watch)
    this.#answer('unavailable')
    this.#worker?.terminate()
  }

  #next(): void {
    if (this.#asked !== undefined || this.#closing !== undefined) return
    this.#asked = this.#queue.take()
    if (this.#asked === undefined) return
    this.#post({ kind: 'read', place: this.#options.place, question: this.#asked.question })
    this.#watchFor(() => this.#giveUp())
  }

  #answer(finding: Finding): void {
    if (this.#closing === undefined) clearTimeout(this.#watch)
    this.#asked?.resolve(finding)
    this.#asked = undefined
  }

  /** The caller is answered now; the next question waits until the thread has really ended. */
  #giveUp(): void {
    this.#options.onFault({ problem: `a read of the ledger was given up: ${this.#asked?.question.kind} took too long` })
    this.#asked?.resolve('unavailable')
    this.#worker?.terminate()
  }

  #watchFor(onLate: () => void): void {
    clearTimeout(this.#watch)
    this.#watch = setTimeout(onLate, this.#options.timeoutMs ?? TIMEOUT_MS)
    this.#watch.unref()
  }

  #post(message: ToReader): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(message)
  }

  #start(): Worker {
    const worker = this.#options.startThread()
    worker.addEventListener('message', ({ data }: MessageEvent<FromReader>) => {
      if (data.kind === 'fault') this.#options.onFault(data.fault)
      if (data.kind === 'closed') this.#closing?.resolve()
      if (data.kind !== 'found') return
      this.#answer(data.finding)
      this.#next()
    })
    worker.addEventListener('error', () => this.#options.onFault({ problem: 'reads of the ledger: their thread failed' }))
    worker.addEventListener('close', () => {
      this.#worker = undefined
      this.#closing?.resolve()
      this.#answer('unavailable')
      this.#next()
    })
    return worker
  }
}
