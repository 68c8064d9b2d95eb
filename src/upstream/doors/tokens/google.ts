/** Google's access tokens: for a service account by a signed assertion, or for the machine by its metadata server. Rules: doors.md "Tokens". */

import type { GoogleProof } from '../../../core/door.ts'
import type { Door } from '../door.ts'
import type { Lasting } from '../renewed.ts'
import { bearerOf, tokenProof } from './token-proof.ts'
import { tokenFrom } from './token-service.ts'

const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const METADATA_URL = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const ASSERTION_SECONDS = 3_600

export function googleProof(proof: GoogleProof): Pick<Door, 'prove' | 'refused'> {
  const { tokenUrl } = proof
  if (proof.by === 'metadata')
    return tokenProof(async () => bearerOf(await tokenFrom(tokenUrl ?? METADATA_URL, { headers: { 'metadata-flavor': 'Google' } })))
  return tokenProof(async () => bearerOf(await byAssertion(proof.serviceAccountKey, tokenUrl ?? TOKEN_URL)))
}

async function byAssertion(serviceAccountKey: string, url: string): Promise<Lasting<string> | string> {
  const assertion = await assertionOf(serviceAccountKey, url)
  if (assertion === undefined) return 'token key'
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  return tokenFrom(url, { method: 'POST', body })
}

/** Undefined: the key cannot sign. */
async function assertionOf(serviceAccountKey: string, audience: string): Promise<string | undefined> {
  try {
    const { importPKCS8, SignJWT } = await import('jose')
    const { client_email: email, private_key: key, private_key_id: keyId } = JSON.parse(serviceAccountKey)
    return await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: String(keyId) }) })
      .setIssuer(String(email))
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(`${ASSERTION_SECONDS}s`)
      .sign(await importPKCS8(String(key), 'RS256'))
  } catch {
    return undefined
  }
}
