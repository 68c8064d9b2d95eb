/**
 * Reads what is reserved now, even since less than a second: from the memory of the gateways that run here, and on Postgres from the checkpoints of other nodes. Rules:
 * operator.md "Socket"; money.md "Holds".
 */

import { type Picos, picos } from '../core/money.ts'
import type { Hold } from '../ledger/ledger.ts'
import { type HeldThere, holdsThroughSockets } from '../operator/ask-gateways.ts'
import { holdsPage } from '../operator/holds-page.ts'
import type { HoldsQuery } from '../operator/message-json.ts'
import type { CommandContext } from './command-context.ts'
import { isStop, type Stop } from './environment.ts'
import { readReport } from './read-report.ts'

/** A page of holds, oldest first. */
export async function holdsNow(context: CommandContext, query: HoldsQuery): Promise<HeldThere | Stop> {
  const { ledger } = context.config
  const there = await holdsThroughSockets(ledger, query)
  if (ledger.kind === 'sqlite') return there
  const marked = readReport(context, (report) => report.checkpoints(query))
  return isStop(marked) ? marked : { ...there, holds: holdsPage([...marked, ...there.holds], query) }
}

const PAGE = 5_000

type Reported = Readonly<{ id: string; heldPicos: Picos }>

/** Replaces the held amount by the one that gateways report; the ledger's rows only have holds older than a second. */
export async function withHeldNow<T extends Reported>(context: CommandContext, what: 'keyId' | 'accountId', reported: T): Promise<T> {
  const held: Hold[] = []
  for (;;) {
    const query = { keyId: null, accountId: null, [what]: reported.id, after: held.at(-1)?.requestId ?? null, limit: PAGE }
    const page = await holdsNow(context, query)
    if (isStop(page) || page.count === 0 || page.silent.length > 0) return reported
    held.push(...page.holds)
    if (page.holds.length < PAGE) break
  }
  return { ...reported, heldPicos: picos(held.reduce((sum, { amountPicos }) => sum + amountPicos, 0n)) }
}
