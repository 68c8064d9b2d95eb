/**
 * The ledger over Postgres, which other nodes write as well: what only that has beside the state machine. A statement that was not answered may have been done: the
 * group is repeated, because every write is once by its id. Rules: ledger.md "Settles on Postgres".
 */

import { sql } from 'drizzle-orm'
import type { PriceVersion } from '../columns/parts.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { Connection } from '../sql/connection.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'
import { isRead, isWrite, type Task } from '../task.ts'
import { GroupWrites } from '../writing/group-writes.ts'
import { type OrphanedCheckpoint, prepareOrphanedCheckpoints } from '../writing/orphaned-checkpoints.ts'
import type { Spilled } from '../writing/spill-records.ts'
import type { Applied, NotApplied, Replayed, Store } from '../writing/store.ts'
import { Acknowledged } from './acknowledged.ts'
import { PostgresEngine } from './engine.ts'
import { LostWrites, type Writes } from './lost-writes.ts'
import { describeFailure, isStorageFailure } from './storage-failure.ts'

/** Checkpoints that are waived in one transaction. */
const RECOVERED_AT_ONCE = 256
/** Idempotency keys that are over are looked for behind so many settles, and so many of them go at once. */
const TIDIED_AFTER = 4_096
const FORGOTTEN_MAX = 2 * TIDIED_AFTER

type CountedConnection = Connection & Readonly<{ losses: number }>

const IS_LEFT = sql`not exists (select 1 from nodes where nodes.boot_number = marks.boot_number and lease_until > 0)`

export class PostgresStore implements Store {
  readonly id: string
  readonly #db: Connection
  readonly #orphaned
  readonly #forget
  readonly #prices: PriceVersion[] = []
  readonly #acknowledged = new Acknowledged()
  readonly #lost: LostWrites
  #node: NodeIdentity
  #engine: PostgresEngine
  #writes: GroupWrites
  #settled = 0

  /** `db`: of its own, opened by db/postgres/open.ts. `node`: that writes. Throws what Postgres says. */
  constructor(db: CountedConnection, node: NodeIdentity) {
    this.#db = db
    this.#node = node
    this.id = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'node'").get()?.value ?? ''
    this.#engine = new PostgresEngine(db, node)
    this.#writes = new GroupWrites(this.#engine)
    this.#orphaned = prepareOrphanedCheckpoints(db, IS_LEFT, RECOVERED_AT_ONCE)
    this.#forget = db.query<undefined, [number]>(
      `DELETE FROM idempotency WHERE (key_number, header_hash) IN (
         SELECT key_number, header_hash FROM idempotency WHERE expires_at <= clock_ms() LIMIT ? FOR UPDATE SKIP LOCKED)`,
    )
    this.#lost = new LostWrites({ db, acknowledged: this.#acknowledged, writes: this.#writesAgain(), lane: () => this.#node.lane })
  }

  /** It was fenced, and is a node again: another boot, and maybe in another lane. */
  rejoin(node: NodeIdentity): void {
    this.#node = node
    this.#engine = new PostgresEngine(this.#db, node)
    this.#writes = new GroupWrites(this.#engine)
    this.#writes.numbers.define(this.#prices)
  }

  get boot(): number {
    return this.#engine.boot
  }

  define(prices: readonly PriceVersion[]): void {
    this.#prices.push(...prices)
    this.#writes.numbers.define(prices)
  }

  versionAt(index: number): PriceVersion {
    return this.#writes.numbers.versionAt(index)
  }

  apply(tasks: readonly Task[], unsettled?: ReadonlySet<number>): Applied | NotApplied {
    // A connection that is not used does not know that it is lost.
    if (tasks.length === 0) this.canWrite()
    const problem = tasks.length > 0 && tasks.every(isRead) ? undefined : this.#lost.look()
    // Leases and reads are refused one by one.
    if (problem !== undefined && (tasks.length === 0 || tasks.some(isWrite))) return problem
    const applied = this.#writes.apply(tasks, unsettled)
    if (applied.kind === 'failed') return applied
    this.#settled += tasks.length
    this.#acknowledged.note(tasks, applied.answers)
    const { faults, changes } = this.#lost.take()
    return faults.length + changes.length === 0
      ? applied
      : { ...applied, faults: [...faults, ...applied.faults], changes: [...changes, ...applied.changes] }
  }

  /** Of boots that have no lane any more. Other nodes may do the same at the same moment. */
  recover(now: number, onStep: () => void = () => undefined): number | NotApplied {
    const problem = this.#lost.look()
    if (problem !== undefined) return problem
    for (let recovered = 0; ; ) {
      onStep()
      const left = this.#left()
      if ('kind' in left) return left
      const done = this.#writes.recover(left, now)
      if (typeof done !== 'number') return done
      recovered += done
      if (done < RECOVERED_AT_ONCE) return recovered
    }
  }

  #left(): readonly OrphanedCheckpoint[] | NotApplied {
    try {
      return this.#orphaned.all()
    } catch (error) {
      if (!isStorageFailure(error)) throw error
      return { kind: 'failed', problem: describeFailure(error) }
    }
  }

  replay(frames: readonly Spilled[], onStep?: () => void): Replayed | NotApplied {
    const problem = this.#lost.look()
    if (problem !== undefined) return problem
    const replayed = this.#writes.replay(frames, onStep)
    if (replayed.kind === 'replayed') this.#acknowledged.noteReplayed(frames)
    return replayed
  }

  tidy(): void {
    this.#learnKeys()
    if (this.#settled < TIDIED_AFTER) return
    this.#settled = 0
    this.#attempt(() => this.#forget.run(FORGOTTEN_MAX))
  }

  canWrite(): boolean {
    return this.#attempt(() => undefined)
  }

  close(): void {
    this.#db.close()
  }

  /** Whose numbers the acknowledged debits name, while the server still is the one that gave them. */
  #learnKeys(): void {
    const { newKeys } = this.#acknowledged
    if (newKeys.length === 0 || !this.#lost.isCurrent) return
    const known = this.#db.query<{ number: bigint; id: string }, [string]>(
      `SELECT number, id FROM keys WHERE number = ${anyOf('?', 'BIGINT')}`,
    )
    try {
      const keys = known.all(arrayText(newKeys)).map(({ number, id }) => ({ number: Number(number), id }))
      if (this.#lost.isCurrent) this.#acknowledged.learnKeys(keys)
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
  }

  #writesAgain(): Writes {
    return {
      forgetNumbers: () => this.rejoin(this.#node),
      apply: (tasks) => this.#writes.apply(tasks),
      replay: (frames) => this.#writes.replay(frames),
      transact: (write) => this.#engine.transact(write, { isDurable: true }),
      insertAudit: (row) => void this.#engine.statements.insertAudit.run(row),
    }
  }

  /** True: it was committed. A storage that fails, or a lane that was lost, is met by the next settle. */
  #attempt(write: () => void): boolean {
    try {
      this.#engine.transact(write, { isDurable: true })
      return true
    } catch (error) {
      if (!isStorageFailure(error)) throw error
      return false
    }
  }
}
