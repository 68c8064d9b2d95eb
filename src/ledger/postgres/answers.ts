/**
 * Claims of Idempotency-Keys and the answers to give again, on Postgres. A claim ends with its request, or with its node. An end that cannot be written now is tried again
 * until it is written. Rules: requests.md "Repeated requests"; nodes.md "Take-over".
 */

import type { Patience } from '../admission/patience.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { ClaimFound, Repeatable, SharedAnswer, SharedAnswers } from '../shared-answers.ts'
import { type Session, SessionFailure } from './session.ts'

export type PostgresAnswersOptions = Readonly<{
  session: Pick<Session, 'ask' | 'close'>
  /** The identity of the node that claims; undefined: this process may not claim now. */
  identity: () => NodeIdentity | undefined
  onBug: (bug: unknown) => void
  patience: Pick<Patience, 'whileHeard'>
  ttlMs?: number
  /** The most bytes that the answers of an account may take; they never take more than an eighth of `bytesMax`. */
  accountBytesMax?: number
  /** The most bytes that all answers may take; 0: no answers are kept. */
  bytesMax?: number | undefined
}>

type Found = Readonly<{
  kind: 'claimed' | 'running' | 'used'
  is_same: boolean
  used_by: string | null
  status: bigint | null
  content_type: string | null
  answer: Uint8Array | null
}>

type Claimed = Readonly<{ boot: number; claim: number }>
/** A statement that ends a claim. Resolves with the statement that must follow, if one must. */
type End = () => Promise<End | undefined>
type Ended = Readonly<{ isDone: boolean }>

const MIB = 1024 * 1024
/** The default for an account. The table stays small, because every node reads all of it to make room. */
const ACCOUNT_BYTES_MAX = 8 * MIB
const ACCOUNT_SHARE = 8
const DAY_MS = 24 * 60 * 60_000
/** How long a claim counts: longer than any request, so that a release that a bug loses does not block the header for good. */
const CLAIM_MS = 60 * 60_000
const RETRY_MS = 1_000
/** The most ends that may wait to be written; beyond it the oldest are dropped, and their claims run out. */
const OWED_MAX = 10_000

