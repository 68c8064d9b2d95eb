/** The people's file by way of its thread, which starts with the first question. Rules: pages.md "People". */

import { type OneConnection, PeopleAway, type SqlResult } from './people-sql.ts'
import { type FromPeopleThread, type PeopleFault, Progress, type ToPeopleThread } from './task.ts'

type Options = Readonly<{
  path: string
  /** Makes a Worker of `src/people/thread.ts`. */
  startThread: () => Worker
}>

type Reply = PromiseWithResolvers<SqlResult>

/** A thread that died is started again by the next question after this. */
const REST_MS = 1_000
/** A drain waits no longer than this for a lock that another connection has, or for a disk. */
const CLOSE_MS = 2_000

export class ThreadedConnection implements OneConnection {
  readonly #options: Options
  readonly #asked = new Map<number, Reply>()
  readonly #progress = new Progress()
  #thread: Worker | undefined
  #restUntilMs = 0
  #lastNumber = 0
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  ask: OneConnection['ask'] = (text, given, isInside) => {
    const thread = this.#running()
    if (thread === undefined) return { answer: Promise.reject(new PeopleAway('their thread has ended')), giveUp: () => false }
    const answer = this.#send(thread, (number) => ({ kind: 'ask', number, text, given, isInside }))
    const number = this.#lastNumber
    return { answer, giveUp: () => this.#progress.giveUp(number) }
  }

  async rollBack(): Promise<void> {
    // Where the thread has died, its transaction went with it.
    if (this.#thread !== undefined) await this.#send(this.#thread, (number) => ({ kind: 'rollBack', number })).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const thread = this.#thread
    if (thread === undefined) return
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, CLOSE_MS)
    await Promise.race([late, this.#send(thread, (number) => ({ kind: 'close', number })).catch(() => undefined)])
    clearTimeout(timer)
    this.#end(new PeopleAway('the gateway ends'))
    thread.terminate()
  }

  #send(thread: Worker, message: (number: number) => ToPeopleThread): Promise<SqlResult> {
    const number = ++this.#lastNumber
    thread.postMessage(message(number))
    const reply = Promise.withResolvers<SqlResult>()
    this.#asked.set(number, reply)
    return reply.promise
  }

  #running(): Worker | undefined {
    if (this.#isClosed) return undefined
    if (this.#thread !== undefined || performance.now() < this.#restUntilMs) return this.#thread
    const { startThread, path } = this.#options
    const thread = startThread()
    this.#thread = thread
    thread.addEventListener('message', ({ data }: MessageEvent<FromPeopleThread>) => this.#hear(data))
    for (const name of ['error', 'close'] as const) thread.addEventListener(name, () => this.#onDeath(thread))
    const open: ToPeopleThread = { kind: 'open', path, progress: this.#progress.buffer }
    thread.postMessage(open)
    return thread
  }

  #hear(message: FromPeopleThread): void {
    const reply = this.#asked.get(message.number)
    this.#asked.delete(message.number)
    if (message.kind === 'answered') reply?.resolve(message.result)
    else reply?.reject(errorOf(message.fault))
  }

  #onDeath(thread: Worker): void {
    if (this.#thread !== thread) return
    this.#restUntilMs = performance.now() + REST_MS
    const oldest: Reply | undefined = this.#asked.values().next().value
    oldest?.reject(new Error('the thread of the people has died'))
    // The others were not begun, and one death is one alarm.
    this.#end(new PeopleAway('their thread has ended'))
  }

  #end(why: PeopleAway): void {
    this.#thread = undefined
    for (const reply of this.#asked.values()) reply.reject(why)
    this.#asked.clear()
  }
}

const errorOf = ({ isAway, name, message, stack, code, errno }: PeopleFault): Error =>
  isAway
    ? new PeopleAway(message)
    : Object.assign(new Error(message), { name, stack, ...(code === null ? {} : { code }), ...(errno === null ? {} : { errno }) })
