/** Protects ledger.md "Statements" on Postgres: what one costs is its account's, whatever others have, and its rows are all of that account's. */

import { expect } from 'bun:test'
import { statementPieces } from '../../../src/ledger/chain/statement.ts'
import { statementKeyOf } from '../../../src/ledger/chain/statement-key.ts'
import { createKey, makeFolder, NOW, openMachine, operateTask } from '../../support/ledger.ts'
import { settleMany } from '../../support/many-settles.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { tableScans } from '../../support/table-scans.ts'

postgresTest(
  'a small account beside a large one has its statement at once, and the large one in parts',
  async () => {
    const machine = openMachine(await postgres().createDatabase())
    const key = statementKeyOf(makeFolder())
    machine.ask(operateTask(createKey('key_large', { balanceUsd: '100' })))
    machine.ask(operateTask(createKey('key_small', { balanceUsd: '100' })))
    machine.ask(operateTask(createKey('key_other', { accountId: 'acc_large' })))
    machine.ask(operateTask(createKey('key_more', { accountId: 'acc_small' })))
    for (let n = 0; n < 5; n++) {
      settleMany(machine, 450, 'key_large')
      settleMany(machine, 450, 'key_other')
      settleMany(machine, 1, 'key_small')
      settleMany(machine, 1, 'key_more')
    }
    const statementOf = (account: string, from = 0) => {
      const pieces = [...(statementPieces(machine.db, account, { from }, key, NOW) ?? [])]
      const lines = pieces.filter((piece) => piece !== '')
      const seqs = lines.flatMap((line) => (line.includes('"seq":') ? [Number(/"seq":(\d+)/.exec(line)?.[1])] : []))
      return { pauses: pieces.length - lines.length, rows: Number(/"rows":(\d+)/.exec(lines.at(-2) ?? '')?.[1]), seqs }
    }
    const scans = () => tableScans(machine.db, ['receipts'])
    const before = scans()
    const small = statementOf('acc_small')
    expect([small.rows, small.pauses]).toEqual([11, 2])
    const inOrder = Array.from({ length: 4_501 }, (_, n) => n + 1)
    expect(small.seqs).toEqual(inOrder.slice(0, 11))
    const large = statementOf('acc_large')
    expect(large.rows).toBe(4_501)
    expect(large.seqs).toEqual(inOrder)
    expect(large.pauses).toBeGreaterThan(6)
    // By the primary key, also while nobody has counted the table.
    expect(scans()).toEqual(before)
    machine.close()
  },
  180_000,
)
