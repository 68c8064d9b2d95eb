/**
 * The balance of a key, in its own shape and in the three older shapes that chat front-ends read. Order: limit per client address, key, answer.
 * Rules: contract.md "Endpoints", "Balance"; keys.md "Balance of a key", "Order of checks".
 */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { availableOf, type KeyRecord } from '../core/key.ts'
import { type Picos, toUsd } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { isoTime } from '../core/utc.ts'
import type { SyncedKeyBalance } from '../ledger/ledger.ts'
import { keyBalanceOf } from '../relay/key-balance.ts'
import type { World } from '../world.ts'
import { type Asker, answerSmall } from './answers.ts'
import { KEY_HEADERS, type keyMacro } from './key.ts'

const usd = (description: string) => t.Number({ description: `USD, ${description}` })

const BALANCE = t.Object(
  {
    object: t.Literal('balance'),
    balance_usd: usd('what the key may still spend: the lesser of its account’s balance and what its spend limit leaves'),
    expires_at: t.Union([t.String({ format: 'date-time' }), t.Null()], { description: 'UTC; null when the key has no expiry' }),
    is_active: t.Boolean({ description: 'false when the key is disabled or its account suspended' }),
    last_synced_at: t.String({ format: 'date-time', description: 'UTC; when the balance last changed' }),
  },
  { title: 'Balance', description: 'The balance of the key' },
)

/** Front-ends show `hard_limit_usd − total_usage / 100`, so the limit is the amount that is left, and the usage is 0. */
const SUBSCRIPTION = t.Object(
  {
    object: t.Literal('billing_subscription'),
    has_payment_method: t.Literal(true),
    soft_limit_usd: usd('the remaining balance'),
    hard_limit_usd: usd('the remaining balance'),
    system_hard_limit_usd: usd('the remaining balance'),
    access_until: Type.Integer({ description: 'When the key expires, in Unix seconds; 0 when it does not' }),
  },
  { title: 'Subscription', description: 'The remaining balance as a limit' },
)

const USAGE = t.Object(
  { object: t.Literal('list'), total_usage: t.Literal(0, { description: 'In cents. Always 0: the limit is what is left' }) },
  { title: 'BillingUsage', description: 'Always 0' },
)

const CREDIT_GRANTS = t.Object(
  {
    object: t.Literal('credit_summary'),
    total_granted: usd('the remaining balance'),
    total_used: t.Literal(0),
    total_available: usd('the remaining balance'),
  },
  { title: 'CreditGrants', description: 'The remaining balance as a grant' },
)

export function dashboardRoutes(world: World, macro: ReturnType<typeof keyMacro>) {
  const answer = <Document>(asker: Asker, shape: (key: KeyRecord, balance: Balance) => Document): Promise<Response> =>
    answerSmall(asker, async (key) => {
      const keyBalance = await keyBalanceOf(world, key)
      return keyBalance instanceof Refusal ? keyBalance : shape(key, balanceOf(keyBalance))
    })
  const about = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Balance'], summary, description })
  const headers = KEY_HEADERS.bearer
  return new Elysia({ name: 'dashboard' })
    .use(macro)
    .get('/v1/dashboard/balance', ({ asker }) => answer(asker, balanceShape), {
      key: 'balance',
      headers,
      response: { 200: BALANCE },
      detail: about(
        'getBalance',
        'Get the balance',
        'What the key may still spend. A disabled key is answered, too, with `is_active: false`.',
      ),
    })
    .get('/v1/dashboard/billing/subscription', ({ asker }) => answer(asker, subscriptionShape), {
      key: 'dashboard',
      headers,
      response: { 200: SUBSCRIPTION },
      detail: about(
        'getSubscription',
        'Get the subscription',
        'The remaining balance in the shape of an older billing API, for chat front-ends.',
      ),
    })
    .get('/v1/dashboard/billing/usage', ({ asker }) => answer(asker, usageShape), {
      key: 'dashboard',
      headers,
      response: { 200: USAGE },
      detail: about('getUsage', 'Get the usage', 'Always 0, so that front-ends that subtract it from the limit show what is left.'),
    })
    .get('/v1/dashboard/billing/credit_grants', ({ asker }) => answer(asker, creditGrantsShape), {
      key: 'dashboard',
      headers,
      response: { 200: CREDIT_GRANTS },
      detail: about(
        'getCreditGrants',
        'Get the credit grants',
        'The remaining balance in the shape of an older billing API, for chat front-ends.',
      ),
    })
}

/** What a key has left: holds are not subtracted, and the amount is not clamped at 0. */
type Balance = Readonly<{ availablePicos: Picos; lastSyncedAt: number }>

const balanceOf = ({ account, lastSyncedAt, ...of }: SyncedKeyBalance): Balance => ({
  availablePicos: availableOf({ ...of, balancePicos: account.balancePicos }),
  lastSyncedAt,
})

const balanceShape = (key: KeyRecord, { availablePicos, lastSyncedAt }: Balance): Static<typeof BALANCE> => ({
  object: 'balance',
  balance_usd: toUsd(availablePicos),
  expires_at: key.expiresAt === null ? null : isoTime(key.expiresAt),
  is_active: key.isActive && key.isAccountActive,
  last_synced_at: isoTime(lastSyncedAt),
})

const subscriptionShape = (key: KeyRecord, { availablePicos }: Balance): Static<typeof SUBSCRIPTION> => ({
  object: 'billing_subscription',
  has_payment_method: true,
  soft_limit_usd: toUsd(availablePicos),
  hard_limit_usd: toUsd(availablePicos),
  system_hard_limit_usd: toUsd(availablePicos),
  access_until: key.expiresAt === null ? 0 : Math.floor(key.expiresAt / 1000),
})

const usageShape = (): Static<typeof USAGE> => ({ object: 'list', total_usage: 0 })

const creditGrantsShape = (_key: KeyRecord, { availablePicos }: Balance): Static<typeof CREDIT_GRANTS> => ({
  object: 'credit_summary',
  total_granted: toUsd(availablePicos),
  total_used: 0,
  total_available: toUsd(availablePicos),
})
