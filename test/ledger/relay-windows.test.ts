/** Protects money.md "Budgets" and processes.md "Admission" for relays of a file: all of them together spend no more of a window than one process would, whenever its clock moves. */

import { test } from 'bun:test'
import fc from 'fast-check'
import { openDatabase } from '../../db/open.ts'
import { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { makePath, NOW } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'
import { PROCESSES, type SharedGround, SharedWalk, sharedStep } from '../support/shared-windows.ts'

function relaysOfFile(): SharedGround {
  const db = openDatabase(makePath(), 'create')
  if ('problem' in db) throw new Error(db.message)
  const clock = { nowMs: NOW }
  const store = new SqliteStore(db, 'boot-1', NOW, () => clock.nowMs)
  let joined = 0
  const join = () => ({ store, boot: store.relays.join(`relay-${++joined}`, clock.nowMs, { accounts: [], keys: [] }) })
  const places = Array.from({ length: PROCESSES }, join)
  const killed = (index: number) => {
    const boot = places[index]?.boot
    if (boot !== undefined) store.relays.leave(boot)
    const place = join()
    places[index] = place
    return place
  }
  return { places, killed, clock, differences: () => differencesInFile(db), close: () => store.close() }
}

test('on every walk of three relays something of each window was left when a request was admitted, and all of it is let in at the end', () => {
  fc.assert(
    fc.property(fc.array(sharedStep, { maxLength: 60, size: 'max' }), (steps) => {
      const walk = new SharedWalk(relaysOfFile())
      for (const step of steps) walk.step(step)
      walk.finish()
    }),
    // Each run makes a ledger in a file.
    { numRuns: Math.min(runs(25), 80) },
  )
}, 300_000)
