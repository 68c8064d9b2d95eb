/**
 * One turn of a conversation: who speaks, for which account, and with what right, which is looked up anew with every message and every button. Rules: pages.md
 * "Telegram", "People".
 */

import { createHmac } from 'node:crypto'
import type { RandomBytes } from '../../ledger/operations/key-writes.ts'
import type { Chat } from '../../people/chats.ts'
import type { Role } from '../../people/memberships.ts'
import type { Held } from '../../telegram/update-store.ts'
import type { Caller } from '../api/caller.ts'
import type { Site } from '../site.ts'

export type BotSite = Pick<Site, 'world' | 'people' | 'payments' | 'waysToPay' | 'alerts' | 'moment' | 'look' | 'holdsOf'>

export type Turn = Readonly<{
  chat: Chat
  caller: Caller
  accountId: string
  role: Role
  /** The id of a key that this turn makes: the same, however often the turn is repeated. */
  newKeyId: string
  /** Where a secret that this turn makes comes from: the same, however often the turn is repeated. */
  random: () => RandomBytes
  /** When the update was taken, in Unix milliseconds. */
  takenAt: number
}>

/** The address of the caller, as the audit log writes it. */
export const addressOf = (chat: number): string => `telegram:${chat}`

/** A UUIDv7 in hex out of the update's time and salt, so that keys sort by time. */
export function keyIdOf({ takenAt, salt }: Held): string {
  const digest = createHmac('sha256', salt).update('key id').digest('hex')
  return `key_${takenAt.toString(16).padStart(12, '0')}7${digest.slice(0, 3)}8${digest.slice(3, 18)}`
}

/**
 * Bytes out of the update's salt and the bot's token: who has only the store, which has the salt until the update is answered, can make no secret of it. A repeated turn has the
 * same secret, so that a key is made, or rotated, once, and its secret is shown all the same.
 */
export function randomOf({ salt }: Held, token: string): () => RandomBytes {
  return () => {
    let block = 0
    return () => createHmac('sha512', token).update(salt).update(`secret ${block++}`).digest()
  }
}
