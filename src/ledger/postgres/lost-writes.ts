/**
 * Writes again what Postgres lost of what this node had acknowledged. It looks for losses whenever the connection is a new one, whatever the server says of itself. A standby
 * that takes over has all writes of its primary up to some point; the writes after that are done again in their order, each once by its id. Rules: nodes.md "After a failover".
 */

import { type Picos, sumPicos, toExactUsdText, ZERO } from '../../core/money.ts'
import { PROGRAM } from '../operation.ts'
import type { Connection } from '../sql/connection.ts'
import type { Debit, Task } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Spilled } from '../writing/spill-records.ts'
import type { Applied, NotApplied, Replayed } from '../writing/store.ts'
import type { Acknowledged, Act } from './acknowledged.ts'
import { isActThere, missingAmong, placesOf } from './lost-rows.ts'
import { isOtherServer, noteServer, serverNameOf } from './server-name.ts'
import { describeFailure, isStorageFailure } from './storage-failure.ts'

/** How the store writes; `transact` throws what undid it. */
export type Writes = Readonly<{
  /** Forgets the remembered numbers and ends of chains, which are those of the server before. */
  forgetNumbers(): void
  apply(tasks: readonly Task[]): Applied | NotApplied
  replay(frames: readonly Spilled[]): Replayed | NotApplied
  transact(write: () => void): void
  insertAudit(row: Readonly<Record<string, string | number>>): void
}>

type Options = Readonly<{
  db: Connection & Readonly<{ losses: number }>
  acknowledged: Acknowledged
  writes: Writes
  /** This node's lane, for the audit line. */
  lane: () => number
  now?: () => number
  monotonicMs?: () => number
}>

type Owed = { frames: readonly Spilled[]; acts: Act[]; debits: Debit[]; readonly sinceMs: number; againAtMs: number }
type Told = Pick<Applied, 'faults' | 'changes'>

const WRITTEN_AT_ONCE = 512
/** The pause before another try, when another node must first write a key again, or when another transaction keeps rows locked. */
const AGAIN_MS = 500
const PATIENCE_MS = 60_000

export class LostWrites {
  readonly #options: Options
  readonly #monotonicMs: () => number
  #server: string
  /** How often the connection had been lost at the last look. */
  #losses: number
  #owed: Owed | undefined
  #faults: LedgerFault[] = []
  #changes: Applied['changes'][number][] = []

  constructor(options: Options) {
    this.#options = options
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.#server = serverNameOf(options.db)
    this.#losses = options.db.losses
  }

  /** To be called before anything is written. Undefined: everything that was acknowledged is in the rows, or waits for a missing key or a lock. */
  look(): NotApplied | undefined {
    const nowMs = this.#monotonicMs()
    const isSame = this.isCurrent
    if (isSame && (this.#owed === undefined || nowMs < this.#owed.againAtMs)) return undefined
    try {
      if (!isSame) this.#compare(nowMs)
      return this.#writeOwed(nowMs)
    } catch (error) {
      if (!isStorageFailure(error)) throw error
      return { kind: 'failed', problem: describeFailure(error) }
    }
  }

  /** Whether the connection is still the one that was looked over last. */
  get isCurrent(): boolean {
    return this.#options.db.losses === this.#losses
  }

  /** The faults and changes since the last call. */
  take(): Told {
    const told = { faults: this.#faults, changes: this.#changes }
    this.#faults = []
    this.#changes = []
    return told
  }

  #compare(nowMs: number): void {
    const { db, acknowledged, writes } = this.#options
    const server = serverNameOf(db)
    const { losses } = db
    const isOther = isOtherServer(this.#server, server)
    const acts = acknowledged.acts().filter((act) => !isActThere(db, act))
    const debits = missingAmong(db, acknowledged.debits())
    const frames = acknowledged.frames()
    const kept = missingAmong(
      db,
      frames.flatMap((frame) => frame.debits),
    )
    if (isOther || acts.length + debits.length + kept.length > 0) {
      writes.forgetNumbers()
      this.#tell({ before: this.#server, server, acts: acts.length, debits: [...debits, ...kept] })
      this.#owed = {
        frames: kept.length === 0 ? [] : frames.map(ofThisBoot),
        acts: [...acts],
        debits: [...debits],
        sinceMs: nowMs,
        againAtMs: nowMs,
      }
    }
    this.#server = server === '' ? this.#server : server
    this.#losses = losses
  }

  /** Writes the line of the audit log, and the fault for the operator. The line is written before the rows, so that these are never without their reason. */
  #tell({ before, server, acts, debits }: Readonly<{ before: string; server: string; acts: number; debits: readonly Debit[] }>): void {
    const { writes, db, acknowledged, now = Date.now, lane } = this.#options
    const usd = toExactUsdText(costOf(debits))
    writes.transact(() => {
      noteServer(db, server)
      writes.insertAudit({
        now: now(),
        ...PROGRAM,
        action: 'failover',
        target: `lane ${lane()}`,
        before: JSON.stringify({ server: before }),
        after: JSON.stringify({ server, requests: debits.length, usd, acts }),
      })
    })
    const what = isOtherServer(before, server) ? `Postgres failed over, from ${before} to ${server}` : 'Postgres lost what it had committed'
    const missing =
      debits.length + acts === 0
        ? 'nothing is missing of what this node acknowledged in the last minute'
        : `${debits.length} requests over ${usd} USD and ${acts} acts that this node had acknowledged are missing and are written again`
    const short = acknowledged.isShort ? '; it had no room for the whole minute, and what is older than it remembers is not known' : ''
    this.#faults.push({ kind: 'failover', problem: `${what}: ${missing}${short}` })
  }

  #writeOwed(nowMs: number): NotApplied | undefined {
    const owed = this.#owed
    if (owed === undefined) return undefined
    const failed = this.#writeFrames(owed) ?? this.#writeActs(owed) ?? this.#writeDebits(owed) ?? this.#release()
    if (failed !== undefined) return failed
    if (owed.acts.length + owed.debits.length === 0) this.#owed = undefined
    else if (nowMs - owed.sinceMs < PATIENCE_MS) owed.againAtMs = nowMs + AGAIN_MS
    else this.#giveUp(owed)
    return undefined
  }

