/**
 * Builds a new token of the operator's API from what people enter, for the command line and the console alike. The secret is shown once, to the person who asked for it: the
 * ledger gets its hash. Rules: operator-api.md "Tokens".
 */

import { makeToken, type TokenScope, tokenDisplayOf } from '../../core/api-token.ts'
import { DAY_MS } from '../../core/utc.ts'
import type { OperationOf } from '../operation.ts'
import { hashOf } from './secret-hash.ts'

export type WantedToken = Readonly<{
  tokenId: string
  name: string
  scope: TokenScope
  accountIds: readonly string[]
  expiresInDays: number
}>

export function newToken(
  { expiresInDays, accountIds, ...wanted }: WantedToken,
  now: number,
): Readonly<{ operation: OperationOf<'createToken'>; secret: string }> {
  const secret = makeToken(() => crypto.getRandomValues(new Uint8Array(64)))
  const stored = { tokenHash: hashOf(secret), display: tokenDisplayOf(secret) }
  const operation = {
    kind: 'createToken',
    ...wanted,
    accountIds: [...new Set(accountIds)],
    ...stored,
    expiresAt: now + expiresInDays * DAY_MS,
    now,
  } as const
  return { secret, operation }
}
