/**
 * The key by which a request's kept answers are encrypted, made from its secret, and only where an answer is kept or looked for. Rules: requests.md "Kept
 * answers".
 */

import { type SealingKey, sealingKeyOf } from '../answers/sealing.ts'
import { readCredential } from '../core/credential.ts'
import { Refusal } from '../core/refusal.ts'

/** Of a request whose key was identified: without a secret it is a bug. */
export function askersKeyOf(headers: Readonly<{ get(name: string): string | null }>): SealingKey {
  const secret = readCredential(headers, 'either')
  if (secret instanceof Refusal) throw new Error('a request without a secret has nothing to seal by')
  return sealingKeyOf(secret)
}
