/**
 * The ledger over Postgres, which other nodes write as well: what this store has in addition to `GroupWrites`. A statement that was not answered may have been done, so the
 * group is repeated: a write that comes twice is done once, by its id. Rules: ledger.md "Settles on Postgres".
 */

import { sql } from 'drizzle-orm'
import type { PriceVersion } from '../columns/parts.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { Connection } from '../sql/connection.ts'
import { HourSums } from '../sql/hour-sums.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'
import { isRead, isWrite, type Task } from '../task.ts'
import { GroupWrites } from '../writing/group-writes.ts'
import { type OrphanedCheckpoint, prepareOrphanedCheckpoints } from '../writing/orphaned-checkpoints.ts'
import type { Spilled } from '../writing/spill-records.ts'
import type { Applied, NotApplied, Replayed, RolledUp, Store } from '../writing/store.ts'
import { Acknowledged } from './acknowledged.ts'
import { PostgresEngine } from './engine.ts'
import { LostWrites, type Writes } from './lost-writes.ts'
import { SettledEnd } from './settled-end.ts'
import { describeFailure, isStorageFailure } from './storage-failure.ts'

/** How many checkpoints are waived in one transaction. */
const RECOVERED_AT_ONCE = 256
/** After this many settles, expired idempotency keys are deleted, up to a limit at a time. */
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
  readonly #hours: HourSums
  #settledEnd: SettledEnd
  #node: NodeIdentity
  #engine: PostgresEngine
  #writes: GroupWrites
  #settled = 0

  /** `db`: a connection of the store's own, opened by db/postgres/open.ts. `node`: the node that writes. Throws what Postgres says. */
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
    this.#hours = new HourSums(db)
    this.#settledEnd = new SettledEnd(db)
    this.#lost = new LostWrites({ db, acknowledged: this.#acknowledged, writes: this.#writesAgain(), lane: () => this.#node.lane })
  }

  /** To be called when the process was fenced and is a node again, as another boot and maybe in another lane. */
  rejoin(node: NodeIdentity): void {
    this.#node = node
    this.#engine = new PostgresEngine(this.#db, node)
    this.#writes = new GroupWrites(this.#engine)
    this.#writes.numbers.define(this.#prices)
    // Its numbers and ids may be those of another server.
    this.#settledEnd = new SettledEnd(this.#db)
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
    // An unused connection does not notice that it is lost, so it is used here.
    if (tasks.length === 0) this.canWrite()
    const problem = tasks.length > 0 && tasks.every(isRead) ? undefined : this.#lost.look()
    // A group without writes goes on: its leases and reads are refused one by one.
    if (problem !== undefined && (tasks.length === 0 || tasks.some(isWrite))) return problem
    const applied = this.#writes.apply(tasks, unsettled)
    if (applied.kind === 'failed') return applied
    this.#settled += tasks.length
    this.#hours.noteReceipts(applied.answers.filter((answer) => answer === 'settled').length)
    this.#acknowledged.note(tasks, applied.answers)
    const { faults, changes } = this.#lost.take()
    return faults.length + changes.length === 0
      ? applied
      : { ...applied, faults: [...faults, ...applied.faults], changes: [...changes, ...applied.changes] }
  }

  /** Waives requests of boots that have no lane any more. Other nodes may do the same at the same moment. */
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
    if (replayed.kind === 'replayed') {
      this.#acknowledged.noteReplayed(frames)
      this.#hours.noteReceipts(replayed.settled.length)
    }
    return replayed
  }

  tidy(): void {
    this.#learnKeys()
    if (this.#settled < TIDIED_AFTER) return
    this.#settled = 0
    this.#attempt(() => this.#forget.run(FORGOTTEN_MAX))
  }

  /** One node at a time does it, whichever comes. */
  rollUp(): RolledUp {
    if (!this.#hours.isDue) return 'none'
    let done: RolledUp = 'none'
    const isCommitted = this.#attempt(() => {
      // What another server must be given again is not looked over yet.
      if (!this.#lost.isCurrent) return
      const mark = this.#db.query<unknown, []>("SELECT 1 AS one FROM meta WHERE name = 'summed' FOR UPDATE SKIP LOCKED")
      const end = this.#settledEnd.look()
      if (end === undefined) {
        done = 'blocked'
        return
      }
      if (mark.get() === null) {
        // It is gone, or another node fills.
        this.#hours.requireMark()
        return
      }
      const isFilled = this.#hours.advance(end)
      this.#hours.look()
      done = isFilled && this.#hours.isDue ? 'more' : 'none'
    })
    return isCommitted ? done : 'none'
  }

  canWrite(): boolean {
    return this.#attempt(() => undefined)
  }

  close(): void {
    this.#db.close()
  }

  /** Learns the ids of the keys in acknowledged debits, while the server is still the one that gave their numbers. */
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

  /** True: `write` was committed. If the storage fails or the lane is lost, the next settle reports it. */
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
