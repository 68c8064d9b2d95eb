/**
 * Answers of requests with an Idempotency-Key, in memory, for repetitions. Running answers are here, too, so that two requests at once are told apart from one after
 * the other. answer-store.ts keeps answers longer than memory does. Rules: requests.md "Repeated requests".
 */

import { type FinishedAnswer, RunningAnswer } from './running-answer.ts'

/** The key, its account, and the SHA-256 of the header in hexadecimal. */
export type IdempotencyKey = Readonly<{ keyId: string; accountId: string; headerHash: string }>

export type IdempotentResponsesOptions = Readonly<{
  /** Milliseconds that never jump back. */
  now: () => number
  bytesMax?: number
  accountBytesMax?: number
  ttlMs?: number
}>

const MIB = 1024 * 1024
export const ANSWER_TTL_MS = 24 * 60 * 60_000
/** The memory of an entry beside its bytes. */
const ENTRY_BYTES = 500

type Entry = Readonly<{ id: string; accountId: string; answer: FinishedAnswer; until: number; isWaitedFor: () => boolean }>

export class IdempotentResponses {
  readonly #now: () => number
  readonly #bytesMax: number
  readonly #accountBytesMax: number
  readonly #ttlMs: number
  readonly #running = new Map<string, RunningAnswer>()
  /** Finished answers, in the order in which they ended. */
  readonly #finished = new Map<string, Entry>()
  readonly #accounts = new Map<string, number>()
  #bytes = 0

  constructor({ now, bytesMax = 64 * MIB, accountBytesMax = 8 * MIB, ttlMs = ANSWER_TTL_MS }: IdempotentResponsesOptions) {
    this.#now = now
    this.#bytesMax = bytesMax
    this.#accountBytesMax = accountBytesMax
    this.#ttlMs = ttlMs
  }

  /** Bytes that are taken now, running answers included. */
  get bytes(): number {
    return this.#bytes
  }

  find(key: IdempotencyKey): FinishedAnswer | RunningAnswer | undefined {
    const running = this.running(key)
    if (running !== undefined) return running
    const entry = this.#finished.get(idOf(key))
    if (entry === undefined) return undefined
    if (this.#now() < entry.until) return entry.answer
    this.#forget(entry)
    return undefined
  }

  running(key: Pick<IdempotencyKey, 'keyId' | 'headerHash'>): RunningAnswer | undefined {
    return this.#running.get(idOf(key))
  }

  /** Makes a place for a request that runs. The caller has made sure that `find` knows none, and ends the answer by `finish` or `drop`. */
  begin(key: IdempotencyKey, { bodyHash, requestId }: Readonly<{ bodyHash: string; requestId: string }>): RunningAnswer {
    const id = idOf(key)
    const { accountId } = key
    const answer: RunningAnswer = new RunningAnswer({
      requestId,
      bodyHash,
      room: {
        take: (bytes) => this.#take(accountId, bytes),
        give: (bytes) => this.#charge(accountId, -bytes),
      },
      roomBytesMax: this.#accountBytesMax - ENTRY_BYTES,
      onEnd: (head, bytes) => {
        this.#running.delete(id)
        if (head === undefined || bytes === undefined) this.#charge(accountId, -ENTRY_BYTES)
        else {
          const finished: FinishedAnswer = { kind: 'finished', bodyHash, head, bytes }
          this.#finished.set(id, {
            id,
            accountId,
            answer: finished,
            until: this.#now() + this.#ttlMs,
            isWaitedFor: () => answer.isWaitedFor,
          })
        }
      },
    })
    this.#running.set(id, answer)
    this.#charge(accountId, ENTRY_BYTES)
    return answer
  }

  /**
   * The account's own oldest answers make room first, then the oldest of all. An answer that runs or is read stays, and one too large for its account pushes out none
   * of others.
   */
  #take(accountId: string, bytes: number): boolean {
    const isTooMuchOfOwn = (): boolean => (this.#accounts.get(accountId) ?? 0) + bytes > this.#accountBytesMax
    const isTooMuch = (): boolean => this.#bytes + bytes > this.#bytesMax
    this.#forgetWhile((other) => other.accountId === accountId, isTooMuchOfOwn)
    if (isTooMuchOfOwn()) return false
    this.#forgetWhile(() => true, isTooMuch)
    if (isTooMuch()) return false
    this.#charge(accountId, bytes)
    return true
  }

  #forgetWhile(isMeant: (entry: Entry) => boolean, isTooMuch: () => boolean): void {
    if (!isTooMuch()) return
    for (const entry of this.#finished.values()) {
      if (entry.isWaitedFor() || !isMeant(entry)) continue
      this.#forget(entry)
      if (!isTooMuch()) return
    }
  }

  #forget({ id, accountId, answer }: Entry): void {
    this.#finished.delete(id)
    this.#charge(accountId, -ENTRY_BYTES - answer.bytes.byteLength)
  }

  #charge(accountId: string, bytes: number): void {
    this.#bytes += bytes
    const left = (this.#accounts.get(accountId) ?? 0) + bytes
    if (left === 0) this.#accounts.delete(accountId)
    else this.#accounts.set(accountId, left)
  }
}

/** Neither part holds a colon. */
const idOf = ({ keyId, headerHash }: Pick<IdempotencyKey, 'keyId' | 'headerHash'>): string => `${keyId}:${headerHash}`
