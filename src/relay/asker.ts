/**
 * The key that encrypts a request's kept answers. It is made from the secret that the client sent, and only where an answer is kept or looked for. Rules: requests.md
 * "Kept answers".
 */

import { type SealingKey, sealingKeyOf } from '../answers/sealing.ts'
import { readCredential } from '../core/credential.ts'
import { Refusal } from '../core/refusal.ts'

/** Takes the headers of a request whose key was identified: a request without a secret is a bug here. */
export function askersKeyOf(headers: Readonly<{ get(name: string): string | null }>): SealingKey {
  const secret = readCredential(headers, 'either')
  if (secret instanceof Refusal) throw new Error('a request without a secret has nothing to seal by')
  return sealingKeyOf(secret)
}
