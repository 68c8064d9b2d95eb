/** Sums by hour are those of the receipts up to their mark, whatever was drawn, in whichever batches, and after a batch that died in the middle. Rules: ledger.md "Hours". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { exploredBy } from '../../src/ledger/reading/explore.ts'
import { explorePart } from '../../src/ledger/reading/explore-reads.ts'
import { HOURS_BATCH, HourSums, SUMMED_TO } from '../../src/ledger/sql/hour-sums.ts'
import { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import { createKey, type Machine, makePath, openMachine, openTestLedger, operateTask } from '../support/ledger.ts'
import { settleMany } from '../support/many-settles.ts'
import { runs } from '../support/property-runs.ts'
import { createKeys, drawn, writeAll } from '../support/random-receipts.ts'
import { fileTest } from '../support/store-choice.ts'
import { openToRead } from '../support/stores.ts'
import { until } from '../support/until.ts'

type Found = { value: bigint }
const numberOf = ({ db }: Machine, select: string): number => Number(db.query<Found, []>(`SELECT ${select} AS value`).get()?.value ?? -1)
const markOf = (machine: Machine): number => numberOf(machine, SUMMED_TO)
const summed = (machine: Machine): number => numberOf(machine, '(SELECT CAST(coalesce(sum(requests), 0) AS BIGINT) FROM spend_hours)')

class Died extends Error {}

/** `dies`: after the rows and the mark, before the commit. */
function advance(machine: Machine, sums: HourSums, end: number, dies = false): void {
  try {
    machine.db.transaction(() => {
      sums.advance(end)
      if (dies) throw new Died()
    })()
  } catch (error) {
    if (!(error instanceof Died)) throw error
  }
}

const batch = fc.record({
  receipts: fc.array(drawn, { minLength: 1, maxLength: 12 }),
  size: fc.integer({ min: 1, max: 7 }),
  dies: fc.boolean(),
})

test('whatever the receipts are and wherever a batch dies, each receipt up to the mark is in the sums once, and none above it', () => {
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 4 }), (batches) => {
      const machine = openMachine()
      try {
        createKeys(machine)
        for (const [index, { receipts, size, dies }] of batches.entries()) {
          writeAll(
            machine,
            receipts.map((one) => ({ ...one, hour: one.hour + 50 * index })),
          )
          const end = numberOf(machine, '(SELECT max(number) FROM receipts)')
          const before = markOf(machine)
          const sums = new HourSums(machine.db, size)
          if (dies) advance(machine, sums, end, true)
          expect(markOf(machine)).toBe(before)
          advance(machine, sums, end)
          expect(markOf(machine)).toBe(Math.min(before + size, end))
          expect(summed(machine)).toBe(numberOf(machine, `(SELECT count(*) FROM receipts WHERE number <= ${SUMMED_TO})`))
          expect(machine.differences()).toEqual([])
        }
      } finally {
        machine.close()
      }
    }),
    { numRuns: runs(15) },
  )
}, 120_000)

/** The store fills while a whole batch waits; what is done in one go is bounded. */
function rollAll({ ledger }: Machine): number {
  let rolls = 0
  for (let still = 0; still < 3; rolls++) still = ledger.rollUp() === 'more' ? 0 : still + 1
  return rolls
}

test('a store adds whole batches behind the settles, and leaves less than one to the tail', () => {
  const machine = openMachine()
  try {
    machine.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
    settleMany(machine, HOURS_BATCH - 1)
    rollAll(machine)
    expect(markOf(machine)).toBe(0)
    settleMany(machine, HOURS_BATCH + 2)
    rollAll(machine)
    expect(markOf(machine)).toBe(2 * HOURS_BATCH)
    expect(summed(machine)).toBe(2 * HOURS_BATCH)
    expect(machine.differences()).toEqual([])
  } finally {
    machine.close()
  }
})

