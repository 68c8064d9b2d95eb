/**
 * Debits: a hold and a durable settle, through the ledger thread with its group commit, against the same two tasks with a transaction each; for one key and
 * for a thousand. Run: `bun bench/ledger.bench.ts [debits] [rounds]`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey, holdRequest, holdTask, openMachine, openTestLedger, settlement, settleTask, usd } from '../test/support/ledger.ts'
import { bestOf, print } from './measure.ts'

const DEBITS = Number(process.argv[2] ?? 2_000)
const ROUNDS = Number(process.argv[3] ?? 5)
const KEYS = 1_000
/** Requests that run at the same time. */
const LANES = 64

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
const { ledger } = await openTestLedger({ path: join(folder, 'thread.db') })
const machine = openMachine(join(folder, 'machine.db'))
const keyIds = Array.from({ length: KEYS }, (_, index) => `key_${index}`)
for (const keyId of keyIds) {
  const operation = createKey(keyId, { balanceUsd: '1000000' })
  await ledger.operate(operation)
  machine.ask({ kind: 'operate', operation })
}

const HOLD = usd('0.000001')
const USED = { input: 1, output: 2 }
let requests = 0

/** `keys`: over how many keys the debits go. */
async function withGroupCommit(keys: number, lanes: number, debits = DEBITS): Promise<number> {
  const lane = async (): Promise<void> => {
    for (let n = 0; n < debits / lanes; n++) {
      const requestId = `req_${++requests}`
      const answer = await ledger.hold(holdRequest(requestId, `key_${requests % keys}`, HOLD))
      if (answer !== 'held') throw new Error(answer)
      if ((await ledger.settle(settlement(requestId, USED))) !== 'settled') throw new Error('not settled')
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return debits
}

function withoutGroups(keys: number): number {
  for (let n = 0; n < DEBITS; n++) {
    const requestId = `req_${++requests}`
    machine.ask(holdTask(requestId, `key_${requests % keys}`, HOLD))
    machine.ask(settleTask(requestId, USED))
  }
  return DEBITS
}

const REFERENCE = 'a transaction each, one key'
const best = await bestOf(
  [
    { name: REFERENCE, run: () => withoutGroups(1) },
    { name: 'a transaction each, 1,000 keys', run: () => withoutGroups(KEYS) },
    { name: `group commit, ${LANES} at a time, one key`, run: () => withGroupCommit(1, LANES) },
    { name: `group commit, ${LANES} at a time, 1,000 keys`, run: () => withGroupCommit(KEYS, LANES) },
    { name: 'group commit, one at a time', run: () => withGroupCommit(1, 1, DEBITS / 10) },
  ],
  ROUNDS,
)
console.log(`${DEBITS} debits a round (hold + settle, synchronous=FULL), best of ${ROUNDS} rounds after 2 for warming up`)
print(best, 'debit', REFERENCE)
machine.close()
await ledger.close()
rmSync(folder, { recursive: true, force: true })
