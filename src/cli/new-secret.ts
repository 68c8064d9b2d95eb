/** A key's secret and what the ledger keeps of it. Rules: keys.md "Secrets". */

import { displayOf, makeSecret } from '../core/key.ts'
import { hashOf } from '../ledger/secret-hash.ts'

/** The ledger gets the hash; the secret itself is only printed. */
export function newSecret(): { secret: string; secretHash: Uint8Array; display: string } {
  const secret = makeSecret(() => crypto.getRandomValues(new Uint8Array(64)))
  return { secret, secretHash: hashOf(secret), display: displayOf(secret) }
}
