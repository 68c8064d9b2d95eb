/**
 * A process that writes, as the database knows it: its lane, and the lease by which it keeps that. The gateway's main thread renews it, on a connection of its own. The
 * ledger's thread must not: it may block in a statement up to the limit, and one slow settle would lose the lane. Nor may a third thread, which would go on renewing
 * while the main loop is stuck and answers no request. `mayRenew` says whether there is a thread that can write: without one the lane is not kept. The node counts
 * its own time from when a renewal was *sent*, by its own clocks; Postgres' clock alone decides when a lease is over. Rules: nodes.md "Lanes and leases", "Fencing".
 */

import { SCHEMA_VERSION } from '../../../db/postgres/migrations.ts'
import type { NodeIdentity } from '../nodes.ts'
import { SessionFailure } from './session.ts'

export type NodeOptions = Readonly<{
  session: Readonly<{ ask<Row>(text: string, values?: readonly (string | number)[]): Promise<readonly Row[]>; close(): void }>
  /** The node's name in reports; two nodes may have the same. */
  name: string
  termMs: number
  /** Called after each renewal. If it fails, the renewal counts as failed and is soon tried again. */
  onRenewed?: (identity: NodeIdentity) => Promise<void>
  /** Returns an id that no boot had before. */
  bootId: () => string
  /** Whether there is a thread that can write; while there is none, the lease runs out. */
  mayRenew: () => boolean
  /** `now`: Unix milliseconds. `monotonicMs`: milliseconds that never jump back. */
  now?: () => number
  monotonicMs?: () => number
}>

export type NodeListener = Readonly<{
  /** Called when another node has taken over the lane: nothing of this boot is written any more, and its requests in flight are waived. */
  onFenced(): void
  /** Called when the process is a node again, as another boot. */
  onJoined(identity: NodeIdentity): void
  /** Called when nodes that are gone or fenced may have left requests in flight, which are to be waived. */
  onLeft(): void
  onBug(bug: unknown): void
  /** Called once if this machine's clock and Postgres' differ by more than two seconds. `skewMs` is positive if Postgres' clock is ahead. */
  onSkew(skewMs: number): void
}>

type Registered = Readonly<{ own_lane: bigint; own_boot: bigint; own_epoch: bigint; now_ms: bigint }>
type Beaten = Readonly<{ now_ms: bigint; has_left: boolean }>

const BEATS_PER_TERM = 4
const RETRY_MS_MAX = 250
const SKEW_MS_MAX = 2_000

/** Whether there is something to take over: lanes whose lease is over, or checkpoints of boots that are gone. */
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
  /** The boot id of a registration that was not answered. It is asked for again with the same id, because it may have been done. */
  #bootId: string | undefined
  /** When the last successful renewal was sent, by both clocks, because the monotonic one stops while a machine sleeps, and the wall clock may be set. */
  #sentAt = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY }
  /** Since when this node's renewals have been on time. */
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

  /** Registers this process and begins to renew. Rejects with what Postgres says; then nothing was begun, and `join` may be called again. */
  async join(): Promise<NodeIdentity> {
    const identity = await this.#register()
    this.#schedule(this.#pauseMs)
    return identity
  }

  /** Undefined from a fence until the process is a node again. */
  get identity(): NodeIdentity | undefined {
    return this.#identity
  }

  /** False from half a term after the last renewal was sent, because another node may soon take over the leases. */
  mayAdmit(): boolean {
    if (this.#identity === undefined || this.#isLeaving) return false
    const halfMs = this.#options.termMs / 2
    return this.#monotonicMs() - this.#sentAt.monotonicMs < halfMs && this.#now() - this.#sentAt.wallMs < halfMs
  }

  /** Postgres' clock minus this machine's, in milliseconds. */
  get skewMs(): number {
    return this.#skewMs
  }

  /** How often this process lost its lane. */
  get fences(): number {
    return this.#fences
  }

  /** Renews at once; to be called when something says that the lane may be lost. */
  hurry(): void {
    if (this.#timer === undefined || this.#beating !== undefined) return
    clearTimeout(this.#timer)
    this.#schedule(0)
  }

  /** Gives the lane back; to be called after the last write. If Postgres cannot be told, the other nodes notice when the lease is over. */
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
      // The renewal is soon tried again. If the lease runs out meanwhile, `mayAdmit` is false.
      if (!(error instanceof SessionFailure)) this.#listener.onBug(error)
    }
    const nextMs =
      isDone && this.#identity !== undefined ? this.#pauseMs - (this.#monotonicMs() - startedMs) : Math.min(this.#pauseMs, RETRY_MS_MAX)
    this.#schedule(Math.max(0, nextMs))
  }

  /** `onRegistered`: called in the very turn from which the process may admit again. */
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
    // If this node could not renew, the others probably could not either: they get half a term to renew before they are fenced.
    if (!row.has_left || sentAt.monotonicMs - this.#steadySinceMs < termMs / 2) return
    await session.ask('SELECT fence_expired(0)')
    this.#listener.onLeft()
  }

  #clocks(): Readonly<{ wallMs: number; monotonicMs: number }> {
    return { wallMs: this.#now(), monotonicMs: this.#monotonicMs() }
  }

  /** Postgres read its clock between the sending and the answer, so the skew is known up to half the time of the trip. Only what is certain counts. */
  #learn(sentAt: Readonly<{ wallMs: number; monotonicMs: number }>, postgresMs: number): void {
    this.#sentAt = sentAt
    const tripMs = this.#monotonicMs() - sentAt.monotonicMs
    this.#skewMs = postgresMs - (sentAt.wallMs + tripMs / 2)
    if (this.#isSkewTold || Math.abs(this.#skewMs) - tripMs / 2 <= SKEW_MS_MAX) return
    this.#isSkewTold = true
    this.#listener.onSkew(this.#skewMs)
  }
}
