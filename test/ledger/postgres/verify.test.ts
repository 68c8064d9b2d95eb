/**
 * Protects money.md "Verify" on Postgres: while it is verified a ledger is written on, by more than one node, without a difference that is none, and without a
 * snapshot that is kept for as long as all of it takes.
 */

import { expect } from 'bun:test'
import type { PostgresConnection } from '../../../src/ledger/postgres/connection.ts'
import { differencesInDatabase } from '../../../src/ledger/postgres/verify.ts'
import { createKey, openMachine, operateTask } from '../../support/ledger.ts'
import { settleMany } from '../../support/many-settles.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'

/** Of two nodes, with so many receipts. */
async function openLedger(receipts: number) {
  const url = await postgres().createDatabase()
  const first = openMachine(url, 'boot-1')
  for (const key of ['key_a', 'key_b']) first.ask(operateTask(createKey(key, { balanceUsd: '1000' })))
  for (let left = receipts; left > 0; left -= 1_000) settleMany(first, Math.min(left, 1_000))
  const second = openMachine(url, 'boot-2', true)
  return { url, first, second }
}

/** Verifies, and does something before each question of it. `isLast`: it begins the last snapshot. `together`: how many were asked at most in one transaction. */
function verifyWhile(url: string, before: (asked: number, text: string, isLast: boolean) => void) {
  const db: PostgresConnection = connectPostgres(url, { access: 'read' })
  const [ask, transaction] = [db.ask.bind(db), db.transaction.bind(db)]
  const counts = { asked: 0, together: 0 }
  let askedBefore: number | undefined
  db.ask = (statement, isCommit) => {
    before(++counts.asked, statement.text, askedBefore === counts.asked - 1)
    if (askedBefore !== undefined) counts.together = Math.max(counts.together, counts.asked - askedBefore)
    return ask(statement, isCommit)
  }
  db.transaction = (work) =>
    transaction(() => {
      askedBefore = counts.asked
      try {
        return work()
      } finally {
        askedBefore = undefined
      }
    })
  const found = differencesInDatabase(db)
  db.close()
  return { found, ...counts }
}

postgresTest(
  'two nodes that write while it is verified, one of them in a new lane, make no difference, and no snapshot is kept for all of it',
  async () => {
    const { url, first, second } = await openLedger(2_500)
    const { found, asked, together } = verifyWhile(url, (count) => {
      if (count % 3 === 0) settleMany(count % 2 === 0 ? first : second, 20)
    })
    expect(found).toEqual([])
    // Most of what is asked are a thousand receipts each.
    expect(asked).toBeGreaterThan(25)
    expect(together).toBeLessThan(12)
    for (const machine of [first, second]) machine.close()
  },
  180_000,
)

postgresTest(
  'receipts that have their numbers and are not committed yet are waited for, or seen with all others at the end',
  async () => {
    for (const isInTime of [true, false]) {
      const { url, first, second } = await openLedger(2_500)
      settleMany(second, 1, 'key_b')
      second.db.run('BEGIN')
      settleMany(second, 20, 'key_b')
      settleMany(first, 100)
      let looks = 0
      let isOpen = true
      const { found } = verifyWhile(url, (_, text, isLast) => {
        if (text.includes('pg_snapshot_xmin')) looks++
        if (!isOpen || !(isLast || (isInTime && looks > 3))) return
        second.db.run('COMMIT')
        isOpen = false
      })
      expect([found, isOpen]).toEqual([[], false])
      expect(looks).toBeGreaterThan(3)
      expect(second.differences()).toEqual([])
      for (const machine of [first, second]) machine.close()
    }
  },
  180_000,
)

postgresTest(
  'receipts of a transaction that runs are waited for also where one that began before it has taken higher numbers and is committed',
  async () => {
    const { url, first, second } = await openLedger(2_500)
    settleMany(second, 1, 'key_b')
    for (const { db } of [first, second]) db.run('BEGIN; SELECT pg_current_xact_id()')
    settleMany(second, 20, 'key_b')
    settleMany(first, 100)
    first.db.run('COMMIT')
    let isOpen = true
    const { found } = verifyWhile(url, (_asked, _text, isLast) => {
      if (!isOpen || !isLast) return
      second.db.run('COMMIT')
      isOpen = false
    })
    expect([found, isOpen]).toEqual([[], false])
    for (const machine of [first, second]) machine.close()
  },
  180_000,
)

postgresTest(
  'what was done to receipts far behind the end is found, one by one',
  async () => {
    const { url, first, second } = await openLedger(2_500)
    const found = (statement: string): readonly string[] => {
      first.db.run(`ALTER TABLE receipts DISABLE TRIGGER USER; ${statement}; ALTER TABLE receipts ENABLE TRIGGER USER`)
      const { found: inSteps } = verifyWhile(url, () => undefined)
      expect(inSteps).toEqual([...first.differences()])
      return inSteps.map(({ rule }) => rule)
    }
    expect(found('UPDATE receipts SET status = 201 WHERE number = 100')).toContain('a row is what its hash says')
    expect(found('UPDATE receipts SET status = 200 WHERE number = 100')).toEqual([])
    expect(found('UPDATE receipts SET lane = 7 WHERE number = 300')).toEqual(['a row is what its hash says'])
    expect(found('UPDATE receipts SET lane = 0 WHERE number = 300')).toEqual([])
    expect(found("DELETE FROM meta WHERE name = 'hours_from'")).toEqual(['the first hour of which sums are whole is known'])
    expect(found("INSERT INTO meta (name, value) VALUES ('hours_from', '0')")).toEqual([])
    expect(found('DELETE FROM receipts WHERE number = 200')).toContain('the chain of an account has no gap')
    for (const machine of [first, second]) machine.close()
  },
  180_000,
)
