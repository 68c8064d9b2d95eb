/**
 * Ids of calls that native refuses (Kimi's have dots and colons) in letters that it takes. The client keeps them so, and a server of the chat format gets its own back: no
 * request is rewritten for a native upstream, so what stands before a vendor's thinking stays as it was. Rules: openai.md "Calls".
 */

import { NAME, NAME_LENGTH_MAX } from '../../../native/names.ts'

const ENCODED = 'id64_'

/** The id of a call in a native answer; a made one where the server gives none, or one too long to be kept. */
export function nativeCallId(id: string | undefined, position: number, answerId: string): string {
  if (id !== undefined && NAME.test(id) && !id.startsWith(ENCODED)) return id
  const encoded = id === undefined ? '' : `${ENCODED}${Buffer.from(id).toString('base64url')}`
  return encoded === '' || encoded.length > NAME_LENGTH_MAX ? madeCallId(answerId, position) : encoded
}

/** What `nativeCallId` was given; any other id stays. */
export function chatCallId(id: unknown): unknown {
  if (typeof id !== 'string' || !id.startsWith(ENCODED)) return id
  const bytes = Buffer.from(id.slice(ENCODED.length), 'base64url')
  const given = bytes.toString()
  const isOurs = given !== '' && `${ENCODED}${Buffer.from(given).toString('base64url')}` === id
  return isOurs ? given : id
}

/** The id of a call whose server gives it none: the id is unique in a conversation. */
export const madeCallId = (answerId: string, position: number): string => `call_${answerId.replace(/^[a-z]+[_-]/, '')}_${position}`
