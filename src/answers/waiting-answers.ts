/**
 * Finished answers that wait to be handed to the thread, in turns of their accounts, bounded in all and for each account. Rules: requests.md "Kept answers".
 */

import { FairQueue } from '../core/fair-queue.ts'
import type { Keeping } from './task.ts'

/** The bytes of a part may be in several pieces. They do not change any more. */
export type AnswerToKeep = Keeping & Readonly<{ text: string; parts: readonly Readonly<{ id?: string; pieces: readonly Uint8Array[] }>[] }>

type Waiting = Readonly<{ answer: AnswerToKeep; byteLength: number }>

const BYTES_MAX = 64 * 1024 * 1024
/** Room for the largest answer, which is some twelve megabytes. */
const ACCOUNT_BYTES_MAX = 16 * 1024 * 1024
/** Memory of an answer and of each of its parts, beside their bytes. */
const ANSWER_BYTES = 1_000
const PART_BYTES = 100

export class WaitingAnswers {
  readonly #queue = new FairQueue<Waiting>()
  #bytes = 0
  readonly #accounts = new Map<string, number>()

  get length(): number {
    return this.#queue.length
  }

  /** False: there is no room for the answer. */
  add(answer: AnswerToKeep): boolean {
    const { accountId } = answer
    const byteLength = ANSWER_BYTES + answer.parts.reduce((sum, { pieces }) => sum + PART_BYTES + lengthOf(pieces), 0)
    if ((this.#accounts.get(accountId) ?? 0) + byteLength > ACCOUNT_BYTES_MAX || this.#bytes + byteLength > BYTES_MAX) return false
    this.#queue.add(accountId, { answer, byteLength })
    this.#count(accountId, byteLength)
    return true
  }

  /** Takes the oldest answer of the account whose turn it is. */
  take(): Waiting | undefined {
    const next = this.#queue.take()
    if (next !== undefined) this.#count(next.answer.accountId, -next.byteLength)
    return next
  }

  #count(accountId: string, bytes: number): void {
    const own = (this.#accounts.get(accountId) ?? 0) + bytes
    if (own > 0) this.#accounts.set(accountId, own)
    else this.#accounts.delete(accountId)
    this.#bytes += bytes
  }
}

export const lengthOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
