/**
 * Protects money.md "Budgets" over a migration: a ledger of before there were windows gets the hours of its running month or week from its receipts, whichever moment it is migrated at, and is
 * in order as before. (Its old statements: test/crash/migration.test.ts.)
 */

import { expect, test } from 'bun:test'
import { connect } from '../../db/connection.ts'
import { MIGRATIONS } from '../../db/migrations.ts'
import { HOUR_MS, hourAt, PERS, windowAt } from '../../src/core/windows.ts'
import { migrateFile } from '../../src/ledger/sqlite/migrate.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { RELEASES, releasedFile } from '../support/released.ts'

type Receipt = { key: bigint; account: bigint; at: bigint; cost: bigint }
type Hour = { of: bigint; hour: bigint; spent: bigint }

/** Migrates as at that moment: step by step, first to the tables of the day before windows. */
function migratedAt(path: string, atMs: number) {
  const db = connect(path, { readwrite: true })
  db.run('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
  const at = MIGRATIONS.map(({ version, sql }) => ({ version, sql: sql.replaceAll("'now'", `${atMs / 1_000}, 'unixepoch'`) }))
  for (const most of [4, Number.POSITIVE_INFINITY]) {
    const migrations = at.filter(({ version }) => version <= most)
    expect(
      migrateFile(db, path, { tell: () => undefined, now: atMs, migrations, freeBytesAt: () => Number.POSITIVE_INFINITY }),
    ).toBeUndefined()
  }
  return db
}

test.each(RELEASES)('a ledger of %s has its hours of the running windows from the tables of before them, and is in order', (version) => {
  const receiptsOf = (path: string): readonly Receipt[] => {
    const db = connect(path, { readwrite: true })
    try {
      return db
        .query<Receipt, []>(
          'SELECT key_number AS key, account_number AS account, started_at AS at, cost_picos AS cost FROM receipts WHERE cost_picos > 0',
        )
        .all()
    } finally {
      db.close()
    }
  }
  const newest = Math.max(...receiptsOf(releasedFile(version)).map(({ at }) => Number(at)))
  // At the newest receipt; within its month and behind its week; when both are over.
  for (const atMs of [newest, windowAt('month', hourAt(newest)).end * HOUR_MS - 1_000, newest + 70 * 24 * HOUR_MS]) {
    const path = releasedFile(version)
    const db = migratedAt(path, Math.floor(atMs / 1_000) * 1_000)
    try {
      const from = Math.min(...PERS.map((per) => windowAt(per, hourAt(atMs)).start))
      const sums = new Map<string, bigint>()
      for (const { key, at, cost } of receiptsOf(path)) {
        const name = `${key} ${hourAt(Number(at))}`
        if (hourAt(Number(at)) >= from) sums.set(name, (sums.get(name) ?? 0n) + BigInt(cost))
      }
      const hours = db.query<Hour, []>('SELECT key_number AS of, hour, spent_picos AS spent FROM key_hours').all()
      expect(new Map(hours.map(({ of, hour, spent }) => [`${of} ${hour}`, BigInt(spent)]))).toEqual(sums)
      expect(sums.size > 0).toBe(atMs < newest + 60 * 24 * HOUR_MS)
      expect(db.query("SELECT value FROM meta WHERE name = 'hours_from'").values()).toEqual([[String(from)]])
      const [[ofAccounts]] = db.query('SELECT CAST(coalesce(sum(spent_picos), 0) AS TEXT) FROM account_hours').values() as [[string]]
      expect(BigInt(ofAccounts)).toBe([...sums.values()].reduce((sum, cost) => sum + cost, 0n))
      expect(differencesInFile(db)).toEqual([])
    } finally {
      db.close()
    }
  }
})
