/** What the ledger promises on a file it promises on Postgres: the same tests again, each on a database of its own. */

import { describe } from 'bun:test'
import { openPostgres } from '../../../db/postgres/open.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import { isPostgresRunning, postgres } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'
import { usePostgres } from '../../support/store-choice.ts'

const FILES = [
  'operations',
  'attempts',
  'chain',
  'codes',
  'group-writes',
  'properties',
  'reprice',
  'upstream-costs',
  'spend-tags',
  'spend-hours',
  'explore',
  'token-acts',
  'import-budgets',
]

/** Copies of one empty ledger, made without a pause: machines are opened in a synchronous call. */
async function databases(): Promise<() => string> {
  const model = new URL(await postgres().createDatabase())
  const db: Connection = connectPostgres(model.href)
  openPostgres(db, 'Postgres', 'create')
  db.close()
  const admin = new URL(postgres().asSuperuser(model.href))
  admin.pathname = '/postgres'
  const server = connectPostgres(admin.href)
  return () => {
    const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
    server.run(`CREATE DATABASE ${name} OWNER ${model.username} ${postgres().copyOf(model.pathname.slice(1))}`)
    return Object.assign(new URL(model), { pathname: `/${name}` }).href
  }
}

if (isPostgresRunning) {
  usePostgres(await databases())
  for (const file of FILES) describe(file, () => import(`../${file}.test.ts`))
}
