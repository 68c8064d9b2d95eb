/**
 * A thread for heavy bodies and the queue before it: one task at a time, accounts in turn. The thread starts with the first task and ends, with its memory,
 * when there was none for a while. Rules: requests.md "Heavy bodies".
 */

import { FairQueue } from '../core/fair-queue.ts'
import { Refusal } from '../core/refusal.ts'
import { type BodyTask, type Done, type FromBodyThread, handedOver, type LookedUp, type Question, type ToBodyThread } from './body-task.ts'

export type BodyQueueOptions = Readonly<{
  /** Makes a Worker of `src/relay/body-thread.ts`. */
  startThread: () => Worker
  /** Called when the thread has died, or took so long that it was ended. Its task is refused as a bug of ours. */
  onFault: (fault: string) => void
  /** The longest that one task may take; the largest body takes a second. */
  taskMs?: number
  /** How long the thread stays without a task. */
  idleMs?: number
}>

export type Work = Readonly<{
  /** The bytes of the task move to the thread. */
  task: BodyTask
  accountId: string
  /** Aborted when the client has left: a waiting task then loses its place. */
  signal: AbortSignal
  /** Rejects by bugs only. */
  answer: (question: Question) => LookedUp | Promise<LookedUp>
}>

type Job = Work & { resolve: (done: Done | Refusal | 'left') => void; reject: (bug: unknown) => void }
type Thread = Readonly<{ worker: Worker; answer: (answer: LookedUp) => void }>

const TASK_MS = 30_000
const IDLE_MS = 10_000

export class BodyQueue {
  readonly #options: Required<BodyQueueOptions>
  readonly #queue = new FairQueue<Job>()
  #thread: Thread | undefined
  #running: Job | undefined
  /** Ends a thread that takes too long, or that has had nothing to do for a while. */
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: BodyQueueOptions) {
    this.#options = { taskMs: TASK_MS, idleMs: IDLE_MS, ...options }
  }

  /** Resolves with `left` where the client left before its turn. Rejects by bugs only. */
  run(work: Work): Promise<Done | Refusal | 'left'> {
    const { promise, resolve, reject } = Promise.withResolvers<Done | Refusal | 'left'>()
    const { signal, accountId } = work
    if (signal.aborted) return Promise.resolve('left')
    const job: Job = { ...work, resolve, reject }
    const leave = (): void => {
      if (this.#queue.remove(accountId, job)) resolve('left')
    }
    signal.addEventListener('abort', leave)
    this.#queue.add(accountId, job)
    this.#next()
    return promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Refuses the waiting tasks. */
  close(): void {
    const running = this.#end()
    running?.resolve(new Refusal('draining'))
    for (let job = this.#queue.take(); job !== undefined; job = this.#queue.take()) job.resolve(new Refusal('draining'))
  }

  #next(): void {
    if (this.#running !== undefined) return
    clearTimeout(this.#timer)
    const job = this.#queue.take()
    if (job === undefined) {
      this.#timer = setTimeout(() => this.#end(), this.#options.idleMs)
      this.#timer.unref()
      return
    }
    this.#running = job
    this.#timer = setTimeout(() => this.#onDeath('a body took too long to read'), this.#options.taskMs)
    this.#thread ??= this.#start()
    const pieces = job.task.pieces.map(handedOver)
    this.#thread.worker.postMessage(
      { ...job.task, pieces } satisfies ToBodyThread,
      pieces.map(({ buffer }) => buffer),
    )
  }

  #start(): Thread {
    const worker = this.#options.startThread()
    const { port1, port2 } = new MessageChannel()
    const isAnswered = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const isCurrent = (): boolean => this.#thread?.worker === worker
    worker.addEventListener('message', ({ data }: MessageEvent<FromBodyThread>) => {
      if (isCurrent()) this.#onMessage(data)
    })
    for (const name of ['error', 'close'] as const)
      worker.addEventListener(name, () => {
        if (isCurrent()) this.#onDeath('a thread for large bodies died')
      })
    worker.postMessage({ kind: 'line', port: port2, isAnswered } satisfies ToBodyThread, [port2])
    const answer = (answered: LookedUp): void => {
      port1.postMessage(answered)
      Atomics.store(isAnswered, 0, 1)
      Atomics.notify(isAnswered, 0)
    }
    return { worker, answer }
  }

  #onMessage(message: FromBodyThread): void {
    const job = this.#running
    if (job === undefined) return
    if (message.kind === 'find' || message.kind === 'recall') {
      this.#answer(job.answer(message))
      return
    }
    if (message.kind === 'bug') job.reject(message.bug)
    else job.resolve(message)
    this.#running = undefined
    this.#next()
  }

  /** Answers a question of the thread, which waits for it. A thread that was ended gets no answer. */
  #answer(answer: LookedUp | Promise<LookedUp>): void {
    const thread = this.#thread
    if (!(answer instanceof Promise)) {
      thread?.answer(answer)
      return
    }
    answer.then(
      (given) => {
        if (this.#thread === thread) thread?.answer(given)
      },
      (bug: unknown) => {
        if (this.#thread !== thread) return
        this.#end()?.reject(bug)
        this.#next()
      },
    )
  }

  #onDeath(fault: string): void {
    const job = this.#end()
    this.#options.onFault(fault)
    job?.resolve(new Refusal('internal'))
    this.#next()
  }

  /** Ends the thread, and returns the task that it was working on. */
  #end(): Job | undefined {
    const job = this.#running
    clearTimeout(this.#timer)
    this.#thread?.worker.terminate()
    this.#thread = undefined
    this.#running = undefined
    return job
  }
}
