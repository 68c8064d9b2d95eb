/** The store that a test's machine is on, by its place: the path of a file, or the address of a database. */

import type { Database } from 'bun:sqlite'
import { openDatabase } from '../../db/open.ts'
import { openPostgres } from '../../db/postgres/open.ts'
import type { Difference } from '../../src/ledger/chain/difference.ts'
import { differences } from '../../src/ledger/chain/verify.ts'
import type { NodeIdentity } from '../../src/ledger/nodes.ts'
import { PostgresStore } from '../../src/ledger/postgres/store.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import type { Store } from '../../src/ledger/writing/store.ts'
import { connectPostgres } from './postgres-connection.ts'

export const isAddress = (place: string): boolean => place.startsWith('postgres://')

/** A connection of its own that can only read. */
export function openToRead(place: string): Connection {
  if (isAddress(place)) return connectPostgres(place, { access: 'read' })
  const db = openDatabase(place, 'read')
  if ('problem' in db) throw new Error(db.message)
  return db
}

/** `db`: typed as a file's, because the tests' own queries are common to both. */
type Opened = Readonly<{ store: Store; db: Database; differences: () => readonly Difference[] }>

/** A store of that boot; earlier boots are gone, but those that it stands `beside`. `now`: Unix milliseconds. */
export function openStore(place: string, bootId: string, now: number, beside = false): Opened {
  if (isAddress(place)) return openOnPostgres(place, bootId, beside)
  const db = openDatabase(place, 'create')
  if ('problem' in db) throw new Error(db.message)
  return { store: new SqliteStore(db, bootId, now), db, differences: () => differencesInFile(db) }
}

function openOnPostgres(url: string, bootId: string, beside: boolean): Opened {
  const connection = connectPostgres(url)
  const db: Connection = connection
  const problem = openPostgres(db, 'Postgres', 'create')
  if (problem !== undefined) throw new Error(problem.message)
  const store = new PostgresStore(connection, joinNode(db, bootId, beside))
  return { store, db: db as Database, differences: () => differences(db, () => []) }
}

const FOREVER_MS = 1e12

/** Without a heartbeat: it is a node for as long as no other boot of the test takes its lane. */
function joinNode(db: Connection, bootId: string, beside: boolean): NodeIdentity {
  if (!beside) fenceAll(db, bootId)
  const { lane, boot, epoch } = db
    .query<{ lane: bigint; boot: bigint; epoch: bigint }, [string, number]>(
      "SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM register_node('test', ?, ?)",
    )
    .get(bootId, FOREVER_MS) ?? { lane: 0n, boot: 0n, epoch: 0n }
  return { lane: Number(lane), boot: Number(boot), bootId, epoch: Number(epoch) }
}

/** As when they were not heard of for a term. */
export function fenceAll(db: Connection, but = ''): void {
  db.query<undefined, [string]>(
    'UPDATE nodes SET lease_until = 1 WHERE lease_until > 0 AND boot_number <> coalesce((SELECT number FROM boots WHERE id = ?), 0)',
  ).run(but)
  db.query<unknown, []>('SELECT fence_expired(0)').get()
}
