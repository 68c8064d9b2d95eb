/** Access tokens of Microsoft Entra, for a client with a secret. Rules: doors.md "Tokens". */

import type { EntraProof } from '../../../core/door.ts'
import type { Door } from '../door.ts'
import { bearerOf, tokenProof } from './token-proof.ts'
import { tokenFrom } from './token-service.ts'

const SCOPE = 'https://ai.azure.com/.default'

export function entraProof(proof: EntraProof): Pick<Door, 'prove' | 'refused'> {
  if (proof.by === 'key') return {}
  const { tenant, clientId, clientSecret, scope = SCOPE } = proof
  const url = proof.tokenUrl ?? `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`
  const fields = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }
  return tokenProof(async () => bearerOf(await tokenFrom(url, { method: 'POST', body: new URLSearchParams(fields) })))
}
