/**
 * `bun test/support/migrates.ts PLACE POINT`: brings a ledger three versions beyond this program's, and kills itself at the POINTth moment: when something is told, within
 * a step's transaction before its SQL, and there after it. Prints how many moments there were where it comes to its end.
 */

import { connect } from '../../db/connection.ts'
import { MIGRATIONS as OF_FILE } from '../../db/migrations.ts'
import { MIGRATIONS as OF_POSTGRES } from '../../db/postgres/migrations.ts'
import type { Migration } from '../../src/core/migration.ts'
import { migrate } from '../../src/ledger/postgres/migrate.ts'
import { migrateFile } from '../../src/ledger/sqlite/migrate.ts'
import { connectPostgres } from './postgres-connection.ts'
import { isAddress } from './stores.ts'
import { andThreeSteps } from './three-steps.ts'

const [place = '', point = ''] = process.argv.slice(2)
let moments = 0
/** What was looked at last of any step. */
let last: string | symbol = ''

function moment(): void {
  if (++moments !== Number(point)) return
  process.kill(process.pid, 'SIGKILL')
  Bun.sleepSync(60_000)
}

const watched = (own: readonly Migration[]): readonly Migration[] =>
  andThreeSteps(own).map(
    (step) =>
      new Proxy(step, {
        get(target, name) {
          if (name === 'sql' || last === 'sql') moment()
          last = name
          return Reflect.get(target, name)
        },
      }),
  )

if (isAddress(place)) {
  const db = connectPostgres(place, { lockMs: 250 })
  const problem = migrate(db, 'here', { tell: moment, migrations: watched(OF_POSTGRES) })
  if (problem !== undefined) throw new Error(problem.message)
  db.close()
} else {
  // Not by `openDatabase`, to which a ledger of those versions is a newer program's.
  const db = connect(place, { readwrite: true })
  db.run('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const problem = migrateFile(db, place, { tell: moment, now: 0, migrations: watched(OF_FILE) })
  if (problem !== undefined) throw new Error(problem.message)
  db.close()
}
console.log(moments)
