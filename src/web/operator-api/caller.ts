/**
 * The caller of a route: its token, what it may do, and which accounts it sees. `token` on a route says what is needed: a scope, and whether the route reaches beyond
 * accounts. Rules: operator-api.md "Scopes", "Writes".
 */

import { Elysia, ElysiaCustomStatusResponse } from 'elysia'
import type { TokenRecord, TokenScope } from '../../core/api-token.ts'
import { type ByToken, ONCE_MS, type Once } from '../../ledger/operation.ts'
import { hashOf } from '../../ledger/operations/secret-hash.ts'
import type { World } from '../../world.ts'
import { type Failure, forbidden, wrong } from './failure.ts'
import { problemOfLimit } from './shapes.ts'

/** `client`: the name under which its reads take turns. */
export type ApiCaller = Readonly<{
  token: TokenRecord
  address: string
  actor: `token:${string}`
  client: `token:${string}`
  by: ByToken
}>

/** The token and the address of each request, as they were found before it was routed. */
export type Admitted = WeakMap<Request, Readonly<{ token: TokenRecord; address: string }>>

/** `reach`: a token that is bound to accounts reaches only what belongs to one of them. */
type Needed = Readonly<{ scope: TokenScope; reach: 'account' | 'gateway' }>

const HEADER = /^[!-~]{1,255}$/

export const tokenMacro = ({ clock }: Pick<World, 'clock'>, admitted: Admitted) =>
  new Elysia({ name: 'operator api caller' }).macro({
    token: ({ scope, reach }: Needed) => ({
      resolve: ({ request, body, query }) => {
        const found = admitted.get(request)
        if (found === undefined) throw new Error('a route of the operator API was reached without a token')
        const { token, address } = found
        const refused = whyNot(token, scope, reach) ?? problemOfLimit(query)
        if (refused !== undefined) return statusOf(refused)
        const once = onceOf(request, body, clock.now())
        if (once !== null && 'status' in once) return statusOf(once)
        const caller: ApiCaller = {
          token,
          address,
          actor: `token:${token.name}`,
          client: `token:${token.id}`,
          by: { tokenId: token.id, once },
        }
        return { caller }
      },
    }),
  })

const statusOf = ({ status, body }: Failure) => new ElysiaCustomStatusResponse(status as 403, body)

function whyNot({ scope, accountIds }: TokenRecord, needed: TokenScope, reach: Needed['reach']): Failure | undefined {
  if (!maySee(scope, needed)) return forbidden(`This token has the scope ${scope}; ${needed} is needed`)
  return reach === 'gateway' && accountIds.length > 0 ? forbidden('This token is bound to accounts') : undefined
}

/** Whether a token of the scope may do what needs that one. */
export const maySee = (scope: TokenScope, needed: TokenScope): boolean => needed === 'read' || scope === 'all' || scope === needed

export const NEEDS_ALL = 'This token may not do both: a balance in the same act needs the scope all'

export const seesAccount = ({ token: { accountIds } }: ApiCaller, accountId: string): boolean =>
  accountIds.length === 0 || accountIds.includes(accountId)

/** What a write under an Idempotency-Key is; null: a look, or a write without the header. */
function onceOf({ method, url, headers }: Request, body: unknown, now: number): Once | Failure | null {
  const header = headers.get('idempotency-key')
  if (header === null || method === 'GET') return null
  if (!HEADER.test(header)) return wrong('Idempotency-Key', 'Input should be 1 to 255 visible ASCII characters')
  const asked = `${method} ${new URL(url).pathname}\n${JSON.stringify(body)}`
  return { headerHash: hashOf(header), requestHash: hashOf(asked), expiresAt: now + ONCE_MS }
}
