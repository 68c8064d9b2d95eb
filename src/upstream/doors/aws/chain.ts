/**
 * Finds keys where AWS's own programs find them: environment, files, single sign-on, the machine's role. The package for it is loaded only when it is needed. Rules:
 * doors.md "Signatures".
 */

import type { AwsKeys } from '../../../core/door.ts'
import type { Lasting } from '../renewed.ts'

/** Keys that do not end are looked up again after this, as a role may take their place. */
const LIFE_MS = 3_600_000

export async function chainKeys(): Promise<Lasting<AwsKeys> | string> {
  try {
    const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers')
    // A new chain each time: a chain that is kept would keep the keys that it has found.
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await fromNodeProviderChain()()
    const lifeMs = expiration === undefined ? LIFE_MS : expiration.getTime() - Date.now()
    return lifeMs <= 0 ? 'no credentials' : { value: { accessKeyId, secretAccessKey, sessionToken }, lifeMs }
  } catch {
    return 'no credentials'
  }
}
