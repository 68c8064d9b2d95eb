/** `tollgate audit list`: who changed what, from where and why, newest first. Rules: operator.md "Audit", "Lists". */

import type { Command } from 'commander'
import { isoOrNull } from '../core/utc.ts'
import type { AuditRow } from '../ledger/reading/operator-lists.ts'
import type { CommandContext, Run } from './command-context.ts'
import { type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { type PagingOptions, type RangeOptions, sayPage, withPaging, withRange } from './paging.ts'
import { accountNamed, keyNamed, readReport } from './read-report.ts'
import { tableText, timeText } from './text.ts'

type Options = PagingOptions & RangeOptions & { key?: string; account?: string }

export function addAudit(program: Command, run: Run): void {
  const audit = program.command('audit').description("look through the operator's acts")
  const list = withRange(withPaging(audit.command('list'), /^\d{1,15}$/), 'acts')
    .description('who changed what, from where and why; newest first')
    .option('--key <KEY>', 'only what was done to this key: its id or name')
    .option('--account <ACCOUNT>', 'only what was done to this account: its id or name')
  list.action((options: Options) => run(list, (context) => listAudit(context, options)))
}

function listAudit(context: CommandContext, { key, account, from, to, limit, cursor }: Options): ExitCode | Stop {
  if (key !== undefined && account !== undefined) return wrongUse('give --key or --account, not both')
  const of = key === undefined ? (account === undefined ? undefined : accountNamed(context, account)) : keyNamed(context, key)
  if (isStop(of)) return of
  const page = readReport(context, ({ lists }) => lists.audit({ target: of?.id, from, to, after: cursor, limit }))
  return isStop(page) ? page : sayPage(context, page, auditDocument, auditTable)
}

const auditDocument = ({ id, at, actor, address, action, target, reason, before, after }: AuditRow) => ({
  id,
  at: isoOrNull(at),
  actor,
  address,
  action,
  target,
  reason,
  before: JSON.parse(before),
  after: JSON.parse(after),
})

const auditTable = (rows: readonly AuditRow[]): string =>
  tableText(
    ['ID', 'AT', 'ACTOR', 'ADDRESS', 'ACTION', 'TARGET', 'BEFORE', 'AFTER', 'REASON'],
    rows.map(({ id, at, actor, address, action, target, before, after, reason }) => [
      String(id),
      timeText(at),
      actor,
      address,
      action,
      target,
      before,
      after,
      reason,
    ]),
    'No act was found.',
  )
