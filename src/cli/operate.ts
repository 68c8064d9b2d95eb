/**
 * An operator's write: through the running gateway's socket, otherwise to the file itself under the same lock. Rules: ledger.md "One writer"; operator.md
 * "Socket", "Audit".
 */

import type { Command } from 'commander'
import type { Picos } from '../core/money.ts'
import { openLedgerAt } from '../ledger/open.ts'
import type { Act, Earlier, Operation, OperationResult } from '../ledger/operation.ts'
import { newId } from '../ledger/operations/new-id.ts'
import { operateThroughSocket } from '../operator/ask-gateways.ts'
import { ownActor } from '../operator/peer.ts'
import { readReason } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { noLedger, type Stop, wrongUse } from './environment.ts'

/** The waits before further tries: a gateway makes its socket a moment after it took the lock, and another command holds the lock only for a moment. */
const RETRY_AFTER_MS = [50, 200, 500, 1_000]

/** Options that every act takes. */
export type Why = { reason?: string }
export const withReason = (command: Command): Command => command.option('--reason <TEXT>', 'why, for the audit log', readReason)

/** `earlier`: an earlier act under the same reference, because of which nothing was done now. `redeemedPicos`: the worth of a redeemed code. */
export type Done = Readonly<{ earlier?: Earlier; redeemedPicos?: Picos }>

/** Resolves when the write is durable. `create`: makes a missing ledger. */
export async function operate(
  context: CommandContext,
  operation: Operation,
  { create, reason = '' }: Why & { create: boolean },
): Promise<Stop | Done> {
  const act = { actor: ownActor(), address: 'file', reason }
  for (const waitMs of [0, ...RETRY_AFTER_MS]) {
    await Bun.sleep(waitMs)
    const viaGateway = await throughGateway(context, operation, act)
    if (viaGateway !== 'absent') return doneOf(viaGateway)
    const direct = await operateOnFile(context, operation, act, create)
    if ('result' in direct) return doneOf(direct)
    if (direct.problem !== 'locked') return noLedger(direct.message)
  }
  return noLedger('another process holds the ledger, and it does not answer at its operator socket')
}

/** Writes through the gateway's socket. A ledger on Postgres needs none: the command writes as a node of its own, and every running gateway hears of it. */
const throughGateway = async ({ config: { ledger } }: CommandContext, operation: Operation, act: Act) =>
  ledger.kind === 'postgres' ? 'absent' : await operateThroughSocket(ledger.path, operation, act)

type FileProblem = Extract<Awaited<ReturnType<typeof openLedgerAt>>, { problem: unknown }>

async function operateOnFile(
  context: CommandContext,
  operation: Operation,
  act: Act,
  create: boolean,
): Promise<OperationResult | FileProblem> {
  const { startThread, startSyncDriver, now, stderr } = context.environment
  const opened = await openLedgerAt(context.config.ledger, { create, bootId: newId('boot', now()), startThread, startSyncDriver, now })
  if ('problem' in opened) return opened
  if (opened.isNew) stderr(`tollgate: a new ledger was made at ${opened.path}\n`)
  try {
    return await opened.ledger.operate(operation, act)
  } finally {
    await opened.ledger.close()
  }
}

function doneOf(result: OperationResult): Stop | Done {
  switch (result.result) {
    case 'done':
      return result
    case 'refused':
      return wrongUse(result.problem)
    case 'unavailable':
      return noLedger('the ledger did not confirm the change; look whether it was made before you repeat it')
  }
}
