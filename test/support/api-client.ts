/** A script that asks the operator's API of a test gateway with a token. */

import { newId } from '../../src/ledger/operations/new-id.ts'
import { newToken, type WantedToken } from '../../src/ledger/operations/token-writes.ts'
import type { TestGateway } from './gateway.ts'

export type ApiAnswer = Readonly<{ status: number; body: Record<string, unknown>; headers: Headers }>

export type ApiClient = Readonly<{
  token: string
  tokenId: string
  get(path: string, headers?: Record<string, string>): Promise<ApiAnswer>
  /** `key`: the Idempotency-Key. */
  post(path: string, body?: unknown, key?: string): Promise<ApiAnswer>
}>

type Wanted = Partial<Omit<WantedToken, 'tokenId'>>

/** `name`: default one of its own. */
export async function apiClient(gateway: Pick<TestGateway, 'ledger' | 'operatorUrl'>, wanted: Wanted = {}): Promise<ApiClient> {
  const tokenId = newId('tok', Date.now())
  const { operation, secret } = newToken(
    { tokenId, name: tokenId.replace('tok_', 't-'), scope: 'all', accountIds: [], expiresInDays: 90, ...wanted },
    Date.now(),
  )
  const made = await gateway.ledger.operate(operation)
  if (made.result !== 'done') throw new Error(JSON.stringify(made))
  return clientOf(gateway.operatorUrl, secret, tokenId)
}

export function clientOf(operatorUrl: string, token: string, tokenId = ''): ApiClient {
  const send = async (path: string, init: RequestInit): Promise<ApiAnswer> => {
    const answer = await fetch(`${operatorUrl}/api/v1${path}`, init)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
  }
  const authorization = `Bearer ${token}`
  return {
    token,
    tokenId,
    get: (path, headers = {}) => send(path, { headers: { authorization, ...headers } }),
    post: (path, body, key) =>
      send(path, {
        method: 'POST',
        headers: {
          authorization,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}
