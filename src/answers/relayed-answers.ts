/**
 * Answers that relays have handed over, in the memory of the process that has the ledger: bounded in all and for each account, and counted with what is beside their bytes.
 * Rules: processes.md "Shared"; requests.md "Kept answers".
 */

import type { Opened } from './layout.ts'
import { nameOf, type SealingKey } from './sealing.ts'
import { type AnswerToKeep, lengthOf } from './waiting-answers.ts'

type Relayed = Readonly<{ accountId: string; names: readonly string[]; opened: Opened; bytes: number; expiresAt: number }>
type OfAccount = { bytes: number; readonly answers: Set<Relayed> }

/** Memory of an answer, of each of its names and of each of its parts, beside their bytes. */
const ANSWER_BYTES = 400
const NAME_BYTES = 200
const PART_BYTES = 150
const BYTES_MAX = 64 * 1024 * 1024
const ACCOUNT_SHARE = 8
/** How long an answer that nobody asks for may lie here after it has expired. */
const LOOK_MS = 60_000

export class RelayedAnswers {
  readonly #now: () => number
  readonly #bytesMax: number
  readonly #accountBytesMax: number
  /** Oldest first, here and in each account. */
  readonly #answers = new Set<Relayed>()
  readonly #named = new Map<string, Relayed>()
  readonly #accounts = new Map<string, OfAccount>()
  #bytes = 0
  /** Undefined: nothing is kept. */
  #looks: ReturnType<typeof setInterval> | undefined

  /** `now`: Unix milliseconds. An account has an eighth of `bytesMax`. */
  constructor({ now, bytesMax = BYTES_MAX }: Readonly<{ now: () => number; bytesMax?: number }>) {
    this.#now = now
    this.#bytesMax = bytesMax
    this.#accountBytesMax = Math.floor(bytesMax / ACCOUNT_SHARE)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The account's own oldest answers make room, then the oldest of all; one that is larger than a share is not kept. */
  keep({ key, accountId, id, items, expiresAt, text, parts }: AnswerToKeep): void {
    const names = [id, ...items].map((own) => nameIn(key, own))
    const bytes =
      ANSWER_BYTES + NAME_BYTES * names.length + 2 * text.length + parts.reduce((sum, { pieces }) => sum + PART_BYTES + lengthOf(pieces), 0)
    if (bytes > this.#accountBytesMax) return
    for (const oldest of this.#answers) {
      if (oldest.expiresAt > this.#now()) break
      this.#forget(oldest)
    }
    const own = this.#accounts.get(accountId)
    if (own !== undefined) for (const oldest of own.answers) if (own.bytes + bytes > this.#accountBytesMax) this.#forget(oldest)
    for (const oldest of this.#answers) {
      if (this.#bytes + bytes <= this.#bytesMax) break
      this.#forget(oldest)
    }
    const whole = parts.map(({ pieces, ...part }) => ({ ...part, bytes: Buffer.concat(pieces) }))
    this.#add({ accountId, names, opened: { text, parts: whole }, bytes, expiresAt })
  }

  /** Of several ids, the first that is found. */
  find(key: SealingKey, ids: readonly string[]): Opened | undefined {
    for (const id of ids) {
      const answer = this.#named.get(nameIn(key, id))
      if (answer === undefined) continue
      if (answer.expiresAt > this.#now()) return answer.opened
      this.#forget(answer)
    }
    return undefined
  }

  #add(answer: Relayed): void {
    this.#looks ??= setInterval(() => this.#look(), LOOK_MS)
    this.#looks.unref()
    const { accountId, names, bytes } = answer
    const own = this.#accounts.get(accountId) ?? { bytes: 0, answers: new Set() }
    this.#accounts.set(accountId, own)
    own.bytes += bytes
    own.answers.add(answer)
    this.#answers.add(answer)
    this.#bytes += bytes
    for (const name of names) this.#named.set(name, answer)
  }

  #look(): void {
    const now = this.#now()
    for (const answer of this.#answers) if (answer.expiresAt <= now) this.#forget(answer)
    if (this.#answers.size > 0) return
    clearInterval(this.#looks)
    this.#looks = undefined
  }

  #forget(answer: Relayed): void {
    const { accountId, names, bytes } = answer
    const own = this.#accounts.get(accountId)
    if (!this.#answers.delete(answer) || own === undefined) return
    own.answers.delete(answer)
    own.bytes -= bytes
    if (own.answers.size === 0) this.#accounts.delete(accountId)
    this.#bytes -= bytes
    // A later answer may have the same items.
    for (const name of names) if (this.#named.get(name) === answer) this.#named.delete(name)
  }
}

const nameIn = (key: SealingKey, id: string): string => Buffer.from(nameOf(key, id)).toString('base64')
