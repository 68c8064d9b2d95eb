/** Puts together the parts of what an account spent: one row for each day (or hour) and thing, newest first, and within a day the dearest first. Rules: ledger.md "Roll-ups". */

import { picos, ZERO } from '../../core/money.ts'
import { addUsage, NO_USAGE } from '../../core/usage.ts'
import type { SpendQuestion, SpendRow, SpendSums } from './account-reports.ts'
import type { QuestionOf, Reports, Unread } from './reports.ts'

const NOTHING: SpendSums = { requests: 0, usage: NO_USAGE, costPicos: ZERO, waivedPicos: ZERO, estimatedPicos: ZERO, savedPicos: ZERO }

/** Asks for all parts, each in the client's turn; also for those of a day over all accounts. Undefined: there is no such account or key. */
export async function wholeSpend(
  reports: Reports,
  client: string,
  question: Omit<SpendQuestion, 'after'> | Omit<QuestionOf<'spendHours'>, 'after'> | Omit<QuestionOf<'usageOfDay'>, 'after'>,
): Promise<readonly SpendRow[] | undefined | Unread> {
  const rows: SpendRow[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const part = await reports.ask<'spend' | 'spendHours' | 'usageOfDay'>(client, after === undefined ? question : { ...question, after })
    if (typeof part !== 'object') return part
    rows.push(...part.rows)
    after = part.next
  }
  return mergeSpend(rows)
}

export function mergeSpend(rows: readonly SpendRow[]): readonly SpendRow[] {
  const merged = new Map<string, SpendRow>()
  for (const row of rows) {
    const place = `${row.day} ${row.hour} ${row.id}`
    const known = merged.get(place)
    merged.set(place, known === undefined ? row : { ...row, ...addSums(known, row) })
  }
  // What has no tag may have nothing left.
  return [...merged.values()]
    .filter(({ requests }) => requests !== 0)
    .sort((a, b) => b.day - a.day || (b.hour ?? 0) - (a.hour ?? 0) || Number(b.costPicos - a.costPicos) || (a.id < b.id ? -1 : 1))
}

/** The sum of rows, for the foot of a table and for the stacks of a chart. */
export const sumSpend = (rows: readonly SpendSums[]): SpendSums => rows.reduce(addSums, NOTHING)

const addSums = (a: SpendSums, b: SpendSums): SpendSums => ({
  requests: a.requests + b.requests,
  usage: addUsage(a.usage, b.usage),
  costPicos: picos(a.costPicos + b.costPicos),
  waivedPicos: picos(a.waivedPicos + b.waivedPicos),
  estimatedPicos: picos(a.estimatedPicos + b.estimatedPicos),
  savedPicos: picos(a.savedPicos + b.savedPicos),
})
