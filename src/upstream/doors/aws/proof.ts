/**
 * The parts that the doors of AWS share: the signature of a call and the names of errors. The signature is made with the keys that the configuration names or AWS's own
 * chain finds. Rules: doors.md "Signatures".
 */

import type { AwsKeys, AwsProof } from '../../../core/door.ts'
import type { Door, Proof, ProvenCall } from '../door.ts'
import { Renewed } from '../renewed.ts'
import { bodyHash } from './body-hash.ts'
import { chainKeys } from './chain.ts'
import { awsErrorStatus } from './errors.ts'
import { AwsSigner, amzDate } from './sign.ts'

/** Undefined settings: the door's key proves the call. `now`: Unix milliseconds. */
export function awsProof(settings: AwsProof, now: () => number = Date.now): Pick<Door, 'prove' | 'refused' | 'errorStatus'> {
  if (settings.by === 'key') return { errorStatus: awsErrorStatus }
  const { credentials } = settings
  const signer = new AwsSigner(settings.region, settings.service)
  const chain = credentials === 'chain' ? new Renewed({ fetch: chainKeys }) : undefined
  let used: AwsKeys | undefined
  const signed = ({ host, target, fields }: ProvenCall, keys: AwsKeys | string, hash: string): Proof => {
    if (typeof keys === 'string') return keys
    used = keys
    const contentType = fields['content-type'] ?? ''
    return signer.sign({ host, target, contentType, bodyHash: hash, date: amzDate(now()) }, keys)
  }
  return {
    errorStatus: awsErrorStatus,
    prove(call) {
      const keys = chain?.get() ?? (credentials as AwsKeys)
      const hash = bodyHash(call.body)
      if (hash instanceof Promise) return hash.then(async (found) => signed(call, await keys, found))
      return keys instanceof Promise ? keys.then((found) => signed(call, found, hash)) : signed(call, keys, hash)
    },
    refused() {
      if (used !== undefined) chain?.refused(used)
    },
  }
}
