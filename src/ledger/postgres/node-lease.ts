/**
 * A process that writes, as the database knows it: its lane, and the lease by which it keeps that. The gateway's own thread renews it, on a connection of its own. Not
 * the ledger's thread, which may stand in a statement up to its limit, and would lose the lane by one slow settle; nor a third one, which would go on renewing
 * for a loop that is stuck and answers no request. A ledger's thread that is dead is asked for by `mayRenew`: nothing is kept for what cannot write. What the
 * node may count on is reckoned from when a renewal was *sent*, by clocks of its own; when a lease is over is judged by Postgres' alone. Rules: nodes.md "Lanes
 * and leases", "Fencing".
 */

import { SCHEMA_VERSION } from '../../../db/postgres/migrations.ts'
import type { NodeIdentity } from '../nodes.ts'
import { SessionFailure } from './session.ts'

export type NodeOptions = Readonly<{
  session: Readonly<{ ask<Row>(text: string, values?: readonly (string | number)[]): Promise<readonly Row[]>; close(): void }>
  /** Among those that write; two may have the same. */
  name: string
  termMs: number
  /** After each renewal; what it fails by fails the renewal, which then comes again soon. */
  onRenewed?: (identity: NodeIdentity) => Promise<void>
  /** An id that no boot had before. */
  bootId: () => string
  /** Whether there is a thread that can write; while there is none, the lease runs out. */
  mayRenew: () => boolean
  /** Unix milliseconds, and milliseconds that never jump back. */
  now?: () => number
  monotonicMs?: () => number
}>

export type NodeListener = Readonly<{
  /** Another has taken the lane over: nothing of this boot is written any more. What was in flight is waived. */
  onFenced(): void
  /** It is a node again, as another boot. */
  onJoined(identity: NodeIdentity): void
  /** A node is gone and was fenced, or one that was fenced has left requests in flight: they are to be waived. */
  onLeft(): void
  onBug(bug: unknown): void
  /** Its clock and Postgres' differ by so much, positive where Postgres' is ahead. Told once, above two seconds. */
  onSkew(skewMs: number): void
}>

type Registered = Readonly<{ own_lane: bigint; own_boot: bigint; own_epoch: bigint; now_ms: bigint }>
type Beaten = Readonly<{ now_ms: bigint; has_left: boolean }>

const BEATS_PER_TERM = 4
const RETRY_MS_MAX = 250
const SKEW_MS_MAX = 2_000

/** True when there is something to take over: lanes whose lease is over, checkpoints of boots that are gone. */
const HAS_LEFT = `EXISTS (SELECT 1 FROM nodes WHERE lease_until > 0 AND lease_until < clock_ms())
  OR EXISTS (SELECT 1 FROM marks WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.boot_number = marks.boot_number AND lease_until > 0))`
const BEAT = `UPDATE nodes SET beat_at = clock_ms(), lease_until = clock_ms() + $4
  WHERE lane = $1 AND boot_number = $2 AND epoch = $3 AND lease_until > 0
  RETURNING beat_at AS now_ms, ${HAS_LEFT} AS has_left`

export class LedgerNode {
  readonly #options: NodeOptions
  readonly #listener: NodeListener
  readonly #now: () => number
  readonly #monotonicMs: () => number
  #identity: NodeIdentity | undefined
  /** Of a registration that was not answered: it may have been done, and is the same when it is asked again. */
  #bootId: string | undefined
  /** When the last renewal that worked was sent, by both clocks: one stops while a machine sleeps, the other may be set. */
  #sentAt = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY }
  /** Since when its renewals have been on time. */
  #steadySinceMs = Number.NEGATIVE_INFINITY
  #skewMs = 0
  #isSkewTold = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #beating: Promise<void> | undefined
  #isLeaving = false
  #fences = 0

  constructor(options: NodeOptions, listener: NodeListener) {
    this.#options = options
    this.#listener = listener
    this.#now = options.now ?? Date.now
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
  }

  /** Registers this process and begins to renew. Rejects with what Postgres says; then nothing was begun, and it may be tried again. */
  async join(): Promise<NodeIdentity> {
    const identity = await this.#register()
    this.#schedule(this.#pauseMs)
    return identity
  }

  /** Undefined while it is fenced and not a node again. */
  get identity(): NodeIdentity | undefined {
    return this.#identity
  }

