/** An operator's write: by the running gateway's socket, else on the file itself under the same lock. Rules: ledger.md "One writer"; operator.md "Socket". */

import { openLedger } from '../ledger/open-ledger.ts'
import type { Operation, OperationResult } from '../ledger/operation.ts'
import { operateThroughSocket } from '../operator/operator-socket.ts'
import type { CommandContext } from './command-context.ts'
import { noLedger, type Stop, wrongUse } from './environment.ts'
import { newId } from './new-id.ts'

/** A gateway that has just taken the lock makes its socket a moment later, and another command holds the lock only for a moment. */
const RETRY_AFTER_MS = [50, 200, 500, 1_000]

/** Undefined: done and durable. `create`: a ledger that is missing is made. */
export async function operate(context: CommandContext, operation: Operation, { create }: { create: boolean }): Promise<Stop | undefined> {
  for (const waitMs of [0, ...RETRY_AFTER_MS]) {
    await Bun.sleep(waitMs)
    const viaGateway = await operateThroughSocket(context.config.ledgerPath, operation)
    if (viaGateway !== 'absent') return stopOf(viaGateway)
    const direct = await operateOnFile(context, operation, create)
    if ('result' in direct) return stopOf(direct)
    if (direct.problem !== 'locked') return noLedger(direct.message)
  }
  return noLedger('another process holds the ledger, and it does not answer at its operator socket')
}

type FileProblem = Extract<Awaited<ReturnType<typeof openLedger>>, { problem: unknown }>

async function operateOnFile(context: CommandContext, operation: Operation, create: boolean): Promise<OperationResult | FileProblem> {
  const { startThread, now, stderr } = context.environment
  const opened = await openLedger({ path: context.config.ledgerPath, create, bootId: newId('boot', now()), startThread, now })
  if ('problem' in opened) return opened
  if (opened.isNew) stderr(`tollgate: a new ledger was made at ${opened.path}\n`)
  try {
    return await opened.ledger.operate(operation)
  } finally {
    await opened.ledger.close()
  }
}

function stopOf(result: OperationResult): Stop | undefined {
  switch (result.result) {
    case 'done':
      return undefined
    case 'refused':
      return wrongUse(result.problem)
    case 'unavailable':
      return noLedger('the ledger did not confirm the change; look whether it was made before you repeat it')
  }
}
