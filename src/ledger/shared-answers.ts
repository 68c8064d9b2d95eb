/**
 * Requests with an Idempotency-Key on a ledger with several nodes: a repetition may come to another node than the first request. Nothing here throws or
 * rejects, except by a bug. Rules: requests.md "Repeated requests".
 */

import type { Forgotten } from '../core/format.ts'

/** A request by its key, its header and its body. Hashes: SHA-256, 32 bytes; `bodyHash` is of body, route and the headers that matter. */
export type Repeatable = Readonly<{ keyId: string; headerHash: Uint8Array; bodyHash: Uint8Array }>

export type SharedAnswer = Readonly<{ status: number; contentType: string; bytes: Uint8Array }>

/**
 * claimed: this request has the claim, which `keep` or `release` must end · running: another request has it · used: the header was used by `requestId`, which was charged.
 * `isSame`: the other request has the same body, route and headers.
 */
export type ClaimFound =
  | Readonly<{ kind: 'claimed' }>
  | Readonly<{ kind: 'running'; isSame: boolean }>
  | Readonly<{ kind: 'used'; isSame: boolean; requestId: string; answer: SharedAnswer | undefined }>
  | Readonly<{ kind: 'unavailable' }>

export interface SharedAnswers {
  claim(repeatable: Repeatable): Promise<ClaimFound>
  /** Looks whether a claim stands, as far as is known, and changes nothing. */
  isRunning(repeatable: Omit<Repeatable, 'bodyHash'>): Promise<boolean>
  /**
   * Keeps the answer of a request that used its header; undefined: the answer was too large. The caller does not wait: a repetition that comes before the answer and the
   * settle are written is told that the request still runs.
   */
  keep(repeatable: Repeatable, answer: SharedAnswer | undefined): void
  /** Ends the claim without an answer: a repetition is then a new request. */
  release(repeatable: Repeatable): void
}

/**
 * What repetitions at one relay ask of the relay that runs their request. `follower` names those who wait there together. `owner`: the relay that answered before; undefined:
 * the one that has the claim. `places`: how many wait. `at`: how many bytes of the stream they have; undefined: only places are asked for.
 */
export type FollowAsk = Readonly<{
  follower: string
  owner: string | undefined
  keyId: string
  header: string
  body: string
  places: number
  at: number | undefined
}>

/**
 * nothing: no more bytes yet; with `heartbeat` one may be sent now · bytes: of a stream · ended: the stream has no more · answer, refused: the request had no stream · broken: the bytes
 * that are asked for are gone · unknown: no such request runs there.
 */
export type FollowState =
  | Readonly<{ kind: 'places'; places: number }>
  | Readonly<{ kind: 'nothing'; heartbeat?: Uint8Array | undefined }>
  | Readonly<{ kind: 'bytes'; at: number; bytes: Uint8Array }>
  | Readonly<{ kind: 'ended' | 'broken' | 'unknown' }>
  | Readonly<{ kind: 'answer'; status: number; contentType: string; bytes: Uint8Array }>
  | Readonly<{ kind: 'refused'; name: string; message: string; retryAfterSeconds?: number | undefined; errorCode?: string | undefined }>

/** `requestId`: of the request that runs. `isStream`: its stream has begun. */
export type FollowTold = Readonly<{ requestId: string; isStream: boolean; state: FollowState }>

/** gone: the request has ended, or its relay · unavailable: it is not known now. */
export type FollowReply = (FollowTold & Readonly<{ owner: string }>) | 'gone' | 'unavailable'

/** Claims of running requests, if the answers are kept separately, beside a file that one process writes. */
export interface SharedClaims {
  claim(repeatable: Repeatable): Promise<Readonly<{ kind: 'claimed' } | { kind: 'running'; isSame: boolean } | { kind: 'unavailable' }>>
  isRunning(repeatable: Omit<Repeatable, 'bodyHash'>): Promise<boolean>
  release(repeatable: Omit<Repeatable, 'bodyHash'>): void
  follow(repeatable: Repeatable, ask: Pick<FollowAsk, 'follower' | 'owner' | 'places' | 'at'>): Promise<FollowReply>
  /** `tell` answers for the requests of this relay. */
  onFollow(tell: (ask: FollowAsk) => FollowTold | Promise<FollowTold>): void
}

/** An answer to keep, and the ids under which it is found with this key. The bytes of its parts do not change any more. */
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
  /** Returns at once; the answer is kept later. */
  keep(answer: AnswerElsewhere): void
  /** The same for an answer that may not be written to a disk; absent: there is no memory for it. */
  keepUnwritten?(answer: AnswerElsewhere): void
  find(key: Uint8Array, ...ids: readonly string[]): Promise<FoundElsewhere | Forgotten | 'unavailable'>
}