  /** False from half a term after the last renewal was sent: what is leased may soon be another's. */
  mayAdmit(): boolean {
    if (this.#identity === undefined || this.#isLeaving) return false
    const halfMs = this.#options.termMs / 2
    return this.#monotonicMs() - this.#sentAt.monotonicMs < halfMs && this.#now() - this.#sentAt.wallMs < halfMs
  }

  /** Postgres' clock less this machine's. Milliseconds. */
  get skewMs(): number {
    return this.#skewMs
  }

  /** How often it lost its lane. */
  get fences(): number {
    return this.#fences
  }

  /** Renews at once, when something says that the lane may be lost. */
  hurry(): void {
    if (this.#timer === undefined || this.#beating !== undefined) return
    clearTimeout(this.#timer)
    this.#schedule(0)
  }

  /** Gives the lane back. After the last write; what cannot be said now is found out by the others when the lease is over. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#beating
    const { session } = this.#options
    const own = this.#identity
    this.#identity = undefined
    if (own !== undefined) {
      await session.ask('SELECT leave_node($1, $2, $3)', [own.lane, own.boot, own.epoch]).catch(() => undefined)
    }
    session.close()
  }

  get #pauseMs(): number {
    return this.#options.termMs / BEATS_PER_TERM
  }

  #schedule(pauseMs: number): void {
    if (this.#isLeaving) return
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().finally(() => {
        this.#beating = undefined
      })
    }, pauseMs)
  }

  /** Never rejects. */
  async #beat(): Promise<void> {
    const startedMs = this.#monotonicMs()
    let isDone = false
    try {
      if (this.#options.mayRenew()) {
        if (this.#identity === undefined) await this.#register((identity) => this.#listener.onJoined(identity))
        else await this.#renew(this.#identity)
        isDone = true
      }
    } catch (error) {
      // Tried again soon; what follows from a lease that runs out is seen by `mayAdmit`.
      if (!(error instanceof SessionFailure)) this.#listener.onBug(error)
    }
    const nextMs =
      isDone && this.#identity !== undefined ? this.#pauseMs - (this.#monotonicMs() - startedMs) : Math.min(this.#pauseMs, RETRY_MS_MAX)
    this.#schedule(Math.max(0, nextMs))
  }

  /** `onRegistered`: in the very turn from which on it may admit again. */
  async #register(onRegistered: (identity: NodeIdentity) => void = () => undefined): Promise<NodeIdentity> {
    const { session, name, termMs } = this.#options
    this.#bootId ??= this.#options.bootId()
    const bootId = this.#bootId
    const sentAt = this.#clocks()
    const [row] = await session.ask<Registered>('SELECT * FROM register_node_3($1, $2, $3, $4)', [name, bootId, termMs, SCHEMA_VERSION])
    if (row === undefined) throw new Error('a node was registered without a lane')
    const identity = { lane: Number(row.own_lane), boot: Number(row.own_boot), bootId, epoch: Number(row.own_epoch) }
    this.#bootId = undefined
    this.#identity = identity
    this.#steadySinceMs = sentAt.monotonicMs
    this.#learn(sentAt, Number(row.now_ms))
    onRegistered(identity)
    return identity
  }

  async #renew({ lane, boot, bootId, epoch }: NodeIdentity): Promise<void> {
    const { session, termMs } = this.#options
    const sentAt = this.#clocks()
    if (sentAt.monotonicMs - this.#sentAt.monotonicMs > termMs / 2) this.#steadySinceMs = sentAt.monotonicMs
    const [row] = await session.ask<Beaten>(BEAT, [lane, boot, epoch, termMs])
    if (row === undefined) {
      this.#identity = undefined
      this.#fences++
      this.#listener.onFenced()
      return
    }
    this.#learn(sentAt, Number(row.now_ms))
    await this.#options.onRenewed?.({ lane, boot, bootId, epoch })
    // Where it was away itself, the others most likely were, too: they get the time to say so.
    if (!row.has_left || sentAt.monotonicMs - this.#steadySinceMs < termMs / 2) return
    await session.ask('SELECT fence_expired(0)')
    this.#listener.onLeft()
  }

  #clocks(): Readonly<{ wallMs: number; monotonicMs: number }> {
    return { wallMs: this.#now(), monotonicMs: this.#monotonicMs() }
  }

  /** Postgres read its clock between the sending and the answer: what lies outside of that is skew for certain. */
  #learn(sentAt: Readonly<{ wallMs: number; monotonicMs: number }>, postgresMs: number): void {
    this.#sentAt = sentAt
    const tripMs = this.#monotonicMs() - sentAt.monotonicMs
    this.#skewMs = postgresMs - (sentAt.wallMs + tripMs / 2)
    if (this.#isSkewTold || Math.abs(this.#skewMs) - tripMs / 2 <= SKEW_MS_MAX) return
    this.#isSkewTold = true
    this.#listener.onSkew(this.#skewMs)
  }
}
