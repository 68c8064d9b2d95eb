/** What a debit costs the ledger alone: receipt, account, key, roll-up and the flush, in groups of 16. */

import { join } from 'node:path'
import { DebitMachine } from './debits.ts'
import type { Readings } from './readings.ts'
import { TOLLGATE } from './readings.ts'

const DEBITS = 8_192
const GROUP = 16

/**
 * Adds a figure a round to `debit.cpu`, to `debit.tidied.cpu`, which includes the work that is due afterwards (the table of pages, the log into the file), and to
 * `debit.rate`, after two rounds for warming up. The median counts: as the file grows, the best round is only the one in which the least work was due.
 */
export function measureDebits(folder: string, rounds: number, readings: Readings): void {
  const machine = new DebitMachine(join(folder, 'debits.db'))
  machine.addKeys(1)
  for (let round = -2; round < rounds; round++) {
    const debits = machine.ready(DEBITS, 1)
    const [before, from] = [process.cpuUsage(), performance.now()]
    machine.write(debits, GROUP)
    const [written, tookMs] = [process.cpuUsage(before), performance.now() - from]
    machine.tidy(DEBITS)
    machine.moveLog()
    const tidied = process.cpuUsage(before)
    if (round < 0) continue
    readings.add('debit.cpu', TOLLGATE, (written.user + written.system) / DEBITS)
    readings.add('debit.tidied.cpu', TOLLGATE, (tidied.user + tidied.system) / DEBITS)
    readings.add('debit.rate', TOLLGATE, (DEBITS * 1000) / tookMs)
  }
  machine.verify()
  machine.close()
}
