/**
 * Messages between nodes by NOTIFY: keys and accounts that an operator's write changed, never a debit, and leases that are asked back. Pure: a text and its
 * meaning. A message of another version is no message. Rules: nodes.md "Notifications".
 */

import type { KeyChange } from '../ledger.ts'
import type { NodeMessage } from '../nodes.ts'
import type { Operation } from '../operation.ts'

/** The channel that all nodes listen to. */
export const CHANNEL = 'tollgate_ledger'

/** Postgres takes 7,999 bytes. Source: https://www.postgresql.org/docs/current/sql-notify.html */
const BYTES_MAX = 7_900
const VERSION = 1

export const encodeMessage = (message: NodeMessage): string => JSON.stringify([VERSION, message])

/** Undefined: it is of another version, or not ours. */
export function decodeMessage(text: string): NodeMessage | undefined {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(given) || given[0] !== VERSION) return undefined
  const message: unknown = given[1]
  return isMessage(message) ? message : undefined
}

/** The messages of an operator's write to the other nodes. */
export const messagesOf = (lane: number, operation: Operation, changes: readonly KeyChange[]): readonly NodeMessage[] => {
  const accountId = creditedBy(operation)
  return [...keysMessages(lane, changes), ...(accountId === undefined ? [] : [{ kind: 'credit', lane, accountId } as const])]
}

function creditedBy(operation: Operation): string | undefined {
  switch (operation.kind) {
    case 'credit':
    case 'redeemCode':
      return operation.accountId
    case 'createKey':
      return operation.topUp === null ? undefined : (operation.accountId ?? operation.ownAccountId)
    default:
      return undefined
  }
}

/** As many messages as their keys need. */
export function keysMessages(lane: number, changes: readonly KeyChange[]): readonly NodeMessage[] {
  const messages: NodeMessage[] = []
  for (const stop of [null, 'disabled'] as const) {
    let keyIds: string[] = []
    let bytes = 0
    for (const { keyId } of changes.filter((change) => change.stop === stop)) {
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

const HEAD_BYTES = 200

function isMessage(given: unknown): given is NodeMessage {
  if (typeof given !== 'object' || given === null) return false
  const { kind, lane, stop, keyIds, accountId, accountNumber, keyNumber } = given as Record<string, unknown>
  if (!isNumber(lane)) return false
  switch (kind) {
    case 'keys':
      return (stop === null || stop === 'disabled') && Array.isArray(keyIds) && keyIds.every((keyId) => typeof keyId === 'string')
    case 'credit':
      return typeof accountId === 'string'
    case 'giveBack':
      return isNumber(accountNumber) && (keyNumber === null || isNumber(keyNumber))
    default:
      return false
  }
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value)
