/**
 * What a key may do now: its limit, what it has spent and what is held for running requests, its plan and expiry, and why its next request would be refused.
 * Rules: keys.md "Balance of a key", "State of a key"; money.md "Holds".
 */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { budgetDocument } from '../core/budget-document.ts'
import { budgetsOf } from '../core/catalog.ts'
import { availableOf, type KeyBalance, type KeyRecord, type Shortage, shortageOf } from '../core/key.ts'
import { usdFields } from '../core/money.ts'
import { insufficientBalance, Refusal } from '../core/refusal.ts'
import { BUDGETS_OF, NO_WINDOWS } from '../core/spending.ts'
import { isoTime } from '../core/utc.ts'
import { keyBalanceAtRest, refusalOfUnread } from '../relay/key-balance.ts'
import type { World } from '../world.ts'
import { type Asker, answerSmall } from './answers.ts'
import { type Gates, KEY_HEADERS, type keyMacro } from './key.ts'

const usd = (description: string) => t.Number({ description: `USD, 6 decimals: ${description}` })
const exact = (description: string) => t.String({ pattern: '^-?\\d+(\\.\\d+)?$', description: `USD, every digit: ${description}` })
const orNull = <Schema extends ReturnType<typeof usd> | ReturnType<typeof exact>>(schema: Schema) => t.Union([schema, t.Null()])
const time = (description: string) => t.String({ format: 'date-time', description: `UTC; ${description}` })

const SPENT = 'what the key has spent since it was made'
const HELD = 'what is reserved for its running requests'
const AVAILABLE = 'what it may still spend: the least of its account’s balance and what its limit and budgets leave'
const LIMIT = 'the key’s spend limit; null where it has none'

const REASON = t.UnionEnum([
  'balance_used',
  'limit_used',
  'window_used',
  'balance_held',
  'limit_held',
  'window_held',
  'too_many_requests',
  'too_many_running',
  'unavailable',
])

const REFUSED = t.Object(
  {
    reason: REASON,
    status: Type.Integer(),
    type: t.String({ description: '`error.type`' }),
    message: t.String({ description: '`error.message`' }),
    retry_after_seconds: t.Union([Type.Integer(), t.Null()], { description: 'null where waiting does not help' }),
  },
  { title: 'WouldBeRefused', description: 'What a request would be answered now' },
)

const CAP = 'the most that may be spent in each of these windows'
const IN_WINDOW = 'what was spent in the present window'
const LEFT = 'what the present window leaves'

const BUDGET = t.Object(
  {
    of: t.UnionEnum([...BUDGETS_OF], {
      description: 'Whose it is: of this key, of the account over all its keys, or of its plan over the account’s keys of it',
    }),
    per: t.UnionEnum(['hour', 'day', 'week', 'month']),
    limit_usd: usd(CAP),
    limit_usd_exact: exact(CAP),
    spent_usd: usd(IN_WINDOW),
    spent_usd_exact: exact(IN_WINDOW),
    left_usd: usd(LEFT),
    left_usd_exact: exact(LEFT),
    resets_at: time('when the next window begins'),
  },
  { title: 'Budget' },
)

const KEY = t.Object(
  {
    object: t.Literal('key'),
    id: t.String(),
    name: t.String({ description: 'Empty where it has none' }),
    key: t.String({ description: 'The secret that was sent, as it is shown: `sk-…` and its last four characters' }),
    plan: t.String({ description: 'Which models it may use; `GET /v1/models` lists them' }),
    created_at: time('when the key was made'),
    expires_at: t.Union([t.String({ format: 'date-time' }), t.Null()], { description: 'UTC; null when the key has no expiry' }),
    limit_usd: orNull(usd(LIMIT)),
    limit_usd_exact: orNull(exact(LIMIT)),
    spent_usd: usd(SPENT),
    spent_usd_exact: exact(SPENT),
    held_usd: usd(HELD),
    held_usd_exact: exact(HELD),
    available_usd: usd(AVAILABLE),
    available_usd_exact: exact(AVAILABLE),
    budgets: t.Array(BUDGET, {
      description: 'Caps on what may be spent in each hour, day, week or month of UTC: the key’s own, its account’s, its plan’s',
    }),
    running_requests: Type.Integer(),
    would_be_refused: t.Union([REFUSED, t.Null()], { description: 'null: a request would be let in now' }),
  },
  { title: 'Key', description: 'The key and what it may do now' },
)

