/**
 * The gateway's side of the kept answers: hands finished answers to the thread a little at a time, after their settle, and asks the thread for answers that are no
 * longer in memory. A failure here only loses an answer that could have been repeated. Rules: requests.md "Kept answers".
 */

import { rmSync } from 'node:fs'
import type { Forgotten } from '../core/format.ts'
import { headOf, type Opened, partsOf } from './layout.ts'
import type { SealingKey } from './sealing.ts'
import type { FromAnswersThread, ToAnswersThread } from './task.ts'
import { type AnswerToKeep, lengthOf, WaitingAnswers } from './waiting-answers.ts'

/** lost: answers were not kept. setAside: the file was of no use; `files` are its new names. */
export type AnswersEvent =
  | Readonly<{ kind: 'lost'; problem: string; answers: number }>
  | Readonly<{ kind: 'setAside'; problem: string; files: readonly string[] }>

export type KeptAnswersOptions = Readonly<{
  path: string
  bytesMax: number
  /** Makes a Worker of `src/answers/thread.ts`. */
  startThread: () => Worker
  onEvent: (event: AnswersEvent) => void
  /** How long a look may take. */
  findMs?: number
}>

export const answersPathOf = (ledgerPath: string): string => `${ledgerPath}.answers`

/** Removes the file of an earlier start that kept answers. */
export function removeAnswers(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

/** Bytes that are copied in one turn of the loop, which takes some 30 microseconds. */
const TURN_BYTES = 256 * 1024
/** The most bytes that are handed to the thread and not on disk yet. */
const SENT_BYTES_MAX = 8 * 1024 * 1024
const FIND_MS = 5_000
const CLOSE_MS = 2_000
/** A thread that died is started again by the next answer or look after this; a thread that does not answer is asked again after this. */
const REST_MS = 10_000

type Packing = { readonly pieces: readonly Uint8Array[]; piece: number; at: number }

export class KeptAnswers {
  readonly #options: KeptAnswersOptions
  readonly #waiting = new WaitingAnswers()
  /** Bytes of each answer that the thread has not finished, in order. */
  readonly #sent: number[] = []
  #sentBytes = 0
  #packing: Packing | undefined
  #isTurnSet = false
  #thread: Worker | undefined
  #restUntilMs = 0
  /** A look timed out: until this time no other look waits, since requests would wait with it. */
  #silentUntilMs = 0
  #isClosed = false
  readonly #finding = new Map<number, (found: Uint8Array | Forgotten | 'unavailable') => void>()
  #lastNumber = 0
  #closed: PromiseWithResolvers<void> | undefined

  constructor(options: KeptAnswersOptions) {
    this.#options = options
  }

  /** Takes the answer and returns at once. */
  keep(answer: AnswerToKeep): void {
    if (this.#isClosed) this.#lost('it came after the end', 1)
    else if (this.#waiting.add(answer)) this.#turnSoon()
    else this.#lost('answers come faster than they are written', 1)
  }

  /** Finds an answer by its id or that of one of its items; of several ids, the first that is found. unavailable: the thread cannot say now. */
  async find(key: SealingKey, ...ids: readonly string[]): Promise<Opened | Forgotten | 'unavailable'> {
    const thread = this.#running()
    if (thread === undefined || performance.now() < this.#silentUntilMs) return 'unavailable'
    const number = ++this.#lastNumber
    const { promise, resolve } = Promise.withResolvers<Uint8Array | Forgotten | 'unavailable'>()
    this.#finding.set(number, resolve)
    post(thread, { kind: 'find', number, key, ids })
    const giveUp = (): void => {
      this.#silentUntilMs = performance.now() + REST_MS
      resolve('unavailable')
    }
    const timer = setTimeout(giveUp, this.#options.findMs ?? FIND_MS)
    const found = await promise
    clearTimeout(timer)
    this.#finding.delete(number)
    return typeof found === 'string' ? found : partsOf(found)
  }

  /** Resolves when the waiting answers are on disk, or after two seconds. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#thread === undefined && this.#waiting.length === 0) return
    this.#closed = Promise.withResolvers()
    this.#turnSoon()
    const timer = setTimeout(this.#closed.resolve, CLOSE_MS)
    await this.#closed.promise
    clearTimeout(timer)
    this.#thread?.terminate()
    this.#thread = undefined
  }

  #turnSoon(): void {
    if (this.#isTurnSet) return
    this.#isTurnSet = true
    setImmediate(() => {
      this.#isTurnSet = false
      this.#turn()
    })
  }

  /** Hands as many bytes to the thread as one turn may copy. */
  #turn(): void {
    let bytes = 0
    while (bytes < TURN_BYTES && (this.#packing !== undefined || this.#mayBegin())) {
      const thread = this.#running()
      if (thread === undefined) {
        this.#loseWaiting()
        return
      }
      this.#packing ??= this.#begin(thread)
      if (this.#packing === undefined) break
      bytes += this.#hand(thread, this.#packing, TURN_BYTES - bytes)
    }
    if (this.#packing !== undefined || this.#mayBegin()) this.#turnSoon()
    else if (this.#waiting.length === 0 && this.#closed !== undefined && this.#thread !== undefined) post(this.#thread, { kind: 'close' })
  }

  #mayBegin(): boolean {
    return this.#waiting.length > 0 && this.#sentBytes < SENT_BYTES_MAX
  }

  #begin(thread: Worker): Packing | undefined {
    const next = this.#waiting.take()
    if (next === undefined) return undefined
    const { text, parts, ...keeping } = next.answer
    const sizes = parts.map(({ id, pieces }) => ({ ...(id === undefined ? {} : { id }), byteLength: lengthOf(pieces) }))
    post(thread, { kind: 'keep', keeping })
    this.#sentBytes += next.byteLength
    this.#sent.push(next.byteLength)
    return { pieces: [headOf(text, sizes), ...parts.flatMap(({ pieces }) => pieces)], piece: 0, at: 0 }
  }

  /** Copies the next pieces, `max` bytes at most, and returns how many bytes. */
  #hand(thread: Worker, packing: Packing, max: number): number {
    const taken: Uint8Array[] = []
    let bytes = 0
    for (let piece = packing.pieces[packing.piece]; piece !== undefined && bytes < max; piece = packing.pieces[packing.piece]) {
      const some = piece.subarray(packing.at, packing.at + max - bytes)
      taken.push(some)
      bytes += some.byteLength
      packing.at += some.byteLength
      if (packing.at < piece.byteLength) continue
      packing.piece++
      packing.at = 0
    }
    const isLast = packing.piece === packing.pieces.length
    if (isLast) this.#packing = undefined
    const packed = joined(taken, bytes)
    post(thread, { kind: 'bytes', bytes: packed, isLast }, [packed.buffer])
    return bytes
  }

  #running(): Worker | undefined {
    if (this.#thread !== undefined || performance.now() < this.#restUntilMs) return this.#thread
    const { startThread, path, bytesMax } = this.#options
    const thread = startThread()
    this.#thread = thread
    thread.addEventListener('message', ({ data }: MessageEvent<FromAnswersThread>) => {
      if (this.#thread === thread) this.#hear(data)
    })
    for (const name of ['error', 'close'] as const) thread.addEventListener(name, () => this.#onDeath(thread))
    post(thread, { kind: 'open', path, bytesMax })
    return thread
  }

  #hear(message: FromAnswersThread): void {
    this.#silentUntilMs = 0
    switch (message.kind) {
      case 'kept':
        this.#sentBytes -= this.#sent.shift() ?? 0
        this.#turnSoon()
        break
      case 'found':
        this.#finding.get(message.number)?.(message.found)
        break
      case 'setAside':
        this.#options.onEvent(message)
        break
      case 'failed':
        this.#lost(message.problem, 1)
        break
      case 'closed':
        this.#closed?.resolve()
    }
  }

  #onDeath(thread: Worker): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    this.#restUntilMs = performance.now() + REST_MS
    this.#packing = undefined
    const lost = this.#sent.splice(0).length
    this.#sentBytes = 0
    this.#lost('the thread of kept answers died', lost)
    for (const resolve of this.#finding.values()) resolve('unavailable')
    this.#closed?.resolve()
  }

  #loseWaiting(): void {
    let lost = 0
    while (this.#waiting.take() !== undefined) lost++
    this.#lost('the thread of kept answers died', lost)
    this.#closed?.resolve()
  }

  #lost(problem: string, answers: number): void {
    this.#options.onEvent({ kind: 'lost', problem, answers })
  }
}

const post = (thread: Worker, message: ToAnswersThread, handed: readonly ArrayBuffer[] = []): void =>
  thread.postMessage(message, [...handed])

/** Joins the pieces in a buffer of their own, which moves to the thread. */
function joined(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}
