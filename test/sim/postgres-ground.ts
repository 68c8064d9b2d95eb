/**
 * A world on Postgres: a real database, whose connection is refused, is lost in the midst of a transaction or before an answer came, and whose lane another takes over
 * when its lease is over. That is decided by the seed; budgets go by the clock of Postgres, which is the world's here.
 */

import { join } from 'node:path'
import type { FromSupervisor, StoreSupervisor, SupervisorListener } from '../../src/ledger/admission/store-supervisor.ts'
import type { NodeIdentity } from '../../src/ledger/nodes.ts'
import type { WritablePlace } from '../../src/ledger/place.ts'
import type { PostgresConnection } from '../../src/ledger/postgres/connection.ts'
import { takeSpillPlaces } from '../../src/ledger/postgres/spill-places.ts'
import { isStorageFailure } from '../../src/ledger/postgres/storage-failure.ts'
import { PostgresStore } from '../../src/ledger/postgres/store.ts'
import { differencesInDatabase } from '../../src/ledger/postgres/verify.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import type { OpenProblem } from '../../src/ledger/thread-messages.ts'
import { postgres } from '../support/postgres.ts'
import { connectPostgres } from '../support/postgres-connection.ts'
import { fenceAll } from '../support/stores.ts'
import type { Around, Fault, Ground, GroundStore, HowEnded, Opening } from './ground.ts'

const NAME = 'tollgate simulated'
const FOREVER_MS = 1e12
const CLOCK = `CREATE TABLE public.test_clock (ms BIGINT); INSERT INTO public.test_clock VALUES (0); GRANT ALL ON public.test_clock TO public;
  CREATE OR REPLACE FUNCTION ledger.clock_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS 'SELECT ms FROM public.test_clock'`
/** Postgres' own words for it, so that a transaction in which it happens is broken as by a real one. */
const REFUSALS = { full: '53100', broken: '57P03', held: '55P03' } as const
const WRITES = /^(INSERT|UPDATE|DELETE|SELECT settle|SELECT \* FROM move_leases|COMMIT)/
const CUT = `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${NAME}'`

export class PostgresGround implements Ground {
  readonly faults = ['full', 'broken', 'late', 'late', 'lost', 'lost', 'held', 'held'] as const
  readonly ends = ['crash'] as const
  readonly isShared = true
  readonly #folder: string
  readonly #url: string
  readonly #outside: PostgresConnection
  readonly #admin: PostgresConnection
  readonly #onIndeterminate: () => void
  readonly #now: () => number
  #clockMs = 0
  #spills: ReturnType<typeof takeSpillPlaces> | undefined
  #identity: NodeIdentity | undefined
  #boots = 0
  #tell: (message: FromSupervisor) => void = () => undefined
  #listener: SupervisorListener | undefined

  /** `url`: of an empty ledger. `onIndeterminate`: a write was done whose answer was lost. `now`: the world's time, which Postgres is told. */
  constructor(folder: string, url: string, { onIndeterminate, now }: Around) {
    this.#folder = folder
    this.#url = url
    this.#onIndeterminate = onIndeterminate
    this.#now = now
    this.#outside = connectPostgres(url, { name: 'tollgate outside' })
    this.#admin = connectPostgres(postgres().asSuperuser(url), { name: 'tollgate admin' })
    this.#admin.run(CLOCK)
    this.#setClock()
  }

  readonly makeSupervisor = (tell: (message: FromSupervisor) => void, listener: SupervisorListener): StoreSupervisor => {
    this.#tell = tell
    this.#listener = listener
    return {
      onLeftOpen: () => undefined,
      mayAdmit: () => this.#identity !== undefined,
      onWalCheckpointDue: () => undefined,
      onCommitted: () => undefined,
      whileHeard: (working) => working,
      isSound: () => true,
      rescueHint: () => '',
      stop: () => undefined,
      close: () => Promise.resolve(),
      onClosed: () => this.#leave(),
    }
  }

  get isFenced(): boolean {
    return this.#identity === undefined
  }

  begin(): void {
    this.#spills = takeSpillPlaces(join(this.#folder, 'ledger.db'))
    this.#register()
  }

  end(how: HowEnded): void {
    if (how !== 'close') this.fence()
    this.#spills?.release()
  }