export function keyStatusRoutes(world: World, gates: Gates, macro: ReturnType<typeof keyMacro>) {
  return new Elysia({ name: 'key-status' }).use(macro).get('/v1/dashboard/key', ({ asker }) => answerKey(world, gates, asker), {
    key: 'dashboard',
    headers: KEY_HEADERS.bearer,
    response: { 200: KEY },
    detail: {
      operationId: 'getKey',
      tags: ['Usage'],
      summary: 'Get the key',
      description: 'Limit, spend, plan and expiry of this key, and why its next request would be refused, if it would be.',
    },
  })
}

function answerKey(world: World, gates: Gates, asker: Asker): Promise<Response> {
  return answerSmall(asker, async (key) => {
    const stored = await world.reports.ask(key.id, { kind: 'key', keyId: key.id, now: world.clock.now() })
    if (typeof stored === 'string') return refusalOfUnread(stored)
    if (stored === undefined) return new Refusal('keyInvalid')
    const keyBalance = (await world.ledger.keyBalanceNow(key.id)) ?? keyBalanceAtRest(stored, budgetsOf(world.catalog(), stored.plan))
    return documentOf(key, stored.createdAt, keyBalance, gates.keyLimits.running(key.id), refusedNow(world, gates, key, keyBalance))
  })
}

type Refused = Readonly<{ reason: Static<typeof REASON>; refusal: Refusal }>

/** Checks in the order in which a request meets the checks: keys.md "Order of checks". */
function refusedNow(world: World, { keyLimits, rates }: Gates, key: KeyRecord, keyBalance: KeyBalance): Refused | null {
  if (world.isDraining()) return { reason: 'unavailable', refusal: new Refusal('draining') }
  if (!world.ledger.isWritable()) return { reason: 'unavailable', refusal: new Refusal('storageUnavailable') }
  const limited = rates.look(key) ?? keyLimits.refusalNow(key.id)
  if (limited !== undefined) {
    const isFull = rates.isFull(key) || keyLimits.running(key.id) >= world.limits().concurrentRequests
    return { reason: isFull ? 'too_many_running' : 'too_many_requests', refusal: limited }
  }
  const shortage = shortageOf(keyBalance)
  return shortage === undefined ? null : shortOf(shortage, world.dashboardUrl())
}

function shortOf(shortage: Shortage, dashboardUrl: string): Refused {
  switch (shortage) {
    case 'balanceUsed':
      return { reason: 'balance_used', refusal: insufficientBalance(dashboardUrl) }
    case 'limitUsed':
      return { reason: 'limit_used', refusal: insufficientBalance(dashboardUrl) }
    case 'balanceHeld':
      return { reason: 'balance_held', refusal: new Refusal('balanceHeld') }
    case 'limitHeld':
      return { reason: 'limit_held', refusal: new Refusal('balanceHeld') }
    case 'windowHeld':
      return { reason: 'window_held', refusal: new Refusal('balanceHeld') }
    default:
      return { reason: 'window_used', refusal: insufficientBalance(dashboardUrl, shortage) }
  }
}

function documentOf(
  key: KeyRecord,
  createdAt: number,
  keyBalance: KeyBalance,
  running: number,
  refused: Refused | null,
): Static<typeof KEY> {
  const { limitPicos, spentPicos, heldPicos, account, windows = NO_WINDOWS } = keyBalance
  const available = availableOf({ limitPicos, spentPicos, windows, balancePicos: account.balancePicos })
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    key: key.display,
    plan: key.plan,
    created_at: isoTime(createdAt),
    expires_at: key.expiresAt === null ? null : isoTime(key.expiresAt),
    ...usdFields('limit', limitPicos),
    ...usdFields('spent', spentPicos),
    ...usdFields('held', heldPicos),
    ...usdFields('available', available),
    budgets: windows.map(budgetDocument),
    running_requests: running,
    would_be_refused: refused === null ? null : refusedDocument(refused),
  }
}

const refusedDocument = ({ reason, refusal }: Refused): Static<typeof REFUSED> => ({
  reason,
  status: refusal.row.status,
  type: refusal.row.type,
  message: refusal.message,
  retry_after_seconds: refusal.retryAfterSeconds ?? null,
})
