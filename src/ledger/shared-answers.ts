/**
 * Requests that named themselves by an Idempotency-Key, where several nodes answer them: a repetition may come to another node than the first one. Nothing here throws or
 * rejects but for a bug. Rules: requests.md "Repeated requests".
 */

import type { Forgotten } from '../core/format.ts'

/** Of which key, under which header. Hashes: SHA-256, 32 bytes; `bodyHash` of body, route and the headers that matter. */
export type Repeatable = Readonly<{ keyId: string; headerHash: Uint8Array; bodyHash: Uint8Array }>

export type SharedAnswer = Readonly<{ status: number; contentType: string; bytes: Uint8Array }>

/**
 * claimed: it is this request's now, to be ended by `keep` or `release` · running: on another node · used: by `requestId`, which was charged. `isSame`: by the same
 * request.
 */
export type ClaimFound =
  | Readonly<{ kind: 'claimed' }>
  | Readonly<{ kind: 'running'; isSame: boolean }>
  | Readonly<{ kind: 'used'; isSame: boolean; requestId: string; answer: SharedAnswer | undefined }>
  | Readonly<{ kind: 'unavailable' }>

export interface SharedAnswers {
  claim(repeatable: Repeatable): Promise<ClaimFound>
  /** A claim of it stands, as far as is known: a look that changes nothing. */
  isRunning(repeatable: Omit<Repeatable, 'bodyHash'>): Promise<boolean>
  /**
   * Keeps the answer of a request that used its header up; undefined: it was too large. The caller does not wait: a repetition that comes before the answer and the
   * settle are written is told that the request still runs.
   */
  keep(repeatable: Repeatable, answer: SharedAnswer | undefined): void
  /** A repetition is a new request. */
  release(repeatable: Repeatable): void
}

/** Where answers are kept beside a file that one process writes: what runs is claimed apart from what was answered. */
export interface SharedClaims {
  claim(repeatable: Repeatable): Promise<Readonly<{ kind: 'claimed' } | { kind: 'running'; isSame: boolean } | { kind: 'unavailable' }>>
  isRunning(repeatable: Omit<Repeatable, 'bodyHash'>): Promise<boolean>
  release(repeatable: Omit<Repeatable, 'bodyHash'>): void
}

/** An answer to keep, by the ids under which it is found with this key. The bytes of its parts do not change any more. */
export type AnswerElsewhere = Readonly<{
  key: Uint8Array
  accountId: string
  id: string
  items: readonly string[]
  /** Unix milliseconds. */
  expiresAt: number
  text: string
  parts: readonly Readonly<{ id?: string; pieces: readonly Uint8Array[] }>[]
}>

export type FoundElsewhere = Readonly<{ text: string; parts: readonly Readonly<{ id?: string; bytes: Uint8Array }>[] }>

/** Answers that another process of this machine keeps. */
export interface KeptElsewhere {
  /** Comes back at once. */
  keep(answer: AnswerElsewhere): void
  find(key: Uint8Array, ...ids: readonly string[]): Promise<FoundElsewhere | Forgotten | 'unavailable'>
}
