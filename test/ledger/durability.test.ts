/**
 * What is flushed to disk before it is acknowledged. Whether a commit is flushed is its connection's `synchronous` level (2 is FULL), which SQLite lets nobody
 * change inside a transaction: so a trigger that notes it at each write sees what the commit of that write does.
 */

import { expect, test } from 'bun:test'
import { NO_USAGE } from '../../src/core/usage.ts'
import { createKey, holdTask, openMachine, operateTask, settleTask, usd } from '../support/ledger.ts'

const FULL = 2n

/** A ledger whose writes to some tables are noted: the level under which each of them is committed. */
function openWatched() {
  const machine = openMachine()
  machine.db.run('CREATE TEMP TABLE seen (place TEXT, level INTEGER)')
  for (const place of ['receipts', 'keys', 'credits']) {
    machine.db.run(
      `CREATE TEMP TRIGGER see_${place} AFTER INSERT ON main.${place}
       BEGIN INSERT INTO seen SELECT '${place}', synchronous FROM pragma_synchronous; END`,
    )
  }
  /** What was noted since the last call. */
  const seen = (): readonly { place: string; level: bigint }[] => {
    const rows = machine.db.query<{ place: string; level: bigint }, []>('SELECT place, level FROM seen').all()
    machine.db.run('DELETE FROM seen')
    return rows
  }
  return { machine, seen }
}

test('a settle is flushed before it is acknowledged, whatever was committed before it and whatever shares its group', () => {
  const { machine, seen } = openWatched()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '1' })))
  seen()
  const receipt = { place: 'receipts', level: FULL }
  // Commits that need no flush leave the connection at a lower level.
  machine.askAll(holdTask('r1', 'key_a', usd('0.1')), holdTask('r2', 'key_a', usd('0.1')), holdTask('r3', 'key_a', usd('0.1')))
  machine.ask(settleTask('r1', { output: 1 }))
  expect(seen()).toEqual([receipt])
  machine.ask({ kind: 'checkpoint', requestId: 'r2', progress: { usage: NO_USAGE, usageSource: 'none' }, now: 1 })
  machine.askAll(holdTask('r4', 'key_a', usd('0.1')), settleTask('r2', { output: 1 }), { kind: 'void', requestId: 'r4' })
  expect(seen()).toEqual([receipt])
  machine.ask({ kind: 'void', requestId: 'none' })
  machine.askAll(settleTask('r3', { output: 1 }))
  expect(seen()).toEqual([receipt])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('an operator’s write is flushed, also after commits that were not', () => {
  const { machine, seen } = openWatched()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '1' })))
  expect(seen().map(({ level }) => level)).toEqual([FULL, FULL])
  machine.askAll(holdTask('r1', 'key_a', usd('0.1')), {
    kind: 'checkpoint',
    requestId: 'r1',
    progress: { usage: NO_USAGE, usageSource: 'none' },
    now: 1,
  })
  machine.ask(operateTask(createKey('key_b', { balanceUsd: '1' })))
  expect(seen().map(({ level }) => level)).toEqual([FULL, FULL])
  machine.close()
})
