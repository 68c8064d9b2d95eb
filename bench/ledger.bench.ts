/**
 * What money costs: admission in memory; a debit (receipt, account, key, roll-up, flushed) in groups of 1 to 256 by CPU, on the state machine alone; and the
 * way through the ledger's thread, for one request at a time and for many. The sums are checked at the end. Run: `bun bench/ledger.bench.ts [debits] [rounds]`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readDebits, writeDebits } from '../src/ledger/debit-records.ts'
import type { Debit } from '../src/ledger/task.ts'
import { createKey, holdRequest, openTestLedger, settlement } from '../test/support/ledger.ts'
import { DebitMachine, HOLD, UPSTREAM, USED } from './debits.ts'
import { bestOf, medianOf, print } from './measure.ts'

const DEBITS = Number(process.argv[2] ?? 8_192)
const ROUNDS = Number(process.argv[3] ?? 5)
const KEYS = 1_000
const GROUPS = [1, 4, 16, 64, 256]

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
const { ledger } = await openTestLedger({ path: join(folder, 'thread.db') })
for (let index = 0; index < KEYS; index++) await ledger.operate(createKey(`key_${index}`, { balanceUsd: '1000000' }))
const machine = new DebitMachine(join(folder, 'machine.db'))
machine.addKeys(KEYS)

const PAGES = 'a debit, one key, groups of 16, page table, log'

/** Runs settles and the work that is due after them, which is part of their cost. */
function withPages(run: () => number): number {
  const units = run()
  machine.tidy(units)
  machine.moveLog()
  return units
}

/** The CPU of writes alone: the debits of each round are made before its time begins. */
function cpuOfWrites(): Promise<ReadonlyMap<string, number>> {
  const made = new Map<string, (readonly Debit[])[]>()
  const row = (name: string, keys: number, group: number) => {
    made.set(
      name,
      Array.from({ length: ROUNDS + 2 }, () => machine.ready(DEBITS, keys)),
    )
    return { name, run: () => machine.write(made.get(name)?.pop() ?? [], group) }
  }
  const pages = row(PAGES, 1, 16)
  const rows = [
    { ...pages, run: () => withPages(pages.run) },
    ...GROUPS.map((group) => row(`a debit, one key, groups of ${group}`, 1, group)),
    row(`a debit, ${KEYS} keys, groups of 16`, KEYS, 16),
  ]
  return medianOf(rows, ROUNDS, 'cpu')
}

function throughRecords(): number {
  const debits = recordsReady.map((one, number) => ({ number, debit: one }))
  for (let at = 0; at < debits.length; at += 16) readDebits(writeDebits(debits.slice(at, at + 16)))
  return debits.length
}

let requests = 0

async function throughThread(lanes: number, debits: number): Promise<number> {
  const lane = async (): Promise<void> => {
    for (let n = 0; n < debits / lanes; n++) {
      const requestId = `req_${String(++requests).padStart(32, '0')}`
      const answer = await ledger.hold(holdRequest(requestId, `key_${requests % KEYS}`, HOLD))
      if (answer !== 'held') throw new Error(JSON.stringify(answer))
      if ((await ledger.settle(settlement(requestId, USED, { upstream: UPSTREAM }))) !== 'settled') throw new Error('not settled')
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return debits
}

console.log(
  `${DEBITS} debits a round, synchronous=FULL, ${ROUNDS} rounds after 2 for warming up: of the state machine the median one, else the best\n\nCPU on the state machine alone:`,
)
const cpu = await cpuOfWrites()
print(cpu, 'debit', 'a debit, one key, groups of 16')
const recordsReady = machine.ready(DEBITS, KEYS)
console.log('\nCPU of the gateway’s side:')
print(
  await bestOf(
    [
      { name: 'admission and release in memory', run: () => machine.holdAndVoid(DEBITS * 4) },
      { name: 'a debit written and read as a record', run: throughRecords },
    ],
    ROUNDS,
    'cpu',
  ),
  'request',
  'admission and release in memory',
)
console.log('\nTime through the thread, hold to acknowledged settle:')
const ONE = 'one at a time'
print(
  await bestOf(
    [
      { name: ONE, run: () => throughThread(1, DEBITS / 16) },
      { name: '16 at a time', run: () => throughThread(16, DEBITS) },
      { name: '64 at a time', run: () => throughThread(64, DEBITS) },
      { name: '256 at a time', run: () => throughThread(256, DEBITS) },
    ],
    ROUNDS,
  ),
  'debit',
  ONE,
)
machine.verify()
machine.close()
await ledger.close()
rmSync(folder, { recursive: true, force: true })