  place(): WritablePlace {
    const { own = '', left = [] } = this.#spills ?? {}
    const place = { path: join(this.#folder, 'ledger.db'), url: this.#url, node: 'sim', leaseMs: 10_000, statementKey: undefined }
    return { kind: 'postgres', ...place, identity: this.#identity, spills: { own, left } }
  }

  open({ place }: Opening, fault: () => Fault): GroundStore | OpenProblem {
    if (place.kind !== 'postgres' || place.identity === undefined) return { problem: 'locked', message: 'it is no node' }
    const db = this.#failing(connectPostgres(this.#url, { name: NAME }), fault)
    try {
      const store = new PostgresStore(db, place.identity)
      return {
        store,
        spillAt: place.spills.own,
        meet: () => undefined,
        noteFlush: () => undefined,
        flushedBytes: () => 0,
        rejoin: ({ identity }) => store.rejoin(identity),
        die: () => db.close(),
      }
    } catch (error) {
      db.close()
      if (!isStorageFailure(error)) throw error
      return { problem: 'unwritable', message: error.message }
    }
  }

  leftAfterClose(): string | undefined {
    const left = this.#outside.query('SELECT lane FROM leases UNION ALL SELECT lane FROM key_leases').all().length
    return left === 0 ? undefined : `${left} leases`
  }

  fence(): boolean {
    if (this.#identity === undefined) return false
    this.#identity = undefined
    fenceAll(this.#outside as Connection)
    return true
  }

  rejoin(): void {
    if (this.#identity !== undefined) return
    const identity = this.#register()
    this.#tell({ kind: 'node', identity })
    this.#listener?.onBoot(identity.boot)
    this.#tell({ kind: 'takeOver' })
  }

  read(): Connection {
    return { ...bound(this.#outside), close: () => undefined }
  }

  differences(): ReturnType<Ground['differences']> {
    return differencesInDatabase(this.#outside).filter(({ subject }) => subject !== 'function clock_ms')
  }

  close(): void {
    this.#outside.close()
    this.#admin.close()
  }

  #setClock(): void {
    const nowMs = this.#now()
    if (nowMs === this.#clockMs) return
    this.#clockMs = nowMs
    this.#admin.run(`UPDATE public.test_clock SET ms = ${nowMs}`)
  }

  #register(): NodeIdentity {
    const bootId = `boot-${this.#boots++}`
    const db: Connection = this.#outside
    const row = db
      .query<{ lane: bigint; boot: bigint; epoch: bigint }, [string, number]>(
        "SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM register_node('sim', ?, ?)",
      )
      .get(bootId, FOREVER_MS)
    if (row === null) throw new Error('no lane')
    this.#identity = { lane: Number(row.lane), boot: Number(row.boot), bootId, epoch: Number(row.epoch) }
    return this.#identity
  }

  #leave(): void {
    if (this.#identity === undefined) return
    const { lane, boot, epoch } = this.#identity
    this.#identity = undefined
    this.#outside.query('SELECT leave_node(?, ?, ?)').get(lane, boot, epoch)
  }

  /** How the storage fails is asked anew with each statement. */
  #failing(db: PostgresConnection, fault: () => Fault): PostgresConnection {
    const ask = db.ask.bind(db)
    let asked = 0
    const cut = (): void => void this.#admin.query(CUT).get()
    db.ask = (statement, isCommit = false) => {
      const { text } = statement
      this.#setClock()
      const now = text.startsWith('ROLLBACK') ? 'none' : fault()
      switch (now) {
        case 'none':
          return ask(statement, isCommit)
        case 'full':
        case 'broken':
          if (now === 'full' && !WRITES.test(text)) return ask(statement, isCommit)
          return ask({ text: `DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${REFUSALS[now]}'; END $$`, values: undefined })
        case 'held':
          // Whoever looks finds all that it asks about locked.
          if (text.includes('SKIP LOCKED')) return { ...ask(statement, isCommit), rows: [] }
          if (text === 'COMMIT' || !WRITES.test(text)) return ask(statement, isCommit)
          return ask({ text: `DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${REFUSALS[now]}'; END $$`, values: undefined })
        case 'late': {
          const answer = ask(statement, isCommit)
          if (!isCommit && !text.startsWith('SELECT settle')) return answer
          this.#onIndeterminate()
          cut()
          return ask({ text: 'SELECT 1', values: undefined }, isCommit)
        }
        case 'lost':
          if (++asked % 5 === 0) cut()
          return ask(statement, isCommit)
      }
    }
    return db
  }
}

const bound = (db: Connection): Pick<Connection, 'query' | 'prepare' | 'run' | 'transaction'> => ({
  query: (text) => db.query(text),
  prepare: (text) => db.prepare(text),
  run: (text) => db.run(text),
  transaction: (work) => db.transaction(work),
})
