/**
 * The parts that the doors of AWS share: the signature of a call and the names of errors. The signature is made with the keys that the configuration names or AWS's own
 * chain finds. Rules: doors.md "Signatures".
 */

import type { AwsKeys, AwsProof } from '../../../core/door.ts'
import type { Door, Proof, ProvenCall } from '../door.ts'
import { Renewed } from '../renewed.ts'
import { chainKeys } from './chain.ts'
import { awsErrorStatus } from './errors.ts'
import { AwsSigner, amzDate, sha256 } from './sign.ts'

/** A larger body is hashed on a thread of the engine's: a megabyte would hold the loop for most of a millisecond. */
const HASHED_HERE_BYTES_MAX = 64 * 1024

/** Undefined settings: the door's key proves the call. `now`: Unix milliseconds. */
export function awsProof(settings: AwsProof, now: () => number = Date.now): Pick<Door, 'prove' | 'refused' | 'errorStatus'> {
  if (settings.by === 'key') return { errorStatus: awsErrorStatus }
  const { credentials } = settings
  const signer = new AwsSigner(settings.region, settings.service)
  const chain = credentials === 'chain' ? new Renewed({ fetch: chainKeys }) : undefined
  let used: AwsKeys | undefined
  const signed = ({ host, target, fields, body }: ProvenCall, keys: AwsKeys | string, hash?: string): Proof => {
    if (typeof keys === 'string') return keys
    used = keys
    const contentType = fields['content-type'] ?? ''
    return signer.sign({ host, target, contentType, bodyHash: hash ?? sha256(body), date: amzDate(now()) }, keys)
  }
  return {
    errorStatus: awsErrorStatus,
    prove(call) {
      const keys = chain?.get() ?? (credentials as AwsKeys)
      if (call.body.length > HASHED_HERE_BYTES_MAX) return hashElsewhere(call.body).then(async (hash) => signed(call, await keys, hash))
      return keys instanceof Promise ? keys.then((found) => signed(call, found)) : signed(call, keys)
    },
    refused() {
      if (used !== undefined) chain?.refused(used)
    },
  }
}

/** Hashes without a copy: the view itself is hashed. */
async function hashElsewhere(body: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)
  return new Uint8Array(hash).toHex()
}