export class PostgresAnswers implements SharedAnswers {
  readonly #options: PostgresAnswersOptions
  /** Claims by the object of their request, each with the boot that made it: a claim of an earlier boot has ended with that boot. */
  readonly #claims = new WeakMap<Repeatable, Claimed>()
  /** The numbers of claims that have not ended. */
  readonly #live = new Set<number>()
  #lastClaim = 0
  #owed: End[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(options: PostgresAnswersOptions) {
    this.#options = options
  }

  async claim(repeatable: Repeatable): Promise<ClaimFound> {
    // A claim that succeeds after its request was told `unavailable` is released, because the request does not use it any more.
    const release = (late: ClaimFound): void => void (late.kind === 'claimed' && this.release(repeatable))
    const found = await this.#options.patience.whileHeard(this.#claim(repeatable), release)
    return found === 'unavailable' ? { kind: found } : found
  }

  async #claim(repeatable: Repeatable): Promise<ClaimFound> {
    const own = this.#options.identity()
    if (own === undefined) return { kind: 'unavailable' }
    const { keyId, headerHash, bodyHash } = repeatable
    const claimed = { boot: own.boot, claim: ++this.#lastClaim }
    this.#live.add(claimed.claim)
    try {
      const [row] = await this.#options.session.ask<Found>('SELECT * FROM claim_request($1, $2, $3, $4, $5, $6, $7, $8)', [
        own.lane,
        own.boot,
        own.epoch,
        claimed.claim,
        keyId,
        headerHash,
        bodyHash,
        CLAIM_MS,
      ])
      if (row?.kind === 'claimed') this.#claims.set(repeatable, claimed)
      else this.#live.delete(claimed.claim)
      return row === undefined ? { kind: 'unavailable' } : foundOf(row)
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      if (isOfRule(error)) this.#options.onBug(error)
      // The claim is released, because it may have been made although no answer came.
      this.#claims.set(repeatable, claimed)
      this.release(repeatable)
      return { kind: 'unavailable' }
    }
  }

  async isRunning(repeatable: Omit<Repeatable, 'bodyHash'>): Promise<boolean> {
    return (await this.#options.patience.whileHeard(this.#isRunning(repeatable))) !== false
  }

  async #isRunning({ keyId, headerHash }: Omit<Repeatable, 'bodyHash'>): Promise<boolean> {
    try {
      const rows = await this.#options.session.ask(
        `SELECT FROM idempotency_claims AS c
         WHERE key_number = (SELECT number FROM keys WHERE id = $1) AND header_hash = $2 AND expires_at > clock_ms()
           AND EXISTS (SELECT FROM nodes WHERE nodes.boot_number = c.boot_number AND lease_until > 0)`,
        [keyId, headerHash],
      )
      return rows.length > 0
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      if (isOfRule(error)) this.#options.onBug(error)
      return true
    }
  }

  keep(repeatable: Repeatable, answer: SharedAnswer | undefined): void {
    const claimed = this.#claims.get(repeatable)
    if (claimed === undefined) return
    const { session, ttlMs = DAY_MS, bytesMax = 1024 * MIB } = this.#options
    const accountBytesMax = Math.min(this.#options.accountBytesMax ?? ACCOUNT_BYTES_MAX, Math.floor(bytesMax / ACCOUNT_SHARE))
    const own = [claimed.boot, claimed.claim, repeatable.keyId, repeatable.headerHash]
    const end: End = async () => {
      const [row] = await session.ask<Ended>('SELECT end_used_claim($1, $2, $3, $4) AS "isDone"', own)
      return this.#nextAfter(row, claimed, end)
    }
    if (answer === undefined || answer.bytes.byteLength > accountBytesMax) {
      this.#do(end)
      return
    }
    const { status, contentType, bytes } = answer
    const given = [...own, status, contentType, bytes, ttlMs, accountBytesMax, bytesMax]
    this.#do(async () => {
      const [row] = await session.ask<Ended>('SELECT keep_answer($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS "isDone"', given)
      return this.#nextAfter(row, claimed, end)
    })
  }

  #nextAfter(row: Ended | undefined, { claim }: Claimed, end: End): End | undefined {
    if (row?.isDone !== true) return end
    this.#live.delete(claim)
    return undefined
  }

  release(repeatable: Repeatable): void {
    const claimed = this.#claims.get(repeatable)
    if (claimed === undefined) return
    this.#live.delete(claimed.claim)
    const { keyId, headerHash } = repeatable
    this.#do(async () => {
      await this.#options.session.ask(
        `DELETE FROM idempotency_claims
         WHERE key_number = (SELECT number FROM keys WHERE id = $1) AND header_hash = $2 AND boot_number = $3 AND claim = $4`,
        [keyId, headerHash, claimed.boot, claimed.claim],
      )
      return undefined
    })
  }

  /** Removes claims of this node that have ended although the server still has them, as after a failover to a server that lacks the last writes. */
  endGhosts(): void {
    const boot = this.#options.identity()?.boot
    if (boot === undefined) return
    const [last, live] = [this.#lastClaim, [...this.#live]]
    this.#do(async () => {
      await this.#options.session.ask(
        'DELETE FROM idempotency_claims WHERE boot_number = $1 AND claim <= $2 AND claim <> ALL (CAST($3 AS BIGINT[]))',
        [boot, last, `{${live.join(',')}}`],
      )
      return undefined
    })
  }

  /** To be called after the last request; claims that are left end with the node. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#options.session.close()
  }

  #do(end: End): void {
    end().then(
      (next) => next && this.#owe(next),
      (error: unknown) => {
        // A statement that broke a rule of Postgres is not tried again, because it would be refused again.
        if (!(error instanceof SessionFailure) || isOfRule(error)) return this.#options.onBug(error)
        this.#owe(end)
      },
    )
  }

  #owe(end: End): void {
    this.#owed.push(end)
    if (this.#owed.length > OWED_MAX) this.#owed.shift()
    this.#retrySoon()
  }

  #retrySoon(): void {
    if (this.#isClosed || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const owed = this.#owed
      this.#owed = []
      for (const end of owed) this.#do(end)
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
