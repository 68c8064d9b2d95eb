/** Proves calls by a token that expires. Rules: doors.md "Tokens". */

import type { Door, Proof } from '../door.ts'
import { type Lasting, Renewed } from '../renewed.ts'

/** One token for all calls of the door. */
export function tokenProof(fetch: () => Promise<Lasting<Bearer> | string>): Pick<Door, 'prove' | 'refused'> {
  const tokens = new Renewed({ fetch })
  let used: Bearer | undefined
  const proofOf = (token: Bearer | string): Proof => {
    if (typeof token === 'string') return token
    used = token
    return token.fields
  }
  return {
    prove() {
      const token = tokens.get()
      return token instanceof Promise ? token.then(proofOf) : proofOf(token)
    },
    refused() {
      if (used !== undefined) tokens.refused(used)
    },
  }
}

export type Bearer = Readonly<{ fields: Readonly<{ authorization: string }> }>

export const bearerOf = (found: Lasting<string> | string): Lasting<Bearer> | string =>
  typeof found === 'string' ? found : { ...found, value: { fields: { authorization: `Bearer ${found.value}` } } }
