/**
 * Answers of requests that named themselves by an Idempotency-Key, in memory only: what a repetition gets instead of a second generation. Running ones have
 * their place here, too, so that two at once are told apart from one after the other. Rules: requests.md "Repeated requests".
 */

/** Of whom, and under which header: its SHA-256 in hexadecimal. */
export type AnswerKey = Readonly<{ keyId: string; accountId: string; headerHash: string }>

export type AnswerHead = Readonly<{ status: number; contentType: string; requestId: string }>

export type FinishedAnswer = Readonly<{ kind: 'finished'; bodyHash: string; head: AnswerHead; bytes: Uint8Array }>
export type RunningAnswer = Readonly<{ kind: 'running'; bodyHash: string }>

export type AnswerMemoryOptions = Readonly<{
  /** Milliseconds that never jump back. */
  now: () => number
  bytesMax?: number
  accountBytesMax?: number
  ttlMs?: number
}>

const MIB = 1024 * 1024
export const ANSWER_TTL_MS = 24 * 60 * 60_000
/** What an entry takes beside its bytes. */
const ENTRY_BYTES = 500
const FIRST_BYTES = 4_096

type Entry = {
  readonly id: string
  readonly accountId: string
  readonly bodyHash: string
  /** Undefined once it was given up: it does not fit. */
  bytes: Uint8Array | undefined
  length: number
  /** Undefined while it runs. */
  finished: Readonly<{ head: AnswerHead; until: number }> | undefined
}

export class AnswerMemory {
  readonly #now: () => number
  readonly #bytesMax: number
  readonly #accountBytesMax: number
  readonly #ttlMs: number
  /** In the order in which they ended, those that run before or between them. */
  readonly #entries = new Map<string, Entry>()
  readonly #accounts = new Map<string, number>()
  #bytes = 0

  constructor({ now, bytesMax = 64 * MIB, accountBytesMax = 8 * MIB, ttlMs = ANSWER_TTL_MS }: AnswerMemoryOptions) {
    this.#now = now
    this.#bytesMax = bytesMax
    this.#accountBytesMax = accountBytesMax
    this.#ttlMs = ttlMs
  }

  /** Bytes that are taken now, running answers included. */
  get bytes(): number {
    return this.#bytes
  }

  find(key: AnswerKey): FinishedAnswer | RunningAnswer | undefined {
    const entry = this.#entries.get(idOf(key))
    if (entry === undefined) return undefined
    const { bodyHash, finished, bytes, length } = entry
    if (finished === undefined) return { kind: 'running', bodyHash }
    if (bytes !== undefined && this.#now() < finished.until)
      return { kind: 'finished', bodyHash, head: finished.head, bytes: bytes.subarray(0, length) }
    this.#remove(entry)
    return undefined
  }

  /** A place for a request that runs. The caller has made sure that `find` knows none, and ends it by `finish` or `drop`. */
  begin(key: AnswerKey, bodyHash: string): RecordedAnswer {
    const entry: Entry = { id: idOf(key), accountId: key.accountId, bodyHash, bytes: EMPTY, length: 0, finished: undefined }
    this.#entries.set(entry.id, entry)
    this.#charge(entry, ENTRY_BYTES)
    return {
      add: (bytes) => this.#add(entry, bytes),
      finish: (head) => this.#finish(entry, head),
      drop: () => {
        if (entry.finished === undefined) this.#remove(entry)
      },
    }
  }

  #add(entry: Entry, added: Uint8Array): void {
    if (entry.bytes === undefined) return
    const length = entry.length + added.byteLength
    if (length > entry.bytes.byteLength) {
      const capacity = Math.max(FIRST_BYTES, length, Math.min(entry.bytes.byteLength * 2, this.#accountBytesMax - ENTRY_BYTES))
      const bytes = this.#makeRoom(entry, capacity - entry.bytes.byteLength) ? new Uint8Array(capacity) : undefined
      if (bytes === undefined) {
        this.#giveUp(entry)
        return
      }
      bytes.set(entry.bytes.subarray(0, entry.length))
      this.#charge(entry, capacity - entry.bytes.byteLength)
      entry.bytes = bytes
    }
    entry.bytes.set(added, entry.length)
    entry.length = length
  }

  #finish(entry: Entry, head: AnswerHead): Uint8Array | undefined {
    if (entry.bytes === undefined) {
      this.#remove(entry)
      return undefined
    }
    const spare = entry.bytes.byteLength - entry.length
    entry.bytes = entry.bytes.slice(0, entry.length)
    this.#charge(entry, -spare)
    entry.finished = { head, until: this.#now() + this.#ttlMs }
    this.#entries.delete(entry.id)
    this.#entries.set(entry.id, entry)
    return entry.bytes
  }

  /** The account's own oldest go first, then the oldest of all. What runs stays, and what is too large for its account takes nothing of others. */
  #makeRoom(entry: Entry, bytes: number): boolean {
    const isTooMuchOfOwn = (): boolean => (this.#accounts.get(entry.accountId) ?? 0) + bytes > this.#accountBytesMax
    const isTooMuch = (): boolean => this.#bytes + bytes > this.#bytesMax
    this.#forgetWhile((other) => other.accountId === entry.accountId, isTooMuchOfOwn)
    if (isTooMuchOfOwn()) return false
    this.#forgetWhile(() => true, isTooMuch)
    return !isTooMuch()
  }

  #forgetWhile(isMeant: (entry: Entry) => boolean, isTooMuch: () => boolean): void {
    if (!isTooMuch()) return
    for (const entry of this.#entries.values()) {
      if (entry.finished === undefined || !isMeant(entry)) continue
      this.#remove(entry)
      if (!isTooMuch()) return
    }
  }

  /** It goes on without being kept, and stays known as running. */
  #giveUp(entry: Entry): void {
    this.#charge(entry, -(entry.bytes?.byteLength ?? 0))
    entry.bytes = undefined
    entry.length = 0
  }

  #remove(entry: Entry): void {
    if (this.#entries.get(entry.id) !== entry) return
    this.#entries.delete(entry.id)
    this.#charge(entry, -ENTRY_BYTES - (entry.bytes?.byteLength ?? 0))
    entry.bytes = undefined
  }

  #charge({ accountId }: Entry, bytes: number): void {
    this.#bytes += bytes
    const left = (this.#accounts.get(accountId) ?? 0) + bytes
    if (left === 0) this.#accounts.delete(accountId)
    else this.#accounts.set(accountId, left)
  }
}

/** An answer while it is given. `add` copies; whatever does not fit is not kept, and the request goes on. */
export type RecordedAnswer = Readonly<{
  add(bytes: Uint8Array): void
  /** A repetition gets it from now on: these bytes, or undefined where it is not kept. */
  finish(head: AnswerHead): Uint8Array | undefined
  /** A repetition is a new request. Nothing, once it is finished. */
  drop(): void
}>

const EMPTY = new Uint8Array()

/** Neither holds a colon. */
const idOf = ({ keyId, headerHash }: AnswerKey): string => `${keyId}:${headerHash}`
