/**
 * The balance of a key, in its own shape and in the three older shapes that chat front-ends read. Order: limit per client address, key, answer.
 * Rules: spec "Balance object", "Endpoints"; product.md "Balance and keys", "Requests".
 */

import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { KeyRecord } from '../core/key.ts'
import { toUsd } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { KeyBalance } from '../ledger/ledger.ts'
import type { World } from '../world.ts'
import { answerSmall, type Finding } from './answers.ts'
import { clientIpOf } from './client-address.ts'
import type { ClientLimits } from './client-limit.ts'
import { type Identified, identify, identifyEvenDisabled } from './key.ts'

type Shape = (key: KeyRecord, balance: KeyBalance) => Record<string, unknown>
type Identify = (world: World, clientLimits: ClientLimits, headers: Headers, clientIp: string) => Identified

export function dashboardRoutes(world: World, clientLimits: ClientLimits) {
  const route =
    (path: string, identifyKey: Identify, shape: Shape) =>
    ({ request, server }: { request: Request; server: Server<unknown> | null }): Promise<Response> => {
      const clientIp = clientIpOf(world, request, server)
      return answerSmall(world, path, request, clientIp, () =>
        findBalance(world, clientLimits, request.headers, clientIp, identifyKey, shape),
      )
    }
  return new Elysia({ name: 'dashboard' })
    .get('/v1/dashboard/balance', route('/v1/dashboard/balance', identifyEvenDisabled, balanceShape))
    .get('/v1/dashboard/billing/subscription', route('/v1/dashboard/billing/subscription', identifyBearer, subscriptionShape))
    .get('/v1/dashboard/billing/usage', route('/v1/dashboard/billing/usage', identifyBearer, usageShape))
    .get('/v1/dashboard/billing/credit_grants', route('/v1/dashboard/billing/credit_grants', identifyBearer, creditGrantsShape))
}

async function findBalance(
  world: World,
  clientLimits: ClientLimits,
  headers: Headers,
  clientIp: string,
  identifyKey: Identify,
  shape: Shape,
): Promise<Finding> {
  const key = clientLimits.countDashboard(clientIp) ?? (await identifyKey(world, clientLimits, headers, clientIp))
  if (key instanceof Refusal) return { document: key }
  const balance = await world.ledger.balanceOf(key.id)
  if (balance === 'unavailable') return { key, document: new Refusal('storageUnavailable') }
  return { key, document: balance === undefined ? new Refusal('keyInvalid') : shape(key, balance) }
}

const identifyBearer: Identify = (world, clientLimits, headers, clientIp) => identify(world, clientLimits, headers, 'bearer', clientIp)

const balanceShape: Shape = (key, { availablePicos, lastSyncedAt }) => ({
  object: 'balance',
  balance_usd: toUsd(availablePicos),
  expires_at: key.expiresAt === null ? null : isoTime(key.expiresAt),
  is_active: key.isActive && key.isAccountActive,
  last_synced_at: isoTime(lastSyncedAt),
})

/** The older shapes: front-ends show `hard_limit_usd − total_usage / 100`, so the limit is what is left and the usage is nothing. */
const subscriptionShape: Shape = (key, { availablePicos }) => ({
  object: 'billing_subscription',
  has_payment_method: true,
  soft_limit_usd: toUsd(availablePicos),
  hard_limit_usd: toUsd(availablePicos),
  system_hard_limit_usd: toUsd(availablePicos),
  access_until: key.expiresAt === null ? 0 : Math.floor(key.expiresAt / 1000),
})

/** In cents. */
const usageShape: Shape = () => ({ object: 'list', total_usage: 0 })

const creditGrantsShape: Shape = (_key, { availablePicos }) => ({
  object: 'credit_summary',
  total_granted: toUsd(availablePicos),
  total_used: 0,
  total_available: toUsd(availablePicos),
})

/** ISO 8601 in UTC, with its `Z`. */
const isoTime = (ms: number): string => new Date(ms).toISOString()
