/** The credential in the headers of a request: one secret, in `x-api-key` or in `authorization`. Rules: contract.md "Authentication"; keys.md "Credentials". */

import { mayBeForeign } from './foreign-secret.ts'
import { isSecret } from './key.ts'
import { Refusal } from './refusal.ts'

/** Which headers may carry the key: the model routes take `x-api-key` or Bearer, the dashboard Bearer only. */
export type Carrier = 'either' | 'bearer'

/**
 * The secret as the client sent it, which may be ours or that of an imported key; a 401 otherwise. An empty header counts as not sent. A header that was sent twice
 * arrives joined by a comma, and so is no secret.
 */
export function readCredential(headers: Readonly<{ get(name: string): string | null }>, carrier: Carrier): string | Refusal {
  const apiKey = headers.get('x-api-key') ?? ''
  const authorization = headers.get('authorization') ?? ''
  if (apiKey !== '' && authorization !== '') return new Refusal('keyInvalid')
  const secret = carrier === 'either' && apiKey !== '' ? apiKey : bearerOf(authorization)
  if (secret === '') return new Refusal('keyMissing')
  return isSecret(secret) || mayBeForeign(secret) ? secret : new Refusal('keyInvalid')
}

/** What follows `Bearer` (in any case) and exactly one space; '' when there is no Bearer credential at all. */
function bearerOf(authorization: string): string {
  if (!/^bearer(\s|$)/i.test(authorization)) return authorization.includes(',') ? authorization : ''
  return authorization.startsWith(' ', 6) ? authorization.slice(7) : authorization.slice(6)
}
