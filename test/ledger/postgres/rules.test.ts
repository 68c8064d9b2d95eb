/** What no code may break on Postgres, not even ours: each rule of the tables refuses what breaks it, by name, and nothing of the statement stays. */

import { expect } from 'bun:test'
import { isStorageFailure, PostgresError } from '../../../src/ledger/postgres/storage-failure.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import { postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../../support/postgres-connection.ts'

const HASH = "decode(repeat('ab', 32), 'hex')"

async function open(): Promise<Connection> {
  const db: Connection = connectPostgres(await createPostgresLedger())
  db.run(`
    INSERT INTO boots (number, id, node, started_at) VALUES (NULL, 'boot_1', 'n', 1);
    INSERT INTO nodes (lane, name, boot_number, epoch, started_at, beat_at, lease_until) VALUES (0, 'a', 1, 1, 1, 1, 9);
    INSERT INTO accounts (number, id, name, created_at) VALUES (NULL, 'acc_1', 'One', 1);
    INSERT INTO keys (number, id, account_number, name, plan, last_synced_at, created_at) VALUES (NULL, 'key_1', 1, '', 'default', 1, 1);
    INSERT INTO models (number, id) VALUES (NULL, 'm');
    INSERT INTO price_versions VALUES (NULL, 1, 3, 15, 0, 0, 0, 0);
    INSERT INTO upstreams (number, name, model) VALUES (NULL, 'u', 'm');
    INSERT INTO attempts VALUES ('req_1', 1, 1, 1, 1, 1, 1, NULL, NULL, 200, 'x', 'final', 0, 0, 0, 0, 0, 0, 0, 1, 1);
    INSERT INTO credits (id, account_number, kind, amount_picos, ref, created_at, seq, hash) VALUES ('crd_1', 1, 'top-up', 5, '', 1, 1, ${HASH});
    INSERT INTO code_batches (number, id, name, amount_picos, created_at, expires_at) VALUES (NULL, 'bat_1', '', 5, 1, 100);
    INSERT INTO codes (hash, batch_number, place, display) VALUES (${HASH}, 1, 1, 'x');
    INSERT INTO audit_log (id, at, action, target, after) VALUES (NULL, 1, 'a', 't', '{}');
  `)
  db.run(receipt('req_1'))
  return db
}

/** 7 tokens in, 2 out: 51 picodollars. */
const receipt = (id: string, { cost = '51', input = '7', account = 1, upstream = '1' } = {}): string => `
  INSERT INTO receipts (request_id, account_number, key_number, price_number, boot_number, upstream_number, attempts, format, is_stream, outcome, basis, status,
    input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, hold_picos,
    started_at, settled_at, day, duration_ms, seq, hash)
  VALUES ('${id}', ${account}, 1, 1, 1, ${upstream}, 1, 'chat', 1, 'complete', 'final', 200, ${input}, 2, 0, 0, 0, 0, ${cost}, 0, 100, 1, 2, 0, 1, 1, ${HASH})`

/** What Postgres says, and by which rule; '' where it took it. */
function refusalOf(db: Connection, text: string): string {
  try {
    db.run(text)
  } catch (error) {
    if (!(error instanceof PostgresError)) throw error
    const { constraint, sqlState, message } = error
    return isStorageFailure(error) ? 'a storage failure' : `${constraint || sqlState}: ${message}`
  }
  return ''
}

const GUARDED: Readonly<Record<string, string>> = {
  receipts: 'receipts are immutable',
  attempts: 'attempts are immutable',
  credits: 'credits are immutable',
  price_versions: 'price versions are immutable',
  models: 'models are immutable',
  upstreams: 'upstreams are immutable',
  boots: 'boots are immutable',
  audit_log: 'the audit log is append only',
  accounts: 'accounts are disabled, never deleted',
  keys: 'keys are disabled, never deleted',
  codes: 'codes are disabled, never deleted',
  code_batches: 'codes are disabled, never deleted',
}

postgresTest('what is written stays: no UPDATE, no DELETE, no TRUNCATE', async () => {
  const db = await open()
  const first = db.query<{ table: string; column: string }, []>(
    `SELECT relname AS "table", attname AS column FROM pg_attribute JOIN pg_class r ON r.oid = attrelid
     WHERE relnamespace = to_regnamespace('ledger') AND relkind = 'r' AND attnum = 1`,
  )
  const columnOf = Object.fromEntries(first.all().map(({ table, column }) => [table, column]))
  for (const [table, words] of Object.entries(GUARDED)) {
    const rows = () => db.query<{ rows: bigint }, []>(`SELECT count(*) AS rows FROM ${table}`).get()
    expect([table, rows()]).toEqual([table, { rows: 1n }])
    expect(refusalOf(db, `DELETE FROM ${table}`)).toBe(`${table}_no_delete: ${words}`)
    expect(refusalOf(db, `TRUNCATE ${table} CASCADE`)).toMatch(/_no_truncate: /)
    if (!['accounts', 'keys', 'codes', 'code_batches'].includes(table))
      expect(refusalOf(db, `UPDATE ${table} SET ${columnOf[table]} = ${columnOf[table]}`)).toBe(`${table}_no_update: ${words}`)
    expect([table, rows()]).toEqual([table, { rows: 1n }])
  }
  db.close()
})

