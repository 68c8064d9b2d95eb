/**
 * The tables of LiteLLM that the other tests import from are those that its own migrations make, and a key comes out of a database that they made. `.ci/litellm` installs
 * them. Rules: operator.md "Import".
 */

import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isPostgresRunning } from '../../support/postgres.ts'
import { Workplace } from '../run.ts'
import { keyRow, makeLiteLlm } from './litellm.ts'
import type { Document } from './look.ts'

const FOLDER = process.env['TOLLGATE_TEST_LITELLM_MIGRATIONS']
if (FOLDER === undefined) console.warn("NOT TRIED: LiteLLM's own migrations (.ci/litellm installs them and runs this file)")

const COLUMNS = `SELECT table_name AS "table", column_name AS name, data_type AS type, is_nullable AS "null" FROM information_schema.columns
  WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`
type Column = Readonly<{ table: string }>

test.skipIf(FOLDER === undefined || !isPostgresRunning)(
  'the recorded tables are those of its migrations, from which a key comes',
  async () => {
    const names = readdirSync(FOLDER ?? '')
      .filter((name) => /^\d/.test(name))
      .sort()
    const theirs = await makeLiteLlm(names.map((name) => readFileSync(join(FOLDER ?? '', name, 'migration.sql'), 'utf8')))
    const recorded = await makeLiteLlm()
    const place = new Workplace()
    try {
      const kept = await recorded.ask<Column>(COLUMNS)
      const tables = new Set(kept.map(({ table }) => table))
      expect(tables.size).toBe(9)
      expect(kept).toEqual((await theirs.ask<Column>(COLUMNS)).filter(({ table }) => tables.has(table)))
      await theirs.insert('LiteLLM_UserTable', { user_id: 'u1', user_alias: 'Alice', max_budget: 5, spend: 1, models: [] })
      await theirs.insert('LiteLLM_VerificationToken', keyRow('sk-out_of_its_own_tables', { user_id: 'u1' }))
      place.write('tollgate.toml', '')
      place.env = { LITELLM: theirs.url }
      const seen = await place.json<Document>('import', 'litellm', '--from-env', 'LITELLM')
      expect(seen.accounts).toMatchObject([{ name: 'Alice', credit_usd_exact: '4', keys: [{ plan: 'default' }] }])
    } finally {
      place.remove()
      await Promise.all([theirs.close(), recorded.close()])
    }
  },
)
