/** The messages of an operator's write to the other processes that answer requests, whatever carries them. Pure. Rules: nodes.md "Notifications". */

import type { KeyChange } from '../ledger.ts'
import type { NodeMessage } from '../nodes.ts'
import type { Operation } from '../operation.ts'

/** Postgres takes 7,999 bytes. Source: https://www.postgresql.org/docs/current/sql-notify.html */
const BYTES_MAX = 7_900
const HEAD_BYTES = 200

/** The messages of an operator's write to the other nodes. */
export const messagesOf = (lane: number, operation: Operation, changes: readonly KeyChange[]): readonly NodeMessage[] => {
  const accountId = accountOf(operation)
  return [
    ...keysMessages(lane, changes),
    ...changes.filter((change) => 'accountId' in change).map(({ accountId }) => ({ kind: 'account', lane, accountId }) as const),
    ...(accountId === undefined ? [] : [{ kind: 'credit', lane, accountId } as const]),
    ...(operation.kind === 'importKeys' ? [{ kind: 'import', lane } as const] : []),
  ]
}

/** The account whose balance, or whose budgets over all keys, the write changed. */
function accountOf(operation: Operation): string | undefined {
  switch (operation.kind) {
    case 'credit':
    case 'redeemCode':
      return operation.accountId
    case 'setBudget':
      return operation.keyId === null ? operation.accountId : undefined
    case 'createKey':
      return operation.topUp === null ? undefined : (operation.accountId ?? operation.ownAccountId)
    default:
      return undefined
  }
}

/** Splits keys that are named over as many messages as they need. */
export function keysMessages(lane: number, changes: readonly KeyChange[]): readonly NodeMessage[] {
  const messages: NodeMessage[] = []
  for (const stop of [null, 'disabled'] as const) {
    let keyIds: string[] = []
    let bytes = 0
    for (const { keyId } of changes.filter((change) => 'keyId' in change).filter((change) => change.stop === stop)) {
      const more = Buffer.byteLength(JSON.stringify(keyId)) + 1
      if (bytes + more > BYTES_MAX - HEAD_BYTES) {
        messages.push({ kind: 'keys', lane, stop, keyIds })
        keyIds = []
        bytes = 0
      }
      keyIds.push(keyId)
      bytes += more
    }
    if (keyIds.length > 0) messages.push({ kind: 'keys', lane, stop, keyIds })
  }
  return messages
}