postgresTest(
  'a price is exact, its product fits, and a receipt refers to what is there; one wrong row undoes its whole statement',
  async () => {
    const db = await open()
    const exact = 'receipts_exact_price: exact_price: cost and waiver are not the tokens at their rates'
    expect(refusalOf(db, receipt('req_2', { cost: '50' }))).toBe(exact)
    expect(refusalOf(db, `${receipt('req_2')}, ${receipt('req_3', { cost: '52' }).split('VALUES ')[1]}`)).toBe(exact)
    expect(refusalOf(db, receipt('req_2', { input: '9223372036854775807' }))).toBe('22003: bigint out of range')
    expect(refusalOf(db, receipt('req_2', { account: 7 }))).toBe('receipts_references: a receipt of what is not there')
    expect(refusalOf(db, receipt('req_2', { upstream: '7' }))).toBe('receipts_references: a receipt of what is not there')
    expect(refusalOf(db, receipt('req_1'))).toStartWith('receipts_request: ')
    expect(db.query<{ id: string }, []>('SELECT request_id AS id FROM receipts').all()).toEqual([{ id: 'req_1' }])
    expect(refusalOf(db, receipt('req_2', { upstream: 'NULL' }))).toBe('')
    db.close()
  },
)

postgresTest('a request is in flight or settled, never both', async () => {
  const db = await open()
  const checkpoint = (id: string) =>
    `INSERT INTO marks VALUES ('${id}', 1, 1, 1, NULL, NULL, NULL, 'chat', 1, 5, 1, 1, 'none', NULL, 0, 0, 0, 0, 0, 0)`
  expect(refusalOf(db, checkpoint('req_1'))).toBe('marks_not_settled: the request is already settled')
  expect(refusalOf(db, checkpoint('req_9'))).toBe('')
  db.close()
})

postgresTest('a code is redeemed once, in time, and its batch is only disabled', async () => {
  const db = await open()
  const redeem = (at: number) => `UPDATE codes SET credit_id = 'crd_1', account_number = 1, redeemed_at = ${at}`
  expect(refusalOf(db, redeem(100))).toBe('codes_in_time: the code is expired or disabled')
  expect(refusalOf(db, `${redeem(99)}, display = 'y'`)).toBe('codes_only_redeemed: a code is redeemed once, and nothing else of it changes')
  expect(refusalOf(db, 'UPDATE code_batches SET amount_picos = 6')).toStartWith('code_batches_only_disabled: ')
  expect(refusalOf(db, redeem(99))).toBe('')
  expect(refusalOf(db, redeem(99))).toStartWith('codes_only_redeemed: ')
  expect(refusalOf(db, 'UPDATE code_batches SET disabled_at = 5')).toBe('')
  expect(refusalOf(db, 'UPDATE code_batches SET disabled_at = 6')).toStartWith('code_batches_only_disabled: ')
  db.close()
})

postgresTest('the audit log has no gap, also where a transaction was undone, and a line that is gone would leave one', async () => {
  const db = await open()
  const add = () => db.run("INSERT INTO audit_log (id, at, action, target, after) VALUES (NULL, 1, 'a', 't', '{}')")
  expect(() =>
    db.transaction(() => {
      add()
      throw new Error('undone')
    })(),
  ).toThrow('undone')
  add()
  expect(db.query<{ id: bigint }, []>('SELECT id FROM audit_log ORDER BY id').all()).toEqual([{ id: 1n }, { id: 2n }])
  expect(db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'audited'").get()).toEqual({ value: '2' })
  db.close()
})

postgresTest('the functions that SQLite has by nature answer as there', async () => {
  const db = await open()
  const asked =
    db.query(`SELECT hex(decode('00ff', 'hex')) AS hex, max(CAST(1 AS BIGINT), CAST(2 AS BIGINT)) AS "more", min(CAST(1 AS BIGINT), CAST(2 AS BIGINT)) AS less,
    max(CAST(NULL AS BIGINT), CAST(2 AS BIGINT)) AS none, json_extract('{"a": {"b": "x"}, "c": 5}', '$.a.b') AS deep, json_extract('{"c": 5}', '$.c') AS number`)
  expect(asked.get() as unknown).toEqual({ hex: '00FF', more: 2n, less: 1n, none: null, deep: 'x', number: '5' })
  db.close()
})
