/**
 * Protects money.md "Verify" on Postgres, whatever the server's version (TOLLGATE_TEST_POSTGRES_FROM): the schema of a sound ledger is the one that is expected, and one in
 * which anything guards less, or otherwise, is named.
 */

import { expect } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogueOf } from '../../../src/ledger/postgres/catalogue.ts'
import { differencesInDatabase } from '../../../src/ledger/postgres/verify.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../../support/postgres-connection.ts'
import { differencesIn, emptyLedger, whatIsNamed } from '../../support/postgres-ledger.ts'

const CATALOGUE = join(import.meta.dir, '../../../db/postgres/catalogue.json')

postgresTest('what verify expects is what the migrations make (`GOLDEN=write` writes it anew)', async () => {
  const db = await emptyLedger()
  const made = Object.fromEntries(catalogueOf(db))
  db.close()
  if (process.env['GOLDEN'] === 'write') writeFileSync(CATALOGUE, `${JSON.stringify(made, null, 2)}\n`)
  expect(JSON.parse(readFileSync(CATALOGUE, 'utf8'))).toEqual(made)
})

postgresTest('however the database lets sessions begin, a sound ledger is found sound', async () => {
  const url = await createPostgresLedger()
  const admin = connectPostgres(postgres().asSuperuser(url))
  try {
    for (const setting of ['quote_all_identifiers = on', 'standard_conforming_strings = off', "search_path = 'other'"]) {
      const name = new URL(url).pathname.slice(1)
      admin.run(`ALTER DATABASE ${name} RESET ALL; ALTER DATABASE ${name} SET ${setting}`)
      expect([setting, ...differencesIn(url)]).toEqual([setting])
    }
  } finally {
    admin.close()
  }
})

const CHANGES: readonly string[] = [
  'ALTER TABLE receipts DROP CONSTRAINT charged_or_waived',
  'ALTER TABLE receipts DROP CONSTRAINT charged_or_waived, ADD CONSTRAINT charged_or_waived CHECK (cost_picos = 0 OR waived_picos >= 0)',
  'ALTER TABLE keys DROP CONSTRAINT keys_account_number_fkey',
  'ALTER TABLE keys DROP CONSTRAINT keys_account_number_fkey, ADD CONSTRAINT keys_account_number_fkey FOREIGN KEY (account_number) REFERENCES accounts ON DELETE CASCADE',
  'ALTER TABLE accounts ALTER name DROP NOT NULL',
  'ALTER TABLE accounts ALTER is_active SET DEFAULT 0',
  'ALTER TABLE audit_log ALTER reason TYPE VARCHAR',
  'ALTER TABLE audit_log ALTER reason TYPE TEXT COLLATE "POSIX"',
  'ALTER TABLE accounts ADD note TEXT',
  'ALTER TABLE attempts SET UNLOGGED',
  'ALTER TABLE credits ENABLE ROW LEVEL SECURITY',
  'ALTER TABLE receipts DISABLE TRIGGER receipts_no_delete',
  'ALTER TABLE receipts ENABLE REPLICA TRIGGER receipts_no_delete',
  'DROP INDEX receipts_key',
  'DROP INDEX receipts_key; CREATE INDEX receipts_key ON receipts (key_number, settled_at)',
  'DROP TRIGGER credits_no_update ON credits',
  "DROP TRIGGER credits_no_update ON credits; CREATE TRIGGER credits_no_update BEFORE UPDATE ON credits FOR EACH ROW WHEN (OLD.lane > 9) EXECUTE FUNCTION refuse('credits are immutable')",
  'CREATE RULE lost AS ON INSERT TO credits DO INSTEAD NOTHING',
  'CREATE OR REPLACE VIEW receipt_pages AS SELECT key_number, settled_at, number AS receipt_number FROM receipts WHERE cost_picos > 0',
  'CREATE OR REPLACE VIEW receipt_pages AS SELECT account_number AS key_number, settled_at, number AS receipt_number FROM receipts',
  'CREATE SCHEMA other; CREATE TABLE other.receipts (LIKE receipts); CREATE OR REPLACE VIEW receipt_pages AS SELECT key_number, settled_at, number AS receipt_number FROM other.receipts',
  'CREATE SCHEMA receipts; CREATE TABLE receipts.receipts (LIKE receipts); CREATE OR REPLACE VIEW receipt_pages AS SELECT key_number, settled_at, number AS receipt_number FROM receipts.receipts',
  'DROP FUNCTION json_extract',
  "CREATE OR REPLACE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
  "CREATE OR REPLACE FUNCTION hex(BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT '''''",
  'ALTER FUNCTION refuse() SECURITY DEFINER',
  'ALTER FUNCTION refuse() SET search_path = other',
  "CREATE FUNCTION hex(TEXT) RETURNS TEXT LANGUAGE sql AS 'SELECT $1'",
]

postgresTest(
  'each change of it is named by verify',
  async () => {
    const db = await emptyLedger()
    for (const statement of CHANGES) {
      const rules = whatIsNamed(db, () => void db.run(statement))
      expect([statement, rules]).toEqual([statement, expect.arrayContaining(['the schema is that of this program'])])
    }
    expect(differencesInDatabase(db)).toEqual([])
    db.close()
  },
  180_000,
)
