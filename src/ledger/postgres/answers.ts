/**
 * Claims of Idempotency-Keys and the answers to give again, on Postgres. A claim ends with what it was for, or with its node: what cannot be said now is said again until it
 * is. Rules: requests.md "Repeated requests"; nodes.md "Take-over".
 */

import type { ClaimFound, Repeatable, SharedAnswer, SharedAnswers } from '../shared-answers.ts'
import type { NodeIdentity } from './node.ts'
import { type Session, SessionFailure } from './session.ts'

export type PostgresAnswersOptions = Readonly<{
  session: Pick<Session, 'ask' | 'close'>
  /** Who claims; undefined: it may not now. */
  identity: () => NodeIdentity | undefined
  onBug: (bug: unknown) => void
  ttlMs?: number
  accountBytesMax?: number
  bytesMax?: number
}>

type Found = Readonly<{
  kind: 'claimed' | 'running' | 'used'
  is_same: boolean
  used_by: string | null
  status: bigint | null
  content_type: string | null
  answer: Uint8Array | null
}>

const MIB = 1024 * 1024
const DAY_MS = 24 * 60 * 60_000
/** Longer than any request: should a release be lost by a bug, the header is not lost for good. */
const CLAIM_MS = 60 * 60_000
const RETRY_MS = 1_000
/** Ends that could not be said yet; beyond it the oldest end with their claims. */
const OWED_MAX = 10_000

export class PostgresAnswers implements SharedAnswers {
  readonly #options: PostgresAnswersOptions
  /** Who claimed it, by the request's object: a claim of an earlier boot has ended with that. */
  readonly #claims = new WeakMap<Repeatable, number>()
  #owed: (() => Promise<unknown>)[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: PostgresAnswersOptions) {
    this.#options = options
  }

  async claim(repeatable: Repeatable): Promise<ClaimFound> {
    const own = this.#options.identity()
    if (own === undefined) return { kind: 'unavailable' }
    const { keyId, headerHash, bodyHash } = repeatable
    try {
      const [row] = await this.#options.session.ask<Found>('SELECT * FROM claim_request($1, $2, $3, $4, $5, $6, $7)', [
        own.lane,
        own.boot,
        own.epoch,
        keyId,
        headerHash,
        bodyHash,
        CLAIM_MS,
      ])
      if (row?.kind === 'claimed') this.#claims.set(repeatable, own.boot)
      return row === undefined ? { kind: 'unavailable' } : foundOf(row)
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      if (isOfRule(error)) this.#options.onBug(error)
      // It may have been claimed all the same.
      this.#claims.set(repeatable, own.boot)
      this.release(repeatable)
      return { kind: 'unavailable' }
    }
  }

  keep(repeatable: Repeatable, { status, contentType, bytes }: SharedAnswer): void {
    const boot = this.#claims.get(repeatable)
    if (boot === undefined) return
    const { session, ttlMs = DAY_MS, accountBytesMax = 8 * MIB, bytesMax = 1024 * MIB } = this.#options
    const { keyId, headerHash } = repeatable
    this.#do(() =>
      session.ask('SELECT keep_answer($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
        boot,
        keyId,
        headerHash,
        status,
        contentType,
        bytes,
        ttlMs,
        accountBytesMax,
        bytesMax,
      ]),
    )
  }

  release(repeatable: Repeatable): void {
    const boot = this.#claims.get(repeatable)
    if (boot === undefined) return
    const { keyId, headerHash } = repeatable
    this.#do(() =>
      this.#options.session.ask(
        'DELETE FROM idempotency_claims WHERE key_number = (SELECT number FROM keys WHERE id = $1) AND header_hash = $2 AND boot_number = $3',
        [keyId, headerHash, boot],
      ),
    )
  }

  /** After the last request; claims that are left end with the node. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#options.session.close()
  }

  #do(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => {
      if (!(error instanceof SessionFailure)) return this.#options.onBug(error)
      // What Postgres refuses by a rule it refuses again.
      if (isOfRule(error)) return this.#options.onBug(error)
      this.#owed.push(work)
      if (this.#owed.length > OWED_MAX) this.#owed.shift()
      this.#retrySoon()
    })
  }

  #retrySoon(): void {
    if (this.#isClosed || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const owed = this.#owed
      this.#owed = []
      for (const work of owed) this.#do(work)
    }, RETRY_MS)
  }
}

const RULE_CLASSES = new Set(['21', '22', '23', '42', 'P0'])
const isOfRule = ({ sqlState }: SessionFailure): boolean => RULE_CLASSES.has(sqlState.slice(0, 2))

function foundOf({ kind, is_same: isSame, used_by: requestId, status, content_type: contentType, answer }: Found): ClaimFound {
  switch (kind) {
    case 'claimed':
      return { kind: 'claimed' }
    case 'running':
      return { kind: 'running', isSame }
    case 'used':
      return {
        kind: 'used',
        isSame,
        requestId: requestId ?? '',
        answer: answer === null ? undefined : { status: Number(status), contentType: contentType ?? '', bytes: answer },
      }
  }
}
