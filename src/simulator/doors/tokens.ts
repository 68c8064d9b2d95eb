/** Small token services in the place of Google's and Entra's: a request of the right form gets a token, valid for the time that the answer states. Rules: faults.md "Simulator". */

import { boundedMap } from '../../core/bounded-map.ts'

const LIFE_SECONDS = 3_600
const TOKENS_MAX = 1_000

export class IssuedTokens {
  readonly #endsAtMs = boundedMap<number>(TOKENS_MAX)
  #count = 0

  has(authorization: string): boolean {
    return (this.#endsAtMs.get(authorization.replace(/^Bearer /, '')) ?? 0) > performance.now()
  }

  async answer(request: Request): Promise<Response> {
    if (!(await isAsked(request))) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const token = `sim-token-${++this.#count}`
    this.#endsAtMs.set(token, performance.now() + LIFE_SECONDS * 1_000)
    return Response.json({ access_token: token, expires_in: LIFE_SECONDS, token_type: 'Bearer' })
  }
}

/** Whether a token is asked for in a right form: with the metadata server's header, a signed assertion, or a client's id and secret. */
async function isAsked(request: Request): Promise<boolean> {
  if (request.method === 'GET') return request.headers.get('metadata-flavor') === 'Google'
  const form = new URLSearchParams(await request.text())
  if (form.get('grant_type') === 'client_credentials')
    return [form.get('client_id'), form.get('client_secret'), form.get('scope')].every((value) => value !== null && value !== '')
  return (
    form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(form.get('assertion') ?? '')
  )
}