test('a store that opens a ledger whose receipts are in no sums, as after a migration, adds them without a settle', () => {
  const path = makePath()
  const first = openMachine(path)
  first.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
  settleMany(first, 2 * HOURS_BATCH)
  const second = openMachine(path, 'boot-2')
  try {
    rollAll(second)
    expect(markOf(second)).toBe(2 * HOURS_BATCH)
    expect(second.differences()).toEqual([])
  } finally {
    second.close()
  }
})

fileTest()('while sums are added and nothing else is asked of a file, its log is moved into the file all the same', () => {
  const path = makePath()
  const first = openMachine(path)
  first.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
  settleMany(first, 6 * HOURS_BATCH)
  const second = openMachine(path, 'boot-2')
  try {
    const { ledger } = second
    if (!(ledger instanceof SqliteStore)) throw new Error('no file')
    let due = 0
    ledger.onWalCheckpointDue(() => {
      due++
    })
    rollAll(second)
    expect(markOf(second)).toBe(6 * HOURS_BATCH)
    expect(due).toBe(2)
  } finally {
    second.close()
  }
})

fileTest()(
  'a ledger that is opened adds what waits by itself, without a task and without a reader',
  async () => {
    const path = makePath()
    const first = openMachine(path)
    first.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
    settleMany(first, 2 * HOURS_BATCH)
    first.close()
    const { ledger } = await openTestLedger({ path, bootId: 'boot-2' })
    const db = openToRead(path)
    try {
      const mark = () => Number(db.query<Found, []>(`SELECT ${SUMMED_TO} AS value`).get()?.value)
      await until(() => mark() === 2 * HOURS_BATCH)
      expect(mark()).toBe(2 * HOURS_BATCH)
    } finally {
      db.close()
      await ledger.close()
    }
  },
  120_000,
)

test('without its mark nothing is added, which could be there already, and Explore reads the receipts instead', () => {
  const machine = openMachine()
  try {
    createKeys(machine)
    writeAll(machine, fc.sample(drawn, { numRuns: 6, seed: 1 }))
    const sums = new HourSums(machine.db, 4)
    advance(machine, sums, 6)
    const asked = { fromHour: 0, toHour: 999_999, by: ['key' as const], step: null, only: {} }
    const before = exploredBy((query) => explorePart(machine.db, query), asked)
    machine.db.run("DELETE FROM meta WHERE name = 'summed'")
    expect(() => advance(machine, sums, 6)).toThrow('summed')
    expect(summed(machine)).toBe(4)
    expect(exploredBy((query) => explorePart(machine.db, query), asked)).toEqual(before)
  } finally {
    machine.close()
  }
})

test('verify names a sum that differs from its receipts, a receipt that is in none, and a mark beyond all receipts', () => {
  const machine = openMachine()
  try {
    createKeys(machine)
    writeAll(machine, fc.sample(drawn, { numRuns: 6, seed: 1 }))
    const sums = new HourSums(machine.db, 4)
    expect(numberOf(machine, '(SELECT count(*) FROM receipts)')).toBe(6)
    advance(machine, sums, 6)
    const rule = 'a sum by hour is that of its receipts'
    const found = (change: string): readonly string[] => {
      const rules: string[] = []
      try {
        machine.db.transaction(() => {
          machine.db.run(change)
          rules.push(...machine.differences().map((difference) => difference.rule))
          throw new Died()
        })()
      } catch (error) {
        if (!(error instanceof Died)) throw error
      }
      return [...new Set(rules)]
    }
    for (const column of ['requests', 'input_tokens', 'cost_picos', 'waived_picos', 'estimated_picos', 'upstream_cost_picos', 'costed'])
      expect(found(`UPDATE spend_hours SET ${column} = ${column} + 1 WHERE hour = (SELECT min(hour) FROM spend_hours)`)).toEqual([rule])
    expect(found('DELETE FROM spend_hours WHERE hour = (SELECT min(hour) FROM spend_hours)')).toEqual([rule])
    expect(found("UPDATE meta SET value = '5' WHERE name = 'summed'")).toEqual([rule])
    expect(found("UPDATE meta SET value = '7' WHERE name = 'summed'")).toContain(
      'the mark of the sums by hour is the number of a receipt, or lower',
    )
  } finally {
    machine.close()
  }
})
