/** A ledger that has been in use: the receipts and keys of years, written by the ledger's own code, so that `verify` agrees with them. */

import { join } from 'node:path'
import { DebitMachine } from './debits.ts'

const GROUP = 2_048

/** Fills the file that an installation of `load/tollgate.ts` made; gives the secrets of the keys. */
export function fillLedger(folder: string, receipts: number, keys: number): readonly string[] {
  const machine = new DebitMachine(join(folder, 'data/tollgate.db'))
  machine.addKeys(keys)
  for (let left = receipts; left > 0; left -= GROUP) machine.write(machine.ready(Math.min(GROUP, left), Math.min(keys, 10_000)), GROUP)
  machine.close()
  return machine.secrets
}
