/**
 * Large bodies, read on a thread of their own, one at a time and from each account in turn, so that no stream waits for them. What comes back is small but for
 * the native body, which is handed over. The thread starts with the first of them and goes when there is none for a while, with the memory that it took. Rules:
 * requests.md "Large bodies".
 */

import type { Model } from '../core/catalog.ts'
import { FairLine } from '../core/fair-line.ts'
import type { Call, ReadContext } from '../core/format.ts'
import { READ_HEADERS } from '../core/native/versions.ts'
import { Refusal } from '../core/refusal.ts'
import { type FromBodyThread, handedOver, type LookedUp, refusalOf, type ToBodyThread } from './body-task.ts'
import type { ReaderName } from './readers.ts'

export type LargeBody = Readonly<{
  reader: ReaderName
  /** Gone when it is read. */
  bytes: Uint8Array
  accountId: string
  /** Aborted when the client has left: a body that waits loses its place. */
  signal: AbortSignal
  headers: ReadContext['headers']
  find: ReadContext['find']
  /** The items under an id, each as JSON. */
  recall: (id: string) => readonly Uint8Array[] | undefined
}>

/** `left`: the client did before its turn came. */
export type LargeRead = Call<unknown> | Refusal | 'left'

export type BodyReaderOptions = Readonly<{
  /** Makes a Worker of `src/relay/body-thread.ts`. */
  startThread: () => Worker
  /** The thread died, or took so long that it was ended. Its body is refused as a bug of ours. */
  onFault: (fault: string) => void
  /** The longest that one body may take; the largest takes a second. */
  bodyMs?: number
  /** How long the thread stays without a body. */
  idleMs?: number
}>

type Job = LargeBody & { resolve: (read: LargeRead) => void; reject: (bug: unknown) => void; model?: Model | undefined }
type Thread = Readonly<{ worker: Worker; answer: (answer: LookedUp) => void }>

const BODY_MS = 30_000
const IDLE_MS = 10_000

export class BodyReader {
  readonly #options: Required<BodyReaderOptions>
  readonly #line = new FairLine<Job>()
  #thread: Thread | undefined
  #running: Job | undefined
  /** Ends a thread that takes too long, or has nothing to do. */
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: BodyReaderOptions) {
    this.#options = { bodyMs: BODY_MS, idleMs: IDLE_MS, ...options }
  }

  /** Rejects by bugs only. */
  read(body: LargeBody): Promise<LargeRead> {
    const { promise, resolve, reject } = Promise.withResolvers<LargeRead>()
    const { signal, accountId } = body
    if (signal.aborted) return Promise.resolve('left')
    const job: Job = { ...body, resolve, reject }
    const leave = (): void => {
      if (this.#line.remove(accountId, job)) resolve('left')
    }
    signal.addEventListener('abort', leave)
    this.#line.add(accountId, job)
    this.#next()
    return promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** What still waits is refused. */
  close(): void {
    const running = this.#end()
    running?.resolve(new Refusal('draining'))
    for (let job = this.#line.take(); job !== undefined; job = this.#line.take()) job.resolve(new Refusal('draining'))
  }

  #next(): void {
    if (this.#running !== undefined) return
    clearTimeout(this.#timer)
    const job = this.#line.take()
    if (job === undefined) {
      this.#timer = setTimeout(() => this.#end(), this.#options.idleMs)
      this.#timer.unref()
      return
    }
    this.#running = job
    this.#timer = setTimeout(() => this.#onDeath('a body took too long to read'), this.#options.bodyMs)
    this.#thread ??= this.#start()
    const { reader, headers } = job
    const bytes = handedOver(job.bytes)
    const read: ToBodyThread = {
      kind: 'read',
      reader,
      bytes,
      headers: new Map(READ_HEADERS.map((name) => [name, headers.get(name) ?? ''])),
    }
    this.#thread.worker.postMessage(read, [bytes.buffer])
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
        if (isCurrent()) this.#onDeath('the thread of large bodies died')
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
    switch (message.kind) {
      case 'find':
        job.model = job.find(message.modelId)
        this.#thread?.answer({ model: job.model })
        return
      case 'recall':
        this.#thread?.answer({ items: job.recall(message.id) })
        return
      case 'refusal':
        job.resolve(refusalOf(message.refusal))
        break
      case 'call':
        if (job.model === undefined) job.reject(new Error('a body was read without a model'))
        else job.resolve({ ...message.call, model: job.model })
        break
      case 'bug':
        job.reject(message.bug)
    }
    this.#running = undefined
    this.#next()
  }

  #onDeath(fault: string): void {
    const job = this.#end()
    this.#options.onFault(fault)
    job?.resolve(new Refusal('internal'))
    this.#next()
  }

  /** Gives the body that it was reading. */
  #end(): Job | undefined {
    const job = this.#running
    clearTimeout(this.#timer)
    this.#thread?.worker.terminate()
    this.#thread = undefined
    this.#running = undefined
    return job
  }
}
