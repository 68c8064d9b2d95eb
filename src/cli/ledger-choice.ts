/** The commands that work on a ledger in a file only, and their refusal on Postgres. Rules: operator.md "Two ledgers". */

import type { Config } from '../config/config.ts'
import { type Stop, wrongUse } from './environment.ts'

/** Of a command that copies files. */
export function copyStop({ ledger }: Config): Stop | undefined {
  if (ledger.kind === 'sqlite') return undefined
  return wrongUse('this copies files, and ledger and people are in Postgres: use its own backups, such as a base backup with archived WAL')
}
