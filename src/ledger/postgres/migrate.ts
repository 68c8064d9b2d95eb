/**
 * A ledger on Postgres is brought to this program's version while nodes of older programs go on beside it: step by step, each with its version in one transaction,
 * by one process at a time. A step that removes something waits until no node lives that would miss it. Rules: ledger.md "Migrations".
 */

import { apply, findLedger, LOCK, MIGRATIONS } from '../../../db/postgres/migrations.ts'
import type { DatabaseProblem } from '../../../db/problem.ts'
import { type Migration, newestOf, planOf } from '../../core/migration.ts'
import { placeText } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import type { TellMigration } from '../thread-messages.ts'
import { type Connectable, connectTo } from './connect.ts'
import { describeFailure, isConflict, isHeld, PostgresError } from './storage-failure.ts'

/** The limit of a step, which may rewrite all rows. */
const STEP_MS_MAX = 6 * 3_600_000
/** A session that waits for a table's lock holds up every later one, so the wait is short: nodes that run must not feel it. */
const LOCK_MS = 250
const PAUSE_MS = 500
const LOCKED_MS_MAX = 60_000
const TOLD_EVERY_MS = 10_000
/** The advisory lock under which nodes register (register_node). */
const REGISTER_LOCK = '8390880602311700582'

/**
 * The outcome of an attempt. `overtaken`: another process has taken the step. `busy`: another process is taking it now. `locked`: tables that the step needs are locked.
 * `missed`: nodes still run that would miss what the step removes; `why` names them.
 */
type Met = Readonly<{ kind: 'done' | 'overtaken' | 'busy' | 'locked' }> | Readonly<{ kind: 'missed' | 'failed'; why: string }>

type MigrateOptions = Readonly<{
  tell: TellMigration
  migrations?: readonly Migration[]
  /** How long a step is tried while another transaction keeps its tables locked. */
  lockedMsMax?: number
}>

/** Migrates over a connection of its own. Undefined: the ledger is migrated. Throws what Postgres says if it cannot be asked. */
export function migrateDatabase(place: Connectable, tell: TellMigration): DatabaseProblem | undefined {
  const onWait = (waitedMs: number): void =>
    tell({ notice: 'a step of the migration goes on', fields: { seconds: Math.round(waitedMs / 1_000) } })
  const db = connectTo(place, 'write', 'migrates', { timeoutMs: STEP_MS_MAX, lockMs: LOCK_MS, onWait })
  try {
    return migrate(db, placeText(place), { tell })
  } finally {
    db.close()
  }
}

/** `db`: a connection that waits for locks only shortly. This thread blocks meanwhile. Undefined: the ledger has this version, or a newer one that a newer program made. */
export function migrate(db: Connection, place: string, options: MigrateOptions): DatabaseProblem | undefined {
  const { tell, migrations = MIGRATIONS } = options
  const [from, to] = [versionOf(db), newestOf(migrations)]
  tell({ notice: 'the ledger is of an older version and is migrated; on Postgres no backup is made', fields: { ledger: place, from, to } })
  for (let step = nextOf(db, migrations); step !== undefined; step = nextOf(db, migrations)) {
    tell({ notice: 'a step of the migration begins', fields: { version: step.version, step: step.version - from, steps: to - from } })
    const why = takeStep(db, step, options)
    if (why === undefined) continue
    const message = `${place} cannot be migrated to schema version ${step.version}: ${why}; it stays at ${versionOf(db)}`
    return { problem: 'unwritable', message }
  }
  tell({ notice: 'the ledger is migrated', fields: { ledger: place, version: versionOf(db) } })
  return undefined
}

function versionOf(db: Connection): number {
  const found = findLedger(db)
  return found.kind === 'ledger' ? found.version : 0
}

function nextOf(db: Connection, migrations: readonly Migration[]): Migration | undefined {
  const plan = planOf(migrations, versionOf(db))
  return plan.kind === 'due' ? plan.steps[0] : undefined
}

/** Undefined: the step was taken, here or by another process; otherwise why it was not. */
function takeStep(db: Connection, step: Migration, { tell, lockedMsMax = LOCKED_MS_MAX }: MigrateOptions): string | undefined {
  let [lateMs, toldMs] = [performance.now() + lockedMsMax, Number.NEGATIVE_INFINITY]
  for (;;) {
    const met = attempt(db, step)
    switch (met.kind) {
      case 'done':
      case 'overtaken':
        return undefined
      case 'missed':
      case 'failed':
        return met.why
      case 'busy':
        // The time starts again: while another process takes the step, this one waits for as long as that process lives.
        lateMs = performance.now() + lockedMsMax
        if (performance.now() - toldMs < TOLD_EVERY_MS) break
        toldMs = performance.now()
        tell({ notice: 'another process migrates the ledger: it is waited for', fields: { version: step.version } })
        break
      case 'locked':
        if (performance.now() > lateMs) return 'another session keeps its tables locked'
        if (performance.now() - toldMs < TOLD_EVERY_MS) break
        toldMs = performance.now()
        tell({ notice: 'another session keeps tables of the migration locked: they are waited for', fields: { version: step.version } })
    }
    Bun.sleepSync(PAUSE_MS)
  }
}

/** Takes the step in one transaction: all of it, or nothing. */
function attempt(db: Connection, step: Migration): Met {
  try {
    return db.transaction(() => meet(db, step))()
  } catch (error) {
    if (!(error instanceof PostgresError)) throw error
    return isHeld(error) || isConflict(error) ? { kind: 'locked' } : { kind: 'failed', why: describeFailure(error) }
  }
}

function meet(db: Connection, step: Migration): Met {
  const lock = db.query<{ taken: boolean | bigint }, []>(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS taken`).get()
  if (!lock?.taken) return { kind: 'busy' }
  if (versionOf(db) >= step.version) return { kind: 'overtaken' }
  const missing = step.nodesFrom === undefined ? [] : nodesBelow(db, step.nodesFrom)
  if (missing.length > 0)
    return { kind: 'missed', why: `it takes away what nodes of an older program need: stop ${missing.join(', ')} first` }
  apply(db, step)
  return { kind: 'done' }
}

/** Nodes of programs below this version. None of them can register from now until the step is taken, and afterwards the function by which they register is gone. */
function nodesBelow(db: Connection, version: number): readonly string[] {
  db.query(`SELECT pg_advisory_xact_lock(${REGISTER_LOCK})`).get()
  return db
    .query<{ node: string }, [number]>(
      `SELECT name || ' (lane ' || lane || ')' AS node FROM nodes JOIN boots ON boots.number = boot_number
       WHERE lease_until > clock_ms() AND schema_version < ? ORDER BY lane`,
    )
    .all(version)
    .map(({ node }) => node)
}