  #writeFrames(owed: Owed): NotApplied | undefined {
    if (owed.frames.length === 0) return undefined
    const replayed = this.#options.writes.replay(owed.frames)
    if (replayed.kind === 'failed') return replayed
    this.#faults.push(...replayed.faults)
    owed.frames = []
    return undefined
  }

  #writeActs(owed: Owed): NotApplied | undefined {
    for (let act = owed.acts[0]; act !== undefined; act = owed.acts[0]) {
      const applied = this.#options.writes.apply([act])
      if (applied.kind === 'failed') return applied
      this.#note(applied)
      const [answer] = applied.answers
      if (typeof answer === 'object' && 'result' in answer && answer.result === 'refused') {
        this.#faults.push({ kind: 'failover', problem: `${act.operation.kind} could not be written again: ${answer.problem}` })
      }
      owed.acts.shift()
    }
    return undefined
  }

  #writeDebits(owed: Owed): NotApplied | undefined {
    const { writes, db, acknowledged } = this.#options
    const places = placesOf(db, owed.debits, (number) => acknowledged.keyId(number))
    const left: Debit[] = owed.debits.filter((debit) => !places.has(debit))
    const ready = owed.debits.filter((debit) => places.has(debit))
    while (ready.length > 0) {
      const chunk = ready.slice(0, WRITTEN_AT_ONCE)
      // The debits count as this boot's, also if an earlier boot admitted them and was fenced: they were acknowledged as charged.
      const tasks = chunk.map((debit): Task => ({ kind: 'settle', debit: { ...ofNoBoot(debit), ...places.get(debit) } }))
      const applied = writes.apply(tasks)
      if (applied.kind === 'failed') return applied
      this.#note(applied)
      left.push(...chunk.filter((_, index) => applied.answers[index] === undefined))
      ready.splice(0, chunk.length)
      owed.debits = [...left, ...ready]
    }
    owed.debits = left
    return undefined
  }

  /** Drops the checkpoints of requests that have ended, which the rows may show again, and records their attempts. */
  #release(): NotApplied | undefined {
    const releases = this.#options.acknowledged.releases()
    const applied = releases.length === 0 ? undefined : this.#options.writes.apply(releases)
    return applied?.kind === 'failed' ? applied : undefined
  }

  #giveUp({ acts, debits }: Owed): void {
    const usd = toExactUsdText(costOf(debits))
    const problem = `${debits.length} requests over ${usd} USD and ${acts.length} acts could not be written again: their keys are not there, or their rows stayed locked`
    this.#faults.push({ kind: 'failover', problem })
    this.#owed = undefined
  }

  #note({ faults, changes }: Applied): void {
    this.#faults.push(...faults)
    this.#changes.push(...changes)
  }
}

const costOf = (debits: readonly Debit[]): Picos => (debits.length === 0 ? ZERO : sumPicos(...debits.map(({ costPicos }) => costPicos)))

function ofNoBoot({ boot: _, ...debit }: Debit): Debit {
  return debit
}
const ofThisBoot = (frame: Spilled): Spilled => ({ ...frame, debits: frame.debits.map(ofNoBoot) })
