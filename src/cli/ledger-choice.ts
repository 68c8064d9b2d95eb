/** Which ledger a command works on: until there is one on Postgres, a configuration that names it is refused rather than another ledger opened. Rules: operator.md "Two ledgers". */

import type { Config } from '../config/config.ts'
import { noLedger, type Stop, wrongUse } from './environment.ts'

/** Of a command that copies files. */
export function copyStop({ ledger }: Config): Stop | undefined {
  if (ledger.kind === 'sqlite') return undefined
  return wrongUse('this copies files, and ledger and people are in Postgres: use its own backups, such as a base backup with archived WAL')
}

/** Why this configuration's ledger cannot be opened; undefined: it can. */
export function ledgerStop({ ledger }: Config): Stop | undefined {
  if (ledger.kind === 'sqlite') return undefined
  return noLedger('ledger.url_env names a ledger on Postgres, which this version cannot open yet')
}
