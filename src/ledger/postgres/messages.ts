/**
 * Messages between nodes by NOTIFY: keys and accounts that an operator's write changed, never a debit, and leases that are asked back. Pure: texts are
 * encoded and decoded. A message of another version is ignored. Rules: nodes.md "Notifications".
 */

import type { NodeMessage } from '../nodes.ts'

/** The channel that all nodes listen to. */
export const CHANNEL = 'tollgate_ledger'

const VERSION = 1

export const encodeMessage = (message: NodeMessage): string => JSON.stringify([VERSION, message])

/** Undefined: the text is a message of another version, or not ours. */
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

function isMessage(given: unknown): given is NodeMessage {
  if (typeof given !== 'object' || given === null) return false
  const { kind, lane, stop, keyIds, accountId, accountNumber, keyNumber } = given as Record<string, unknown>
  if (!isNumber(lane)) return false
  switch (kind) {
    case 'keys':
      return (stop === null || stop === 'disabled') && Array.isArray(keyIds) && keyIds.every((keyId) => typeof keyId === 'string')
    case 'import':
      return true
    case 'account':
    case 'credit':
      return typeof accountId === 'string'
    case 'giveBack':
      return isNumber(accountNumber) && (keyNumber === null || isNumber(keyNumber))
    default:
      return false
  }
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value)
