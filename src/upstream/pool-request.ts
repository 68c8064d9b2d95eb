/** A call as the relay asks the pool for it, and the events of each attempt. Rules: pool.md "Failover". */

import type { Model } from '../core/catalog.ts'
import type { Usage } from '../core/usage.ts'
import type { Fault, Reply, Stop, UpstreamRequest } from './upstream.ts'

/** One native call as the relay asks for it; the pool chooses the upstream. */
export type PoolRequest = UpstreamRequest &
  Readonly<{
    accountId: string
    /** The hash by which a conversation keeps its upstream; absent where nothing is cached. */
    conversation?: Uint8Array
    /** Where the JSON string that names the model begins in the body. */
    modelAt: number
  }>

/** Judges a reply before anything of it goes to the client: resolves with what is made of it, or with why it is no answer. `model`: as this upstream knows it. Never rejects. */
export type Take<T> = (reply: Reply, model: Model) => Promise<T | Fault>

/** Hears of each call of a request as it happens, since the request may be given up at any moment. */
export interface CallLog {
  began(call: BegunCall): void
  failed(call: FailedCall): void
  /** The call that began last is answered with a 200, and may cost money from here on. `requestId`: the upstream's own. */
  replied(requestId: string | undefined): void
  /** Another upstream has the conversation's prompt in its cache, and its thinking may be bound to that one's account. Called before the answer is taken. */
  moved(lost: Readonly<{ thinking: boolean }>): void
  /** The answer of the call that began last is taken. `broke` is to be called if that answer breaks off or falls silent. */
  answered(broke: () => void): void
}

export type BegunCall = Readonly<{
  upstream: string
  /** The id under which the upstream knows the model. */
  model: string
  /** Unix milliseconds. */
  startedAt: number
}>

export type FailedCall = BegunCall &
  Readonly<{
    requestId?: string
    /** Null where no answer came. */
    status: number | null
    cause: string
    /** The usage that the upstream told; absent where it told none. */
    usage?: Usage
    durationMs: number
    /** Whether any part of the request was sent; a call that was refused before that cost nothing. */
    wasSent: boolean
  }>

export type CallOptions<T> = Readonly<{
  stop: Stop
  take: Take<T>
  log: CallLog
  /** Whether further calls may be tried; a running call may end in any case. Default: always true. */
  isWanted?: () => boolean
  onErrorHead?: () => void
  /** The time that each upstream has for its first event; absent where the answer comes in one piece, whose time depends on its length. */
  firstEventTimeoutMs?: number
}>
