/** The history in a file, by way of its thread, which starts with the first question. Rules: pages.md "History". */

import type { HistoryAsked, HistoryFound, TrafficRead } from '../core/history/kept.ts'
import type { MomentRows, Writer } from '../core/history/moment.ts'
import type { TrafficAsked } from '../core/history/traffic.ts'
import type { HistoryEvent, HistoryStore } from './store.ts'
import type { FromHistoryThread, ToHistoryThread } from './task.ts'

type Options = Readonly<{
  path: string
  /** Makes a Worker of `src/history/thread.ts`. */
  startThread: () => Worker
  onEvent: (event: HistoryEvent) => void
  /** How long a question may take. */
  waitMs?: number
}>

type Reply = Extract<FromHistoryThread, { number: number }>
type Asking = Readonly<
  | { kind: 'write'; writer: Writer; moments: readonly MomentRows[]; isWhole: boolean }
  | { kind: 'read'; asked: HistoryAsked }
  | { kind: 'traffic'; asked: TrafficAsked }
>

export const historyPathOf = (ledgerPath: string): string => `${ledgerPath}.history`

const WAIT_MS = 8_000
/** A thread that died is started again by the next question after this. */
const REST_MS = 10_000

export class ThreadedHistory implements HistoryStore {
  readonly #options: Options
  readonly #asked = new Map<number, (reply: Reply) => void>()
  #thread: Worker | undefined
  #restUntilMs = 0
  #lastNumber = 0

  constructor(options: Options) {
    this.#options = options
  }

  async write(writer: Writer, moments: readonly MomentRows[], isWhole: boolean): Promise<boolean> {
    const reply = await this.#ask({ kind: 'write', writer, moments, isWhole })
    if (reply.kind === 'failed') this.#options.onEvent({ kind: 'failed', problem: reply.problem })
    return reply.kind === 'written'
  }

  async read(asked: HistoryAsked): Promise<HistoryFound | undefined> {
    const reply = await this.#ask({ kind: 'read', asked })
    return reply.kind === 'found' ? reply.found : undefined
  }

  async traffic(asked: TrafficAsked): Promise<TrafficRead | undefined> {
    const reply = await this.#ask({ kind: 'traffic', asked })
    return reply.kind === 'traffic' ? reply.read : undefined
  }

  close(): void {
    const thread = this.#thread
    this.#thread = undefined
    this.#failAll('the gateway ends')
    thread?.terminate()
  }

  async #ask(asking: Asking): Promise<Reply> {
    const number = ++this.#lastNumber
    const thread = this.#running()
    if (thread === undefined) return { kind: 'failed', number, problem: 'the thread of the history has died' }
    const { promise, resolve } = Promise.withResolvers<Reply>()
    this.#asked.set(number, resolve)
    post(thread, { ...asking, number })
    const timer = setTimeout(
      () => resolve({ kind: 'failed', number, problem: 'the disk does not answer' }),
      this.#options.waitMs ?? WAIT_MS,
    )
    const reply = await promise
    clearTimeout(timer)
    this.#asked.delete(number)
    return reply
  }

  #running(): Worker | undefined {
    if (this.#thread !== undefined || performance.now() < this.#restUntilMs) return this.#thread
    const { startThread, path, onEvent } = this.#options
    const thread = startThread()
    thread.unref()
    this.#thread = thread
    thread.addEventListener('message', ({ data }: MessageEvent<FromHistoryThread>) => {
      if (data.kind === 'setAside') onEvent(data)
      else this.#asked.get(data.number)?.(data)
    })
    for (const name of ['error', 'close'] as const) thread.addEventListener(name, () => this.#onDeath(thread))
    post(thread, { kind: 'open', path })
    return thread
  }

  #onDeath(thread: Worker): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    this.#restUntilMs = performance.now() + REST_MS
    this.#failAll('the thread of the history has died')
  }

  #failAll(problem: string): void {
    for (const [number, resolve] of this.#asked) resolve({ kind: 'failed', number, problem })
  }
}

const post = (thread: Worker, message: ToHistoryThread): void => thread.postMessage(message)
